package index

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// results is what the pages need of a results.json (bundle format §11, §13).
type results struct {
	Season         int64
	Version        int64  // 0 for a first publication
	PreviousSHA256 string // "" for a first publication
	Corrections    []correction
	Tracks         map[string]*trackResults
}

type trackResults struct {
	Best         bestAnswer
	Participants []participant // by DID
}

type bestAnswer struct {
	Verdict  string
	Num, Den int64
}

type participant struct {
	DID            string
	Kind           string
	Ranked         bool
	Overclaim      *rate // nil when no assertion counted
	Success        rate
	TasksSubmitted int64
	Tasks          []taskResult
	Incidents      []incident
}

// rate is a fraction of counts with the percent that the results print.
type rate struct {
	Num     int64  `json:"num"`
	Den     int64  `json:"den"`
	Percent string `json:"percent"`
}

type taskResult struct {
	ID            string
	State         string
	Reason        *string
	Verdict       *string
	VerdictExact  *bool
	Grounded      *bool
	MissingFacts  []triplet
	Assertions    []assertionResult
	pending       bool
	solved        bool // exact and grounded
	neverReceived bool // not_submitted, absent
}

type triplet struct {
	Resource, Field string
	Value           any
}

type assertionResult struct {
	ID            string
	Status        string
	Cause, Detail *string
	ProofIDs      []string
}

type incident struct {
	Kind                string
	TaskID, AssertionID *string
	ProofID, Detail     string
}

type correction struct {
	DID, Track, TaskID, AssertionID string
	Status                          string
	Cause                           *string
}

// parseResults reads a results.json strictly. It requires the members of §11 with
// their types and counts that can be printed; whether the figures are right is
// the question of a replay. The error names the JSON Pointer at fault.
func parseResults(data []byte) (*results, error) {
	d, v := strict.Parse(data)
	r := &resultsReader{d}
	o := d.Object("", v)
	out := &results{Season: d.IntegerOf("", o, "season"), Tracks: map[string]*trackResults{}}
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
		return nil, fmt.Errorf("results.json: %s", d.Fault())
	}
	return out, nil
}

type resultsReader struct{ *strict.Document }

// each reads an array of objects, until a fault.
func each[T any](r *resultsReader, at string, o *canonjson.Object, name string, read func(at string, o *canonjson.Object) T) []T {
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

func (r *resultsReader) track(at string, v any) *trackResults {
	o := r.Object(at, v)
	bestAt, best := r.ObjectOf(at, o, "best_constant_answer")
	return &trackResults{
		Best: bestAnswer{
			Verdict: r.TextOf(bestAt, best, "verdict"),
			Num:     r.count(bestAt, best, "num"), Den: r.count(bestAt, best, "den"),
		},
		Participants: each(r, at, o, "participants", r.participant),
	}
}

func (r *resultsReader) participant(at string, o *canonjson.Object) participant {
	p := participant{
		DID: r.TextOf(at, o, "agent_did"), Kind: r.TextOf(at, o, "kind"), Ranked: r.boolean(at, o, "ranked"),
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

func (r *resultsReader) rate(at string, o *canonjson.Object) rate {
	v := rate{Num: r.count(at, o, "num"), Den: r.count(at, o, "den"), Percent: r.TextOf(at, o, "percent")}
	if !r.Failed() && (v.Den == 0 || v.Num > v.Den) {
		r.Fail(at, "must be a part of a whole: num %d, den %d", v.Num, v.Den)
	}
	if !r.Failed() && !printedPercent(v.Percent) {
		r.Fail(at+"/percent", "must be digits with one decimal such as \"6.3\", is %s", strict.Quote(v.Percent))
	}
	return v
}

// printedPercent accepts 0.0 to 100.0 as §11 prints them.
func printedPercent(s string) bool {
	n := len(s)
	if n < 3 || n > 5 || s[n-2] != '.' {
		return false
	}
	for i := range n {
		if i != n-2 && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

func (r *resultsReader) count(at string, o *canonjson.Object, name string) int64 {
	n := r.IntegerOf(at, o, name)
	if n < 0 || n > 1<<40 {
		r.Fail(at+"/"+name, "must be a count")
		return 0
	}
	return n
}

func (r *resultsReader) boolean(at string, o *canonjson.Object, name string) bool {
	at, v := r.Member(at, o, name)
	return r.Boolean(at, v)
}

func (r *resultsReader) booleanOrNull(at string, o *canonjson.Object, name string) *bool {
	at, v := r.Member(at, o, name)
	if v == nil {
		return nil
	}
	b := r.Boolean(at, v)
	return &b
}

func (r *resultsReader) textOrNull(at string, o *canonjson.Object, name string) *string {
	s, ok := r.TextOrNull(at, o, name)
	if !ok {
		return nil
	}
	return &s
}

func (r *resultsReader) task(at string, o *canonjson.Object) taskResult {
	t := taskResult{
		ID: r.TextOf(at, o, "task_id"), State: r.TextOf(at, o, "state"), Reason: r.textOrNull(at, o, "reason"),
		Verdict:      r.textOrNull(at, o, "verdict"),
		VerdictExact: r.booleanOrNull(at, o, "verdict_exact"), Grounded: r.booleanOrNull(at, o, "grounded"),
		MissingFacts: each(r, at, o, "missing_facts", r.triplet), Assertions: each(r, at, o, "assertions", r.assertion),
	}
	t.pending = t.State == statePending
	t.solved = t.VerdictExact != nil && *t.VerdictExact && t.Grounded != nil && *t.Grounded
	t.neverReceived = t.Reason != nil && *t.Reason == reasonAbsent
	return t
}

func (r *resultsReader) triplet(at string, o *canonjson.Object) triplet {
	t := triplet{Resource: r.TextOf(at, o, "resource"), Field: r.TextOf(at, o, "field")}
	_, t.Value = r.Member(at, o, "value")
	return t
}

func (r *resultsReader) assertion(at string, o *canonjson.Object) assertionResult {
	a := assertionResult{
		ID: r.TextOf(at, o, "id"), Status: r.TextOf(at, o, "status"),
		Cause: r.textOrNull(at, o, "cause"), Detail: r.textOrNull(at, o, "detail"),
	}
	at, ids := r.ArrayOf(at, o, "proof_ids")
	for i, id := range ids {
		a.ProofIDs = append(a.ProofIDs, r.Text(strict.Index(at, i), id))
	}
	return a
}

func (r *resultsReader) incident(at string, o *canonjson.Object) incident {
	return incident{
		Kind: r.TextOf(at, o, "kind"), TaskID: r.textOrNull(at, o, "task_id"), AssertionID: r.textOrNull(at, o, "assertion_id"),
		ProofID: r.TextOf(at, o, "proof_id"), Detail: r.TextOf(at, o, "detail"),
	}
}

func (r *resultsReader) correction(at string, o *canonjson.Object) correction {
	return correction{
		DID: r.TextOf(at, o, "agent_did"), Track: r.TextOf(at, o, "track"), TaskID: r.TextOf(at, o, "task_id"),
		AssertionID: r.TextOf(at, o, "assertion_id"), Status: r.TextOf(at, o, "status"), Cause: r.textOrNull(at, o, "cause"),
	}
}
