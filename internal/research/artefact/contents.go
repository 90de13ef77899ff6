package artefact

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// SchemaVersion is the version of manifest.json that this build writes and reads.
const SchemaVersion = 1

// The most that a zip may hold, in bytes. Build refuses more, so that each zip
// that was written can be read.
const (
	MaxArtifact = recipe.MaxTar // all files of the artefact together
	MaxLogs     = 32 << 20      // all logs together
	MaxLogFiles = 64
	MaxDocument = 16 << 20 // one of the JSON entries
	maxName     = 256      // of an entry
)

// Names of the entries (R§20).
const (
	manifestName  = "manifest.json"
	checklistName = "checklist.json"
	baselineName  = "baseline_ref.json"
	reportName    = "report.json"
	artifactDir   = "artifact/"
	logsDir       = "logs/"
)

// Manifest is manifest.json.
type Manifest struct {
	SchemaVersion    uint32
	TopicID          string
	CustomID         string
	SubmissionID     string // the row: pf_ and 16 lower-case hexadecimal digits
	SubmissionDigest string
	ArtifactDigest   string
	RulesVersion     uint32
	PrimaryValue     *float64 // nil on a red checklist, and for a recipe that ran and failed
	ChecklistGreen   bool
	Promoted         bool
	Entries          []string // names of all entries, sorted, this one too; Build fills it
	// Executables are the paths of the artefact whose executable bit was set, sorted.
	// Build fills it. Entries of a zip have one mode, so the digest of the tree could
	// not be computed without; the member is left out when there is none.
	Executables []string
}

// BaselineRef is baseline_ref.json: what the row was scored against.
type BaselineRef struct {
	TopicID           string
	ScriptSHA256      string
	MetricsCommitment string
	HoldoutCommitment string
	EvalImageDigest   string
}

// Contents is what a zip holds.
type Contents struct {
	Manifest    Manifest
	Checklist   *wire.Checklist
	BaselineRef BaselineRef
	Report      *wire.RunReport // nil exactly when the checklist is not green
	Files       []wire.File     // the artefact as it was inspected
	Logs        []wire.Log
}

// check refuses contents whose parts contradict each other. It says nothing about
// the red of a checklist: one can be red for being about something else (R§16.3).
func (c *Contents) check() error {
	m := &c.Manifest
	switch {
	case m.SchemaVersion != SchemaVersion:
		return fmt.Errorf("manifest.schema_version is %d, this build knows %d", m.SchemaVersion, SchemaVersion)
	case !shape.CustomID(m.CustomID):
		return fmt.Errorf("manifest.custom_id %.80q must match [a-z0-9][a-z0-9_-]{1,63}", m.CustomID)
	case !lowerHex64(m.SubmissionDigest):
		return fmt.Errorf("manifest.submission_digest %.80q is not 64 lower-case hexadecimal digits", m.SubmissionDigest)
	case !lowerHex64(m.ArtifactDigest):
		return fmt.Errorf("manifest.artifact_digest %.80q is not 64 lower-case hexadecimal digits", m.ArtifactDigest)
	case m.PrimaryValue != nil && (math.IsNaN(*m.PrimaryValue) || math.IsInf(*m.PrimaryValue, 0)):
		return errors.New("manifest.primary_value is not a finite number")
	case m.Promoted && (!m.ChecklistGreen || m.PrimaryValue == nil):
		return errors.New("manifest.promoted is true without a green checklist and a primary value")
	case c.Checklist == nil:
		return errors.New("the checklist is missing; each row has one, red or green")
	case !m.ChecklistGreen && c.Report != nil:
		return errors.New("there is a report behind a checklist that is not green; nothing was spent there")
	case !m.ChecklistGreen && m.PrimaryValue != nil:
		return errors.New("manifest.primary_value is set behind a checklist that is not green; nothing was measured there")
	case m.ChecklistGreen && c.Report == nil:
		return errors.New("the report behind a green checklist is missing")
	case c.BaselineRef.TopicID != m.TopicID:
		return fmt.Errorf("baseline_ref.topic_id %.80q is not the manifest's %q", c.BaselineRef.TopicID, m.TopicID)
	}
	if err := checkIDs(m.TopicID, m.SubmissionID); err != nil {
		return err
	}
	if !m.ChecklistGreen {
		return nil
	}
	if err := m.checkGreen(c.Checklist); err != nil {
		return err
	}
	return m.checkReport(c.Report)
}

func (m *Manifest) checkGreen(c *wire.Checklist) error {
	if len(c.Items) == 0 {
		return errors.New("manifest.checklist_green is true, and the checklist has no item")
	}
	for _, item := range c.Items {
		if !item.Pass {
			return fmt.Errorf("manifest.checklist_green is true, and the checklist's item %.80q does not pass", item.ID)
		}
	}
	return m.checkEcho("checklist", c.TopicID, c.SubmissionDigest, c.ArtifactDigest, c.RulesVersion)
}

func (m *Manifest) checkReport(r *wire.RunReport) error {
	if r.CustomID != m.CustomID {
		return fmt.Errorf("report.custom_id %.80q is not the manifest's %q", r.CustomID, m.CustomID)
	}
	a, b := r.PrimaryValue, m.PrimaryValue
	if (a == nil) != (b == nil) || a != nil && math.Float64bits(*a) != math.Float64bits(*b) {
		return errors.New("report.primary_value is not the manifest's")
	}
	return m.checkEcho("report", r.TopicID, r.SubmissionDigest, r.ArtifactDigest, r.RulesVersion)
}

func (m *Manifest) checkEcho(where, topicID, submission, artifact string, rules uint32) error {
	switch {
	case topicID != m.TopicID:
		return fmt.Errorf("%s.topic_id %.80q is not the manifest's %q", where, topicID, m.TopicID)
	case !shape.SameHex(submission, m.SubmissionDigest):
		return fmt.Errorf("%s.submission_digest %.80q is not the manifest's %s", where, submission, m.SubmissionDigest)
	case !shape.SameHex(artifact, m.ArtifactDigest):
		return fmt.Errorf("%s.artifact_digest %.80q is not the manifest's %s", where, artifact, m.ArtifactDigest)
	case rules != m.RulesVersion:
		return fmt.Errorf("%s.rules_version %d is not the manifest's %d", where, rules, m.RulesVersion)
	}
	return nil
}

func lowerHex64(s string) bool {
	return len(s) == 64 && shape.Hex64(s) && strings.ToLower(s) == s
}

// entries returns name and content of each entry, and completes the manifest.
func (c *Contents) entries() (map[string][]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	tree, err := recipe.FromFiles(c.Files)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(tree)+len(c.Logs)+4)
	executables := []string(nil)
	for _, e := range tree {
		out[artifactDir+e.Path] = e.Data
		if e.Executable {
			executables = append(executables, e.Path)
		}
	}
	if err := c.addLogs(out); err != nil {
		return nil, err
	}
	documents := map[string]any{baselineName: c.BaselineRef.object()}
	if documents[checklistName], err = object(c.Checklist); err != nil {
		return nil, fmt.Errorf("checklist: %w", err)
	}
	if c.Report != nil {
		report, err := object(c.Report)
		if err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
		report.Set("primary_value", number(c.Report.PrimaryValue))
		documents[reportName] = report
	}
	names := slices.Concat(slices.Collect(maps.Keys(out)), slices.Collect(maps.Keys(documents)), []string{manifestName})
	slices.Sort(names)
	c.Manifest.Entries, c.Manifest.Executables = names, executables
	documents[manifestName] = c.Manifest.object()
	for name, v := range documents {
		if out[name], err = pretty(v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(out[name]) > MaxDocument {
			return nil, fmt.Errorf("%s has %d bytes, at most %d are allowed", name, len(out[name]), MaxDocument)
		}
	}
	return out, nil
}

// Entries returns the content of each entry of the zip that [Build] would write, by
// name. It fails, and completes the manifest, as Build does.
func Entries(c *Contents) (map[string][]byte, error) {
	entries, err := c.entries()
	if err != nil {
		return nil, fmt.Errorf("artefact: %w", err)
	}
	return entries, nil
}

func (c *Contents) addLogs(out map[string][]byte) error {
	if len(c.Logs) > MaxLogFiles {
		return fmt.Errorf("there are %d logs, at most %d are allowed", len(c.Logs), MaxLogFiles)
	}
	total := 0
	for _, l := range c.Logs {
		if why := recipe.SafePath(l.Name, maxName-len(logsDir)); why != "" {
			return fmt.Errorf("log %.80q: %s", l.Name, why)
		}
		if strings.Contains(l.Name, "/") {
			return fmt.Errorf("log %.80q: the name of a log is one segment, without a slash", l.Name)
		}
		if _, twice := out[logsDir+l.Name]; twice {
			return fmt.Errorf("log %q is there twice", l.Name)
		}
		if total += len(l.Bytes); total > MaxLogs {
			return fmt.Errorf("the logs have more than %d bytes", MaxLogs)
		}
		out[logsDir+l.Name] = l.Bytes
	}
	return nil
}

// object returns a value of the wire in the model of canonjson, members in their
// order, numbers as they are.
func object(v any) (*canonjson.Object, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	parsed, err := canonjson.ParseStrict(text)
	if err != nil {
		return nil, err
	}
	o, ok := parsed.(*canonjson.Object)
	if !ok {
		return nil, fmt.Errorf("is %s, want an object", canonjson.Kind(parsed))
	}
	return o, nil
}

// number is a member that may be null.
func number(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}

func whole(n uint32) canonjson.Int { return canonjson.Int(fmt.Sprint(n)) }

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = s
	}
	return out
}

func (m *Manifest) object() *canonjson.Object {
	o := canonjson.NewObject(
		"schema_version", whole(m.SchemaVersion), "topic_id", m.TopicID, "custom_id", m.CustomID,
		"submission_id", m.SubmissionID, "submission_digest", m.SubmissionDigest, "artifact_digest", m.ArtifactDigest,
		"rules_version", whole(m.RulesVersion), "primary_value", number(m.PrimaryValue),
		"checklist_green", m.ChecklistGreen, "promoted", m.Promoted, "entries", list(m.Entries))
	if len(m.Executables) > 0 {
		o.Set("executables", list(m.Executables))
	}
	return o
}

// JSON returns manifest.json as the zip has it.
func (m *Manifest) JSON() ([]byte, error) { return pretty(m.object()) }

func (m *Manifest) read(v any) error {
	return strict.Object(
		strict.Key("schema_version", strict.Uint(&m.SchemaVersion)),
		strict.Key("topic_id", strict.String(&m.TopicID)),
		strict.Key("custom_id", strict.String(&m.CustomID)),
		strict.Key("submission_id", strict.String(&m.SubmissionID)),
		strict.Key("submission_digest", strict.String(&m.SubmissionDigest)),
		strict.Key("artifact_digest", strict.String(&m.ArtifactDigest)),
		strict.Key("rules_version", strict.Uint(&m.RulesVersion)),
		strict.Key("primary_value", strict.Optional(&m.PrimaryValue, strict.Float)),
		strict.Key("checklist_green", strict.Bool(&m.ChecklistGreen)),
		strict.Key("promoted", strict.Bool(&m.Promoted)),
		strict.Key("entries", strict.List(&m.Entries, strict.String)),
		strict.Key("executables", strict.List(&m.Executables, strict.String)),
	)(v, "")
}

func (b *BaselineRef) object() *canonjson.Object {
	return canonjson.NewObject("topic_id", b.TopicID, "script_sha256", b.ScriptSHA256,
		"metrics_commitment", b.MetricsCommitment, "holdout_commitment", b.HoldoutCommitment, "eval_image_digest", b.EvalImageDigest)
}

func (b *BaselineRef) read(v any) error {
	return strict.Object(
		strict.Key("topic_id", strict.String(&b.TopicID)),
		strict.Key("script_sha256", strict.String(&b.ScriptSHA256)),
		strict.Key("metrics_commitment", strict.String(&b.MetricsCommitment)),
		strict.Key("holdout_commitment", strict.String(&b.HoldoutCommitment)),
		strict.Key("eval_image_digest", strict.String(&b.EvalImageDigest)),
	)(v, "")
}

// pretty writes a value with two spaces a level, an empty object or array in one
// line, and no line feed at the end; numbers and strings as in R§3.
func pretty(v any) ([]byte, error) { return appendPretty(nil, v, "\n") }

func appendPretty(dst []byte, v any, line string) ([]byte, error) {
	var err error
	deeper := line + "  "
	switch v := v.(type) {
	case *canonjson.Object:
		if v.Len() == 0 {
			return append(dst, "{}"...), nil
		}
		mark := byte('{')
		for name, member := range v.All() {
			dst = append(append(dst, mark), deeper...)
			if dst, err = canonjson.AppendSorted(dst, name); err != nil {
				return nil, err
			}
			if dst, err = appendPretty(append(dst, ": "...), member, deeper); err != nil {
				return nil, err
			}
			mark = ','
		}
		return append(append(dst, line...), '}'), nil
	case []any:
		if len(v) == 0 {
			return append(dst, "[]"...), nil
		}
		mark := byte('[')
		for _, item := range v {
			if dst, err = appendPretty(append(append(dst, mark), deeper...), item, deeper); err != nil {
				return nil, err
			}
			mark = ','
		}
		return append(append(dst, line...), ']'), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("%.40q is not UTF-8", v)
		}
	}
	return canonjson.AppendSorted(dst, v)
}
