package results

import (
	"bytes"
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Results is a whole results.json in memory, for pages and reports.
type Results struct {
	Season         int64
	Version        int64               // 0 for a first publication
	PreviousSHA256 string              // "" for a first publication
	Corrections    []bundle.Correction // without their reasons
	Tracks         map[string]*TrackResults
}

// TrackNames lists the tracks in name order.
func (r *Results) TrackNames() []string { return slices.Sorted(maps.Keys(r.Tracks)) }

// TrackResults is one track of Results.
type TrackResults struct {
	Best         BestConstantAnswer
	Participants []Participant // by DID
}

// Header is what stands beside the tracks.
type Header struct {
	Season      int64
	Corrections *bundle.Corrections // nil for a first publication
}

// BestConstantAnswer is the fixed row of specification §7.2: the most frequent
// expected verdict, and what returning it everywhere would score. The file has no
// percent here.
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
	TasksSubmitted int64
	Tasks          []Task     // in season.json's order
	Incidents      []Incident // without doubles, sorted by C(incident)
}

// Pending counts the tasks that wait for their witnesses: while there is one the
// row is provisional (specification §4.1).
func (p *Participant) Pending() int64 {
	var n int64
	for i := range p.Tasks {
		if p.Tasks[i].State == StatePending {
			n++
		}
	}
	return n
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

// Solved reports whether the verdict is exact and grounded.
func (t *Task) Solved() bool {
	return t.VerdictExact != nil && *t.VerdictExact && t.Grounded != nil && *t.Grounded
}

// Absent reports whether no submission was recorded.
func (t *Task) Absent() bool { return t.Reason != nil && *t.Reason == ReasonAbsent }

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

// SortIncidents puts incidents in the order of §11, by C(incident), and drops
// doubles.
func SortIncidents(list []Incident) []Incident {
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
