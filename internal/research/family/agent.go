package family

import (
	"slices"
	"strings"
)

// CheatCode is a code of an agent verdict (R§10).
type CheatCode string

// The cheat codes, in the order in which verdicts list them.
const (
	UnreproducedClaim    CheatCode = "unreproduced_claim"
	FlopsOverBudget      CheatCode = "flops_over_budget"
	FlopsUnderDeclared   CheatCode = "flops_under_declared"
	StrawmanAdamW        CheatCode = "strawman_adamw"
	FakeOptimizer        CheatCode = "fake_optimizer"
	Contamination        CheatCode = "contamination"
	PublicMetricMismatch CheatCode = "public_metric_mismatch"
	Other                CheatCode = "other"
)

func cheatCodes() []CheatCode {
	return []CheatCode{UnreproducedClaim, FlopsOverBudget, FlopsUnderDeclared, StrawmanAdamW,
		FakeOptimizer, Contamination, PublicMetricMismatch, Other}
}

// ParseCheatCode returns the code of that spelling, and [Other] for one that
// this build does not know: a newer image must not lose its document over a name
// (decision 21).
func ParseCheatCode(s string) CheatCode {
	if c := CheatCode(s); slices.Contains(cheatCodes(), c) {
		return c
	}
	return Other
}

// Kind is the agent's own conclusion.
type Kind string

// The conclusions of an agent; anything but Clean fails the agent_reject gate.
const (
	Clean      Kind = "clean"
	Suspicious Kind = "suspicious"
	Reject     Kind = "reject"
)

// MaxRationale is the length in bytes that a rationale is cut to (R§10).
const MaxRationale = 4096

// Agent is the agent's verdict of one run. It holds no metrics: the harness
// measures, the agent reads code.
type Agent struct {
	Kind             Kind
	Reproduced       bool
	ClaimHoldsPublic bool // recorded only
	Contamination    bool
	CanaryHit        bool // recorded only
	FlopsUsed        uint64
	FlopsBudget      uint64 // recorded only; the topic's budget is what counts
	CheatCodes       []CheatCode
	Rationale        string
	TopicID          string
	Family           Family
}

// ParseAgent ingests the agent object of an eval document (R§10): the metric
// keys that an agent must not fill are dropped unread, every other unknown key is
// refused, unknown cheat codes become other, codes are sorted and the rationale
// is cut between characters. The error is an [*EvidenceError] of kind NoAgent.
func ParseAgent(data []byte) (Agent, error) {
	v, err := parse(data)
	if err != nil {
		return Agent{}, noAgent("agent", err.Error())
	}
	return ingest(v)
}

func ingest(v any) (Agent, error) {
	r, err := open(v, "agent", "holdout_nll", "baseline_nll", "delta", "pass")
	if err != nil {
		return Agent{}, noAgent("agent", err.Error())
	}
	a := Agent{
		Kind:             Kind(r.oneOf("verdict", string(Clean), string(Suspicious), string(Reject))),
		Reproduced:       r.boolean("reproduced"),
		ClaimHoldsPublic: r.boolean("claim_holds_public"),
		Contamination:    r.boolean("contamination"),
		CanaryHit:        r.boolean("canary_hit"),
		FlopsUsed:        r.unsigned("flops_used"),
		FlopsBudget:      r.unsigned("flops_budget"),
		Rationale:        r.optionalText("rationale"),
		TopicID:          r.text("topic_id"),
		Family:           Family(r.oneOf("family", string(NLL), string(Throughput), string(Custom))),
	}
	for _, code := range r.optionalTexts("cheat_codes") {
		a.CheatCodes = append(a.CheatCodes, ParseCheatCode(code))
	}
	if err := r.close(); err != nil {
		return Agent{}, noAgent("agent", err.Error())
	}
	return a.normalised(), nil
}

// normalised returns the agent as it is stored: codes known, sorted and unique,
// the rationale valid UTF-8 of at most MaxRationale bytes.
func (a Agent) normalised() Agent {
	order := cheatCodes()
	present := make([]bool, len(order))
	for _, c := range a.CheatCodes {
		present[slices.Index(order, ParseCheatCode(string(c)))] = true
	}
	a.CheatCodes = nil
	for i, code := range order {
		if present[i] {
			a.CheatCodes = append(a.CheatCodes, code)
		}
	}
	a.Rationale = cut(strings.ToValidUTF8(a.Rationale, "\uFFFD"), MaxRationale)
	return a
}
