package family

import (
	"maps"
	"slices"
)

// MaxDocument is the size in bytes of the largest eval document that is read. A
// real one has a few kilobytes.
const MaxDocument = 1 << 20

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
// measured. The error is an [*EvidenceError]; of kind NoAgent when the fault is
// in the agent object.
func ParseDocument(data []byte) (*Document, error) {
	v, err := parse(data)
	if err != nil {
		return nil, badBaseline("eval document", err.Error())
	}
	r, err := open(v, "")
	if err != nil {
		return nil, badBaseline("eval document", err.Error())
	}
	d := &Document{
		SchemaVersion:     r.unsigned("schema_version"),
		SubmissionDigest:  r.text("submission_digest"),
		ArtifactDigest:    r.text("artifact_digest"),
		TopicID:           r.text("topic_id"),
		EvalImageDigest:   r.text("eval_image_digest"),
		HoldoutCommitment: r.text("holdout_commitment"),
	}
	agent, hasAgent := r.take("agent")
	if harness, ok := r.need("harness"); ok {
		d.Harness, err = parseHarness(harness)
		r.note(err)
	}
	if err := r.close(); err != nil {
		return nil, badBaseline("eval document", err.Error())
	}
	if !hasAgent {
		return nil, noAgent("agent", "missing")
	}
	if d.Agent, err = ingest(agent); err != nil {
		return nil, err
	}
	return d, nil
}

func parseHarness(v any) (Harness, error) {
	r, err := open(v, "harness")
	if err != nil {
		return Harness{}, err
	}
	h := Harness{
		Metrics: Metrics{
			HoldoutNLL:    r.float("holdout_nll"),
			TokensPerSec:  r.optionalFloat("tokens_per_sec"),
			StepLatencyMS: r.optionalFloat("step_latency_ms"),
			CustomValue:   r.optionalFloat("custom_value"),
		},
		PublicNLL: r.optionalFloat("public_nll"),
		WallS:     r.optionalUnsigned("wall_s"),
		CanaryNLL: r.optionalFloat("canary_nll"),
	}
	if splits, ok := r.need("split_nll"); ok {
		h.SplitNLL, err = parseSplits(splits)
		r.note(err)
	}
	return h, r.close()
}

func parseSplits(v any) (map[string]float64, error) {
	r, err := open(v, "harness.split_nll")
	if err != nil {
		return nil, err
	}
	splits := map[string]float64{}
	for _, name := range append(Splits(), Canary) {
		if f := r.optionalFloat(name); f != nil {
			splits[name] = *f
		}
	}
	return splits, r.close()
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
