package baseline_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

func load(t *testing.T, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/derived_digests.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func ptr[T any](v T) *T { return &v }

func flat(nll float64) map[holdout.Split]float64 {
	splits := map[holdout.Split]float64{}
	for _, split := range holdout.Splits() {
		splits[split] = nll
	}
	return splits
}

const image = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"

// sealed returns a measurement, the pin of its image and the topic it is sealed
// for.
func sealed(t testing.TB) (*baseline.Measurement, *pin.Pin, *topic.Document) {
	t.Helper()
	m := &baseline.Measurement{
		EvalImageDigest: image, TopicID: "topic-a", HoldoutCommitment: strings.Repeat("ab", 32), HoldoutNLL: 3, SplitNLL: flat(3),
	}
	commitment, err := m.Commitment()
	if err != nil {
		t.Fatal(err)
	}
	d := topic.New()
	d.ID, d.HoldoutCommitment, d.Baseline.MetricsCommitment = "topic-a", m.HoldoutCommitment, commitment
	return m, &pin.Pin{EvalImageDigest: image}, d
}

func TestR9MetricsCommitmentsAreTheDerivedOnes(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			Input struct {
				HoldoutNLL   float64                   `json:"holdout_nll"`
				SplitNLL     map[holdout.Split]float64 `json:"split_nll"`
				TokensPerSec *float64                  `json:"tokens_per_sec"`
				CustomValue  *float64                  `json:"custom_value"`
			}
			Canonical  string
			Commitment string `json:"metrics_commitment"`
		} `json:"baseline_metrics_commitments"`
	}
	load(t, &file)
	if len(file.Vectors) != 4 {
		t.Fatalf("%d vectors", len(file.Vectors))
	}
	for n, v := range file.Vectors {
		t.Run(fmt.Sprintf("vector %d", n), func(t *testing.T) {
			t.Parallel()
			m := &baseline.Measurement{HoldoutNLL: v.Input.HoldoutNLL, SplitNLL: v.Input.SplitNLL, TokensPerSec: v.Input.TokensPerSec, CustomValue: v.Input.CustomValue}
			text, err := m.Canonical()
			if err != nil || string(text) != v.Canonical {
				t.Errorf("%s, %v\nwant %s", text, err, v.Canonical)
			}
			got, err := m.Commitment()
			if err != nil || got != v.Commitment {
				t.Errorf("%s, %v, want %s", got, err, v.Commitment)
			}
		})
	}
}

func TestR3FiguresAreSpeltAsFloats(t *testing.T) {
	t.Parallel()
	var file struct {
		Spellings []struct{ Value, Canonical string } `json:"float_spelling"`
	}
	load(t, &file)
	if len(file.Spellings) != 15 {
		t.Fatalf("%d spellings", len(file.Spellings))
	}
	for _, v := range file.Spellings {
		t.Run(v.Value, func(t *testing.T) {
			t.Parallel()
			m, err := baseline.Parse([]byte(`{"custom_value":` + v.Value + `}`))
			if err != nil {
				t.Fatal(err)
			}
			text, err := m.Canonical()
			if wanted := `{"custom_value":` + v.Canonical + `,"holdout_nll":0.0,"split_nll":{}}`; err != nil || string(text) != wanted {
				t.Errorf("%s, %v\nwant %s", text, err, wanted)
			}
		})
	}
}

func TestR9BindingChecksInTheirOrder(t *testing.T) {
	t.Parallel()
	type edit = func(*baseline.Measurement, *pin.Pin, *topic.Document)
	all := func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) {
		m.EvalImageDigest, m.TopicID, m.HoldoutCommitment, m.SplitNLL = "sha256:aa", "topic-b", "cd", flat(4)
		delete(m.SplitNLL, holdout.WebOOD)
	}
	for _, c := range []struct {
		name string
		edit edit
		want string
	}{
		{"the sealed measurement", func(*baseline.Measurement, *pin.Pin, *topic.Document) {}, ""},
		{"another image first", all, `recorded baseline: eval_image_digest "sha256:aa" is not the pin's "` + image + `"`},
		{"the image in another case", func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) {
			m.EvalImageDigest = strings.ToUpper(image)
		}, `recorded baseline: eval_image_digest "` + strings.ToUpper(image) + `" is not the pin's "` + image + `"`},
		{"then another topic", func(m *baseline.Measurement, p *pin.Pin, d *topic.Document) { all(m, p, d); m.EvalImageDigest = image }, `recorded baseline: topic_id "topic-b" is not the topic's "topic-a"`},
		{"then another holdout", func(m *baseline.Measurement, p *pin.Pin, d *topic.Document) {
			all(m, p, d)
			m.EvalImageDigest, m.TopicID = image, "topic-a"
		}, `recorded baseline: holdout_commitment "cd" is not the topic's "` + strings.Repeat("ab", 32) + `"`},
		{"the holdout in upper case", func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) {
			m.HoldoutCommitment = strings.ToUpper(m.HoldoutCommitment)
		}, ""},
		{"four splits", func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) { delete(m.SplitNLL, holdout.LongContext) }, "recorded baseline: split_nll has 4 entries, needs the 5 scored splits"},
		{"six splits", func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) { m.SplitNLL[holdout.Canary] = 1 }, "recorded baseline: split_nll has 6 entries, needs the 5 scored splits"},
		{"a canary for a scored split", func(m *baseline.Measurement, _ *pin.Pin, _ *topic.Document) {
			delete(m.SplitNLL, holdout.MathOOD)
			m.SplitNLL[holdout.Canary] = 1
		}, "recorded baseline: split_nll has no math_ood"},
		{"another figure", func(m *baseline.Measurement, _ *pin.Pin, d *topic.Document) {
			m.HoldoutNLL, d.Baseline.MetricsCommitment = 3.5, strings.Repeat("e", 64)
		}, `recorded baseline: metrics commitment ` + commit(t, 3.5) + ` is not the topic's "` + strings.Repeat("e", 64) + `"`},
		{"a seal in upper case", func(_ *baseline.Measurement, _ *pin.Pin, d *topic.Document) {
			d.Baseline.MetricsCommitment = " " + strings.ToUpper(d.Baseline.MetricsCommitment)
		}, ""},
		{"an unsealed topic", func(_ *baseline.Measurement, _ *pin.Pin, d *topic.Document) { d.Baseline.MetricsCommitment = "" }, `recorded baseline: metrics commitment ` + commit(t, 3) + ` is not the topic's ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, p, d := sealed(t)
			c.edit(m, p, d)
			got := ""
			if err := m.Bind(p, d); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func commit(t *testing.T, nll float64) string {
	t.Helper()
	commitment, err := (&baseline.Measurement{HoldoutNLL: nll, SplitNLL: flat(3)}).Commitment()
	if err != nil {
		t.Fatal(err)
	}
	return commitment
}

func TestR3FiguresThatAreNotFiniteHaveNoCommitment(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, edit := range map[string]func(*baseline.Measurement){
			"holdout_nll":       func(m *baseline.Measurement) { m.HoldoutNLL = bad },
			"split_nll.longctx": func(m *baseline.Measurement) { m.SplitNLL[holdout.LongContext] = bad },
			"tokens_per_sec":    func(m *baseline.Measurement) { m.TokensPerSec = &bad },
			"step_latency_ms":   func(m *baseline.Measurement) { m.StepLatencyMS = &bad },
			"custom_value":      func(m *baseline.Measurement) { m.CustomValue = &bad },
		} {
			m, _, _ := sealed(t)
			edit(m)
			if err := m.Check(); fmt.Sprint(err) != name+" is not a finite number" {
				t.Errorf("%s of %v: %v", name, bad, err)
			}
			if c, err := m.Commitment(); err == nil || c != "" {
				t.Errorf("%s of %v has the commitment %s", name, bad, c)
			}
			if text, err := m.JSON(); err == nil {
				t.Errorf("%s of %v is written: %s", name, bad, text)
			}
		}
	}
}

func TestR9ScriptSHA256IsOfTheExactBytes(t *testing.T) {
	t.Parallel()
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := baseline.ScriptSHA256([]byte("abc")); got != abc {
		t.Error(got)
	}
	if baseline.ScriptSHA256([]byte("abc\n")) == abc {
		t.Error("a line end does not count")
	}
}

var drawn = rapid.Custom(func(t *rapid.T) *baseline.Measurement {
	figure := rapid.Float64()
	m := &baseline.Measurement{
		EvalImageDigest: rapid.String().Draw(t, "image"), TopicID: rapid.String().Draw(t, "topic"), HoldoutCommitment: rapid.String().Draw(t, "holdout"),
		HoldoutNLL: figure.Draw(t, "nll"), SplitNLL: map[holdout.Split]float64{},
	}
	for _, split := range holdout.Splits() {
		m.SplitNLL[split] = figure.Draw(t, string(split))
	}
	m.TokensPerSec = rapid.Ptr(figure, true).Draw(t, "tps")
	m.StepLatencyMS = rapid.Ptr(figure, true).Draw(t, "latency")
	m.CustomValue = rapid.Ptr(figure, true).Draw(t, "custom")
	return m
})

func TestR9AnyChangedFigureChangesTheCommitmentAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawn.Draw(t, "measurement")
		before, err := m.Commitment()
		if err != nil {
			t.Fatal(err)
		}
		other := *m
		other.SplitNLL = maps.Clone(m.SplitNLL)
		other.EvalImageDigest, other.TopicID, other.HoldoutCommitment = "x", "y", "z"
		if after, err := other.Commitment(); err != nil || after != before {
			t.Fatalf("image, topic or holdout count: %v", err)
		}
		next := func(f float64) float64 { return math.Nextafter(f, math.Copysign(0, f)-math.Copysign(1, f)) }
		switch rapid.IntRange(0, 2).Draw(t, "figure") {
		case 0:
			other.HoldoutNLL = next(other.HoldoutNLL)
		case 1:
			split := rapid.SampledFrom(holdout.Splits()).Draw(t, "split")
			other.SplitNLL[split] = next(other.SplitNLL[split])
		case 2:
			if other.CustomValue == nil {
				other.CustomValue = ptr(0.0)
			} else {
				other.CustomValue = nil
			}
		}
		if after, err := other.Commitment(); err != nil || after == before {
			t.Fatalf("a changed figure has the same commitment (%v)", err)
		}
	})
}

func TestAWrittenMeasurementReadsBackWithItsCommitment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawn.Draw(t, "measurement")
		text, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := baseline.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := m.Commitment()
		two, _ := back.Commitment()
		if one != two || back.TopicID != m.TopicID || back.EvalImageDigest != m.EvalImageDigest || back.HoldoutCommitment != m.HoldoutCommitment {
			t.Fatalf("%s", text)
		}
	})
}

func TestR9TheFigureOfATopicIsThatOfItsPrimary(t *testing.T) {
	t.Parallel()
	m := &baseline.Measurement{HoldoutNLL: 1, TokensPerSec: ptr(2.0), StepLatencyMS: ptr(3.0), CustomValue: ptr(4.0)}
	for want, metric := range map[float64]topic.Metric{
		1: {Family: topic.NLL, Primary: "holdout_nll"},
		2: {Family: topic.Throughput, Primary: "tokens_per_sec"},
		3: {Family: topic.Throughput, Primary: "step_latency_ms"},
		4: {Family: topic.Custom, Primary: "tokens_per_sec"},
	} {
		if got := m.Figure(metric); got == nil || *got != want {
			t.Errorf("%+v: %v", metric, got)
		}
	}
	if got := (&baseline.Measurement{}).Figure(topic.Metric{Family: topic.Custom}); got != nil {
		t.Errorf("a figure that was not measured is %v", *got)
	}
}

func TestR18ASealCarriesTheValueThatWasMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		sealed   *float64
		measured float64
		want     string
	}{
		{"the same", ptr(0.5), 0.5, ""},
		{"within a billionth", ptr(0.5), 0.5 + 9e-10, ""},
		{"beyond it", ptr(0.5), 0.5 + 2e-9, "sealed custom_value 0.5 is not the measured baseline 0.500000002"},
		{"another", ptr(1.0), 2, "sealed custom_value 1 is not the measured baseline 2"},
		{"none", nil, 0.5, "sealed measurement has no custom_value"},
		{"no number", ptr(math.NaN()), 0.5, "sealed measurement has no custom_value"},
		{"measured as no number", ptr(0.5), math.NaN(), "sealed custom_value 0.5 is not the measured baseline NaN"},
		{"measured as endless", ptr(0.5), math.Inf(1), "sealed custom_value 0.5 is not the measured baseline +Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := (&baseline.Measurement{CustomValue: c.sealed}).SealsMeasured(c.measured); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
