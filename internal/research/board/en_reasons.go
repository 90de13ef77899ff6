package board

// englishReasons are the states, gates and codes of R§10 and R§12.
func englishReasons() map[string]string {
	return map[string]string{
		"state.champion":       "champion",
		"state.awaiting_admin": "passed (awaiting_admin)",
		"state.rejected":       "rejected",

		"reason.champion":            "Passed every gate and was better than the bar in force at the time by at least the topic's margin, so it was crowned. Only this miner's best passing run of the epoch is paid.",
		"reason.awaiting.harvest":    "Passed every gate. Only this miner's best passing run of the epoch is paid. This family has no champions; the row waits for an admin.",
		"reason.awaiting.custom":     "Passed every gate. Only this miner's best passing run of the epoch is paid. It was not crowned, because it was not better than the bar in force at the time by at least the topic's margin.",
		"reason.awaiting.margin.max": "Passed every gate. Only this miner's best passing run of the epoch is paid. It was not crowned: %s is not above the bar in force at the time by at least %s%%.",
		"reason.awaiting.margin.min": "Passed every gate. Only this miner's best passing run of the epoch is paid. It was not crowned: %s is not below the bar in force at the time by at least %s%%.",
		"reason.overlap":             "Rejected before any run: the declared training data overlaps the sealed holdout.",
		"reason.undeclared":          "Rejected before any run: no training data was declared.",
		"reason.checklist":           "Rejected before any run: the inspection of the artefact ticked a rule red or left one out. Nothing was spent.",
		"reason.failed":              "Rejected: the recipe ran, and its result could not be reproduced.",
		"reason.gates.one":           "Rejected: the run was measured, and %s gate failed.",
		"reason.gates.many":          "Rejected: the run was measured, and %s gates failed.",
		"counted.none":               "No topic was open when this epoch closed, so it pays nobody, this run included.",
		"counted.topic":              "The topic was not open when this epoch closed, so it pays nothing for it, not even for this run.",
		"counted.this":               "This is the run that counted for the miner in this epoch: it is paid %s of %s units.",
		"counted.other":              "This run did not count: the miner's best passing run of the epoch is row %s.",

		"gate.unreproduced":      "The claimed result was not reproduced.",
		"gate.contamination":     "Training data overlaps the sealed holdout.",
		"gate.agent_reject":      "The agent that read the code did not find it clean.",
		"gate.unknown_custom":    "No runner is registered for the metric of this topic.",
		"gate.flops_over_budget": "Measured %s operations, over the topic's budget of %s.",
		"gate.cheat":             "The agent reported the integrity code %s.",
		"gate.evidence_missing":  "Evidence is missing: %s.",
		"gate.nll_miss":          "The holdout likelihood %s does not beat the baseline %s by the margin %s.",
		"gate.split_regress":     "On the split %s, %s is worse than the baseline %s by more than %s.",
		"gate.quality_floor":     "The quality %s fell below the baseline %s by more than the floor %s allows.",
		"gate.throughput_miss":   "The primary %s does not beat the sealed value %s by the share %s.",
		"gate.wall_over_budget":  "Took %s seconds, over the budget of %s.",

		"integrity.unreproduced_claim":     "The claim was not reproduced.",
		"integrity.flops_over_budget":      "More operations were measured than the topic allows.",
		"integrity.flops_under_declared":   "More operations were measured than the miner declared.",
		"integrity.strawman_adamw":         "The reference it compares itself with was weakened.",
		"integrity.fake_optimizer":         "The optimiser is not what it is called.",
		"integrity.contamination":          "The code reads data that is in the sealed holdout.",
		"integrity.public_metric_mismatch": "The public metric is not the one that was reported.",
		"integrity.other":                  "A rule of integrity is not met.",
	}
}
