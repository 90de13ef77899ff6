package family

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func flat(nll float64) Metrics {
	m := Metrics{HoldoutNLL: nll, SplitNLL: map[string]float64{}}
	for _, split := range Splits() {
		m.SplitNLL[split] = nll
	}
	return m
}

func clean(f Family) Agent {
	return Agent{Kind: Clean, Reproduced: true, ClaimHoldsPublic: true, FlopsUsed: 1, FlopsBudget: 100, TopicID: "topic", Family: f}
}

func nllTopic() Topic {
	return Topic{ID: "topic", Family: NLL, Primary: HoldoutNLL, Direction: Min, FlopsBudget: 100,
		EpsilonNLL: 0.02, EpsilonTopicMaxRegress: 0.05}
}

func nllInput(run float64) Input {
	return Input{Topic: nllTopic(), Sealed: flat(3), Agent: clean(NLL), Harness: Harness{Metrics: flat(run)}}
}

func throughputInput(run, tps float64) Input {
	in := nllInput(run)
	in.Agent.Family = Throughput
	in.Topic.Family, in.Topic.Primary, in.Topic.Direction = Throughput, TokensPerSec, Max
	in.Topic.EpsilonRel, in.Topic.QualityFloorNLL, in.Topic.WallBudgetS = 0.05, 0.02, 14400
	in.Sealed.TokensPerSec = ptr(100.0)
	in.Harness.TokensPerSec, in.Harness.WallS = ptr(tps), ptr(uint64(10000))
	return in
}

func customInput(value *float64) Input {
	return Input{
		Topic: Topic{ID: "topic", Family: Custom, CustomID: "harness_success_rate", Primary: "success_rate",
			Direction: Max, EpsilonRel: 0.05, FlopsBudget: 100},
		Sealed: Metrics{CustomValue: ptr(0.5)}, Agent: clean(Custom), Registered: true,
		Harness: Harness{Metrics: Metrics{CustomValue: value}},
	}
}

func vectors(t *testing.T, area string) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases []vector }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	cases := slices.DeleteFunc(all.Cases, func(c vector) bool { return c.Area != area })
	if len(cases) == 0 {
		t.Fatalf("no case of area %s", area)
	}
	return cases
}

type vector struct {
	Area            string
	Input, Expected json.RawMessage
}

func TestVectorsOfJudgeTopic(t *testing.T) {
	inputs := map[string]func() Input{
		"nll sealed flat 3.0, run flat 2.90 with longctx 3.10": func() Input {
			in := nllInput(2.90)
			in.Harness.SplitNLL["longctx"] = 3.10
			return in
		},
		"nll 2.90, canary_hit true, canary_nll 9.9": func() Input {
			in := nllInput(2.90)
			in.Agent.CanaryHit, in.Harness.CanaryNLL = true, ptr(9.9)
			return in
		},
		"nll 1.0, contamination hit shard:aa": func() Input {
			in := nllInput(1)
			in.Fingerprints = []string{"shard:aa"}
			return in
		},
		"throughput sealed nll 3.0 tps 100; run nll 3.01 tps 106 wall 10000 budget 14400": func() Input { return throughputInput(3.01, 106) },
		"same with tps 120 and nll 3.05": func() Input { return throughputInput(3.05, 120) },
		"custom id not registered": func() Input {
			in := customInput(ptr(0.9))
			in.Registered = false
			return in
		},
		"custom id registered, custom_value missing": func() Input { return customInput(nil) },
	}
	for _, c := range vectors(t, "judge_topic") {
		var name, expected string
		if err := json.Unmarshal(c.Input, &name); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &expected); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			build, known := inputs[name]
			if !known {
				t.Fatalf("no input for this case; expected %s", expected)
			}
			v := Judge(build())
			words := strings.Fields(expected)
			if words[0] == "pass" {
				if !v.Pass || v.Lattice != Lattice || len(v.Failed) != 0 {
					t.Fatalf("failed %v", v.Failed)
				}
				return
			}
			if v.Pass || v.Lattice != 0 || len(v.Failed) != 1 || v.Failed[0].Name() != words[1] {
				t.Fatalf("%v, want %s alone", v.Failed, words[1])
			}
			if text := v.Failed[0].String(); len(words) > 2 && !strings.Contains(text, `"`+words[2]+`"`) {
				t.Fatalf("%s does not name %s", text, words[2])
			}
		})
	}
}

func TestVectorsOfDecidePromote(t *testing.T) {
	for _, c := range vectors(t, "decide_promote") {
		var in struct {
			Pass, Complete bool
			Red            []string
			Primary, Bar   *float64
			Direction      Direction
			EpsilonRel     float64 `json:"epsilon_rel"`
		}
		var expected string
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &expected); err != nil {
			t.Fatal(err)
		}
		t.Run(expected+" "+string(c.Input), func(t *testing.T) {
			got := Promote(Candidate{Pass: in.Pass, ChecklistComplete: in.Complete, Red: in.Red,
				Primary: in.Primary, Bar: in.Bar, Direction: in.Direction, EpsilonRel: in.EpsilonRel})
			words := strings.Fields(expected)
			if promote := words[0] == "promote"; got.Promote != promote || promote != (got.Keep == "") {
				t.Fatalf("%+v, want %s", got, expected)
			}
			if words[0] == "keep" && got.Keep != KeepReason(words[1]) {
				t.Fatalf("keep %s, want %s", got.Keep, words[1])
			}
			if got.Keep == ChecklistRed {
				if diff := cmp.Diff(in.Red, got.Red); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func TestSection3SpellingOfFloats(t *testing.T) {
	data, err := os.ReadFile("testdata/float_spelling.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Value, Canonical string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Value, func(t *testing.T) {
			var f float64
			if err := json.Unmarshal([]byte(c.Value), &f); err != nil {
				t.Fatal(err)
			}
			if got := string(appendFloat(nil, f)); got != c.Canonical {
				t.Errorf("%s, want %s", got, c.Canonical)
			}
		})
	}
	if got := string(appendFloat(nil, math.NaN())); got != "null" {
		t.Errorf("NaN is written %s", got)
	}
}

func TestSection12_5DebugTextOfFloatsIsThatOfTheSource(t *testing.T) {
	for want, f := range map[string]float64{
		"3.0": 3, "2.99": 2.99, "0.0001": 1e-4, "1e-5": 1e-5, "1.5e-7": 1.5e-7, "-0.0": math.Copysign(0, -1),
		"1e16": 1e16, "1000000000000000.0": 1e15, "NaN": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1),
	} {
		if got := string(appendDebugFloat(nil, f)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
