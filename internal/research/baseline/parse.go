package baseline

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/strict"
)

// reader takes one measurement; a missing key reads as empty, zero or unset.
func reader(m *Measurement) strict.Reader {
	return strict.Object(
		strict.Field{Name: "eval_image_digest", Read: strict.String(&m.EvalImageDigest)},
		strict.Field{Name: "topic_id", Read: strict.String(&m.TopicID)},
		strict.Field{Name: "holdout_commitment", Read: strict.String(&m.HoldoutCommitment)},
		strict.Field{Name: "holdout_nll", Read: strict.Float(&m.HoldoutNLL)},
		strict.Field{Name: "split_nll", Read: m.readSplits},
		strict.Field{Name: "tokens_per_sec", Read: strict.Optional(&m.TokensPerSec, strict.Float)},
		strict.Field{Name: "step_latency_ms", Read: strict.Optional(&m.StepLatencyMS, strict.Float)},
		strict.Field{Name: "custom_value", Read: strict.Optional(&m.CustomValue, strict.Float)},
	)
}

// readSplits takes an object with figures for scored splits; the canary is none.
func (m *Measurement) readSplits(v any, path string) error {
	splits := holdout.Splits()
	figures := make([]*float64, len(splits))
	fields := make([]strict.Field, len(splits))
	for i, split := range splits {
		fields[i] = strict.Field{Name: string(split), Read: func(v any, path string) error {
			figures[i] = new(float64)
			return strict.Float(figures[i])(v, path)
		}}
	}
	if err := strict.Object(fields...)(v, path); err != nil {
		return err
	}
	m.SplitNLL = make(map[holdout.Split]float64, len(splits))
	for i, figure := range figures {
		if figure != nil {
			m.SplitNLL[splits[i]] = *figure
		}
	}
	return nil
}

// Parse reads one measurement (R§9) strictly: a key that is unknown, twice there
// or in the wrong case, and a null where none may be are refused with their path.
// An integer for a figure becomes a float. The error wraps a *[strict.Error].
func Parse(data []byte) (*Measurement, error) {
	v, err := strict.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("parse baseline measurement: %w", err)
	}
	m := &Measurement{}
	if err := reader(m)(v, ""); err != nil {
		return nil, fmt.Errorf("parse baseline measurement: %w", err)
	}
	return m, nil
}

// JSON writes the measurement as the document that Parse reads, figures as
// floats.
func (m *Measurement) JSON() ([]byte, error) { return indented(m.metrics(m.bound())) }

// bound begins the document of a measurement with what it is bound to.
func (m *Measurement) bound() *canonjson.Object {
	return canonjson.NewObject("eval_image_digest", m.EvalImageDigest, "topic_id", m.TopicID, "holdout_commitment", m.HoldoutCommitment)
}
