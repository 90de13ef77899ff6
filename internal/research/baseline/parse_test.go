package baseline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/baseline"
)

func TestR9AMeasurementIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an unknown key", `{"holdout_loss":1}`, "parse baseline measurement: holdout_loss: unknown key; "},
		{"a hyphen for an underscore", `{"holdout-nll":1}`, "parse baseline measurement: holdout-nll: unknown key; did you mean holdout_nll?"},
		{"a split in the wrong case", `{"split_nll":{"Web_OOD":1}}`, "parse baseline measurement: split_nll.Web_OOD: unknown key; did you mean web_ood?"},
		{"the canary among the splits", `{"split_nll":{"canary_offpath":1}}`, "parse baseline measurement: split_nll.canary_offpath: unknown key; "},
		{"null for a figure", `{"holdout_nll":null}`, "parse baseline measurement: holdout_nll: is null, want a number; "},
		{"text for a figure", `{"custom_value":"0.5"}`, "parse baseline measurement: custom_value: is a string, want a number"},
		{"a figure beyond every float", `{"holdout_nll":1e999}`, "parse baseline measurement: holdout_nll: "},
		{"no JSON", `{`, "parse baseline measurement: invalid JSON"},
		{"a key twice", `{"holdout_nll":1,"holdout_nll":2}`, "parse baseline measurement: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := baseline.Parse([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestR9EveryKeyOfAMeasurementHasADefault(t *testing.T) {
	t.Parallel()
	m, err := baseline.Parse([]byte(`{"custom_value":null}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(text)), ""); got != `{"eval_image_digest":"","holdout_commitment":"","holdout_nll":0.0,"split_nll":{},"topic_id":""}` {
		t.Error(got)
	}
}

func TestR9ABaselineFileIsOneMeasurementOrAMap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		topics     []string
		err        string
	}{
		{"one measurement", `{"topic_id":"topic-a","holdout_nll":3}`, []string{"topic-a"}, ""},
		{"a map", `{"topic-b":{"topic_id":"topic-b"},"topic-a":{}}`, []string{"topic-a", "topic-b"}, ""},
		{"an empty map", `{}`, nil, ""},
		{"a measurement without its topic", `{"holdout_nll":3}`, nil, `parse baseline file: "holdout_nll": is no topic id; a file of one measurement has the key topic_id`},
		{"a map under topics", `{"topics":{"topic-b":{"topic_id":"topic-b"},"topic-a":{}}}`, []string{"topic-a", "topic-b"}, ""},
		{"nothing under topics", `{"topics":{}}`, nil, ""},
		{"a topic of the name topics", `{"topics":{"holdout_nll":3}}`, []string{"topics"}, ""},
		{"a topic of the name topics beside another", `{"topics":{},"topic-a":{}}`, []string{"topic-a", "topics"}, ""},
		{"a list", `[]`, nil, "parse baseline file: is an array, want a measurement or an object of measurements by topic id"},
		{"no JSON", ``, nil, "parse baseline file: invalid JSON"},
		{"a topic id that is no text", `{"topic_id":1}`, nil, "parse baseline file: topic_id: is an integer, want a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := baseline.ParseFile([]byte(c.text))
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got  %v\nwant %s", err, c.err)
				}
				return
			}
			if err != nil || !slices.Equal(f.Topics(), c.topics) {
				t.Fatalf("%v", err)
			}
			for _, id := range c.topics {
				if _, ok := f.For(id); !ok {
					t.Errorf("nothing for %s", id)
				}
			}
			if _, ok := f.For("topic-z"); ok {
				t.Error("a topic that is not there has a measurement")
			}
		})
	}
}

func TestAFaultOfOneTopicsMeasurementTakesNoOtherTopicDown(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"an unknown key": `{"x":1}`, "no object": `[]`, "null": `null`, "text for a figure": `{"custom_value":"0.5"}`, "a figure beyond every float": `{"holdout_nll":1e999}`,
	} {
		for _, form := range []string{`{"topic-a":%s,"topic-b":{"custom_value":1}}`, `{"topics":{"topic-a":%s,"topic-b":{"custom_value":1}}}`} {
			f, err := baseline.ParseFile(fmt.Appendf(nil, form, bad))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, ok := f.For("topic-b"); !ok || f.Fault("topic-b") != nil {
				t.Errorf("%s: topic-b is gone: %v", name, f.Fault("topic-b"))
			}
			if _, ok := f.For("topic-a"); ok || f.Fault("topic-a") == nil || !strings.HasPrefix(f.Fault("topic-a").Error(), "topic-a") || len(f.Faults()) != 1 {
				t.Errorf("%s: the fault is %v", name, f.Faults())
			}
		}
	}
}

func TestPutKeepsEveryOtherTopicsMeasurement(t *testing.T) {
	t.Parallel()
	value := 0.5
	m := &baseline.Measurement{TopicID: "topic-a", CustomValue: &value}
	const other = `{"topic_id":"topic-b","holdout_nll":3.5}`
	for _, c := range []struct{ name, file, has string }{
		{"a file of one measurement", other, `"topic-b":{"holdout_nll":3.5,"topic_id":"topic-b"}`},
		{"a map", `{"topic-b":` + other + `}`, `"topic-b":{"holdout_nll":3.5,"topic_id":"topic-b"}`},
		{"a map under topics", `{"topics":{"topic-b":` + other + `}}`, `"topic-b":{"holdout_nll":3.5,"topic_id":"topic-b"}`},
		{"a map with its own earlier one", `{"topic-a":{"custom_value":9},"topic-b":` + other + `}`, `"topic-b":{"holdout_nll":3.5,"topic_id":"topic-b"}`},
		{"another one with a fault", `{"topic-b":{"holdout-nll":3.5}}`, `"topic-b":{"holdout-nll":3.5}`},
		{"its own earlier one", `{"topic_id":"topic-a","custom_value":9}`, ""},
		{"an empty map", `{}`, ""},
		{"nothing", "\n", ""},
	} {
		data, err := baseline.Put([]byte(c.file), m)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := strings.Join(strings.Fields(string(data)), ""); !strings.Contains(got, c.has) {
			t.Errorf("%s: %s", c.name, got)
		}
		f, err := baseline.ParseFile(data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, ok := f.For("topic-a"); !ok || got.CustomValue == nil || *got.CustomValue != value {
			t.Errorf("%s: the measurement is not there:\n%s", c.name, data)
		}
	}
	for _, file := range []string{`{`, `[]`, `{"holdout_nll":3}`, `{"topic_id":"","holdout_nll":3}`, `{"topic_id":1}`} {
		if data, err := baseline.Put([]byte(file), m); err == nil {
			t.Errorf("%s became %s", file, data)
		}
	}
	if _, err := baseline.Put(nil, &baseline.Measurement{}); err == nil {
		t.Error("a measurement of no topic was written")
	}
}

func FuzzParseFile(f *testing.F) {
	m, _, _ := sealed(f)
	text, err := m.JSON()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"topic-a":{"split_nll":{"longctx":1e-8},"custom_value":0.5}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := baseline.ParseFile(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		for _, fault := range file.Faults() {
			if strings.ContainsAny(fault.Error(), "\r\n") {
				t.Errorf("a fault of several lines: %q", fault)
			}
		}
		for _, id := range file.Topics() {
			m, _ := file.For(id)
			text, err := m.JSON()
			if err != nil {
				t.Fatal(err)
			}
			back, err := baseline.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			one, errOne := m.Commitment()
			two, errTwo := back.Commitment()
			if one != two || fmt.Sprint(errOne) != fmt.Sprint(errTwo) {
				t.Fatalf("%s and %s of %s", one, two, text)
			}
		}
	})
}
