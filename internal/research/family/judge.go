package family

// Lattice is the score of a pass (R§12.4).
const Lattice = 1_000_000

// Input is everything that a verdict depends on.
type Input struct {
	Topic  Topic
	Sealed Metrics // the recorded baseline of the topic
	Agent  Agent
	// Harness is the measurement. Only what the family asks for is looked at.
	Harness Harness
	// Fingerprints are the hits of the submission's manifest in the holdout
	// (R§6.5); one of them is contamination.
	Fingerprints []string
	// Registered says that a runner is registered under the topic's custom id.
	// The harvest families do not look at it.
	Registered bool
}

// Verdict is the outcome of one run (R§12.4). The zero Verdict is a reject.
type Verdict struct {
	Pass    bool
	Agent   Agent
	Harness Harness
	Failed  []Gate // sorted and unique; empty exactly when Pass
	Lattice uint64 // Lattice on a pass, else 0
}

// Judge applies the gates common to all families, then those of the topic's
// family (R§§12.2, 12.3). It decides nothing else: whether a pass reigns is
// [Promote].
func Judge(in Input) Verdict {
	in.Agent = in.Agent.normalised()
	gates := common(in)
	switch in.Topic.Family {
	case NLL:
		gates = append(gates, nllGates(in)...)
	case Throughput:
		gates = append(gates, throughputGates(in)...)
	case Custom:
		gates = append(gates, customGates(in)...)
	default:
		// A family that this build does not know must not pass for want of gates.
		gates = append(gates, unknownCustom())
	}
	return verdict(in, gates)
}

func verdict(in Input, gates []Gate) Verdict {
	v := Verdict{Agent: in.Agent, Harness: in.Harness, Failed: ordered(gates)}
	if len(v.Failed) == 0 {
		v.Pass, v.Lattice = true, Lattice
	}
	return v
}

// common returns the failed gates of R§12.2. claim_holds_public, canary_hit,
// canary_nll, public_nll and the agent's own flops_budget decide nothing.
func common(in Input) []Gate {
	var gates []Gate
	a := in.Agent
	if !a.Reproduced {
		gates = append(gates, unreproduced())
	}
	if a.Contamination || len(in.Fingerprints) > 0 {
		gates = append(gates, contamination())
	}
	if a.FlopsUsed > in.Topic.FlopsBudget {
		gates = append(gates, flopsOverBudget(a.FlopsUsed, in.Topic.FlopsBudget))
	}
	if a.Kind != Clean {
		gates = append(gates, agentReject())
	}
	for _, code := range a.CheatCodes {
		if code != Other {
			gates = append(gates, cheat(code))
		}
	}
	return gates
}

func nllGates(in Input) []Gate {
	run, sealed, eps := in.Harness.HoldoutNLL, in.Sealed.HoldoutNLL, in.Topic.EpsilonNLL
	if !finite(run) || !finite(sealed) {
		return []Gate{evidenceMissing(HoldoutNLL)}
	}
	var gates []Gate
	if run > float64(sealed-eps) {
		gates = append(gates, nllMiss(run, sealed, eps))
	}
	return append(gates, splitGates(in)...)
}

func throughputGates(in Input) []Gate {
	t := in.Topic
	var gates []Gate
	run, measured := t.PrimaryOf(in.Harness.Metrics)
	sealed, recorded := t.PrimaryOf(in.Sealed)
	switch {
	case !measured || !recorded:
		gates = append(gates, evidenceMissing(t.Primary))
	case !RelativeWin(run, sealed, t.Direction, t.EpsilonRel):
		gates = append(gates, throughputMiss(run, sealed, t.EpsilonRel))
	}
	nll, floor := in.Harness.HoldoutNLL, in.Sealed.HoldoutNLL
	switch {
	case !finite(nll) || !finite(floor):
		gates = append(gates, evidenceMissing(HoldoutNLL))
	case nll > float64(floor+t.QualityFloorNLL):
		gates = append(gates, qualityFloor(nll, floor, t.QualityFloorNLL))
	}
	gates = append(gates, splitGates(in)...)
	switch wall := in.Harness.WallS; {
	case wall == nil:
		gates = append(gates, evidenceMissing("wall_s"))
	case *wall > t.WallBudgetS:
		gates = append(gates, wallOverBudget(*wall, t.WallBudgetS))
	}
	return gates
}

// customGates compares with the sealed value, never with a champion: a pass
// below the reigning best still is a pass (R§12.3).
func customGates(in Input) []Gate {
	t := in.Topic
	if !in.Registered {
		return []Gate{unknownCustom()}
	}
	run, sealed := in.Harness.CustomValue, in.Sealed.CustomValue
	if run == nil || sealed == nil {
		return []Gate{evidenceMissing("custom_value")}
	}
	if !RelativeWin(*run, *sealed, t.Direction, t.EpsilonRel) {
		return []Gate{throughputMiss(*run, *sealed, t.EpsilonRel)}
	}
	return nil
}

// splitGates looks at every scored split, so that a gain on one cannot pay for a
// loss on another.
func splitGates(in Input) []Gate {
	var gates []Gate
	eps := in.Topic.EpsilonTopicMaxRegress
	for _, split := range Splits() {
		run, measured := in.Harness.SplitNLL[split]
		sealed, recorded := in.Sealed.SplitNLL[split]
		switch {
		case !measured || !recorded || !finite(run) || !finite(sealed):
			gates = append(gates, evidenceMissing("split_nll"))
		case run > float64(sealed+eps):
			gates = append(gates, splitRegress(split, run, sealed, eps))
		}
	}
	return gates
}
