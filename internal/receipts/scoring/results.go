package scoring

import (
	"bytes"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// The states of a task and their reasons (§9.2).
const (
	StateNotSubmitted = "not_submitted"
	StateRejected     = "rejected"
	StatePending      = "pending"
	StateSubmitted    = "submitted"

	ReasonAbsent            = "absent"
	ReasonNotConforming     = "not_conforming"
	ReasonOverCap           = "over_cap"
	ReasonOutsideTaskGraph  = "outside_task_graph"
	ReasonFieldNotProbative = "field_not_probative"
	ReasonNotConcerned      = "common_list_entry_not_concerned"
	ReasonBelowMinimum      = "below_minimum"
	ReasonBelowOwnMinimum   = "below_own_minimum"
)

// Details of steps 3 and 4 (§10); those of steps 1 and 2 are package receipt's.
const (
	DetailRequestHashDiffers  = "request_hash_differs"
	DetailResponseHashDiffers = "response_hash_differs"
	DetailFieldAbsent         = "field_absent"
	DetailValueDiffers        = "value_differs"
)

// The kinds of incidents (§11). An incident is never a cause of a score.
const (
	IncidentInstrumentFault   = "instrument_fault"
	IncidentFlatFieldDiverges = "flat_field_diverges"
)

// Header is what stands before the tracks.
type Header struct {
	Season      int64
	Corrections *bundle.Corrections // nil for a first publication
}

// BestConstantAnswer is the fixed row of §7.2: the most frequent expected
// verdict, and what returning it everywhere would score.
type BestConstantAnswer struct {
	Verdict string
	Rate
}

// Participant is one row of a track's results.
type Participant struct {
	AgentDID       string
	Kind           string
	Ranked         bool
	Overclaim      *Rate // nil when no assertion counts
	Success        Rate
	TasksSubmitted int
	Tasks          []Task     // in season.json's order
	Incidents      []Incident // without doubles, sorted by C(incident)
}

// Task is what became of one task.
type Task struct {
	TaskID       string
	State        string
	Reason       *string
	Verdict      *string // as submitted; nil when absent or not conforming
	VerdictExact *bool   // nil when pending
	Grounded     *bool   // nil when pending
	MissingFacts []bundle.Triplet
	Assertions   []Assertion // in the submission's order
}

// Assertion is the status of one assertion.
type Assertion struct {
	ID            string
	Status        string
	Cause, Detail *string
	ProofIDs      []string
}

// Incident is something that a reader should know beside the rates.
type Incident struct {
	Kind                string
	TaskID, AssertionID *string
	ProofID             string
	Detail              string
}

func (r Rate) object() *canonjson.Object {
	return canonjson.NewObject("num", canonjson.NewInt(int64(r.Num)), "den", canonjson.NewInt(int64(r.Den)), "percent", r.Percent())
}

func (b BestConstantAnswer) object() *canonjson.Object {
	return canonjson.NewObject("verdict", b.Verdict, "num", canonjson.NewInt(int64(b.Num)), "den", canonjson.NewInt(int64(b.Den)))
}

// Object is the participant's entry P of §11.
func (p *Participant) Object() *canonjson.Object {
	var overclaim any
	if p.Overclaim != nil {
		overclaim = p.Overclaim.object()
	}
	return canonjson.NewObject(
		"agent_did", p.AgentDID, "kind", p.Kind, "ranked", p.Ranked,
		"overclaim", overclaim, "success", p.Success.object(),
		"tasks_submitted", canonjson.NewInt(int64(p.TasksSubmitted)),
		"tasks", objects(p.Tasks, Task.object), "incidents", objects(p.Incidents, Incident.object))
}

func (t Task) object() *canonjson.Object {
	return canonjson.NewObject(
		"task_id", t.TaskID, "state", t.State, "reason", orNull(t.Reason), "verdict", orNull(t.Verdict),
		"verdict_exact", orNull(t.VerdictExact), "grounded", orNull(t.Grounded),
		"missing_facts", objects(t.MissingFacts, tripletObject), "assertions", objects(t.Assertions, Assertion.object))
}

func tripletObject(t bundle.Triplet) *canonjson.Object {
	return canonjson.NewObject("resource", t.Resource, "field", t.Field, "value", t.Value)
}

func (a Assertion) object() *canonjson.Object {
	ids := make([]any, len(a.ProofIDs))
	for i, id := range a.ProofIDs {
		ids[i] = id
	}
	return canonjson.NewObject("id", a.ID, "status", a.Status, "cause", orNull(a.Cause), "detail", orNull(a.Detail), "proof_ids", ids)
}

func (i Incident) object() *canonjson.Object {
	return canonjson.NewObject("kind", i.Kind, "task_id", orNull(i.TaskID), "assertion_id", orNull(i.AssertionID),
		"proof_id", i.ProofID, "detail", i.Detail)
}

func objects[T any](list []T, object func(T) *canonjson.Object) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = object(v)
	}
	return out
}

func orNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// sortIncidents sorts by C(incident) and drops doubles (§11).
func sortIncidents(list []Incident) []Incident {
	type keyed struct {
		Incident
		text []byte
	}
	all := make([]keyed, len(list))
	for i, v := range list {
		all[i] = keyed{v, canonjson.Marshal(v.object())}
	}
	slices.SortFunc(all, func(a, b keyed) int { return bytes.Compare(a.text, b.text) })
	all = slices.CompactFunc(all, func(a, b keyed) bool { return bytes.Equal(a.text, b.text) })
	out := make([]Incident, len(all))
	for i, v := range all {
		out[i] = v.Incident
	}
	return out
}
