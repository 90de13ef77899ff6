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
		{"a fault inside a map", `{"topic-a":{"x":1}}`, nil, "parse baseline file: topic-a.x: unknown key; "},
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
