package scoring

import (
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// taskRules is everything a task is scored against.
type taskRules struct {
	track.Task
	graph *track.Graph
	key   bundle.KeyTask
}

// task decides the state of one task for one participant (§9.2): the first row
// that holds. Incidents come only from tasks whose assertions are verified.
func (v *visit) task(r *taskRules) (results.Task, []results.Incident, error) {
	t := results.Task{TaskID: r.ID}
	data, found, err := v.b.Submission(v.agentDID, r.ID)
	if err != nil {
		return t, nil, err
	}
	if !found {
		return settle(t, results.StateNotSubmitted, results.ReasonAbsent), nil, nil
	}
	sub, faults := bundle.ParseSubmission(data, v.b.SubmissionContext(v.agentDID, r.ID))
	if len(faults) > 0 {
		return settle(t, results.StateNotSubmitted, results.ReasonNotConforming), nil, nil
	}
	t.Verdict = &sub.Verdict
	if reason := rejected(v.t.Rules, r, sub.Assertions); reason != "" {
		return settle(t, results.StateRejected, reason), nil, nil
	}
	proofs, err := v.proofs(sub)
	if err != nil {
		return t, nil, err
	}
	for _, a := range sub.Assertions {
		t.Assertions = append(t.Assertions, v.assertion(a, proofs.of(a)))
	}
	t = decide(t, r, sub)
	if err := v.correct(&t, v.agentDID); err != nil {
		return t, nil, err
	}
	if t.State == results.StateSubmitted {
		grade(&t, r.key, sub)
	}
	return t, incidents(t, proofs), nil
}

// rejected applies rows 3 to 6: what only the corpus shows. Each row looks at
// all assertions before the next.
func rejected(rules *track.Rules, r *taskRules, assertions []bundle.Assertion) string {
	if len(assertions) > r.Cap {
		return results.ReasonOverCap
	}
	for _, a := range assertions {
		if !r.graph.Contains(a.Resource) {
			return results.ReasonOutsideTaskGraph
		}
	}
	for _, a := range assertions {
		if !rules.Probative(a.Resource, a.Field) {
			return results.ReasonFieldNotProbative
		}
	}
	for _, a := range assertions {
		if !r.graph.Concerns(a.Resource, a.Field) {
			return results.ReasonNotConcerned
		}
	}
	return ""
}

// decide applies rows 7 to 10. Instrument faults count for neither minimum (D13).
func decide(t results.Task, r *taskRules, sub *bundle.Submission) results.Task {
	counted, own := 0, 0
	for i, a := range t.Assertions {
		switch {
		case a.Status == bundle.StatusPending:
			t.State = results.StatePending
			return t // verdict_exact and grounded stay null
		case a.Status == bundle.StatusInstrumentFault:
			continue
		case r.graph.Own(sub.Assertions[i].Resource):
			own++
		}
		counted++
	}
	switch {
	case counted < r.Minimum:
		return settle(t, results.StateNotSubmitted, results.ReasonBelowMinimum)
	case own < r.OwnMinimum():
		return settle(t, results.StateNotSubmitted, results.ReasonBelowOwnMinimum)
	}
	t.State = results.StateSubmitted
	return t
}

// settle gives a task that is neither submitted nor pending its state: it is
// inexact and not grounded.
func settle(t results.Task, state, reason string) results.Task {
	exact, grounded := false, false
	t.State, t.Reason, t.VerdictExact, t.Grounded = state, &reason, &exact, &grounded
	return t
}

// grade compares a submitted task with the key: the verdict, then for an exact
// one the facts that ground it (specification §5.7).
func grade(t *results.Task, key bundle.KeyTask, sub *bundle.Submission) {
	exact := sub.Verdict == key.Verdict
	grounded := exact
	if exact {
		supported := map[string]bool{}
		for i, a := range t.Assertions {
			if a.Status == bundle.StatusSupported {
				supported[bundle.TripletKey(sub.Assertions[i].Triplet)] = true
			}
		}
		for _, fact := range key.Facts {
			if !carried(fact, supported) {
				t.MissingFacts = append(t.MissingFacts, fact.Triplet)
			}
		}
		grounded = len(t.MissingFacts) == 0
	}
	t.VerdictExact, t.Grounded = &exact, &grounded
}

// carried reports whether a supported assertion is the fact or an equivalent.
func carried(fact bundle.Fact, supported map[string]bool) bool {
	if supported[bundle.TripletKey(fact.Triplet)] {
		return true
	}
	for _, e := range fact.Equivalents {
		if supported[bundle.TripletKey(e)] {
			return true
		}
	}
	return false
}

// proofSet holds the proofs of one submission, in the order first cited.
type proofSet struct {
	byID  map[string]*citedProof
	order []*citedProof
}

func (v *visit) proofs(sub *bundle.Submission) (*proofSet, error) {
	set := &proofSet{byID: make(map[string]*citedProof, len(sub.Disclosures))}
	for _, a := range sub.Assertions {
		for _, id := range a.ProofIDs {
			if set.byID[id] != nil {
				continue
			}
			p, err := v.proof(id, sub.Disclosures[id])
			if err != nil {
				return nil, err
			}
			set.byID[id] = p
			set.order = append(set.order, p)
		}
	}
	return set, nil
}

// of lists the proofs of an assertion in the order cited.
func (p *proofSet) of(a bundle.Assertion) []*citedProof {
	list := make([]*citedProof, len(a.ProofIDs))
	for i, id := range a.ProofIDs {
		list[i] = p.byID[id]
	}
	return list
}

// incidents gathers the fault proofs of assertions with that status and the
// diverging flat members of every proof that passed step 1 (§11).
func incidents(t results.Task, proofs *proofSet) []results.Incident {
	var list []results.Incident
	for _, a := range t.Assertions {
		if a.Status != bundle.StatusInstrumentFault {
			continue
		}
		for _, id := range a.ProofIDs {
			if resource := proofs.byID[id].fault; resource != "" {
				list = append(list, results.Incident{Kind: results.IncidentInstrumentFault, TaskID: &t.TaskID, AssertionID: &a.ID, ProofID: id, Detail: resource})
			}
		}
	}
	for _, p := range proofs.order {
		for _, path := range p.flat {
			list = append(list, results.Incident{Kind: results.IncidentFlatFieldDiverges, ProofID: p.id, Detail: path})
		}
	}
	return list
}
