package board

func frenchLimits() map[string]string {
	return map[string]string{
		"limits.title": "Ce que ces chiffres ne prouvent pas",
		"limits.lead":  "À lire avant de se fier à une ligne, à un champion ou à un paiement.",

		"limits.hotkeys.title":    "Les clés sont gratuites",
		"limits.hotkeys":          "Chacun peut créer autant de clés qu’il veut. La réserve plancher d’un sujet est partagée entre toutes les réussites : une personne avec beaucoup de clés peut en recueillir beaucoup de parts. Rien ici ne peut le voir.",
		"limits.measure.title":    "Une mesure est celle d’une exécution",
		"limits.measure":          "Une valeur principale est ce que l’évaluateur épinglé a mesuré d’une exécution sur un hôte. Elle ne dit rien d’autres graines, d’autres données ni d’autre matériel.",
		"limits.sandboxed.title":  "Ce que veut dire sandboxed: false",
		"limits.sandboxed":        "Seule une exécution dans un invité Firecracker démarré par l’hôte lui-même porte sandboxed: true. Tout autre pilote, l’agent factice et les doublures compris, porte false : la recette a pu atteindre ce qu’elle ne devait pas, et ses chiffres valent ce que vaut la parole de son auteur. Un sujet peut exiger l’isolation ; un tel hôte refuse alors ses exécutions.",
		"limits.agent.title":      "Une inspection est une lecture",
		"limits.agent":            "Les règles d’un sujet sont cochées par un programme qui lit du code, avec l’aide d’un modèle. Il peut manquer ce qu’il devait trouver, et trouver ce qui n’y est pas. Chaque coche est conservée avec ses éléments.",
		"limits.duplicates.title": "Les quasi-copies se reconnaissent à leurs octets",
		"limits.duplicates":       "Un artefact compte comme copie quand son empreinte ou celle de son arborescence a déjà été acceptée. Une copie légèrement modifiée n’est pas reconnue.",
		"limits.withheld.title":   "Certaines choses sont retenues un temps",
		"limits.withheld":         "Jusqu’à la clôture de l’époque d’une ligne, son affirmation, l’adresse de son artefact et l’artefact lui-même ne sont pas montrés, pour que personne ne copie ce qui est encore payé. Ensuite tout est public.",
		"limits.address.title":    "Les adresses ne sont pas signées",
		"limits.address":          "La signature d’un mineur couvre l’empreinte de l’artefact, pas l’adresse d’où il a été lu. Ce qui a été exécuté est ce qui a cette empreinte.",
		"limits.epochs.title":     "Un paiement rejoue son instantané",
		"limits.epochs":           "L’instantané d’une époque close ne change pas, et le paiement découle de lui seul. Savoir si ses lignes sont justes est une autre question : c’est pour cela que lignes, reçus et artefacts sont publiés.",
		"limits.offers.title":     "Des engagements tiennent lieu d’offres",
		"limits.offers":           "Les lignes nomment les engagements des offres de juge et d’exécuteur sous lesquelles elles ont été notées. L’adresse du juge n’est pas publique ; qui a l’offre peut vérifier l’engagement.",
		"limits.store.title":      "Le stockage est celui de l’opérateur",
		"limits.store":            "Les tables d’historique n’acceptent que des ajouts et la base l’impose, mais l’opérateur possède la base. Gardez les instantanés et artefacts sur lesquels vous comptez : leurs empreintes sont sur ces pages.",
	}
}
