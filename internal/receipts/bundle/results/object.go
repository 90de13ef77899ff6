package results

import (
	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Object is the participant's entry P of §11.
func (p *Participant) Object() *canonjson.Object {
	var overclaim any
	if p.Overclaim != nil {
		overclaim = p.Overclaim.object()
	}
	return canonjson.NewObject(
		"agent_did", p.AgentDID, "kind", p.Kind, "ranked", p.Ranked,
		"overclaim", overclaim, "success", p.Success.object(),
		"tasks_submitted", canonjson.NewInt(p.TasksSubmitted),
		"tasks", objects(p.Tasks, Task.object), "incidents", objects(p.Incidents, Incident.object))
}

func (r Rate) object() *canonjson.Object {
	return canonjson.NewObject("num", canonjson.NewInt(r.Num), "den", canonjson.NewInt(r.Den), "percent", r.Percent)
}

func (b BestConstantAnswer) object() *canonjson.Object {
	return canonjson.NewObject("verdict", b.Verdict, "num", canonjson.NewInt(b.Num), "den", canonjson.NewInt(b.Den))
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
