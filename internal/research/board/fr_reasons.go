package board

// frenchReasons are the states, gates and codes of R§10 and R§12.
func frenchReasons() map[string]string {
	return map[string]string{
		"state.champion":       "champion",
		"state.awaiting_admin": "réussie (awaiting_admin)",
		"state.rejected":       "rejetée",

		"reason.champion":            "A passé tous les contrôles et dépassé la barre alors en vigueur d’au moins la marge du sujet : la ligne a été couronnée. Seule la meilleure exécution réussie de ce mineur pendant l’époque est payée.",
		"reason.awaiting.harvest":    "A passé tous les contrôles. Seule la meilleure exécution réussie de ce mineur pendant l’époque est payée. Cette famille n’a pas de champion ; la ligne attend un administrateur.",
		"reason.awaiting.custom":     "A passé tous les contrôles. Seule la meilleure exécution réussie de ce mineur pendant l’époque est payée. La ligne n’a pas été couronnée : elle ne dépasse pas d’au moins la marge du sujet la barre alors en vigueur.",
		"reason.awaiting.margin.max": "A passé tous les contrôles. Seule la meilleure exécution réussie de ce mineur pendant l’époque est payée. La ligne n’a pas été couronnée : %s ne dépasse pas d’au moins %s %% la barre alors en vigueur.",
		"reason.awaiting.margin.min": "A passé tous les contrôles. Seule la meilleure exécution réussie de ce mineur pendant l’époque est payée. La ligne n’a pas été couronnée : %s n’est pas inférieur d’au moins %s %% à la barre alors en vigueur.",
		"reason.overlap":             "Rejetée avant toute exécution : les données d’entraînement déclarées recoupent le jeu scellé.",
		"reason.undeclared":          "Rejetée avant toute exécution : aucune donnée d’entraînement n’a été déclarée.",
		"reason.checklist":           "Rejetée avant toute exécution : l’inspection de l’artefact a marqué une règle en rouge ou en a omis une. Rien n’a été dépensé.",
		"reason.failed":              "Rejetée : la recette a été exécutée, mais son résultat n’a pas pu être reproduit.",
		"reason.gates.one":           "Rejetée : l’exécution a été mesurée, mais %s contrôle a échoué.",
		"reason.gates.many":          "Rejetée : l’exécution a été mesurée, mais %s contrôles ont échoué.",
		"counted.none":               "Aucun sujet n’était ouvert à la clôture de cette époque : elle ne paie personne, pas même pour cette exécution.",
		"counted.topic":              "Le sujet n’était pas ouvert à la clôture de cette époque : il ne paie rien pour elle, pas même pour cette exécution.",
		"counted.this":               "C’est l’exécution retenue pour ce mineur dans cette époque : elle est payée %s unités sur %s.",
		"counted.other":              "Cette exécution n’a pas été retenue : la meilleure exécution réussie de ce mineur pendant l’époque est la ligne %s.",

		"gate.unreproduced":      "Le résultat affirmé n’a pas été reproduit.",
		"gate.contamination":     "Les données d’entraînement recoupent le jeu scellé.",
		"gate.agent_reject":      "L’agent qui a lu le code ne l’a pas jugé conforme.",
		"gate.unknown_custom":    "Aucun exécuteur n’est enregistré pour la métrique de ce sujet.",
		"gate.flops_over_budget": "%s opérations mesurées, au-delà du budget du sujet (%s).",
		"gate.cheat":             "L’agent a signalé le code d’intégrité %s.",
		"gate.evidence_missing":  "Un élément de preuve manque : %s.",
		"gate.nll_miss":          "La log-vraisemblance négative %s sur le jeu scellé n’est pas inférieure à la référence %s d’au moins la marge %s.",
		"gate.split_regress":     "Sur la partie %s, %s est moins bon que la référence %s, de plus de %s.",
		"gate.quality_floor":     "La qualité %s est inférieure à la référence %s de plus que ne le permet le plancher %s.",
		"gate.throughput_miss":   "La valeur principale %s ne fait pas mieux que la valeur scellée %s d’au moins la part %s.",
		"gate.wall_over_budget":  "L’exécution a duré %s secondes, au-delà du budget de %s.",

		"integrity.unreproduced_claim":     "L’affirmation n’a pas été reproduite.",
		"integrity.flops_over_budget":      "Les opérations mesurées sont plus nombreuses que le sujet ne le permet.",
		"integrity.flops_under_declared":   "Les opérations mesurées sont plus nombreuses que celles que le mineur a déclarées.",
		"integrity.strawman_adamw":         "La référence à laquelle la recette se compare a été affaiblie.",
		"integrity.fake_optimizer":         "L’optimiseur n’est pas celui que son nom annonce.",
		"integrity.contamination":          "Le code lit des données du jeu scellé.",
		"integrity.public_metric_mismatch": "La métrique publique n’est pas celle qui a été rapportée.",
		"integrity.other":                  "Une règle d’intégrité n’est pas respectée.",
	}
}
