package family

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawVerdict draws any verdict that AppendJSON may be asked to write.
func drawVerdict(t *rapid.T) Verdict {
	figure := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, 1e16, 1e300, 5e-324, math.NaN(), math.Inf(1)}))
	optional := rapid.Ptr(rapid.Float64Range(-1e9, 1e9), true)
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\u2028\"\\<é>", "web_ood"}))
	number := rapid.OneOf(rapid.Uint64(), rapid.Just(uint64(math.MaxUint64)))
	f := func() float64 { return figure.Draw(t, "figure") }
	n := func() uint64 { return number.Draw(t, "number") }
	s := func() string { return words.Draw(t, "word") }
	code := func() CheatCode { return rapid.SampledFrom(cheatCodes()).Draw(t, "code") }
	v := Verdict{
		Pass: rapid.Bool().Draw(t, "pass"),
		Agent: Agent{
			Kind: rapid.SampledFrom([]Kind{Clean, Suspicious, Reject, ""}).Draw(t, "kind"), Reproduced: rapid.Bool().Draw(t, "reproduced"),
			ClaimHoldsPublic: rapid.Bool().Draw(t, "holds"), Contamination: rapid.Bool().Draw(t, "contamination"), CanaryHit: rapid.Bool().Draw(t, "canary"),
			FlopsUsed: n(), FlopsBudget: n(), CheatCodes: rapid.SliceOfN(rapid.SampledFrom(cheatCodes()), 0, 3).Draw(t, "codes"), Rationale: s(), TopicID: s(),
			Family: rapid.SampledFrom([]Family{NLL, Throughput, Custom, ""}).Draw(t, "family"),
		},
		Harness: Harness{
			Metrics: Metrics{
				HoldoutNLL: f(), SplitNLL: rapid.MapOfN(words, figure, 0, 3).Draw(t, "splits"),
				TokensPerSec: optional.Draw(t, "tokens"), StepLatencyMS: optional.Draw(t, "latency"), CustomValue: optional.Draw(t, "custom"),
			},
			PublicNLL: optional.Draw(t, "public"), CanaryNLL: optional.Draw(t, "canary"), WallS: rapid.Ptr(number, true).Draw(t, "wall"),
		},
		Lattice: n(),
	}
	all := []Gate{unreproduced(), contamination(), agentReject(), unknownCustom(), flopsOverBudget(n(), n()), cheat(code()), evidenceMissing(s()),
		nllMiss(f(), f(), f()), splitRegress(s(), f(), f(), f()), qualityFloor(f(), f(), f()), throughputMiss(f(), f(), f()), wallOverBudget(n(), n())}
	v.Failed = rapid.SliceOfN(rapid.SampledFrom(all), 0, 4).Draw(t, "failed")
	return v
}

func TestPropertyAStoredVerdictReadsBackByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored := drawVerdict(t).AppendJSON(nil)
		back, err := ParseVerdict(stored)
		if err != nil {
			t.Fatalf("%v\n%s", err, stored)
		}
		if again := back.AppendJSON(nil); string(again) != string(stored) {
			t.Fatalf("stored %s\nagain  %s", stored, again)
		}
	})
}

func TestSection12Point5EveryGateReadsBackWithItsDebugText(t *testing.T) {
	gates := []Gate{unreproduced(), contamination(), agentReject(), unknownCustom(), flopsOverBudget(2, 1), cheat(FakeOptimizer),
		evidenceMissing("split_nll"), nllMiss(2.99, 3, 0.02), splitRegress("web_ood", 3, 2, 1e-9), qualityFloor(3, 2, 0.5),
		throughputMiss(1e17, 2, 0.1), wallOverBudget(math.MaxUint64, 1)}
	if len(gates) != len(storedGates()) {
		t.Fatalf("%d gates here, %d can be read", len(gates), len(storedGates()))
	}
	want := Verdict{Agent: Agent{Kind: Reject, CheatCodes: []CheatCode{Other, FakeOptimizer}, Family: NLL}, Failed: gates}
	got, err := ParseVerdict(want.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got.Detail() != want.Detail() {
		t.Errorf("got  %s\nwant %s", got.Detail(), want.Detail())
	}
	if diff := cmp.Diff(want.Agent, got.Agent); diff != "" {
		t.Error("the order of codes is kept as it was stored", diff)
	}
}

func TestVerdictsOfEveryKindReadBackEqual(t *testing.T) {
	topic := Topic{ID: "topic", Family: Custom, CustomID: "score", Primary: "score", Direction: Max, EpsilonRel: 0.05, FlopsBudget: 100}
	run, err := JudgeRun(topic, Metrics{CustomValue: ptr(1.0)}, Run{DeclaredFlops: 5, FlopsUsed: ptr(uint64(200)), PrimaryValue: ptr(0.5), RulesVersion: 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Verdict{
		"a run":              run,
		"a red checklist":    RejectChecklist(topic, Metrics{CustomValue: ptr(1.0)}, 3, "checklist red: a"),
		"a contaminated one": PreEvalReject(topic, []string{"x"}),
		"an undeclared one":  PreEvalReject(topic, nil),
		"a pass":             Judge(Input{Topic: topic, Sealed: Metrics{CustomValue: ptr(1.0)}, Registered: true, Agent: Agent{Kind: Clean, Reproduced: true, Family: Custom}, Harness: Harness{Metrics: Metrics{CustomValue: ptr(2.0)}}}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseVerdict(want.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Gate{}, field{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseVerdictRefusesWhatIsNoStoredVerdict(t *testing.T) {
	stored := string(Verdict{Agent: Agent{Kind: Clean, CheatCodes: []CheatCode{Other}}, Failed: []Gate{cheat(Other), nllMiss(1, 2, 3)}}.AppendJSON(nil))
	for _, c := range []struct{ name, old, new, want string }{
		{"no JSON", stored, "{", "verdict: "},
		{"a list", stored, "[]", "verdict: is an array"},
		{"a missing member", `,"lattice":0`, ``, "the key lattice is missing"},
		{"an unknown member", `{"pass"`, `{"extra":1,"pass"`, "verdict.extra: unknown key"},
		{"a member twice", `{"pass":false`, `{"pass":false,"pass":false`, "pass"},
		{"another order", `"reproduced":false,"claim_holds_public":false`, `"claim_holds_public":false,"reproduced":false`, "not as it was stored: byte "},
		{"a space", `{"pass":false`, `{"pass": false`, "not as it was stored: byte 8 differs"},
		{"an integer for a float", `"holdout_nll":0.0`, `"holdout_nll":0`, "not as it was stored"},
		{"a fraction for an integer", `"lattice":0`, `"lattice":0.5`, "verdict.lattice: "},
		{"a negative count", `"flops_used":0`, `"flops_used":-1`, "verdict.agent.flops_used: "},
		{"null for a flag", `"pass":false`, `"pass":null`, "verdict.pass: is null"},
		{"an unknown cheat code", `["other"]`, `["new"]`, "verdict.agent.cheat_codes[0]"},
		{"an unknown gate", `{"cheat":`, `{"cheats":`, `"cheats" is no gate`},
		{"an unknown gate without fields", `{"cheat":{"code":"other"}}`, `"passed"`, `"passed" is no gate`},
		{"a gate that lost its fields", `{"cheat":{"code":"other"}}`, `"cheat"`, `"cheat" is no gate of this build in this form`},
		{"a gate that got fields", `{"cheat":{"code":"other"}}`, `{"unreproduced":{}}`, `"unreproduced" is no gate of this build in this form`},
		{"two gates in one", `{"cheat":{"code":"other"}}`, `{"cheat":{"code":"other"},"contamination":{}}`, "want the name of a gate"},
		{"a number for a gate", `{"cheat":{"code":"other"}}`, `7`, "want the name of a gate"},
		{"a gate without its field", `{"code":"other"}`, `{}`, "the key code is missing"},
		{"a field of another type", `"epsilon":3.0`, `"epsilon":"3"`, "verdict.failed[1].nll_miss.epsilon: "},
		{"splits that are a list", `"split_nll":{}`, `"split_nll":[]`, "verdict.harness.split_nll: is an array"},
		{"a split that is a text", `"split_nll":{}`, `"split_nll":{"a":"b"}`, "verdict.harness.split_nll."},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(stored, c.old, c.new, 1)
			if text == stored {
				t.Fatal("nothing was replaced in", stored)
			}
			if _, err := ParseVerdict([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

func FuzzParseVerdict(f *testing.F) {
	f.Add(Verdict{}.AppendJSON(nil))
	f.Add(PreEvalReject(Topic{ID: "t", Family: NLL}, []string{"x"}).AppendJSON(nil))
	f.Add(Verdict{Failed: []Gate{cheat(Other), splitRegress("é", 1, math.NaN(), 3), unreproduced()},
		Harness: Harness{WallS: ptr(uint64(1)), Metrics: Metrics{SplitNLL: map[string]float64{"a": 1}}}}.AppendJSON(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, err := ParseVerdict(data); err == nil && string(v.AppendJSON(nil)) != string(data) {
			t.Errorf("%s reads as %s", data, v.AppendJSON(nil))
		}
	})
}
