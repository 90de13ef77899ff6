package topic_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// cases are the conformance cases of one area.
func cases(t testing.TB, area string) []any {
	t.Helper()
	var out []any
	for _, c := range at[[]any](t, tree(t, "cases.json"), "/cases") {
		if at[string](t, c, "/area") == area {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no case of %s", area)
	}
	return out
}

// name is what a subtest of a case is called: its input, one line, cut short.
func name(t testing.TB, c any) string {
	t.Helper()
	input, ok := canonjson.Resolve(c, "/input")
	if !ok {
		t.Fatal("a case without an input")
	}
	text, is := input.(string)
	if !is {
		text = string(canonjson.Compact(input))
	}
	if len(text) > 80 {
		text = text[:80]
	}
	return text
}

// TestEveryAreaOfTheCasesIsPlayed holds the list of areas that the tests below go
// through against the file.
func TestEveryAreaOfTheCasesIsPlayed(t *testing.T) {
	t.Parallel()
	played := map[string]bool{}
	for _, area := range strings.Fields(`canonical_json canonical_json_fixed_point is_custom_id is_slug is_model_pin is_opaque_param is_hex64 is_http_origin
		validate_rules topic_id topic_validate is_open_at topic_payload_contains topic_payload_excludes`) {
		played[area] = true
	}
	for _, c := range at[[]any](t, tree(t, "cases.json"), "/cases") {
		if area := at[string](t, c, "/area"); !played[area] {
			t.Errorf("nothing plays the area %s", area)
		}
	}
}

func TestCasesOfShapes(t *testing.T) {
	t.Parallel()
	for area, has := range map[string]func(string) bool{
		"is_custom_id": shape.CustomID, "is_slug": shape.Slug, "is_model_pin": shape.ModelPin,
		"is_opaque_param": shape.Opaque, "is_hex64": shape.Hex64, "is_http_origin": shape.HTTPOrigin,
	} {
		for _, c := range cases(t, area) {
			input := at[string](t, c, "/input")
			t.Run(area+" "+input, func(t *testing.T) {
				t.Parallel()
				if got := has(input); got != at[bool](t, c, "/expected") {
					t.Errorf("%q: %v", input, got)
				}
			})
		}
	}
}

func TestCasesOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t, "canonical_json") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			if got, err := canonjson.Sorted(at[*canonjson.Object](t, c, "/input")); err != nil || string(got) != at[string](t, c, "/expected") {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	for _, c := range cases(t, "canonical_json_fixed_point") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			v, err := canonjson.ParseStrict([]byte(at[string](t, c, "/input")))
			if err != nil {
				t.Fatal(err)
			}
			once, err := canonjson.Sorted(v)
			if err != nil {
				t.Fatal(err)
			}
			again, err := canonjson.ParseStrict(once)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := canonjson.Sorted(again); err != nil || string(twice) != string(once) ||
				!strings.Contains(string(once), `"proxy_model":null`) || !strings.Contains(string(once), `"flops_budget":2000000000000000000`) {
				t.Errorf("%s, then %s, %v", once, twice, err)
			}
		})
	}
}

func TestCasesOfTopicIDs(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t, "topic_id") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			d := nll(t)
			d.ID = at[string](t, c, "/input")
			expect(t, d, host(), d.ID, at[string](t, c, "/expected"), nil)
		})
	}
}

func TestCasesOfRules(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t, "validate_rules") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			var rules []topic.ChecklistItem
			input, _ := canonjson.Resolve(c, "/input")
			switch input := input.(type) {
			case []any:
				for _, pair := range input {
					rules = append(rules, topic.ChecklistItem{ID: at[string](t, pair, "/0"), Text: at[string](t, pair, "/1")})
				}
			case string: // "65 rules"
				rules = many(65)
			}
			if _, why := topic.CheckRules(rules); why != at[string](t, c, "/expected") {
				t.Errorf("%v: %s", input, why)
			}
		})
	}
	if field, why := topic.CheckRules(many(64)); why != "" {
		t.Errorf("64 rules: %s %s", field, why)
	}
}

func many(n int) []topic.ChecklistItem {
	rules := make([]topic.ChecklistItem, n)
	for i := range rules {
		rules[i] = topic.ChecklistItem{ID: "r" + strings.Repeat("x", i%40) + string(rune('a'+i/40)), Text: "t"}
	}
	return rules
}

func TestCasesOfTheOpeningWindow(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t, "is_open_at") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			d := topic.New()
			d.Status = topic.Open
			from, _ := at[canonjson.Int](t, c, "/input/valid_from").Int64()
			d.ValidFromEpoch = uint64(from)
			if until, _ := canonjson.Resolve(c, "/input/valid_until"); until != nil {
				n, _ := until.(canonjson.Int).Int64()
				d.ValidUntilEpoch = ptr(uint64(n))
			}
			epoch := uint64(math.MaxUint64) // "u64::MAX"
			if e, _ := canonjson.Resolve(c, "/input/epoch"); e != "u64::MAX" {
				n, _ := e.(canonjson.Int).Int64()
				epoch = uint64(n)
			}
			if got := d.OpenAt(epoch); got != at[bool](t, c, "/expected") {
				t.Errorf("from %d to %v at %d: %v", d.ValidFromEpoch, d.ValidUntilEpoch, epoch, got)
			}
			for _, status := range []topic.Status{topic.Draft, topic.Closed} {
				if d.Status = status; d.OpenAt(epoch) {
					t.Errorf("open while %s", status)
				}
			}
		})
	}
	d := topic.New()
	d.Status, d.ValidFromEpoch, d.ValidUntilEpoch = topic.Open, 10, ptr(uint64(20))
	if d.OpenAt(9) || !d.OpenAt(20) {
		t.Error("the window's ends are 10 and 20, both included")
	}
}

func TestCasesOfSignedBytes(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t, "topic_payload_contains") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			payload, err := vector(t, "custom-draft-generic-bindings").Payload()
			for _, part := range at[[]any](t, c, "/expected") {
				if err != nil || !strings.Contains(string(payload), part.(string)) {
					t.Errorf("no %s in %s, %v", part, payload, err)
				}
			}
		})
	}
	for _, c := range cases(t, "topic_payload_excludes") {
		t.Run(name(t, c), func(t *testing.T) {
			t.Parallel()
			payload, err := nll(t).Payload()
			for _, part := range at[[]any](t, c, "/expected") {
				if err != nil || strings.Contains(string(payload), part.(string)) {
					t.Errorf("%s in %s, %v", part, payload, err)
				}
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// host is a pin with a model for the judge, so that topics without one may open.
func host() *pin.Pin {
	p := pin.Default()
	p.Inference.Model = "master-proxy-v0"
	p.TopicPubkey = "5a714bcc1332e8ce4354ab4573450fc2517beb5568e3771c48e7195b415e3d7b"
	return p
}

func nll(t testing.TB) *topic.Document        { return vector(t, "nll-open-sealed") }
func throughput(t testing.TB) *topic.Document { return vector(t, "throughput-open-sealed") }
func custom(t testing.TB) *topic.Document     { return vector(t, "custom-draft-generic-bindings") }

// kinds are the names of the reference's refusals.
var kinds = map[string]topic.Kind{
	"BadId": topic.BadID, "BadMetric": topic.BadMetric, "LoosenedFloor": topic.LoosenedFloor, "StrawmanBaseline": topic.StrawmanBaseline,
	"BudgetMismatch": topic.BudgetMismatch, "BaselineUnsealed": topic.BaselineUnsealed, "BadBinding": topic.BadBinding,
	"MissingFamilyField": topic.MissingFamilyField, "BadDiscoveryShares": topic.BadDiscoveryShares, "BadValidation": topic.BadValidation,
	"InferenceCeiling": topic.InferenceCeiling, "IncompleteInference": topic.IncompleteInference,
	"ExecutorDeadlineCeiling": topic.ExecutorDeadlineCeiling,
}

// expect validates a document against the words of a case: "ok…", or the name of
// a refusal, "or" another, and details that its text must hold.
func expect(t *testing.T, d *topic.Document, p *pin.Pin, input, expected string, registered func(string) bool) {
	t.Helper()
	err := d.Validate(p, registered)
	if strings.HasPrefix(expected, "ok") {
		if err != nil {
			t.Errorf("%s: %v", input, err)
		}
		return
	}
	var refusal *topic.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%s: %v, want %s", input, err, expected)
	}
	for alternative := range strings.SplitSeq(expected, " or ") {
		name := alternative
		if cut := strings.IndexAny(name, " ("); cut >= 0 {
			name = name[:cut]
		}
		if kind, known := kinds[name]; known && kind == refusal.Kind {
			return
		} else if !known {
			t.Fatalf("no kind for %s", alternative)
		}
	}
	t.Errorf("%s: %s %s, want %s", input, refusal.Kind, refusal, expected)
}

func TestCasesOfTopicValidation(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	// Each input of the cases and what it does to which fixture.
	type set struct {
		doc        *topic.Document
		pin        *pin.Pin
		registered func(string) bool
		text       string // what the refusal's text must hold
	}
	on := func(d *topic.Document, change func(*topic.Document)) set {
		change(d)
		return set{doc: d, pin: host()}
	}
	holds := func(s set, text string) set { s.text = text; return s }
	with := func(s set, change func(*pin.Pin)) set { change(s.pin); return s }
	registering := func(s set, registered func(string) bool) set { s.registered = registered; return s }
	n, tp, cu := func() *topic.Document { return nll(t) }, func() *topic.Document { return throughput(t) }, func() *topic.Document { return custom(t) }
	inputs := map[string]set{
		"epsilon_nll=0.05, epsilon_topic_max_regress=0.06": on(n(), func(d *topic.Document) { d.EpsilonNLL, d.EpsilonTopicMaxRegress = 0.05, 0.06 }),
		"epsilon_topic_max_regress=0.04":                   holds(on(n(), func(d *topic.Document) { d.EpsilonTopicMaxRegress = 0.04 }), "epsilon_topic_max_regress = 0.04 loosens the pin floor 0.05"),
		"baseline.warmup_ratio=0.0":                        on(n(), func(d *topic.Document) { d.Baseline.WarmupRatio = 0 }),
		"baseline.schedule=constant":                       on(n(), func(d *topic.Document) { d.Baseline.Schedule = "constant" }),
		"baseline.betas=[0.9,0.999]":                       on(n(), func(d *topic.Document) { d.Baseline.Betas = []float64{0.9, 0.999} }),
		"throughput baseline optimizer=nccl-ib-reference lr=1e-3": on(tp(), func(d *topic.Document) {
			d.Baseline.Optimizer, d.Baseline.LR = "nccl-ib-reference", 1e-3
		}),
		"throughput baseline.wall_budget_s=60 vs metric 14400": holds(on(tp(), func(d *topic.Document) { d.Baseline.WallBudgetS = 60 }), "wall_budget_s 60 does not equal the topic's 14400"),
		"open, metrics_commitment empty":                       on(n(), func(d *topic.Document) { d.Baseline.MetricsCommitment = "" }),
		"draft, metrics_commitment empty":                      on(n(), func(d *topic.Document) { d.Status, d.Baseline.MetricsCommitment = topic.Draft, "" }),
		"throughput quality_floor_nll=1.0":                     holds(on(tp(), func(d *topic.Document) { d.Metric.QualityFloorNLL = 1 }), "metric.quality_floor_nll = 1 loosens the pin floor 0.02"),
		"throughput epsilon_rel=0.01":                          holds(on(tp(), func(d *topic.Document) { d.Metric.EpsilonRel = 0.01 }), "metric.epsilon_rel = 0.01"),
		"nll primary=tokens_per_sec":                           on(n(), func(d *topic.Document) { d.Metric.Primary = "tokens_per_sec" }),
		"throughput tokens_per_sec direction=min":              on(tp(), func(d *topic.Document) { d.Metric.Direction = topic.Min }),
		"custom open id registered":                            registering(on(cu(), func(d *topic.Document) { d.Status = topic.Open }), all),
		"custom draft id unregistered":                         on(cu(), func(*topic.Document) {}),
		"custom primary 'bits per joule'":                      on(cu(), func(d *topic.Document) { d.Metric.Primary = "bits per joule" }),
		"constraints.model_pin=model":                          holds(on(cu(), func(d *topic.Document) { d.Constraints.ModelPin = ptr("model") }), "topic binding constraints.model_pin: vendor/model[:tag]"),
		"constraints.params has key 'Bad Key'":                 holds(on(cu(), func(d *topic.Document) { d.Constraints.Params = map[string]string{"Bad Key": "v"} }), "topic binding constraints.params: "),
		"checklist id 'Same Seed'":                             holds(on(cu(), func(d *topic.Document) { d.Checklist[0].ID = "Same Seed" }), "checklist[Same Seed]: id must match"),
		"discovery 2000+7000":                                  holds(on(n(), func(d *topic.Document) { d.Discovery.PassFloorShareBPS = 2000 }), "got 9000"),
		"validation.score_on empty":                            holds(on(n(), func(d *topic.Document) { d.Validation.ScoreOn = " " }), "validation.score_on"),
		"inference.max_input_tokens=4096,max_output_tokens=256": on(n(), func(d *topic.Document) {
			d.Inference.MaxInputTokens, d.Inference.MaxOutputTokens = ptr(uint32(4096)), ptr(uint32(256))
		}),
		"inference.max_input_tokens=32769": holds(on(n(), func(d *topic.Document) { d.Inference.MaxInputTokens = ptr(uint32(32769)) }), "must be 1..=32768"),
		"pin.inference.max_input_tokens=4096 and topic 8192": holds(with(on(n(), func(d *topic.Document) { d.Inference.MaxInputTokens = ptr(uint32(8192)) }), func(p *pin.Pin) {
			p.Inference.MaxInputTokens = 4096
		}), "inference.max_input_tokens = 8192 must be 1..=4096"),
		"open topic, pin model empty, topic model unset": with(on(n(), func(*topic.Document) {}), func(p *pin.Pin) { p.Inference.Model = "" }),
		"open topic, pin model empty, topic model set":   with(on(n(), func(d *topic.Document) { d.Inference.Model = ptr("m") }), func(p *pin.Pin) { p.Inference.Model = "" }),
		"eval_executor.max_proof_deadline_s=7201":        holds(on(n(), func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(7201)) }), "eval_executor.max_proof_deadline_s = 7201 must be 1..=7200"),
		"eval_executor.max_proof_deadline_s=7200":        on(n(), func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(7200)) }),
	}
	used := 0
	for _, c := range cases(t, "topic_validate") {
		input, expected := at[string](t, c, "/input"), at[string](t, c, "/expected")
		t.Run(input, func(t *testing.T) {
			switch input {
			case "custom draft custom_id in {'', Upper, 'has space', x, dotted.id}":
				for _, id := range []string{"", "Upper", "has space", "x", "dotted.id"} {
					d := custom(t)
					d.Metric.CustomID = id
					expect(t, d, host(), id, expected, nil)
				}
			case "eval_executor.machine_id present":
				_, err := topic.ParseJSON([]byte(`{"eval_executor":{"machine_id":"m"}}`))
				if err == nil || !strings.HasPrefix(err.Error(), "parse topic document: eval_executor.machine_id: unknown key") {
					t.Error(err)
				}
			case "signature empty", "signed by another key":
				d, want := nll(t), topic.ErrSignatureEncoding
				if input != "signature empty" {
					other, err := sr25519.ParseSecret([]byte(strings.Repeat("12", 32)))
					if err == nil {
						err = d.Sign(nil, other)
					}
					if err != nil {
						t.Fatal(err)
					}
					want = topic.ErrSignature
				}
				if err := d.Verify(host()); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			default:
				s, ok := inputs[input]
				if !ok {
					t.Fatal("no fixture for this case")
				}
				used++
				expect(t, s.doc, s.pin, input, expected, s.registered)
				if err := s.doc.Validate(s.pin, s.registered); s.text != "" && !strings.Contains(err.Error(), s.text) {
					t.Errorf("%v does not hold %q", err, s.text)
				}
			}
		})
	}
	if used != len(inputs) {
		t.Errorf("%d of %d fixtures belong to a case", used, len(inputs))
	}
}

func TestR59TheSpecificationsExamplesAreRefusedAsPrinted(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"seed-dt-no-ib-v0.json":              "baseline wall_budget_s 0 does not equal the topic's 14400",
		"seed-agent-harness-improve-v0.json": "holdout_commitment must be 64 hex chars",
	} {
		d, err := topic.Parse(read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Validate(host(), nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
