package results

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Parse reads a results.json strictly. It requires every member of §11 with its
// type and counts that can be printed; whether the figures are right is a
// replay's question. The error names the JSON Pointer at fault, on one line.
func Parse(data []byte) (*Results, error) {
	d, v := strict.Parse(data)
	r := &reader{d}
	o := d.Object("", v)
	out := &Results{Season: d.IntegerOf("", o, "season"), Tracks: map[string]*TrackResults{}}
	at, tracks := d.ObjectOf("", o, "tracks")
	for name, v := range tracks.All() {
		out.Tracks[name] = r.track(at+"/"+strict.Token(name), v)
	}
	if o.Has("version") {
		out.Version = d.IntegerOf("", o, "version")
		out.PreviousSHA256 = d.HashOf("", o, "previous_sha256")
		out.Corrections = each(r, "", o, "corrections", r.correction)
	}
	if d.Failed() {
		return nil, fmt.Errorf("%s: %s", bundle.ResultsPath, d.Fault())
	}
	return out, nil
}

type reader struct{ *strict.Document }

// each reads an array of objects, until a fault.
func each[T any](r *reader, at string, o *canonjson.Object, name string, read func(at string, o *canonjson.Object) T) []T {
	at, values := r.ArrayOf(at, o, name)
	out := make([]T, 0, len(values))
	for i, v := range values {
		if r.Failed() {
			return nil
		}
		at := strict.Index(at, i)
		out = append(out, read(at, r.Object(at, v)))
	}
	return out
}

func (r *reader) track(at string, v any) *TrackResults {
	o := r.Object(at, v)
	bestAt, best := r.ObjectOf(at, o, "best_constant_answer")
	return &TrackResults{
		Best: BestConstantAnswer{
			Verdict: r.TextOf(bestAt, best, "verdict"),
			Rate:    NewRate(r.count(bestAt, best, "num"), r.count(bestAt, best, "den")),
		},
		Participants: each(r, at, o, "participants", r.participant),
	}
}

func (r *reader) participant(at string, o *canonjson.Object) Participant {
	p := Participant{
		AgentDID: r.TextOf(at, o, "agent_did"), Kind: r.TextOf(at, o, "kind"), Ranked: r.boolean(at, o, "ranked"),
		TasksSubmitted: r.count(at, o, "tasks_submitted"),
		Tasks:          each(r, at, o, "tasks", r.task),
		Incidents:      each(r, at, o, "incidents", r.incident),
	}
	if at, v := r.Member(at, o, "overclaim"); v != nil {
		over := r.rate(at, r.Object(at, v))
		p.Overclaim = &over
	}
	successAt, success := r.ObjectOf(at, o, "success")
	p.Success = r.rate(successAt, success)
	return p
}

func (r *reader) rate(at string, o *canonjson.Object) Rate {
	v := Rate{Num: r.count(at, o, "num"), Den: r.count(at, o, "den"), Percent: r.TextOf(at, o, "percent")}
	if !r.Failed() && (v.Den == 0 || v.Num > v.Den) {
		r.Fail(at, "must be a part of a whole: num %d, den %d", v.Num, v.Den)
	}
	if !r.Failed() && !printedPercent(v.Percent) {
		r.Fail(at+"/percent", "must be digits with one decimal such as \"6.3\", is %s", strict.Quote(v.Percent))
	}
	return v
}

// count stays in the range in which percents print.
func (r *reader) count(at string, o *canonjson.Object, name string) int64 {
	n := r.IntegerOf(at, o, name)
	if n < 0 || n > 1<<40 {
		r.Fail(at+"/"+name, "must be a count")
		return 0
	}
	return n
}

func (r *reader) boolean(at string, o *canonjson.Object, name string) bool {
	at, v := r.Member(at, o, name)
	return r.Boolean(at, v)
}

func (r *reader) booleanOrNull(at string, o *canonjson.Object, name string) *bool {
	at, v := r.Member(at, o, name)
	if v == nil {
		return nil
	}
	b := r.Boolean(at, v)
	return &b
}

func (r *reader) textOrNull(at string, o *canonjson.Object, name string) *string {
	s, ok := r.TextOrNull(at, o, name)
	if !ok {
		return nil
	}
	return &s
}

func (r *reader) task(at string, o *canonjson.Object) Task {
	return Task{
		TaskID: r.TextOf(at, o, "task_id"), State: r.TextOf(at, o, "state"),
		Reason: r.textOrNull(at, o, "reason"), Verdict: r.textOrNull(at, o, "verdict"),
		VerdictExact: r.booleanOrNull(at, o, "verdict_exact"), Grounded: r.booleanOrNull(at, o, "grounded"),
		MissingFacts: each(r, at, o, "missing_facts", r.triplet), Assertions: each(r, at, o, "assertions", r.assertion),
	}
}

func (r *reader) triplet(at string, o *canonjson.Object) bundle.Triplet {
	t := bundle.Triplet{Resource: r.TextOf(at, o, "resource"), Field: r.TextOf(at, o, "field")}
	_, t.Value = r.Member(at, o, "value")
	return t
}

func (r *reader) assertion(at string, o *canonjson.Object) Assertion {
	a := Assertion{
		ID: r.TextOf(at, o, "id"), Status: r.TextOf(at, o, "status"),
		Cause: r.textOrNull(at, o, "cause"), Detail: r.textOrNull(at, o, "detail"),
	}
	at, ids := r.ArrayOf(at, o, "proof_ids")
	for i, id := range ids {
		a.ProofIDs = append(a.ProofIDs, r.Text(strict.Index(at, i), id))
	}
	return a
}

func (r *reader) incident(at string, o *canonjson.Object) Incident {
	return Incident{
		Kind: r.TextOf(at, o, "kind"), TaskID: r.textOrNull(at, o, "task_id"), AssertionID: r.textOrNull(at, o, "assertion_id"),
		ProofID: r.TextOf(at, o, "proof_id"), Detail: r.TextOf(at, o, "detail"),
	}
}

func (r *reader) correction(at string, o *canonjson.Object) bundle.Correction {
	return bundle.Correction{
		AgentDID: r.TextOf(at, o, "agent_did"), Track: r.TextOf(at, o, "track"), TaskID: r.TextOf(at, o, "task_id"),
		AssertionID: r.TextOf(at, o, "assertion_id"), Status: r.TextOf(at, o, "status"), Cause: r.textOrNull(at, o, "cause"),
	}
}
