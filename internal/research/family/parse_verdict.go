package family

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

// ParseVerdict reads a verdict that a row stores, without loss: AppendJSON of the
// result is data again, byte for byte, or there is an error that says where data
// is none of AppendJSON's texts. A figure that AppendJSON wrote as null because
// it was not finite reads as NaN where a figure must be, and as not measured
// where it may be absent.
func ParseVerdict(data []byte) (Verdict, error) {
	parsed, err := canonjson.ParseStrict(data)
	if err != nil {
		return Verdict{}, fmt.Errorf("verdict: %w", err)
	}
	var v Verdict
	read := object([]strict.Field{
		strict.Key("pass", strict.Bool(&v.Pass)),
		strict.Key("agent", v.Agent.readStored),
		strict.Key("harness", v.Harness.readStored),
		strict.Key("failed", strict.List(&v.Failed, storedGate)),
		strict.Key("lattice", strict.Uint(&v.Lattice)),
	}, nil)
	if err := read(parsed, "verdict"); err != nil {
		return Verdict{}, err
	}
	if len(v.Agent.CheatCodes) == 0 {
		v.Agent.CheatCodes = nil // as ParseAgent has it
	}
	if again := v.AppendJSON(nil); !bytes.Equal(again, data) {
		return Verdict{}, fmt.Errorf("verdict: the text is not as it was stored: byte %d differs", differs(again, data))
	}
	return v, nil
}

// UnmarshalJSON is ParseVerdict, so that a row with a Verdict reads back.
func (v *Verdict) UnmarshalJSON(data []byte) (err error) {
	*v, err = ParseVerdict(data)
	return err
}

// differs returns the place of the first byte in which two texts differ.
func differs(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// readStored reads an agent as it was recorded: unlike ingest it drops and
// replaces nothing.
func (a *Agent) readStored(v any, path string) error {
	return object([]strict.Field{
		strict.Key("verdict", strict.Word(Clean, Suspicious, Reject, "")(&a.Kind)),
		strict.Key("reproduced", strict.Bool(&a.Reproduced)),
		strict.Key("claim_holds_public", strict.Bool(&a.ClaimHoldsPublic)),
		strict.Key("contamination", strict.Bool(&a.Contamination)),
		strict.Key("canary_hit", strict.Bool(&a.CanaryHit)),
		strict.Key("flops_used", strict.Uint(&a.FlopsUsed)),
		strict.Key("flops_budget", strict.Uint(&a.FlopsBudget)),
		strict.Key("cheat_codes", strict.List(&a.CheatCodes, strict.Word(cheatCodes()...))),
		strict.Key("rationale", strict.String(&a.Rationale)),
		strict.Key("topic_id", strict.String(&a.TopicID)),
		strict.Key("family", strict.Word(NLL, Throughput, Custom, "")(&a.Family)),
	}, nil)(v, path)
}

func (h *Harness) readStored(v any, path string) error {
	return object([]strict.Field{
		strict.Key("canary_nll", strict.Optional(&h.CanaryNLL, strict.Float)),
		strict.Key("custom_value", strict.Optional(&h.CustomValue, strict.Float)),
		strict.Key("holdout_nll", storedFloat(&h.HoldoutNLL)),
		strict.Key("public_nll", strict.Optional(&h.PublicNLL, strict.Float)),
		strict.Key("split_nll", h.readStoredSplits),
		strict.Key("step_latency_ms", strict.Optional(&h.StepLatencyMS, strict.Float)),
		strict.Key("tokens_per_sec", strict.Optional(&h.TokensPerSec, strict.Float)),
		strict.Key("wall_s", strict.Optional(&h.WallS, strict.Uint[uint64])),
	}, nil)(v, path)
}

func (h *Harness) readStoredSplits(v any, path string) error {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return &strict.Error{Path: path, Reason: "is " + canonjson.Kind(v) + ", want an object"}
	}
	for name, value := range o.All() {
		var nll float64
		if err := storedFloat(&nll)(value, path+"."+quote(name)); err != nil {
			return err
		}
		if h.SplitNLL == nil {
			h.SplitNLL = make(map[string]float64, o.Len())
		}
		h.SplitNLL[name] = nll
	}
	return nil
}

// storedFloat reads what appendFloat wrote.
func storedFloat(dst *float64) strict.Reader {
	return func(v any, path string) error {
		if v == nil {
			*dst = math.NaN()
			return nil
		}
		return strict.Float(dst)(v, path)
	}
}

// storedGates is a gate of each kind, for its name and the types of its fields.
func storedGates() []Gate {
	return []Gate{unreproduced(), contamination(), agentReject(), unknownCustom(), flopsOverBudget(0, 0), cheat(Other),
		evidenceMissing(""), nllMiss(0, 0, 0), splitRegress("", 0, 0, 0), qualityFloor(0, 0, 0), throughputMiss(0, 0, 0),
		wallOverBudget(0, 0)}
}

// storedGate reads what Gate.AppendJSON wrote: the name, or one member of that name.
func storedGate(dst *Gate) strict.Reader {
	return func(v any, path string) error {
		name, plain := v.(string)
		var content any
		if o, ok := v.(*canonjson.Object); ok && o.Len() == 1 {
			name = o.Names()[0]
			content, _ = o.Get(name)
		} else if !plain {
			return &strict.Error{Path: path, Reason: "is " + canonjson.Kind(v) + ", want the name of a gate or an object with one member"}
		}
		known := storedGates()
		at := slices.IndexFunc(known, func(g Gate) bool { return g.name == name && plain == (len(g.fields) == 0) })
		if at < 0 {
			return &strict.Error{Path: path, Reason: quote(name) + " is no gate of this build in this form"}
		}
		*dst = known[at]
		if plain {
			return nil
		}
		var fields []strict.Field
		for i := range dst.fields {
			fields = append(fields, strict.Key(dst.fields[i].name, dst.fields[i].readStored))
		}
		return object(fields, nil)(content, path+"."+name)
	}
}

// readStored replaces the value of a field by one of the same type.
func (f *field) readStored(v any, path string) error {
	var err error
	switch f.value.(type) {
	case string:
		f.value, err = readAs(v, path, strict.String)
	case CheatCode:
		f.value, err = readAs(v, path, strict.Word(cheatCodes()...))
	case uint64:
		f.value, err = readAs(v, path, strict.Uint[uint64])
	case float64:
		f.value, err = readAs(v, path, storedFloat)
	}
	return err
}

func readAs[T any](v any, path string, read func(*T) strict.Reader) (any, error) {
	var into T
	err := read(&into)(v, path)
	return into, err
}
