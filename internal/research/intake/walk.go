package intake

import (
	"encoding/json/v2"

	"github.com/prova-dev/prova/internal/research/offer"
)

// Refusal is the answer of a row that fired. It leaves no row behind and rents
// nothing.
type Refusal struct {
	Row    string // number in R§11.3
	Name   string
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

// JSON is the body of the answer (decision 8).
func (r *Refusal) JSON() ([]byte, error) {
	return json.Marshal(struct {
		Error string `json:"error"`
	}{r.Text})
}

// Kind says how the gate ended without a refusal.
type Kind string

// The ways through the gate.
const (
	Run    Kind = "run"    // a place in the queue, then a run
	Reject Kind = "reject" // a row now, without a run (row 22)
	Rejoin Kind = "rejoin" // nothing new: the answer is what its first copy has become
)

// Outcome is a submission that was not refused.
type Outcome struct {
	Kind       Kind
	Submission *Submission
	// Judge is what the judge of a run is called with. It holds the origin.
	Judge offer.Judge
	// Plan is the rent of a run; nil under sim and without a run.
	Plan *offer.Plan
	// Fingerprints are the hits of the manifest in the holdout, for the verdict of
	// a Reject. They name records; nothing but the verdict's gate may say so.
	Fingerprints []string
}

// Before walks the rows up to the freeze, which look at nothing but the request
// and the host. A host that refuses here has asked its store for nothing.
func Before(f *Facts) (*Submission, *Refusal) {
	s := &Submission{}
	for i := range gate[:frozen] {
		if refusal := gate[i].refuse(f, s); refusal != nil {
			return nil, refusal
		}
	}
	return s, nil
}

// After walks the rows behind the freeze. f.Host may be newer than it was in
// Before; the offers and the topic stay those that were frozen.
func After(f *Facts, s *Submission) (*Outcome, *Refusal) {
	out := &Outcome{Kind: Run, Submission: s}
	for i := range gate[frozen:] {
		row := &gate[frozen+i]
		if row.settles != nil {
			if kind := row.settles(f, s); kind != "" {
				out.Kind = kind
				break
			}
		}
		if refusal := row.refuse(f, s); refusal != nil {
			return nil, refusal
		}
	}
	switch out.Kind {
	case Reject:
		out.Fingerprints = s.fingerprints()
	case Run:
		out.Judge = s.judge(f.Host)
		if !f.Host.Sim {
			out.Plan, _ = s.plan(f.Host) // row 23 let it through
		}
	}
	return out, nil
}

// Decide walks the whole gate over facts that are all known.
func Decide(f *Facts) (*Outcome, *Refusal) {
	s, refusal := Before(f)
	if refusal != nil {
		return nil, refusal
	}
	return After(f, s)
}

// Unready returns every row about the host that stands between a submission to an
// open topic and its run, in the order of the gate; the first is what a miner would
// be told, all of them are what an operator still has to do. With none of them the
// host can score the topic. Row numbers tell host (9 to 15) from topic.
func (h *Host) Unready(t *Topic) []*Refusal {
	f := &Facts{Host: h}
	s := &Submission{Topic: t, TopicID: t.Document.ID, Inference: h.Inference, Executor: h.Executor, Epoch: h.Epoch}
	var missing []*Refusal
	for i := range gate {
		if !gate[i].Host {
			continue
		}
		if refusal := gate[i].refuse(f, s); refusal != nil {
			missing = append(missing, refusal)
		}
	}
	return missing
}

// refuse applies a row, a step's included.
func (row *Row) refuse(f *Facts, s *Submission) *Refusal {
	if row.Live && f.Host.Sim {
		return nil
	}
	text, fired := row.Text, false
	switch {
	case row.step != nil:
		row.step(f, s)
	case row.when != nil:
		fired = row.when(f, s)
	case row.why != nil:
		if err := row.why(f, s); err != nil {
			text, fired = err.Error(), true
		}
	}
	if !fired {
		return nil
	}
	if row.adds != nil {
		text += row.adds(f, s)
	}
	return &Refusal{Row: row.Number, Name: row.Name, Status: row.Status, Text: text}
}

// frozen is the number of rows up to the freeze.
var frozen = rowsBefore(freezeRow) + 1

func rowsBefore(name string) int {
	for i, row := range gate {
		if row.Name == name {
			return i
		}
	}
	return len(gate)
}
