package family

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func run(declared, used uint64, primary *float64) Run {
	return Run{DeclaredFlops: declared, FlopsUsed: &used, PrimaryValue: primary, ClaimHolds: true, Sandboxed: true, RulesVersion: 2}
}

func TestSection12_6UsageOfACustomRun(t *testing.T) {
	topic, sealed := customInput(nil).Topic, customInput(nil).Sealed
	for _, c := range []struct {
		name, want string
		run        Run
		reproduced bool
	}{
		{"under both budgets passes", "", run(50, 50, ptr(0.9)), true},
		{"the whole of both budgets passes", "", run(100, 100, ptr(0.9)), true},
		{"over the declaration", "AgentReject; Cheat { code: FlopsUnderDeclared }", run(50, 51, ptr(0.9)), true},
		{"over the topic's budget", "AgentReject; Cheat { code: FlopsOverBudget }; Cheat { code: FlopsUnderDeclared }; " +
			"FlopsOverBudget { used: 101, budget: 100 }", run(100, 101, ptr(0.9)), true},
		{"nothing declared makes any usage too much", "AgentReject; Cheat { code: FlopsUnderDeclared }", run(0, 1, ptr(0.9)), true},
		{"a measured usage of nothing is a measurement", "", run(0, 0, ptr(0.9)), true},
		{"stopped at the declaration, without a primary", "AgentReject; Cheat { code: FlopsUnderDeclared }", run(50, 51, nil), true},
		{"ran, was measured and failed (decision 14)", "Unreproduced", run(50, 10, nil), false},
		{"a miss", "ThroughputMiss { value: 0.5, baseline: 0.5, epsilon_rel: 0.05 }", run(50, 10, ptr(0.5)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := JudgeRun(topic, sealed, c.run)
			if err != nil {
				t.Fatal(err)
			}
			if got := failed(v); got != c.want || v.Agent.Reproduced != c.reproduced {
				t.Errorf("%q, reproduced %v, want %q", got, v.Agent.Reproduced, c.want)
			}
			if v.Agent.FlopsUsed != *c.run.FlopsUsed || v.Harness.CustomValue != c.run.PrimaryValue {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestDecision14ARunThatMeasuredNothingIsNoEvidence(t *testing.T) {
	r := run(50, 0, ptr(0.9))
	r.FlopsUsed = nil
	var fault *EvidenceError
	if _, err := JudgeRun(customInput(nil).Topic, Metrics{}, r); !errors.As(err, &fault) || fault.Field != "flops_used" {
		t.Errorf("%v", err)
	}
	if _, err := JudgeRun(customInput(nil).Topic, Metrics{}, run(1, 1, ptr(math.NaN()))); !errors.As(err, &fault) || fault.Field != "primary_value" {
		t.Errorf("%v", err)
	}
}

func TestSection17RationaleOfACustomRun(t *testing.T) {
	topic, sealed := customInput(nil).Topic, customInput(nil).Sealed
	for _, c := range []struct {
		run  Run
		want string
	}{
		{run(50, 10, ptr(0.9)), "harness_success_rate: success_rate = 0.900000; checklist green (rules v2); sandboxed=true; flops_used=10"},
		{run(50, 101, ptr(0.9)), "harness_success_rate: success_rate = 0.900000; checklist green (rules v2); sandboxed=true; flops_used=101; " +
			"measured 101 over the topic budget 100; measured 101 over the declared 50"},
	} {
		v, err := JudgeRun(topic, sealed, c.run)
		if err != nil || v.Agent.Rationale != c.want {
			t.Errorf("%q, %v\nwant %q", v.Agent.Rationale, err, c.want)
		}
	}
	long := run(50, 10, nil)
	long.Failure = strings.Repeat("€", 5000)
	v, err := JudgeRun(topic, sealed, long)
	if err != nil || len(v.Agent.Rationale) > MaxRationale || !strings.HasSuffix(v.Agent.Rationale, "; flops_used=10") {
		t.Errorf("%d bytes, %v", len(v.Agent.Rationale), err)
	}
}

func TestSection17ARedChecklistSpendsNothing(t *testing.T) {
	v := RejectChecklist(customInput(nil).Topic, customInput(nil).Sealed, 3, "checklist red: a, b")
	if want := "anti-cheat checklist red: a, b (rules v3); no paid inference"; v.Agent.Rationale != want {
		t.Errorf("%q", v.Agent.Rationale)
	}
	if got, want := failed(v), `AgentReject; EvidenceMissing { field: "custom_value" }; Unreproduced`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if v.Agent.FlopsUsed != 0 || len(v.Agent.CheatCodes) != 1 || v.Agent.CheatCodes[0] != Other {
		t.Errorf("%+v", v.Agent)
	}
}
