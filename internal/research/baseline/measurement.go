package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// domain of the metrics commitment (R§2.2).
const domain = "base-proof-baseline-v1"

// Measurement is what the baseline recipe achieved on a topic's holdout inside
// the pinned image (R§9). A nil figure was not measured.
type Measurement struct {
	EvalImageDigest   string
	TopicID           string
	HoldoutCommitment string
	HoldoutNLL        float64
	SplitNLL          map[holdout.Split]float64
	TokensPerSec      *float64
	StepLatencyMS     *float64
	CustomValue       *float64
}

// Canonical is the text behind the metrics commitment (R§9): the figures as
// floats, so a figure of 3 is spelt 3.0. It fails only for a figure that is not
// finite.
func (m *Measurement) Canonical() ([]byte, error) {
	return canonjson.Sorted(m.metrics(canonjson.NewObject()))
}

// metrics adds the figures to o.
func (m *Measurement) metrics(o *canonjson.Object) *canonjson.Object {
	splits := canonjson.NewObject()
	for _, split := range holdout.Splits() {
		if nll, ok := m.SplitNLL[split]; ok {
			splits.Set(string(split), nll)
		}
	}
	o.Set("holdout_nll", m.HoldoutNLL)
	o.Set("split_nll", splits)
	for name, figure := range m.optional() {
		if *figure != nil {
			o.Set(name, **figure)
		}
	}
	return o
}

// optional yields the figures that a family may leave out, in a fixed order.
func (m *Measurement) optional() func(yield func(string, **float64) bool) {
	return func(yield func(string, **float64) bool) {
		_ = yield("tokens_per_sec", &m.TokensPerSec) &&
			yield("step_latency_ms", &m.StepLatencyMS) &&
			yield("custom_value", &m.CustomValue)
	}
}

// Commitment is the metrics commitment a topic is signed with: 64 lower-case hex.
func (m *Measurement) Commitment() (string, error) {
	text, err := m.Canonical()
	if err != nil {
		return "", fmt.Errorf("baseline figure %w", err)
	}
	sum := sha256.Sum256(append(append([]byte(domain), 0xff), text...))
	return hex.EncodeToString(sum[:]), nil
}

// ScriptSHA256 is the hash of a baseline script's exact bytes, as they lie in the
// pinned image (R§9): 64 lower-case hex.
func ScriptSHA256(script []byte) string {
	sum := sha256.Sum256(script)
	return hex.EncodeToString(sum[:])
}

// Check applies the rules that need neither pin nor topic: exactly the five
// scored splits, every figure finite.
func (m *Measurement) Check() error {
	if len(m.SplitNLL) != len(holdout.Splits()) {
		return fmt.Errorf("split_nll has %d entries, needs the %d scored splits", len(m.SplitNLL), len(holdout.Splits()))
	}
	for _, split := range holdout.Splits() {
		nll, ok := m.SplitNLL[split]
		if !ok {
			return fmt.Errorf("split_nll has no %s", split)
		}
		if !finite(nll) {
			return fmt.Errorf("split_nll.%s is not a finite number", split)
		}
	}
	if !finite(m.HoldoutNLL) {
		return errors.New("holdout_nll is not a finite number")
	}
	for name, figure := range m.optional() {
		if *figure != nil && !finite(**figure) {
			return fmt.Errorf("%s is not a finite number", name)
		}
	}
	return nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Bind returns nil when the measurement is the one that a sealed topic was signed
// with (R§9): the image of the pin, the topic, its holdout, the five splits, and
// the commitment, in this order. The error begins with "recorded baseline: ".
func (m *Measurement) Bind(p *pin.Pin, t *topic.Document) error {
	if err := m.bind(p, t); err != nil {
		return fmt.Errorf("recorded baseline: %w", err)
	}
	return nil
}

func (m *Measurement) bind(p *pin.Pin, t *topic.Document) error {
	if m.EvalImageDigest != p.EvalImageDigest {
		return fmt.Errorf("eval_image_digest %s is not the pin's %s", quote(m.EvalImageDigest), quote(p.EvalImageDigest))
	}
	if m.TopicID != t.ID {
		return fmt.Errorf("topic_id %s is not the topic's %s", quote(m.TopicID), quote(t.ID))
	}
	if !shape.SameHex(m.HoldoutCommitment, t.HoldoutCommitment) {
		return fmt.Errorf("holdout_commitment %s is not the topic's %s", quote(m.HoldoutCommitment), quote(t.HoldoutCommitment))
	}
	if err := m.Check(); err != nil {
		return err
	}
	got, err := m.Commitment()
	if err != nil {
		return err
	}
	if !shape.SameHex(got, t.Baseline.MetricsCommitment) {
		return fmt.Errorf("metrics commitment %s is not the topic's %s", got, quote(t.Baseline.MetricsCommitment))
	}
	return nil
}

// quote shows a value of a document in a text that stays on one line.
func quote(s string) string {
	const limit = 160
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}

// Figure is the figure that a topic's primary metric is compared with, nil when
// it was not measured.
func (m *Measurement) Figure(metric topic.Metric) *float64 {
	switch {
	case metric.Family == topic.Custom:
		return m.CustomValue
	case metric.Primary == "tokens_per_sec":
		return m.TokensPerSec
	case metric.Primary == "step_latency_ms":
		return m.StepLatencyMS
	}
	return &m.HoldoutNLL
}

// sealTolerance is by how much a sealed value may differ from the measured one,
// which went through a report of its own (R§18).
const sealTolerance = 1e-9

// SealsMeasured returns nil when the sealed custom_value is the one that the
// topic's RLM measured (R§18): an operator seals what was measured and no other
// number.
func (m *Measurement) SealsMeasured(measured float64) error {
	if m.CustomValue == nil || !finite(*m.CustomValue) {
		return errors.New("sealed measurement has no custom_value")
	}
	if !(math.Abs(*m.CustomValue-measured) <= sealTolerance) { // NaN is within no tolerance
		return fmt.Errorf("sealed custom_value %s is not the measured baseline %s", pin.Number(*m.CustomValue), pin.Number(measured))
	}
	return nil
}
