package scoring

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Results is a whole results.json in memory, for pages and reports.
type Results struct {
	Season         int64
	Version        int64               // 0 for a first publication
	PreviousSHA256 string              // "" for a first publication
	Corrections    []bundle.Correction // without their reasons
	Tracks         map[string]*TrackResults
}

// TrackResults is one track of Results.
type TrackResults struct {
	Best         BestConstantAnswer
	Participants []Participant // by DID
}

// ParseResults reads a results.json. It requires every member of §11 with its
// type; that the figures follow from a bundle is a replay's question. The error
// names the JSON Pointer at fault.
func ParseResults(data []byte) (*Results, error) {
	d, v := strict.Parse(data)
	r := &resultsReader{Document: d}
	if d.Failed() {
		return nil, r.err()
	}
	o := d.Object("", v)
	out := &Results{Season: d.IntegerOf("", o, "season"), Tracks: map[string]*TrackResults{}}
	at, tracks := d.ObjectOf("", o, "tracks")
	for name, v := range tracks.All() {
		out.Tracks[name] = r.track(at+"/"+strict.Token(name), v)
	}
	if o.Has("version") {
		out.Version = d.IntegerOf("", o, "version")
		out.PreviousSHA256 = d.HashOf("", o, "previous_sha256")
		out.Corrections = list(r, "", o, "corrections", r.correction)
	}
	if d.Failed() {
		return nil, r.err()
	}
	return out, nil
}

// TrackNames lists the tracks in name order.
func (r *Results) TrackNames() []string { return slices.Sorted(maps.Keys(r.Tracks)) }

type resultsReader struct{ *strict.Document }

func (r *resultsReader) err() error { return fmt.Errorf("results: %s", r.Fault()) }

// list reads an array member through read, until a fault.
func list[T any](r *resultsReader, at string, o *canonjson.Object, name string, read func(at string, o *canonjson.Object) T) []T {
	at, values := r.ArrayOf(at, o, name)
	out := make([]T, 0, len(values))
	for i, v := range values {
		if r.Failed() {
			break
		}
		at := strict.Index(at, i)
		out = append(out, read(at, r.Object(at, v)))
	}
	return out
}

func (r *resultsReader) track(at string, v any) *TrackResults {
	o := r.Object(at, v)
	bestAt, best := r.ObjectOf(at, o, "best_constant_answer")
	return &TrackResults{
		Best:         BestConstantAnswer{Verdict: r.TextOf(bestAt, best, "verdict"), Rate: r.counts(bestAt, best)},
		Participants: list(r, at, o, "participants", r.participant),
	}
}

// counts reads num and den; both stay in the range in which percents print.
func (r *resultsReader) counts(at string, o *canonjson.Object) Rate {
	const limit = 1 << 40
	num, den := r.IntegerOf(at, o, "num"), r.IntegerOf(at, o, "den")
	if num < 0 || den < 1 || num > limit || den > limit {
		r.Fail(at, "must hold counts: num from 0, den from 1")
		return Rate{Den: 1}
	}
	return Rate{Num: int(num), Den: int(den)}
}

func (r *resultsReader) rate(at string, o *canonjson.Object) Rate {
	rate := r.counts(at, o)
	if p := r.TextOf(at, o, "percent"); !r.Failed() && p != rate.Percent() {
		r.Fail(at+"/percent", "must be %s for %d of %d", rate.Percent(), rate.Num, rate.Den)
	}
	return rate
}

func (r *resultsReader) participant(at string, o *canonjson.Object) Participant {
	p := Participant{
		AgentDID: r.TextOf(at, o, "agent_did"), Kind: r.TextOf(at, o, "kind"),
		TasksSubmitted: r.counter(at, o, "tasks_submitted"),
		Tasks:          list(r, at, o, "tasks", r.task),
		Incidents:      list(r, at, o, "incidents", r.incident),
	}
	rankedAt, ranked := r.Member(at, o, "ranked")
	p.Ranked = r.Boolean(rankedAt, ranked)
	if overAt, v := r.Member(at, o, "overclaim"); v != nil {
		over := r.rate(overAt, r.Object(overAt, v))
		p.Overclaim = &over
	}
	successAt, success := r.ObjectOf(at, o, "success")
	p.Success = r.rate(successAt, success)
	return p
}

func (r *resultsReader) counter(at string, o *canonjson.Object, name string) int {
	n := r.IntegerOf(at, o, name)
	if n < 0 || n > 1<<30 {
		r.Fail(at+"/"+name, "must be a count")
		return 0
	}
	return int(n)
}

func (r *resultsReader) task(at string, o *canonjson.Object) Task {
	return Task{
		TaskID: r.TextOf(at, o, "task_id"), State: r.TextOf(at, o, "state"),
		Reason: r.nullableText(at, o, "reason"), Verdict: r.nullableText(at, o, "verdict"),
		VerdictExact: r.nullableBool(at, o, "verdict_exact"), Grounded: r.nullableBool(at, o, "grounded"),
		MissingFacts: list(r, at, o, "missing_facts", r.triplet), Assertions: list(r, at, o, "assertions", r.assertion),
	}
}

func (r *resultsReader) nullableText(at string, o *canonjson.Object, name string) *string {
	s, ok := r.TextOrNull(at, o, name)
	if !ok {
		return nil
	}
	return &s
}

func (r *resultsReader) nullableBool(at string, o *canonjson.Object, name string) *bool {
	at, v := r.Member(at, o, name)
	if v == nil {
		return nil
	}
	b := r.Boolean(at, v)
	return &b
}

func (r *resultsReader) triplet(at string, o *canonjson.Object) bundle.Triplet {
	t := bundle.Triplet{Resource: r.TextOf(at, o, "resource"), Field: r.TextOf(at, o, "field")}
	_, t.Value = r.Member(at, o, "value")
	return t
}

func (r *resultsReader) assertion(at string, o *canonjson.Object) Assertion {
	a := Assertion{
		ID: r.TextOf(at, o, "id"), Status: r.TextOf(at, o, "status"),
		Cause: r.nullableText(at, o, "cause"), Detail: r.nullableText(at, o, "detail"),
	}
	at, ids := r.ArrayOf(at, o, "proof_ids")
	for i, id := range ids {
		a.ProofIDs = append(a.ProofIDs, r.Text(strict.Index(at, i), id))
	}
	return a
}

func (r *resultsReader) incident(at string, o *canonjson.Object) Incident {
	return Incident{
		Kind: r.TextOf(at, o, "kind"), TaskID: r.nullableText(at, o, "task_id"), AssertionID: r.nullableText(at, o, "assertion_id"),
		ProofID: r.TextOf(at, o, "proof_id"), Detail: r.TextOf(at, o, "detail"),
	}
}

func (r *resultsReader) correction(at string, o *canonjson.Object) bundle.Correction {
	return bundle.Correction{
		AgentDID: r.TextOf(at, o, "agent_did"), Track: r.TextOf(at, o, "track"), TaskID: r.TextOf(at, o, "task_id"),
		AssertionID: r.TextOf(at, o, "assertion_id"), Status: r.TextOf(at, o, "status"), Cause: r.nullableText(at, o, "cause"),
	}
}
