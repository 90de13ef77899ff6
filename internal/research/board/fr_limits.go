package board

func frenchLimits() map[string]string {
	return map[string]string{
		"limits.title": "Ce que ces chiffres ne prouvent pas",
		"limits.lead":  "À lire avant de se fier à une ligne, à un champion ou à un paiement.",

		"limits.hotkeys.title":     "Les clés sont gratuites",
		"limits.hotkeys":           "N’importe qui peut créer autant de clés qu’il le souhaite. La réserve plancher d’un sujet est partagée entre toutes les réussites : une personne qui possède beaucoup de clés peut en recueillir beaucoup de parts. Rien ici ne permet de le voir.",
		"limits.measure.title":     "Une mesure ne vaut que pour une exécution",
		"limits.measure":           "Une valeur principale est ce que l’évaluateur épinglé a mesuré lors d’une exécution sur un hôte. Elle ne dit rien d’autres graines, d’autres données ni d’un autre matériel.",
		"limits.sandboxed.title":   "Ce que veut dire sandboxed: false",
		"limits.sandboxed":         "Seule une exécution dans une machine invitée Firecracker que l’hôte a lui-même démarrée porte la mention sandboxed: true. Avec tout autre pilote, agent factice et bac à sable de substitution compris, la mention est sandboxed: false : la recette a pu atteindre ce qui devait lui rester inaccessible, et ses chiffres ne valent que ce que vaut la parole de son auteur. Un sujet peut exiger l’isolation ; un tel hôte refuse alors ses exécutions.",
		"limits.agent.title":       "Une inspection n’est qu’une lecture",
		"limits.agent":             "Les règles d’un sujet sont cochées par un programme qui lit du code, avec l’aide d’un modèle. Il peut passer à côté de ce qu’il devait trouver, comme trouver ce qui n’y est pas. Chaque coche est conservée avec les éléments qui la justifient.",
		"limits.duplicates.title":  "Les quasi-copies se reconnaissent à leurs octets",
		"limits.duplicates":        "Un artefact compte comme une copie quand son empreinte, ou celle de son arborescence, a déjà été acceptée. Une copie légèrement modifiée n’est pas reconnue.",
		"limits.withheld.title":    "Certaines choses ne sont publiées qu’à la clôture",
		"limits.withheld":          "Jusqu’à la clôture de l’époque d’une ligne, l’affirmation du mineur, l’adresse de l’artefact et l’artefact lui-même ne sont pas montrés, pour que personne ne copie ce qui est encore en train d’être payé. Ensuite, tout est public. Les données d’entraînement déclarées, elles, sont publiques tout de suite.",
		"limits.declaration.title": "Une déclaration est un oracle",
		"limits.declaration":       "Une soumission dont les données d’entraînement déclarées recoupent le jeu scellé est rejetée avant toute exécution, et sa ligne montre aussitôt ce qui a été déclaré. Son auteur, comme tout lecteur, apprend que l’une des empreintes ou l’un des jeux de données déclarés est dans le jeu scellé ; la ligne ne dit pas lequel, mais celle qui ne déclare qu’une valeur ne laisse aucun doute. Une telle question coûte une soumission signée à un sujet ouvert, une ligne qui reste publique sous la clé qui l’a posée, et une place dans les limites de l’hôte par adresse et par clé. Elle ne coûte aucune exécution, et les clés sont gratuites. Elle ne confirme que des noms et des empreintes que l’on connaît déjà, jamais un enregistrement. Un jeu scellé dont les noms se devinent, ou dont d’autres détiennent le contenu, ne leur est donc pas caché.",
		"limits.address.title":     "Les adresses ne sont pas signées",
		"limits.address":           "La signature d’un mineur couvre l’empreinte de l’artefact, pas l’adresse où il a été récupéré. Ce qui a été exécuté est ce qui porte cette empreinte.",
		"limits.epochs.title":      "Un paiement rejoue son instantané",
		"limits.epochs":            "L’instantané d’une époque close ne change pas, et le paiement ne découle que de lui. Savoir si ses lignes sont justes est une autre question : c’est pour cela que les lignes, les reçus et les artefacts sont publiés.",
		"limits.offers.title":      "Des engagements tiennent lieu d’offres",
		"limits.offers":            "Les lignes citent les engagements des offres de juge et d’exécuteur avec lesquelles elles ont été notées. L’adresse du juge n’est pas publique ; quiconque détient l’offre peut vérifier l’engagement.",
		"limits.store.title":       "Le stockage appartient à l’opérateur",
		"limits.store":             "Les tables d’historique n’acceptent que des ajouts, et la base de données l’impose, mais la base appartient à l’opérateur. Conservez les instantanés et les artefacts dont vous dépendez : leurs empreintes figurent sur ces pages.",
	}
}
