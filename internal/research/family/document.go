package family

import (
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

// SchemaVersion is the version of eval documents that this build reads.
const SchemaVersion = 1

// Document is what an eval image or the custom scorer returns (R§10).
type Document struct {
	SchemaVersion     uint64
	SubmissionDigest  string
	ArtifactDigest    string
	TopicID           string
	EvalImageDigest   string
	HoldoutCommitment string
	Agent             Agent
	Harness           Harness
}

// Harness is what the harness measured.
type Harness struct {
	Metrics
	PublicNLL *float64 // recorded only
	WallS     *uint64  // seconds
	CanaryNLL *float64 // recorded only
}

// ParseDocument reads an eval document strictly: duplicate, unknown and
// wrong-case members, null for a member that has no default, a fraction for an
// integer and a split of another name are refused with their path. Absent
// cheat_codes and rationale are empty, absent figures marked "?" in R§10 are not
// measured. At most [strict.MaxSize] bytes are read. The error is an
// [*EvidenceError]; of kind NoAgent when the fault is in the agent object.
func ParseDocument(data []byte) (*Document, error) {
	v, err := strict.JSON(data)
	if err != nil {
		return nil, unread(BadBaseline, "eval document", err)
	}
	var d Document
	var agent any
	read := object([]strict.Field{
		strict.Key("schema_version", strict.Uint(&d.SchemaVersion)),
		strict.Key("submission_digest", strict.String(&d.SubmissionDigest)),
		strict.Key("artifact_digest", strict.String(&d.ArtifactDigest)),
		strict.Key("topic_id", strict.String(&d.TopicID)),
		strict.Key("eval_image_digest", strict.String(&d.EvalImageDigest)),
		strict.Key("holdout_commitment", strict.String(&d.HoldoutCommitment)),
		strict.Key("harness", d.Harness.read),
	}, []strict.Field{
		// Its absence and its faults have a text of their own.
		strict.Key("agent", func(v any, _ string) error {
			agent = v
			return nil
		}),
	})
	if err := read(v, ""); err != nil {
		return nil, unread(BadBaseline, "eval document", err)
	}
	if agent == nil {
		return nil, noAgent("agent", "is missing or null")
	}
	if d.Agent, err = ingest(agent); err != nil {
		return nil, err
	}
	return &d, nil
}

func (h *Harness) read(v any, path string) error {
	return object([]strict.Field{
		strict.Key("holdout_nll", strict.Float(&h.HoldoutNLL)),
		strict.Key("split_nll", h.readSplits),
	}, []strict.Field{
		strict.Key("public_nll", strict.Optional(&h.PublicNLL, strict.Float)),
		strict.Key("tokens_per_sec", strict.Optional(&h.TokensPerSec, strict.Float)),
		strict.Key("step_latency_ms", strict.Optional(&h.StepLatencyMS, strict.Float)),
		strict.Key("wall_s", strict.Optional(&h.WallS, strict.Uint[uint64])),
		strict.Key("custom_value", strict.Optional(&h.CustomValue, strict.Float)),
		strict.Key("canary_nll", strict.Optional(&h.CanaryNLL, strict.Float)),
	})(v, path)
}

// readSplits takes figures of splits by name. A scored split may be missing, for
// the gates to say so; the canary may be there and is not scored.
func (h *Harness) readSplits(v any, path string) error {
	h.SplitNLL = map[string]float64{}
	var fields []strict.Field
	for _, name := range append(Splits(), Canary) {
		fields = append(fields, strict.Key(name, func(v any, path string) error {
			var nll float64
			if err := strict.Float(&nll)(v, path); err != nil {
				return err
			}
			h.SplitNLL[name] = nll
			return nil
		}))
	}
	return strict.Object(fields...)(v, path)
}

// object reads an object that has all the needed keys and may have the free ones.
func object(needed, free []strict.Field) strict.Reader {
	read := strict.Object(slices.Concat(needed, free)...)
	return func(v any, path string) error {
		if err := read(v, path); err != nil {
			return err
		}
		for _, f := range needed {
			if o, ok := v.(*canonjson.Object); ok && !o.Has(f.Name) {
				return &strict.Error{Path: path, Reason: "the key " + f.Name + " is missing"}
			}
		}
		return nil
	}
}

// Expected is what a document must be about.
type Expected struct {
	SubmissionDigest  string
	ArtifactDigest    string
	TopicID           string
	EvalImageDigest   string // the pin's
	HoldoutCommitment string
	Family            Family
}

// Bind checks that the document is evidence for exactly this submission, in the
// order of R§10. Artefact digest and holdout commitment compare as hex, without
// regard to case; everything else is exact. The error is an [*EvidenceError].
func (d *Document) Bind(e Expected) error {
	if d.SchemaVersion != SchemaVersion {
		return badBaseline("schema_version", sprint(d.SchemaVersion)+", this build reads "+sprint(SchemaVersion))
	}
	for _, c := range []struct {
		field, got, want string
		hex, agent       bool
	}{
		{field: "submission_digest", got: d.SubmissionDigest, want: e.SubmissionDigest},
		{field: "artifact_digest", got: d.ArtifactDigest, want: e.ArtifactDigest, hex: true},
		{field: "topic_id", got: d.TopicID, want: e.TopicID},
		{field: "eval_image_digest", got: d.EvalImageDigest, want: e.EvalImageDigest},
		{field: "holdout_commitment", got: d.HoldoutCommitment, want: e.HoldoutCommitment, hex: true},
		{field: "agent.topic_id", got: d.Agent.TopicID, want: e.TopicID, agent: true},
		{field: "agent.family", got: string(d.Agent.Family), want: string(e.Family), agent: true},
	} {
		if c.got == c.want || c.hex && sameHex(c.got, c.want) {
			continue
		}
		why := quote(c.got) + " where " + quote(c.want) + " was asked for"
		if c.agent {
			return noAgent(c.field, why)
		}
		return badBaseline(c.field, why)
	}
	return nil
}

// AppendJSON appends the harness object with its members sorted, the canonical
// form of R§3 whose SHA-256 is the metrics_hash of a receipt (decision 20).
// Figures that were not measured are null.
func (h Harness) AppendJSON(dst []byte) []byte {
	dst = appendOptional(append(dst, `{"canary_nll":`...), h.CanaryNLL)
	dst = appendOptional(append(dst, `,"custom_value":`...), h.CustomValue)
	dst = appendFloat(append(dst, `,"holdout_nll":`...), h.HoldoutNLL)
	dst = appendOptional(append(dst, `,"public_nll":`...), h.PublicNLL)
	dst = append(dst, `,"split_nll":{`...)
	for i, name := range slices.Sorted(maps.Keys(h.SplitNLL)) {
		dst = append(dst, between(i, "", ",")...)
		dst = append(appendString(dst, name), ':')
		dst = appendFloat(dst, h.SplitNLL[name])
	}
	dst = appendOptional(append(dst, `},"step_latency_ms":`...), h.StepLatencyMS)
	dst = appendOptional(append(dst, `,"tokens_per_sec":`...), h.TokensPerSec)
	dst = append(dst, `,"wall_s":`...)
	if h.WallS == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, sprint(*h.WallS)...)
	}
	return append(dst, '}')
}

func appendOptional(dst []byte, f *float64) []byte {
	if f == nil {
		return append(dst, "null"...)
	}
	return appendFloat(dst, *f)
}
