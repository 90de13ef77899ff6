package family

import (
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
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
	v, err := strict.JSON(data)
	if err != nil {
		return Agent{}, unread(NoAgent, "agent", err)
	}
	return ingest(v)
}

func ingest(v any) (Agent, error) {
	if o, ok := v.(*canonjson.Object); ok {
		o = o.Clone()
		for _, metric := range []string{"holdout_nll", "baseline_nll", "delta", "pass"} {
			o.Delete(metric)
		}
		v = o
	}
	var a Agent
	var codes []string
	read := object([]strict.Field{
		strict.Key("verdict", strict.Word(Clean, Suspicious, Reject)(&a.Kind)),
		strict.Key("reproduced", strict.Bool(&a.Reproduced)),
		strict.Key("claim_holds_public", strict.Bool(&a.ClaimHoldsPublic)),
		strict.Key("contamination", strict.Bool(&a.Contamination)),
		strict.Key("canary_hit", strict.Bool(&a.CanaryHit)),
		strict.Key("flops_used", strict.Uint(&a.FlopsUsed)),
		strict.Key("flops_budget", strict.Uint(&a.FlopsBudget)),
		strict.Key("topic_id", strict.String(&a.TopicID)),
		strict.Key("family", strict.Word(NLL, Throughput, Custom)(&a.Family)),
	}, []strict.Field{
		strict.Key("cheat_codes", strict.List(&codes, strict.String)),
		strict.Key("rationale", strict.String(&a.Rationale)),
	})
	if err := read(v, "agent"); err != nil {
		return Agent{}, unread(NoAgent, "agent", err)
	}
	for _, code := range codes {
		a.CheatCodes = append(a.CheatCodes, ParseCheatCode(code))
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
