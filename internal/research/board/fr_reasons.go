package board

// frenchReasons are the states, gates and codes of R§10 and R§12.
func frenchReasons() map[string]string {
	return map[string]string{
		"state.champion":       "champion",
		"state.awaiting_admin": "en attente de l’administrateur",
		"state.rejected":       "rejeté",

		"reason.champion":         "A passé chaque contrôle et battu la barre de son moment de la marge du sujet ; la ligne a été couronnée.",
		"reason.awaiting.harvest": "A passé chaque contrôle. Cette famille n’a pas de champion ; la réussite est payée et attend un administrateur.",
		"reason.awaiting.custom":  "A passé chaque contrôle et est payée comme réussite. Elle n’a pas été couronnée, car elle n’a pas battu la barre de son moment de la marge du sujet.",
		"reason.awaiting.margin":  "A passé chaque contrôle et est payée comme réussite. Elle n’a pas été couronnée : %s n’a pas battu la barre de son moment de la marge du sujet, %s %%.",
		"reason.overlap":          "Rejetée avant toute exécution : les données d’entraînement déclarées sont dans le jeu scellé.",
		"reason.undeclared":       "Rejetée avant toute exécution : aucune donnée d’entraînement n’a été déclarée.",
		"reason.checklist":        "Rejetée avant toute exécution : l’inspection de l’artefact a marqué une règle en rouge ou en a omis une. Rien n’a été dépensé.",
		"reason.failed":           "Rejetée : la recette a été exécutée, et son résultat n’a pas pu être reproduit.",
		"reason.gates.one":        "Rejetée : l’exécution a été mesurée, et %s contrôle a échoué.",
		"reason.gates.many":       "Rejetée : l’exécution a été mesurée, et %s contrôles ont échoué.",

		"gate.unreproduced":      "Le résultat affirmé n’a pas été reproduit.",
		"gate.contamination":     "Les données d’entraînement recoupent le jeu scellé.",
		"gate.agent_reject":      "L’agent qui a lu le code ne l’a pas jugé net.",
		"gate.unknown_custom":    "Aucun exécuteur n’est enregistré pour la métrique de ce sujet.",
		"gate.flops_over_budget": "%s opérations mesurées, au-delà du budget du sujet, %s.",
		"gate.cheat":             "L’agent a rapporté le code d’intégrité %s.",
		"gate.evidence_missing":  "Un élément de preuve manque : %s.",
		"gate.nll_miss":          "La vraisemblance %s sur le jeu scellé ne bat pas la référence %s de la marge %s.",
		"gate.split_regress":     "Sur la partie %s, %s est moins bon que la référence %s de plus de %s.",
		"gate.quality_floor":     "La qualité %s est tombée sous la référence %s de plus que le plancher %s ne le permet.",
		"gate.throughput_miss":   "La valeur principale %s ne bat pas la valeur scellée %s de la part %s.",
		"gate.wall_over_budget":  "A duré %s secondes, au-delà du budget de %s.",

		"integrity.unreproduced_claim":     "L’affirmation n’a pas été reproduite.",
		"integrity.flops_over_budget":      "Plus d’opérations ont été mesurées que le sujet n’en permet.",
		"integrity.flops_under_declared":   "Plus d’opérations ont été mesurées que le mineur n’en a déclaré.",
		"integrity.strawman_adamw":         "La référence à laquelle il se compare a été affaiblie.",
		"integrity.fake_optimizer":         "L’optimiseur n’est pas celui que dit son nom.",
		"integrity.contamination":          "Le code lit des données qui sont dans le jeu scellé.",
		"integrity.public_metric_mismatch": "La métrique publique n’est pas celle qui a été rapportée.",
		"integrity.other":                  "Une règle d’intégrité n’est pas respectée.",
	}
}
