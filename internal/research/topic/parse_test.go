package topic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestAnEmptyDraftIsAllDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}", " {}\n", "---\n{}\n", "# nothing set\nbaseline: {}\nmetric: {}\n"} {
		d, err := topic.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(topic.New(), d); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestR3KeysAndTypesAreExact gives each faulty draft as JSON, its error, and
// whether that is one of syntax.
func TestR3KeysAndTypesAreExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":"a-b","id":"c-d"}`:                          `id: member name "id" appears twice in one object; remove one`,
		`{"metric":{"unit":"a","unit":"a"}}`:               `metric.unit: member name "unit" appears twice in one object; remove one`,
		`{"Id":"a-b"}`:                                     `Id: unknown key; did you mean id?`,
		`{"payout-mode":"wta"}`:                            `payout-mode: unknown key; did you mean payout_mode?`,
		`{"payoutMode":"wta"}`:                             `payoutMode: unknown key; did you mean payout_mode?`,
		`{"constraints":{"no_infinband":true}}`:            `constraints.no_infinband: unknown key; did you mean no_infiniband?`,
		`{"constraints":{"gpu":1}}`:                        `constraints.gpu: unknown key; known here: firecracker_required, max_inter_node_gbps, model_pin, no_infiniband, no_nccl_fast_fabric, no_nvlink, params, task_slice`,
		`{"checklist":[{"id":"aa","text":"t"},{"ID":""}]}`: `checklist[1].ID: unknown key; did you mean id?`,
		`{"eval_executor":{"machine_id":"m"}}`:             `eval_executor.machine_id: unknown key; known here: max_proof_deadline_s, require_offer_commitment`,
		`{"flops_budget":2e18}`:                            `flops_budget: is the number 2e+18 with a point or exponent, want an integer written in digits`,
		`{"flops_budget":2000000000000000000.0}`:           `flops_budget: is the number 2e+18 with a point or exponent, want an integer written in digits`,
		`{"flops_budget":"1"}`:                             `flops_budget: is a string, want an integer`,
		`{"flops_budget":-1}`:                              `flops_budget: is -1, want an integer from 0 to 18446744073709551615`,
		`{"flops_budget":18446744073709551616}`:            `flops_budget: is 18446744073709551616, want an integer from 0 to 18446744073709551615`,
		`{"schema_version":4294967297}`:                    `schema_version: is 4294967297, want an integer from 0 to 4294967295`,
		`{"discovery":{"pass_floor_share_bps":65536}}`:     `discovery.pass_floor_share_bps: is 65536, want an integer from 0 to 65535`,
		`{"epsilon_nll":"0.02"}`:                           `epsilon_nll: is a string, want a number`,
		`{"epsilon_nll":1e999}`:                            `epsilon_nll: is +Inf, want a finite number`,
		`{"id":null}`:                                      `id: is null, want a string; leave the key out for its default`,
		`{"checklist":null}`:                               `checklist: is null, want an array; leave the key out for its default`,
		`{"constraints":null}`:                             `constraints: is null, want an object; leave the key out for its default`,
		`{"constraints":{"params":null}}`:                  `constraints.params: is null, want an object of strings; leave the key out for its default`,
		`{"constraints":{"params":{"k":1}}}`:               `constraints.params.k: is an integer, want a string`,
		`{"constraints":{"no_nvlink":1}}`:                  `constraints.no_nvlink: is an integer, want true or false`,
		`{"baseline":{"betas":[0.9,null]}}`:                `baseline.betas[1]: is null, want a number; leave the key out for its default`,
		`{"payout_mode":"WTA"}`:                            `payout_mode: is "WTA", want one of wta, discovery; did you mean wta?`,
		`{"status":"live"}`:                                `status: is "live", want one of draft, open, closed`,
		`{"inference":{"mode":"chats"}}`:                   `inference.mode: is "chats", want one of chat, completions, embeddings; did you mean chat?`,
		`[]`:                                               `is an array, want an object`,
	} {
		_, err := topic.Parse([]byte(text))
		var fault *strict.Error
		if !errors.As(err, &fault) || err.Error() != "parse topic document: "+want || fault.Syntax {
			t.Errorf("%s: %v\nwant parse topic document: %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                           `the text is empty`,
		`{"id":}`:                    `id: invalid JSON at byte 6: '}' where a value was expected`,
		`{"epsilon_nll":NaN}`:        `epsilon_nll: invalid JSON at byte 15: 'N' where a value was expected`,
		`{"id":"\ud800"}`:            `id: invalid JSON at byte 7: \ud800 is half of a surrogate pair`,
		`{} {}`:                      `invalid JSON at byte 3: '{' after the end of the value`,
		strings.Repeat("[", 200):     `[0][0][0]`,
		strings.Repeat(" ", 1<<20+1): `1048577 bytes; at most 1048576 are read`,
		"id: a-b\n---\nid: c-d\n":    `a second document starts on line `,
		"id: [":                      `invalid YAML: `,
		"id: \xff":                   `invalid YAML: the text is not UTF-8`,
	} {
		_, err := topic.Parse([]byte(text))
		var fault *strict.Error
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), "parse topic document: "+want) || !fault.Syntax {
			t.Errorf("%.60q: %.200v\nwant %s", text, err, want)
		}
	}
}

func TestYAMLDraftsAreAsStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"id: a-b\nid: c-d":                   `id: the key appears twice, again on line 2; remove one`,
		"constraints:\n  no-nvlink: true":    `constraints.no-nvlink: unknown key; did you mean no_nvlink?`,
		"constraints:\n  no_nvlink: yes":     `constraints.no_nvlink: is a string, want true or false`,
		"flops_budget: 2e18":                 `flops_budget: is the number 2e+18 with a point or exponent, want an integer written in digits`,
		"flops_budget: 010":                  `flops_budget: is 010; write numbers in plain decimal digits, or put quotes around a string`,
		"flops_budget: 1_000":                `flops_budget: is 1_000; write numbers in plain decimal digits, or put quotes around a string`,
		"flops_budget: 0x10":                 `flops_budget: is 0x10; write numbers in plain decimal digits, or put quotes around a string`,
		"flops_budget: 99999999999999999999": `flops_budget: is 99999999999999999999, want an integer from 0 to 18446744073709551615`,
		"flops_budget: !!float 3":            `flops_budget: is the number 3 with a point or exponent, want an integer written in digits`,
		"statement: 12":                      `statement: is an integer, want a string`,
		"statement:":                         `statement: is null, want a string; leave the key out for its default`,
		"statement: !custom x":               `statement: has the tag !custom; only the types of JSON are read`,
		"metric: !!set {a}":                  `metric: has the tag !!set; only the types of JSON are read`,
		"metric:\n  <<: {unit: a}":           `metric.<<: merge keys are not read; write the keys out`,
		"metric:\n  1: a":                    `metric.1: the key is no string (!!int); put it in quotes`,
		"metric:\n  [a]: b":                  `metric: has a key on line 2 that is no string`,
		"baseline:\n  eps: .inf":             `baseline.eps: is +Inf, want a finite number`,
		"baseline:\n  eps: .nan":             `baseline.eps: is NaN, want a finite number`,
		"a text":                             `is a string, want an object`,
		"- id: a-b":                          `is an array, want an object`,
	} {
		_, err := topic.ParseYAML([]byte(text))
		var fault *strict.Error
		if !errors.As(err, &fault) || err.Error() != "parse topic document: "+want || fault.Syntax {
			t.Errorf("%q: %v\nwant parse topic document: %s", text, err, want)
		}
	}
	d, err := topic.ParseYAML([]byte("statement: 2026-01-01\nepsilon_nll: .nan\nconstraints:\n  task_slice: 'no'\n  params: &p {k_k: \"010\"}\nmetric: {unit: yes, epsilon_rel: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Statement != "2026-01-01" || *d.Constraints.TaskSlice != "no" || d.Constraints.Params["k_k"] != "010" || d.Metric.Unit != "yes" || d.Metric.EpsilonRel != 1 {
		t.Errorf("%+v", d)
	}
	d.ID, d.Constraints.Params = "ab", nil
	d.Metric = topic.New().Metric
	if err := d.Validate(host(), nil); err == nil || err.Error() != "epsilon_nll = NaN loosens the pin floor 0.02" {
		t.Error(err)
	}
	if _, err := d.Payload(); err == nil || !strings.Contains(err.Error(), "/epsilon_nll (NaN)") {
		t.Error(err)
	}
}

func TestYAMLAliasesAreReadAndBounded(t *testing.T) {
	t.Parallel()
	d, err := topic.ParseYAML([]byte("statement: &s the text\nvalidation: {score_on: *s}\n"))
	if err != nil || d.Validation.ScoreOn != "the text" {
		t.Errorf("%v", err)
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		prev := "*a" + string(rune('0'+(i-1)%10)) + strings.Repeat("b", (i-1)/10)
		bomb.WriteString("a" + string(rune('0'+i%10)) + strings.Repeat("b", i/10) + ": &a" + string(rune('0'+i%10)) + strings.Repeat("b", i/10) + " [" + strings.TrimSuffix(strings.Repeat(prev+", ", 10), ", ") + "]\n")
	}
	if _, err := topic.ParseYAML([]byte(bomb.String())); err == nil || !strings.Contains(err.Error(), "more than 20000 values") {
		t.Errorf("%v", err)
	}
	if _, err := topic.ParseYAML([]byte("checklist: &c [*c]\n")); err == nil {
		t.Error("an alias of what holds it is read")
	}
}

func TestR59TopicFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"id":"a-1"},{"id":"a-2"}]`, `{"topics":[{"id":"a-1"},{"id":"a-2"}]}`, "- id: a-1\n- id: a-2\n", "topics:\n- id: a-1\n- id: a-2\n",
	} {
		list, err := topic.ParseFile([]byte(text))
		if err != nil || len(list) != 2 || list[0].ID != "a-1" || list[1].ID != "a-2" {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
	for text, want := range map[string]string{
		`{"topic":[]}`:              `parse topic file: topic: unknown key; did you mean topics?`,
		`{}`:                        `parse topic file: is an object without the key topics`,
		`{"topics":{}}`:             `parse topic file: topics: is an object, want an array of topic documents`,
		`3`:                         `parse topic file: is an integer, want an array of topic documents`,
		`{"topics":[{},{"Id":""}]}`: `parse topic document: topics[1].Id: unknown key; did you mean id?`,
		`[{"metric":{"x":1}}]`:      `parse topic document: [0].metric.x: unknown key; known here: `,
		`[`:                         `parse topic file: [0]: invalid JSON at byte 1: `,
	} {
		if _, err := topic.ParseFile([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: no text panics; a document that is read is written, read again as
// the same and signs to the same bytes; validating never panics.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"seed-dt-no-ib-v0.json", "seed-agent-harness-improve-v0.json"} {
		f.Add(read(f, name))
	}
	for name := range map[string]bool{"nll-open-sealed": true, "custom-draft-generic-bindings": true} {
		text, err := vector(f, name).JSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("id: ab\nmetric: {epsilon_rel: .nan}\nconstraints: &a {params: {k: v}}\nchecklist: [{id: x}, {text: \"\\u00e9\"}]\n"))
	f.Add([]byte("checklist: &c [*c]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := topic.Parse(text)
		if err != nil {
			var fault *strict.Error
			if !errors.As(err, &fault) || fault.Reason == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		invalid := d.Validate(host(), func(string) bool { return true })
		payload, err := d.Payload()
		if err != nil {
			if invalid == nil {
				t.Fatalf("validates and has no signed bytes: %v", err)
			}
			return
		}
		full, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := topic.ParseJSON(full)
		if err != nil {
			t.Fatalf("%v in %s", err, full)
		}
		if twice, err := again.Payload(); err != nil || string(twice) != string(payload) || again.Signature != d.Signature {
			t.Fatalf("%s\n%s, %v", payload, twice, err)
		}
	})
}

// FuzzParseFile: no text panics.
func FuzzParseFile(f *testing.F) {
	f.Add([]byte(`{"topics":[{"id":"a-1"}]}`))
	f.Add([]byte("- id: a-1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := topic.ParseFile(text)
		if (err == nil) != (list != nil) {
			t.Fatalf("%v, %v", list, err)
		}
	})
}
