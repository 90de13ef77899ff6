package family

import "strconv"

// AppendJSON appends the verdict as a row stores it, members in the order of
// R§12.4: pass, agent, harness, failed, lattice.
func (v Verdict) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendBool(append(dst, `{"pass":`...), v.Pass)
	dst = v.Agent.AppendJSON(append(dst, `,"agent":`...))
	dst = v.Harness.AppendJSON(append(dst, `,"harness":`...))
	dst = append(dst, `,"failed":[`...)
	for i, g := range v.Failed {
		dst = g.AppendJSON(append(dst, between(i, "", ",")...))
	}
	dst = strconv.AppendUint(append(dst, `],"lattice":`...), v.Lattice, 10)
	return append(dst, '}')
}

// MarshalJSON returns AppendJSON's text, so that a row can hold a Verdict.
func (v Verdict) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// Detail returns the detail of a row: empty on a pass (null in the row), else
// `gates=[…]` with the gates in their debug text (R§11.4).
func (v Verdict) Detail() string {
	if v.Pass {
		return ""
	}
	dst := []byte("gates=[")
	for i, g := range v.Failed {
		dst = g.appendDebug(append(dst, between(i, "", ", ")...))
	}
	return string(append(dst, ']'))
}

// AppendJSON appends the agent with its members in the order of R§10, a document
// that [ParseAgent] reads back to the same Agent.
func (a Agent) AppendJSON(dst []byte) []byte {
	dst = appendString(append(dst, `{"verdict":`...), string(a.Kind))
	dst = strconv.AppendBool(append(dst, `,"reproduced":`...), a.Reproduced)
	dst = strconv.AppendBool(append(dst, `,"claim_holds_public":`...), a.ClaimHoldsPublic)
	dst = strconv.AppendBool(append(dst, `,"contamination":`...), a.Contamination)
	dst = strconv.AppendBool(append(dst, `,"canary_hit":`...), a.CanaryHit)
	dst = strconv.AppendUint(append(dst, `,"flops_used":`...), a.FlopsUsed, 10)
	dst = strconv.AppendUint(append(dst, `,"flops_budget":`...), a.FlopsBudget, 10)
	dst = append(dst, `,"cheat_codes":[`...)
	for i, code := range a.CheatCodes {
		dst = appendString(append(dst, between(i, "", ",")...), string(code))
	}
	dst = appendString(append(dst, `],"rationale":`...), a.Rationale)
	dst = appendString(append(dst, `,"topic_id":`...), a.TopicID)
	dst = appendString(append(dst, `,"family":`...), string(a.Family))
	return append(dst, '}')
}

// PreEvalReject is the verdict of a submission whose manifest was not declared or
// overlaps the holdout (R§11.4): nothing ran, nothing was measured.
func PreEvalReject(t Topic, fingerprints []string) Verdict {
	in := Input{Topic: t, Agent: Agent{
		Kind:          Reject,
		Contamination: len(fingerprints) > 0,
		FlopsBudget:   t.FlopsBudget,
		Rationale:     "pre-eval reject",
		TopicID:       t.ID,
		Family:        t.Family,
	}}
	if len(fingerprints) > 0 {
		return verdict(in, []Gate{contamination()})
	}
	return verdict(in, []Gate{evidenceMissing("contamination_evidence")})
}
