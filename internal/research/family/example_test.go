package family_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/family"
)

func Example() {
	topic := family.Topic{ID: "agent-harness-improve-v0", Family: family.Custom, CustomID: "harness_success_rate",
		Primary: "success_rate", Direction: family.Max, EpsilonRel: 0.05, FlopsBudget: 2_000_000_000_000_000_000}
	value, sealed, used := 0.61, 0.5, uint64(1_500_000)

	v, err := family.JudgeRun(topic, family.Metrics{CustomValue: &sealed},
		family.Run{DeclaredFlops: 1_000_000, FlopsUsed: &used, PrimaryValue: &value, Sandboxed: true, RulesVersion: 1})
	if err != nil {
		fmt.Println(err) // 503, no row
		return
	}
	fmt.Println(family.StateOf(topic.Family, v, false))
	fmt.Println(v.Detail())
	fmt.Println(v.Agent.Rationale)
	// Output:
	// rejected
	// gates=[AgentReject, Cheat { code: FlopsUnderDeclared }]
	// harness_success_rate: success_rate = 0.610000; checklist green (rules v1); sandboxed=true; flops_used=1500000; measured 1500000 over the declared 1000000
}
