package wire

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"reflect"
	"slices"
)

// Rule is one anti-cheat rule of a topic.
type Rule struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// RuleSet is one version of a topic's rules (R§16.2).
type RuleSet struct {
	TopicID string `json:"topic_id"`
	Version uint32 `json:"version"`
	Source  string `json:"source"` // topic_document, rlm or operator
	Rules   []Rule `json:"rules"`
}

// JudgeRef names the judge of a run by commitment; never by origin or key.
type JudgeRef struct {
	OfferID          string `json:"offer_id"`
	ModelRef         string `json:"model_ref"`
	ConfigCommitment string `json:"config_commitment"`
}

// RunRequest is what a topic VM is told about one submission (R§16.4).
type RunRequest struct {
	SchemaVersion      uint32         `json:"schema_version"` // 1
	TopicID            string         `json:"topic_id"`
	CustomID           string         `json:"custom_id"`
	Primary            string         `json:"primary"`
	Direction          string         `json:"direction"` // min or max
	EpsilonRel         float64        `json:"epsilon_rel"`
	SubmissionDigest   string         `json:"submission_digest"`
	ArtifactDigest     string         `json:"artifact_digest"`
	ArtifactURI        *string        `json:"artifact_uri"` // nil for the operator's baseline
	Claim              string         `json:"claim"`
	FlopsBudget        uint64         `json:"flops_budget"`
	DeclaredFlops      uint64         `json:"declared_flops"`
	Constraints        jsontext.Value `json:"constraints"` // the topic's object
	RulesVersion       uint32         `json:"rules_version"`
	RulesDigest        string         `json:"rules_digest"`
	Seed               uint64         `json:"seed"`
	Judge              JudgeRef       `json:"judge"`
	Sandbox            Sandbox        `json:"sandbox"`
	ExecutorCommitment *string        `json:"executor_commitment"`
}

func (r *RunRequest) check() string {
	switch {
	case r.SchemaVersion != 1:
		return fmt.Sprintf("schema_version %d, this build reads 1", r.SchemaVersion)
	case r.Direction != "min" && r.Direction != "max":
		return "direction is neither min nor max"
	case r.Constraints.Kind() != '{':
		return "constraints is missing or no object"
	}
	return ""
}

// JobKind is the tag of a [Job].
type JobKind string

// The jobs of R§21.1.
const (
	ProposeRules JobKind = "propose_rules"
	Baseline     JobKind = "baseline" // paid
	Inspect      JobKind = "inspect"
	Evaluate     JobKind = "evaluate" // paid
	Archive      JobKind = "archive"
)

func (k *JobKind) check() string {
	if _, _, ok := k.members(); !ok {
		return "want propose_rules, baseline, inspect, evaluate or archive"
	}
	return ""
}

// members returns the names that a job of the kind must and may have beside its
// tag.
func (k JobKind) members() (must, may []string, ok bool) {
	switch k {
	case ProposeRules:
		return []string{"topic"}, []string{"current_version"}, true
	case Baseline:
		return []string{"request"}, nil, true
	case Inspect:
		return []string{"request", "rules"}, nil, true
	case Evaluate:
		return []string{"request", "checklist_digest", "rules_version"}, nil, true
	case Archive:
		return []string{"topic_id"}, nil, true
	}
	return nil, nil, false
}

// Job is one piece of work for a topic VM. It carries public data only: never a
// host path, a key or the origin of a judge. Which fields are set follows from
// its kind; the others are zero, and not written.
type Job struct {
	Kind JobKind `json:"job"`

	Topic          jsontext.Value `json:"topic"`           // propose_rules: the signed document
	CurrentVersion *uint32        `json:"current_version"` // propose_rules: nil when there are no rules yet

	RunRequest *RunRequest `json:"request"` // baseline, inspect, evaluate
	Rules      *RuleSet    `json:"rules"`   // inspect

	ChecklistDigest string `json:"checklist_digest"` // evaluate: the green checklist behind the spend
	RulesVersion    uint32 `json:"rules_version"`    // evaluate

	TopicID string `json:"topic_id"` // archive
}

// Request returns the run request of a job, or nil for a job that has none.
func (j *Job) Request() *RunRequest {
	switch j.Kind {
	case Baseline, Inspect, Evaluate:
		return j.RunRequest
	}
	return nil
}

// Paid reports whether the job runs miner or baseline code in a sister guest.
func (j *Job) Paid() bool { return j.Kind == Baseline || j.Kind == Evaluate }

// TopicOf returns the topic that the job is about, and "" when it names none. Of
// a rule set and a request of two topics the request's counts; see
// [Job.Coherent].
func (j *Job) TopicOf() string {
	switch j.Kind {
	case ProposeRules:
		return documentID(j.Topic)
	case Archive:
		return j.TopicID
	}
	if r := j.Request(); r != nil {
		return r.TopicID
	}
	return ""
}

// Coherent refuses a job whose own parts name two topics or two versions of the
// rules.
func (j *Job) Coherent() error {
	r := j.Request()
	switch {
	case r == nil:
		return nil
	case j.Kind == Inspect && j.Rules != nil && j.Rules.TopicID != r.TopicID:
		return fmt.Errorf("job %s: rules are of topic %q, the request of %q", j.Kind, j.Rules.TopicID, r.TopicID)
	case j.Kind == Inspect && j.Rules != nil && j.Rules.Version != r.RulesVersion:
		return fmt.Errorf("job %s: rules are version %d, the request names %d", j.Kind, j.Rules.Version, r.RulesVersion)
	case j.Kind == Evaluate && j.RulesVersion != r.RulesVersion:
		return fmt.Errorf("job %s: rules_version %d, the request names %d", j.Kind, j.RulesVersion, r.RulesVersion)
	}
	return nil
}

// documentID reads the member id of a topic document and nothing else of it.
func documentID(document jsontext.Value) string {
	d := jsontext.NewDecoder(bytes.NewReader(document))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return ""
		}
		if t.String() != "id" {
			if d.SkipValue() != nil {
				return ""
			}
			continue
		}
		if t, err = d.ReadToken(); err != nil || t.Kind() != '"' {
			return ""
		}
		return t.String()
	}
	return ""
}

func (j *Job) read(d *decoder) error {
	type fields Job
	var f fields
	seen, err := d.object(reflect.ValueOf(&f).Elem(), true)
	if err != nil {
		return err
	}
	if !slices.Contains(seen, "job") {
		return d.fail("lacks the member job")
	}
	*j = Job(f)
	must, may, _ := j.Kind.members()
	for _, name := range must {
		if !slices.Contains(seen, name) {
			return d.fail("a job %s lacks the member %s", j.Kind, name)
		}
	}
	for _, name := range seen {
		if name != "job" && !slices.Contains(must, name) && !slices.Contains(may, name) {
			return d.fail("a job %s has no member %s", j.Kind, name)
		}
	}
	return nil
}

func (j *Job) check() string {
	switch {
	case j.Kind == ProposeRules && j.Topic.Kind() != '{':
		return "topic is not a document"
	case j.Kind == Inspect && j.Rules == nil:
		return "rules is null"
	case (j.Kind == Inspect || j.Paid()) && j.RunRequest == nil:
		return "request is null"
	}
	return ""
}

// UnmarshalJSONFrom reads a job as strictly as [Decode] does.
func (j *Job) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	d := &decoder{Decoder: from}
	return d.value(reflect.ValueOf(j).Elem(), false)
}

// MarshalJSONTo writes the tag and the fields of the job's kind.
func (j Job) MarshalJSONTo(to *jsontext.Encoder) error {
	if reason := j.Kind.check(); reason != "" {
		return fmt.Errorf("job %q: %s", j.Kind, reason)
	}
	if reason := j.check(); reason != "" {
		return fmt.Errorf("job %s: %s", j.Kind, reason)
	}
	var body any
	switch j.Kind {
	case ProposeRules:
		body = struct {
			Kind           JobKind        `json:"job"`
			Topic          jsontext.Value `json:"topic"`
			CurrentVersion *uint32        `json:"current_version"`
		}{j.Kind, j.Topic, j.CurrentVersion}
	case Baseline:
		body = struct {
			Kind    JobKind     `json:"job"`
			Request *RunRequest `json:"request"`
		}{j.Kind, j.RunRequest}
	case Inspect:
		body = struct {
			Kind    JobKind     `json:"job"`
			Request *RunRequest `json:"request"`
			Rules   *RuleSet    `json:"rules"`
		}{j.Kind, j.RunRequest, j.Rules}
	case Evaluate:
		body = struct {
			Kind            JobKind     `json:"job"`
			Request         *RunRequest `json:"request"`
			ChecklistDigest string      `json:"checklist_digest"`
			RulesVersion    uint32      `json:"rules_version"`
		}{j.Kind, j.RunRequest, j.ChecklistDigest, j.RulesVersion}
	case Archive:
		body = struct {
			Kind    JobKind `json:"job"`
			TopicID string  `json:"topic_id"`
		}{j.Kind, j.TopicID}
	}
	return json.MarshalEncode(to, body)
}
