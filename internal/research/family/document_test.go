package family

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/research/strict"
)

const document = `{"schema_version":1,"submission_digest":"d1","artifact_digest":"AB","topic_id":"topic",` +
	`"eval_image_digest":"sha256:78","holdout_commitment":"cc",` +
	`"agent":{"verdict":"clean","reproduced":true,"claim_holds_public":true,"contamination":false,"canary_hit":false,` +
	`"flops_used":2000000000000000000,"flops_budget":2000000000000000000,"cheat_codes":[],"rationale":"ok","topic_id":"topic","family":"nll"},` +
	`"harness":{"holdout_nll":3,"split_nll":{"web_ood":2.5,"longctx":3},"wall_s":7,"public_nll":null}}`

func expected() Expected {
	return Expected{SubmissionDigest: "d1", ArtifactDigest: "ab", TopicID: "topic", EvalImageDigest: "sha256:78",
		HoldoutCommitment: "CC", Family: NLL}
}

func TestSection10AnEvalDocumentIsReadAndBinds(t *testing.T) {
	d, err := ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	want := &Document{SchemaVersion: 1, SubmissionDigest: "d1", ArtifactDigest: "AB", TopicID: "topic",
		EvalImageDigest: "sha256:78", HoldoutCommitment: "cc",
		Agent: Agent{Kind: Clean, Reproduced: true, ClaimHoldsPublic: true, FlopsUsed: 2e18, FlopsBudget: 2e18,
			Rationale: "ok", TopicID: "topic", Family: NLL},
		Harness: Harness{Metrics: Metrics{HoldoutNLL: 3, SplitNLL: map[string]float64{"web_ood": 2.5, "longctx": 3}}, WallS: ptr(uint64(7))}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Fatal(diff)
	}
	if err := d.Bind(expected()); err != nil {
		t.Fatal(err)
	}
}

func TestSection10BindingRefusesADocumentOfAnotherRun(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"another schema", `"schema_version":1`, `"schema_version":2`, "recorded baseline: schema_version: 2, this build reads 1"},
		{"another submission", `"d1"`, `"d2"`, `recorded baseline: submission_digest: "d2" where "d1" was asked for`},
		{"a digest of another case", `"d1"`, `"D1"`, `recorded baseline: submission_digest: `},
		{"another artefact", `"AB"`, `"ac"`, "recorded baseline: artifact_digest: "},
		{"another topic", `"topic_id":"topic","eval`, `"topic_id":"other","eval`, "recorded baseline: topic_id: "},
		{"another image", `"sha256:78"`, `"sha256:79"`, "recorded baseline: eval_image_digest: "},
		{"another holdout", `"cc"`, `"cd"`, "recorded baseline: holdout_commitment: "},
		{"an agent of another topic", `"topic_id":"topic","family"`, `"topic_id":"other","family"`, "no agent verdict: agent.topic_id: "},
		{"an agent of another family", `"family":"nll"`, `"family":"custom"`, "no agent verdict: agent.family: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ParseDocument([]byte(strings.Replace(document, c.old, c.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Bind(expected()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%v, want %s…", err, c.want)
			}
		})
	}
}

func TestSection10BindingTellsTheFirstFaultInTheOrderOfTheReference(t *testing.T) {
	d := &Document{SchemaVersion: 9}
	steps := []struct {
		field string
		mend  func()
	}{
		{"schema_version", func() { d.SchemaVersion = 1 }},
		{"submission_digest", func() { d.SubmissionDigest = "d1" }},
		{"artifact_digest", func() { d.ArtifactDigest = "ab" }},
		{"topic_id", func() { d.TopicID = "topic" }},
		{"eval_image_digest", func() { d.EvalImageDigest = "sha256:78" }},
		{"holdout_commitment", func() { d.HoldoutCommitment = "cc" }},
		{"agent.topic_id", func() { d.Agent.TopicID = "topic" }},
		{"agent.family", func() { d.Agent.Family = NLL }},
	}
	for _, step := range steps {
		var fault *EvidenceError
		if err := d.Bind(expected()); !errors.As(err, &fault) || fault.Field != step.field {
			t.Fatalf("%v, want a fault of %s", err, step.field)
		}
		step.mend()
	}
	if err := d.Bind(expected()); err != nil {
		t.Fatal(err)
	}
}

func TestSection10TheParserIsStrict(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a duplicate member", `"schema_version":1`, `"schema_version":1,"schema_version":1`, "appears twice"},
		{"an unknown member", `"schema_version":1`, `"schema_version":1,"extra":1`, "extra: unknown key"},
		{"a member of another case", `"topic_id":"topic","eval`, `"Topic_id":"topic","eval`, "Topic_id: unknown key; did you mean topic_id?"},
		{"a member that is not there", `"topic_id":"topic","eval`, `"eval`, "recorded baseline: eval document: the key topic_id is missing"},
		{"a split that is null", `"web_ood":2.5`, `"web_ood":null`, "harness.split_nll.web_ood: is null"},
		{"a fraction for an integer", `"schema_version":1`, `"schema_version":1.0`, "schema_version: is the number 1 with a point"},
		{"an exponent for an integer", `"flops_used":2000000000000000000`, `"flops_used":2e18`, "no agent verdict: agent.flops_used: is the number 2e+18 with a point or exponent"},
		{"a negative usage", `"flops_used":2000000000000000000`, `"flops_used":-1`, "agent.flops_used: is -1"},
		{"a usage beyond 64 bits", `"flops_used":2000000000000000000`, `"flops_used":18446744073709551616`, "agent.flops_used: is 18446744073709551616"},
		{"null for a figure that must be there", `"holdout_nll":3`, `"holdout_nll":null`, "recorded baseline: harness.holdout_nll: is null"},
		{"a missing figure that must be there", `"holdout_nll":3,`, ``, "recorded baseline: harness: the key holdout_nll is missing"},
		{"a figure as text", `"holdout_nll":3`, `"holdout_nll":"3"`, "harness.holdout_nll: is a string"},
		{"a figure beyond range", `"holdout_nll":3`, `"holdout_nll":1e999`, ""},
		{"an integer figure beyond range", `"holdout_nll":3`, `"holdout_nll":1` + strings.Repeat("0", 400), "which is beyond every float"},
		{"an unknown split", `"web_ood"`, `"web"`, "harness.split_nll.web: unknown key"},
		{"an unknown member of the harness", `"wall_s":7`, `"wall_ms":7`, "harness.wall_ms: unknown key; did you mean wall_s?"},
		{"no harness", `"harness":`, `"harnesses":`, "harnesses: unknown key; did you mean harness?"},
		{"NaN", `"holdout_nll":3`, `"holdout_nll":NaN`, ""},
		{"text after the document", `"public_nll":null}}`, `"public_nll":null}} {}`, ""},
		{"an array", document, `[]`, "is "},
		{"nothing", document, ``, ""},
		{"too much", document, strings.Repeat(" ", strict.MaxSize) + "{}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(document, c.old, c.new, 1)
			if text == document {
				t.Fatal("the case changes nothing")
			}
			_, err := ParseDocument([]byte(text))
			var fault *EvidenceError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestSection10AnUnreadableAgentIsNoAgentVerdict(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"no agent", `"agent":`, `"agents_":`},
		{"an unknown verdict", `"verdict":"clean"`, `"verdict":"fine"`},
		{"a missing judgement", `"reproduced":true,`, ``},
		{"no usage", `"flops_used":2000000000000000000,`, ``},
		{"an unknown member", `"canary_hit":false`, `"canary_hit":false,"mood":1`},
		{"a judgement of another case", `"reproduced"`, `"Reproduced"`},
		{"an unknown family", `"family":"nll"`, `"family":"NLL"`},
		{"codes that are no list", `"cheat_codes":[]`, `"cheat_codes":"other"`},
		{"a code that is no text", `"cheat_codes":[]`, `"cheat_codes":[1]`},
		{"null codes", `"cheat_codes":[]`, `"cheat_codes":null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(document, c.old, c.new, 1)
			if c.name == "no agent" {
				start, end := strings.Index(document, `"agent":`), strings.Index(document, `"harness":`)
				text = document[:start] + document[end:]
			}
			_, err := ParseDocument([]byte(text))
			var fault *EvidenceError
			if !errors.As(err, &fault) || fault.Kind != NoAgent || !strings.HasPrefix(err.Error(), "no agent verdict: ") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestSection10MetricsThatAnAgentFillsInAreDropped(t *testing.T) {
	text := strings.Replace(document, `"canary_hit":false`,
		`"canary_hit":false,"holdout_nll":0.1,"baseline_nll":"x","delta":[],"pass":true`, 1)
	d, err := ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if d.Harness.HoldoutNLL != 3 {
		t.Errorf("holdout_nll %v", d.Harness.HoldoutNLL)
	}
}

func TestSection10CheatCodesAreSortedUniqueAndUnknownOnesAreOther(t *testing.T) {
	text := strings.Replace(document, `"cheat_codes":[]`,
		`"cheat_codes":["brand_new","fake_optimizer","flops_over_budget","fake_optimizer","Contamination"]`, 1)
	d, err := ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]CheatCode{FlopsOverBudget, FakeOptimizer, Other}, d.Agent.CheatCodes); diff != "" {
		t.Error(diff)
	}
}

func TestSection10ARationaleIsCutBetweenCharacters(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"a short one stays":               {"as it is", 8},
		"one of the limit stays":          {strings.Repeat("x", 4096), 4096},
		"one byte more is cut":            {strings.Repeat("x", 4097), 4096},
		"a character across the limit":    {strings.Repeat("x", 4095) + "é", 4095},
		"a character that ends there":     {strings.Repeat("x", 4094) + "éa", 4096},
		"four bytes across the limit":     {strings.Repeat("x", 4093) + "🙂", 4093},
		"only characters of three bytes":  {strings.Repeat("€", 2000), 4095},
		"a combining mark may be dropped": {strings.Repeat("x", 4095) + "e\u0301", 4096},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseAgent(Agent{Kind: Clean, Family: NLL, Rationale: c.text}.AppendJSON(nil))
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Rationale) != c.want || !utf8.ValidString(a.Rationale) || !strings.HasPrefix(c.text, a.Rationale) {
				t.Errorf("%d bytes, want %d", len(a.Rationale), c.want)
			}
		})
	}
}

func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(strings.Replace(document, `"ok"`, `"`+strings.Repeat("€", 1500)+`"`, 1)))
	f.Add([]byte(`{"schema_version":1,"agent":[],"harness":{}}`))
	f.Add([]byte(`{"agent":{"cheat_codes":["x","other"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseDocument(data)
		if err != nil {
			var fault *EvidenceError
			if !errors.As(err, &fault) || len(err.Error()) > 4096 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		again, err := ParseAgent(d.Agent.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.Agent, again); diff != "" {
			t.Fatal(diff)
		}
		if v := Judge(Input{Topic: nllTopic(), Sealed: flat(3), Agent: d.Agent, Harness: d.Harness}); v.Pass != (len(v.Failed) == 0) {
			t.Fatalf("%+v", v)
		}
	})
}
