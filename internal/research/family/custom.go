package family

import (
	"fmt"
	"slices"
	"strings"
)

// Run is a custom run whose report bound to its request (R§§12.6, 16.5, 17).
type Run struct {
	DeclaredFlops uint64
	FlopsUsed     *uint64  // measured in the sister guest; nil when it measured nothing
	PrimaryValue  *float64 // nil when the recipe ran, was measured and failed
	ClaimHolds    bool
	Sandboxed     bool
	RulesVersion  uint64
	// Failure says how the recipe failed; read only when PrimaryValue is nil.
	Failure string
}

// JudgeRun judges a custom run behind a green checklist. A run without a
// measured usage is an [*EvidenceError], never a zero and never the declaration
// (decision 14). Usage over the topic's budget or over the miner's declaration
// is a reject with its cheat code; reproduced stays true (R§12.6). A recipe that
// ran, was measured and failed is rejected as unreproduced: it has no primary
// that a family gate could look at.
func JudgeRun(t Topic, sealed Metrics, r Run) (Verdict, error) {
	if r.FlopsUsed == nil {
		return Verdict{}, badBaseline("flops_used", "the run measured no usage; a report without it is no evidence")
	}
	if r.PrimaryValue != nil && !finite(*r.PrimaryValue) {
		return Verdict{}, badBaseline("primary_value", "is not finite")
	}
	in := Input{Topic: t, Sealed: sealed, Registered: true}
	in.Agent = Agent{
		Kind:             Clean,
		Reproduced:       r.PrimaryValue != nil,
		ClaimHoldsPublic: r.ClaimHolds,
		FlopsUsed:        *r.FlopsUsed,
		FlopsBudget:      t.FlopsBudget,
		TopicID:          t.ID,
		Family:           Custom,
	}
	var notes []string
	if used := *r.FlopsUsed; used > t.FlopsBudget {
		in.Agent.CheatCodes = append(in.Agent.CheatCodes, FlopsOverBudget)
		notes = append(notes, fmt.Sprintf("measured %d over the topic budget %d", used, t.FlopsBudget))
	}
	if used := *r.FlopsUsed; used > r.DeclaredFlops {
		in.Agent.CheatCodes = append(in.Agent.CheatCodes, FlopsUnderDeclared)
		notes = append(notes, fmt.Sprintf("measured %d over the declared %d", used, r.DeclaredFlops))
	}
	if len(notes) > 0 {
		// A run that the guest stopped at its declaration has no primary either, but
		// it is the declaration that was not reproduced, not the claim.
		in.Agent.Kind, in.Agent.Reproduced = Reject, true
	}
	in.Agent.Rationale = rationale(t, r, notes)
	in.Agent = in.Agent.normalised()
	if r.PrimaryValue == nil {
		return verdict(in, common(in)), nil
	}
	in.Harness.CustomValue = r.PrimaryValue
	return Judge(in), nil
}

func rationale(t Topic, r Run, notes []string) string {
	value := "none, run failed: " + r.Failure
	if r.PrimaryValue != nil {
		value = fmt.Sprintf("%.6f", *r.PrimaryValue)
	}
	head := fmt.Sprintf("%s: %s = %s", t.CustomID, t.Primary, value)
	tail := fmt.Sprintf("checklist green (rules v%d); sandboxed=%t; flops_used=%d", r.RulesVersion, r.Sandboxed, *r.FlopsUsed)
	tail = strings.Join(slices.Insert(notes, 0, tail), "; ")
	// A long failure must not push the figures out of the cut.
	return cut(head, MaxRationale-len(tail)-len("; ")) + "; " + tail
}

// RejectChecklist is the verdict of a submission whose checklist is not green:
// nothing was spent and nothing measured (R§17.9). why is the reason of R§16.3,
// such as "checklist red: a, b".
func RejectChecklist(t Topic, sealed Metrics, rulesVersion uint64, why string) Verdict {
	return Judge(Input{Topic: t, Sealed: sealed, Registered: true, Agent: Agent{
		Kind:        Reject,
		FlopsBudget: t.FlopsBudget,
		CheatCodes:  []CheatCode{Other},
		Rationale:   fmt.Sprintf("anti-cheat %s (rules v%d); no paid inference", why, rulesVersion),
		TopicID:     t.ID,
		Family:      Custom,
	}})
}
