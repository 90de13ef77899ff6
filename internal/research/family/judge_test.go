package family

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func failed(v Verdict) string {
	texts := make([]string, len(v.Failed))
	for i, g := range v.Failed {
		texts[i] = g.String()
	}
	return strings.Join(texts, "; ")
}

func TestSection12_1RelativeWin(t *testing.T) {
	for _, c := range []struct {
		name                string
		candidate, baseline float64
		direction           Direction
		eps                 float64
		want                bool
	}{
		{"equality passes for max", 105, 100, Max, 0.05, true},
		{"just below misses for max", math.Nextafter(105, 0), 100, Max, 0.05, false},
		{"equality passes for min", 95, 100, Min, 0.05, true},
		{"just above misses for min", math.Nextafter(95, 100), 100, Min, 0.05, false},
		{"a zero baseline is not beaten", 5, 0, Max, 0.05, false},
		{"a baseline below 1e-12 is not beaten", 5, 9.9e-13, Max, 0.05, false},
		{"a baseline of 1e-12 is beaten", 5, 1e-12, Max, 0.05, true},
		{"NaN does not win", math.NaN(), 1, Max, 0.05, false},
		{"nothing wins over NaN", 5, math.NaN(), Max, 0.05, false},
		{"an infinite candidate does not win", math.Inf(1), 1, Max, 0.05, false},
		{"a direction that is none does not win", 200, 100, "up", 0.05, false},
		{"a negative baseline is easier for max, without guard", -1.05, -1, Max, 0.05, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := RelativeWin(c.candidate, c.baseline, c.direction, c.eps); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestSection12_1NeededIsTheLastFigureThatWins: what a miner is told was needed is
// what RelativeWin takes, to the last bit.
func TestSection12_1NeededIsTheLastFigureThatWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		baseline := rapid.Float64Range(1e-12, 1e12).Draw(t, "baseline")
		eps := rapid.Float64Range(1e-6, 0.9).Draw(t, "eps")
		for d, worse := range map[Direction]float64{Max: math.Inf(-1), Min: math.Inf(1)} {
			needed, ok := Needed(baseline, d, eps)
			if !ok || !RelativeWin(needed, baseline, d, eps) || RelativeWin(math.Nextafter(needed, worse), baseline, d, eps) {
				t.Fatalf("%s: %v, %v", d, needed, ok)
			}
		}
	})
	for _, baseline := range []float64{0, 9.9e-13, math.NaN(), math.Inf(1)} {
		if needed, ok := Needed(baseline, Max, 0.05); ok {
			t.Errorf("%v: %v is said to win", baseline, needed)
		}
	}
	if _, ok := Needed(1, "up", 0.05); ok {
		t.Error("a direction that is none")
	}
}

func TestSection12_2GatesCommonToAllFamilies(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Input)
		want   string
	}{
		{"a run that was not reproduced", func(in *Input) { in.Agent.Reproduced = false }, "Unreproduced"},
		{"contamination seen by the agent", func(in *Input) { in.Agent.Contamination = true }, "Contamination"},
		{"a fingerprint of the holdout", func(in *Input) { in.Fingerprints = []string{"dataset:x"} }, "Contamination"},
		{"usage over the topic's budget", func(in *Input) { in.Agent.FlopsUsed = 101 }, "FlopsOverBudget { used: 101, budget: 100 }"},
		{"usage of the whole budget", func(in *Input) { in.Agent.FlopsUsed = 100 }, ""},
		{"a suspicious agent", func(in *Input) { in.Agent.Kind = Suspicious }, "AgentReject"},
		{"a rejecting agent", func(in *Input) { in.Agent.Kind = Reject }, "AgentReject"},
		{"each cheat code once, in order", func(in *Input) {
			in.Agent.CheatCodes = []CheatCode{FakeOptimizer, StrawmanAdamW, FakeOptimizer}
		}, "Cheat { code: FakeOptimizer }; Cheat { code: StrawmanAdamw }"},
		{"other and unknown codes are no gate", func(in *Input) { in.Agent.CheatCodes = []CheatCode{Other, "new_code"} }, ""},
		{"recorded figures decide nothing", func(in *Input) {
			in.Agent.ClaimHoldsPublic, in.Agent.CanaryHit, in.Agent.FlopsBudget = false, true, 0
			in.Harness.PublicNLL, in.Harness.CanaryNLL = ptr(99.0), ptr(99.0)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []Input{nllInput(2.9), throughputInput(3, 110), customInput(ptr(0.9))} {
				c.change(&in)
				if got := failed(Judge(in)); got != c.want {
					t.Errorf("%s: %q, want %q", in.Topic.Family, got, c.want)
				}
			}
		})
	}
}

func TestSection12_3GatesOfNLL(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		edit func(*Input)
		want string
	}{
		{"equality with sealed minus epsilon passes", nllInput(2.98), nil, ""},
		{"2.97 passes", nllInput(2.97), nil, ""},
		{"2.99 misses", nllInput(2.99), nil, "NllMiss { holdout: 2.99, baseline: 3.0, epsilon: 0.02 }"},
		{"a holdout that is not finite stops", nllInput(math.NaN()), nil, `EvidenceMissing { field: "holdout_nll" }`},
		{"a seal that is not finite stops", nllInput(2.9), func(in *Input) { in.Sealed.HoldoutNLL = math.Inf(1) },
			`EvidenceMissing { field: "holdout_nll" }`},
		{"regress on equality passes", nllInput(2.9), func(in *Input) { in.Harness.SplitNLL["web_ood"] = 3.05 }, ""},
		{"regress beyond epsilon fails", nllInput(2.9), func(in *Input) { in.Harness.SplitNLL["web_ood"] = 3.06 },
			`SplitRegress { split: "web_ood", holdout: 3.06, baseline: 3.0, epsilon: 0.05 }`},
		{"five missing splits are one gate", nllInput(2.9), func(in *Input) { in.Harness.SplitNLL = nil },
			`EvidenceMissing { field: "split_nll" }`},
		{"a split that was not sealed", nllInput(2.9), func(in *Input) { delete(in.Sealed.SplitNLL, "longctx") },
			`EvidenceMissing { field: "split_nll" }`},
		{"the canary is not scored", nllInput(2.9), func(in *Input) { in.Harness.SplitNLL[Canary] = 99 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(&c.in)
			}
			if got := failed(Judge(c.in)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSection12_3GatesOfThroughput(t *testing.T) {
	latency := func(run, sealed *float64) Input {
		in := throughputInput(3, 0)
		in.Topic.Primary, in.Topic.Direction = StepLatencyMS, Min
		in.Harness.StepLatencyMS, in.Sealed.StepLatencyMS = run, sealed
		return in
	}
	for _, c := range []struct {
		name string
		in   Input
		edit func(*Input)
		want string
	}{
		{"a win under all budgets passes", throughputInput(3.02, 105), nil, ""},
		{"a miss names value, baseline and share", throughputInput(3, 104.5), nil,
			"ThroughputMiss { value: 104.5, baseline: 100.0, epsilon_rel: 0.05 }"},
		{"a primary that was not measured", throughputInput(3, 105), func(in *Input) { in.Harness.TokensPerSec = nil },
			`EvidenceMissing { field: "tokens_per_sec" }`},
		{"a primary that is not finite", throughputInput(3, math.Inf(1)), nil, `EvidenceMissing { field: "tokens_per_sec" }`},
		{"a latency below the share passes", latency(ptr(9.5), ptr(10.0)), nil, ""},
		{"a latency that was not sealed", latency(ptr(9.0), nil), nil, `EvidenceMissing { field: "step_latency_ms" }`},
		{"a quality below the floor", throughputInput(3.03, 120), nil,
			"QualityFloor { holdout: 3.03, baseline: 3.0, floor: 0.02 }"},
		{"a quality that was not measured", throughputInput(math.NaN(), 120), func(in *Input) { in.Harness.SplitNLL = flat(3).SplitNLL },
			`EvidenceMissing { field: "holdout_nll" }`},
		{"a wall time that was not measured", throughputInput(3, 105), func(in *Input) { in.Harness.WallS = nil },
			`EvidenceMissing { field: "wall_s" }`},
		{"the whole wall budget passes", throughputInput(3, 105), func(in *Input) { in.Harness.WallS = ptr(uint64(14400)) }, ""},
		{"a wall time over budget", throughputInput(3, 105), func(in *Input) { in.Harness.WallS = ptr(uint64(14401)) },
			"WallOverBudget { used: 14401, budget: 14400 }"},
		{"all faults are told, sorted", throughputInput(9, 1), func(in *Input) {
			in.Harness.WallS, in.Harness.SplitNLL = nil, nil
		}, `EvidenceMissing { field: "split_nll" }; EvidenceMissing { field: "wall_s" }; ` +
			"QualityFloor { holdout: 9.0, baseline: 3.0, floor: 0.02 }; ThroughputMiss { value: 1.0, baseline: 100.0, epsilon_rel: 0.05 }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(&c.in)
			}
			if got := failed(Judge(c.in)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSection12_3GatesOfCustom(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Input)
		want string
	}{
		{"a win over the sealed value passes", func(in *Input) {}, ""},
		{"an id without a runner stops", func(in *Input) { in.Registered, in.Harness.CustomValue = false, nil }, "UnknownCustom"},
		{"a value that was not sealed", func(in *Input) { in.Sealed.CustomValue = nil }, `EvidenceMissing { field: "custom_value" }`},
		{"a miss has the name of throughput", func(in *Input) { in.Harness.CustomValue = ptr(0.52) },
			"ThroughputMiss { value: 0.52, baseline: 0.5, epsilon_rel: 0.05 }"},
		{"a family nobody knows fails", func(in *Input) { in.Topic.Family = "images" }, "UnknownCustom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := customInput(ptr(0.9))
			c.edit(&in)
			if got := failed(Judge(in)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSection12_5SpellingInJSON(t *testing.T) {
	for want, g := range map[string]Gate{
		`"unreproduced"`:   unreproduced(),
		`"contamination"`:  contamination(),
		`"agent_reject"`:   agentReject(),
		`"unknown_custom"`: unknownCustom(),
		`{"nll_miss":{"holdout":2.99,"baseline":3.0,"epsilon":0.02}}`:                       nllMiss(2.99, 3, 0.02),
		`{"flops_over_budget":{"used":2,"budget":1}}`:                                       flopsOverBudget(2, 1),
		`{"cheat":{"code":"fake_optimizer"}}`:                                               cheat(FakeOptimizer),
		`{"evidence_missing":{"field":"wall_s"}}`:                                           evidenceMissing("wall_s"),
		`{"wall_over_budget":{"used":2,"budget":1}}`:                                        wallOverBudget(2, 1),
		`{"split_regress":{"split":"longctx","holdout":3.1,"baseline":3.0,"epsilon":0.05}}`: splitRegress("longctx", 3.1, 3, 0.05),
		`{"quality_floor":{"holdout":3.1,"baseline":3.0,"floor":0.02}}`:                     qualityFloor(3.1, 3, 0.02),
		`{"throughput_miss":{"value":1.0,"baseline":100.0,"epsilon_rel":0.05}}`:             throughputMiss(1, 100, 0.05),
		`{"flops_over_budget":{"used":18446744073709551615,"budget":2000000000000000000}}`:  flopsOverBudget(math.MaxUint64, 2e18),
		`{"nll_miss":{"holdout":1e+16,"baseline":0.0,"epsilon":0.0}}`:                       nllMiss(1e16, 0, 0),
	} {
		if got := string(g.AppendJSON(nil)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestSection11_4DetailOfARow(t *testing.T) {
	in := nllInput(2.99)
	in.Agent.Reproduced = false
	v := Judge(in)
	if want := "gates=[NllMiss { holdout: 2.99, baseline: 3.0, epsilon: 0.02 }, Unreproduced]"; v.Detail() != want {
		t.Errorf("%s, want %s", v.Detail(), want)
	}
	if pass := Judge(nllInput(2.9)); pass.Detail() != "" {
		t.Errorf("a pass has the detail %q", pass.Detail())
	}
}

func TestSection12_4VerdictAsJSON(t *testing.T) {
	v := Judge(customInput(ptr(0.5)))
	want := `{"pass":false,"agent":{"verdict":"clean","reproduced":true,"claim_holds_public":true,"contamination":false,` +
		`"canary_hit":false,"flops_used":1,"flops_budget":100,"cheat_codes":[],"rationale":"","topic_id":"topic","family":"custom"},` +
		`"harness":{"canary_nll":null,"custom_value":0.5,"holdout_nll":0.0,"public_nll":null,"split_nll":{},"step_latency_ms":null,` +
		`"tokens_per_sec":null,"wall_s":null},"failed":[{"throughput_miss":{"value":0.5,"baseline":0.5,"epsilon_rel":0.05}}],"lattice":0}`
	got, err := json.Marshal(v)
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if got := string(Judge(throughputInput(3, 110)).Harness.AppendJSON(nil)); !strings.Contains(got,
		`"split_nll":{"code_ood":3.0,"longctx":3.0,"math_ood":3.0,"multilingual_ood":3.0,"web_ood":3.0},"step_latency_ms":null,"tokens_per_sec":110.0,"wall_s":10000}`) {
		t.Errorf("harness %s", got)
	}
}

func TestSection11_4PreEvalReject(t *testing.T) {
	hit := PreEvalReject(nllTopic(), []string{"shard:aa"})
	if failed(hit) != "Contamination" || !hit.Agent.Contamination || hit.Agent.Reproduced || hit.Lattice != 0 {
		t.Errorf("%+v", hit)
	}
	blank := PreEvalReject(nllTopic(), nil)
	if failed(blank) != `EvidenceMissing { field: "contamination_evidence" }` || blank.Agent.Contamination {
		t.Errorf("%+v", blank)
	}
	if blank.Agent.Rationale != "pre-eval reject" || blank.Agent.Kind != Reject || blank.Agent.FlopsUsed != 0 {
		t.Errorf("%+v", blank.Agent)
	}
}

func TestSection12_7StateOfARow(t *testing.T) {
	pass, miss := Verdict{Pass: true}, Verdict{}
	for _, c := range []struct {
		family  Family
		verdict Verdict
		crowned bool
		want    State
	}{
		{Custom, pass, true, Champion}, {Custom, pass, false, AwaitingAdmin}, {Custom, miss, true, Rejected},
		{NLL, pass, true, AwaitingAdmin}, {Throughput, pass, true, AwaitingAdmin}, {NLL, miss, false, Rejected},
	} {
		if got := StateOf(c.family, c.verdict, c.crowned); got != c.want {
			t.Errorf("%s, pass %v, crowned %v: %s, want %s", c.family, c.verdict.Pass, c.crowned, got, c.want)
		}
	}
}

func TestSection13_6BarIsTheHarderOfSealAndChampion(t *testing.T) {
	if got := Bar(Max, ptr(1.0), ptr(2.0)); *got != 2 {
		t.Error(*got)
	}
	if got := Bar(Min, ptr(1.0), ptr(2.0)); *got != 1 {
		t.Error(*got)
	}
	if got := Bar(Min, nil, ptr(2.0)); *got != 2 {
		t.Error(*got)
	}
	if got := Bar(Min, ptr(1.0), ptr(math.NaN())); *got != 1 {
		t.Error(*got)
	}
	if got := Bar(Min, ptr(math.Inf(1)), nil); got != nil {
		t.Error(*got)
	}
}

func inputs() *rapid.Generator[Input] {
	return rapid.Custom(func(t *rapid.T) Input {
		value := rapid.OneOf(rapid.Float64Range(0, 4), rapid.SampledFrom([]float64{2.98, 3, 3.05, math.NaN(), math.Inf(1), 0}))
		in := rapid.SampledFrom([]Input{nllInput(2.9), throughputInput(3, 110), customInput(ptr(0.9))}).Draw(t, "family")
		in.Harness.SplitNLL = map[string]float64{}
		for _, split := range Splits() {
			if rapid.Bool().Draw(t, split+" measured") {
				in.Harness.SplitNLL[split] = value.Draw(t, split)
			}
		}
		in.Harness.HoldoutNLL = value.Draw(t, "holdout")
		in.Harness.CustomValue = rapid.Ptr(value, true).Draw(t, "custom")
		in.Harness.TokensPerSec = rapid.Ptr(rapid.Float64Range(90, 120), true).Draw(t, "tps")
		in.Agent.Reproduced = rapid.Bool().Draw(t, "reproduced")
		in.Agent.Contamination = rapid.Bool().Draw(t, "contamination")
		in.Agent.FlopsUsed = rapid.Uint64Range(0, 200).Draw(t, "flops")
		in.Agent.CheatCodes = rapid.SliceOf(rapid.SampledFrom(cheatCodes())).Draw(t, "codes")
		in.Agent.Rationale = rapid.String().Draw(t, "rationale")
		return in
	})
}

func TestPropertyAVerdictIsConsistentAndReplaysByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		v := Judge(in)
		if v.Pass != (len(v.Failed) == 0) || v.Pass != (v.Lattice == Lattice) {
			t.Fatalf("%+v", v)
		}
		names := make([]string, len(v.Failed))
		for i, g := range v.Failed {
			names[i] = g.String()
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("not sorted and unique: %q", names)
		}
		text := v.AppendJSON(nil)
		if !json.Valid(text) {
			t.Fatalf("not JSON: %s", text)
		}
		slices.Reverse(in.Agent.CheatCodes)
		if again := Judge(in).AppendJSON(nil); string(again) != string(text) {
			t.Fatalf("%s\n%s", text, again)
		}
	})
}

func TestPropertyAnAgentWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Judge(inputs().Draw(t, "input")).Agent
		text := a.AppendJSON(nil)
		back, err := ParseAgent(text)
		if err != nil {
			t.Fatal(err)
		}
		if again := back.AppendJSON(nil); string(again) != string(text) {
			t.Fatalf("%s\n%s", text, again)
		}
	})
}
