package family

// simMargin is what a stub win wins by beyond the topic's own share (R§27).
const simMargin = 0.01

// SimDocument is the document of the sim backend for a sealed topic (R§27): a
// stub win relative to the seal, measured by nothing. Whether sim may run at all
// is its caller's decision; a live host never falls back to it.
func SimDocument(t Topic, sealed Metrics, e Expected) *Document {
	d := &Document{
		SchemaVersion:     SchemaVersion,
		SubmissionDigest:  e.SubmissionDigest,
		ArtifactDigest:    e.ArtifactDigest,
		TopicID:           t.ID,
		EvalImageDigest:   e.EvalImageDigest,
		HoldoutCommitment: e.HoldoutCommitment,
		Agent: Agent{
			Kind:             Clean,
			Reproduced:       true,
			ClaimHoldsPublic: true,
			FlopsUsed:        t.FlopsBudget / 2,
			FlopsBudget:      t.FlopsBudget,
			Rationale:        "sim stub win",
			TopicID:          t.ID,
			Family:           t.Family,
		},
	}
	d.Harness.HoldoutNLL = simNLL(t, sealed.HoldoutNLL)
	d.Harness.SplitNLL = make(map[string]float64, len(sealed.SplitNLL))
	for split, nll := range sealed.SplitNLL {
		d.Harness.SplitNLL[split] = simNLL(t, nll)
	}
	switch {
	case t.Family == Custom:
		if sealed.CustomValue != nil {
			d.Harness.CustomValue = simWin(t, sealed.CustomValue)
		}
	case t.Primary == TokensPerSec:
		d.Harness.TokensPerSec = simWin(t, sealed.TokensPerSec)
	case t.Primary == StepLatencyMS:
		d.Harness.StepLatencyMS = simWin(t, sealed.StepLatencyMS)
	}
	if t.Family == Throughput {
		wall := t.WallBudgetS / 2
		d.Harness.WallS = &wall
	}
	return d
}

// simNLL improves a loss on an nll topic and keeps it on any other.
func simNLL(t Topic, sealed float64) float64 {
	if t.Family != NLL {
		return sealed
	}
	return max(0, float64(sealed-max(t.EpsilonNLL, simMargin)))
}

func simWin(t Topic, sealed *float64) *float64 {
	base := 100.0
	if sealed != nil {
		base = *sealed
	}
	share := float64(t.EpsilonRel + simMargin)
	if t.Direction == Min {
		share = -share
	}
	win := float64(base * float64(1+share))
	return &win
}
