package offer_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/strict"
)

func inferenceText(t testing.TB) string {
	t.Helper()
	text, err := inference(func(i *offer.Inference) { i.Temperature, i.TimeoutMS = ptr(0.0), ptr(uint64(1<<63)) }).JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func executorText(t testing.TB) string {
	t.Helper()
	text, err := executor().JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAWrittenOfferReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	i, err := offer.ParseInference([]byte(inferenceText(t)))
	if err != nil {
		t.Fatal(err)
	}
	want(t, i.Validate(committedPin()), "")
	if wanted := inference(func(i *offer.Inference) { i.Temperature, i.TimeoutMS = ptr(0.0), ptr(uint64(1<<63)) }); !reflect.DeepEqual(i, wanted) {
		t.Errorf("%v, want %v", i.Public(), wanted.Public())
	}
	e, err := offer.ParseExecutor([]byte(executorText(t)))
	if err != nil {
		t.Fatal(err)
	}
	want(t, e.Validate(committedPin()), "")
	if !reflect.DeepEqual(e, executor()) {
		t.Errorf("%+v, want %+v", e, executor())
	}
}

// The commitment is of the floats that the written file reads back as.
func TestR3AWrittenOfferKeepsTheFloatsOfItsCommitment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sampling := func(name string, most float64) *float64 {
			edges := []float64{math.Copysign(0, -1), 0, 1e-5, math.Nextafter(1e-5, 0), math.SmallestNonzeroFloat64, most}
			return rapid.Ptr(rapid.OneOf(rapid.SampledFrom(edges), rapid.Float64Range(0, most)), true).Draw(t, name)
		}
		written := inference(func(i *offer.Inference) { i.Temperature, i.TopP = sampling("temperature", 2), sampling("top_p", 1) })
		commitment, err := written.Commitment()
		if err != nil {
			t.Fatal(err)
		}
		written.ConfigCommitment = commitment
		text, err := written.JSON()
		if err != nil {
			t.Fatal(err)
		}
		read, err := offer.ParseInference(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Validate(committedPin()); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, pair := range [][2]*float64{{written.Temperature, read.Temperature}, {written.TopP, read.TopP}} {
			if w, r := pair[0], pair[1]; (w == nil) != (r == nil) || w != nil && math.Float64bits(*w) != math.Float64bits(*r) {
				t.Fatalf("a float reads back as another one:\n%s", text)
			}
		}
	})
}

func TestR7AnInferenceOfferIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new, want string
		syntax               bool
	}{
		{"cut off", "{", "", "parse inference offer: ", true},
		{"a key twice", `"status": "open"`, `"status": "open", "status": "closed"`, "status", false},
		{"an unknown key of provider", `"kind"`, `"api_key": "planted", "kind"`, "parse inference offer: provider.api_key: unknown key; known here: base_url, kind", false},
		{"a key in the wrong case", `"offer_id"`, `"Offer_ID"`, "parse inference offer: Offer_ID: unknown key; did you mean offer_id?", false},
		{"null for a text", `"master-proxy-v0"`, `null`, "parse inference offer: config.model_ref: is null, want a string; leave the key out for its default", false},
		{"a float for an integer", `8192`, `8192.0`, "parse inference offer: config.max_output_tokens: is the number 8192 with a point or exponent, want an integer written in digits", false},
		{"an integer that does not fit", `8192`, `4294967296`, "parse inference offer: config.max_output_tokens: is 4294967296, want an integer from 0 to 4294967295", false},
		{"another kind of provider", `openai_compatible`, `openai-compatible`, `parse inference offer: provider.kind: is "openai-compatible", want one of openai_compatible, vllm, custom; did you mean openai_compatible?`, false},
		{"another status", `"open"`, `"opened"`, `parse inference offer: status: is "opened", want one of open, closed`, false},
		{"no kind", `"kind": "openai_compatible",`, ``, "parse inference offer: provider.kind: is missing", false},
		{"no mode", `"mode": "chat",`, ``, "parse inference offer: config.mode: is missing", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(inferenceText(t), c.old, c.new, 1)
			i, err := offer.ParseInference([]byte(text))
			if err == nil || i != nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "planted") || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("a value is in the error: %v", err)
			}
			var fault *strict.Error
			if !errors.As(err, &fault) || fault.Syntax != c.syntax {
				t.Errorf("syntax is %v", fault)
			}
		})
	}
}

func TestR7UnsetKnobsMayBeNullOrLeftOut(t *testing.T) {
	t.Parallel()
	text := strings.Replace(inferenceText(t), `"temperature": 0`, `"temperature": null, "top_p": null`, 1)
	i, err := offer.ParseInference([]byte(text))
	if err != nil || i.Temperature != nil || i.TopP != nil {
		t.Errorf("%v, %v", i, err)
	}
	whole, err := offer.ParseInference([]byte(strings.Replace(text, `"top_p": null`, `"top_p": 1`, 1)))
	if err != nil || *whole.TopP != 1 {
		t.Errorf("an integer for a float field: %v", err)
	}
}

func TestR8AnExecutorOfferIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a missing status", `{"offer_id":"x"}`, "parse eval executor offer: status: is missing"},
		{"a machine", `{"machine_id":"x"}`, "parse eval executor offer: machine_id: unknown key; "},
		{"a list", `[]`, "parse eval executor offer: is an array, want an object"},
		{"a negative deadline", `{"max_proof_deadline_s":-1}`, "parse eval executor offer: max_proof_deadline_s: is -1, want an integer from 0 to 18446744073709551615"},
		{"a deadline as text", `{"max_proof_deadline_s":"7200"}`, "parse eval executor offer: max_proof_deadline_s: is a string, want an integer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := offer.ParseExecutor([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func FuzzParseInference(f *testing.F) {
	f.Add([]byte(inferenceText(f)))
	f.Add([]byte(`{"status":"closed"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := offer.ParseInference(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		text, err := i.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := offer.ParseInference(text)
		if err != nil {
			t.Fatalf("a written offer is refused: %v", err)
		}
		one, errOne := i.Commitment()
		two, errTwo := again.Commitment()
		if one != two || (errOne == nil) != (errTwo == nil) {
			t.Fatalf("%s (%v) and %s (%v)", one, errOne, two, errTwo)
		}
		_ = i.Validate(committedPin())
	})
}

func FuzzParseExecutor(f *testing.F) {
	f.Add([]byte(executorText(f)))
	f.Add([]byte(`{"status":"closed","machine_shape":"8x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := offer.ParseExecutor(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		text, err := e.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := offer.ParseExecutor(text)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%+v reads back as %+v, %v", e, again, err)
		}
		plan, err := e.Plan(committedPin(), openTopic(), offer.Overrides{})
		if err == nil && (plan.GPUCount != 1 || plan.DeadlineS < 1 || plan.DeadlineS > 7200) {
			t.Fatalf("%+v", plan)
		}
	})
}
