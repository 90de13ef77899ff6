package scoring

import (
	"strconv"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

type correctionKey struct{ agentDID, taskID string }

// correctionsOf groups the entries of one track, each group in the file's order.
func correctionsOf(b *bundle.Bundle, trackName string) map[correctionKey][]bundle.Correction {
	if b.Corrections == nil {
		return nil
	}
	groups := map[correctionKey][]bundle.Correction{}
	for _, c := range b.Corrections.Entries {
		if c.Track == trackName {
			k := correctionKey{c.AgentDID, c.TaskID}
			groups[k] = append(groups[k], c)
		}
	}
	return groups
}

// correct applies the corrections of one task to a task whose state is decided
// (§13). The state stays; rates and grounding follow the corrected statuses. A
// corrected assertion has no detail: the decision gives none.
func (s *trackScorer) correct(t *results.Task, agentDID string) error {
	for _, c := range s.corrections[correctionKey{agentDID, t.TaskID}] {
		if t.State != results.StateSubmitted {
			return &bundle.UnreadableError{Path: bundle.CorrectionsPath, Fault: "names task " + t.TaskID + " of " + agentDID +
				", which is " + t.State + ": only assertions of a submitted task can be corrected"}
		}
		if !correctAssertion(t, c) {
			return &bundle.UnreadableError{Path: bundle.CorrectionsPath, Fault: "names assertion " + strconv.QuoteToASCII(c.AssertionID) +
				" of task " + t.TaskID + " of " + agentDID + ", which has no such assertion"}
		}
	}
	return nil
}

// correctAssertion reports whether the task has the assertion of a correction.
func correctAssertion(t *results.Task, c bundle.Correction) bool {
	for i := range t.Assertions {
		if a := &t.Assertions[i]; a.ID == c.AssertionID {
			a.Status, a.Cause, a.Detail = c.Status, c.Cause, nil
			return true
		}
	}
	return false
}

// checkCorrections scores the tasks that corrections name, before anything is
// written: an entry that names nothing makes the bundle unreadable.
func (s *trackScorer) checkCorrections() error {
	if s.b.Corrections == nil {
		return nil
	}
	checked := map[correctionKey]bool{}
	for _, c := range s.b.Corrections.Entries {
		k := correctionKey{c.AgentDID, c.TaskID}
		if c.Track != s.t.Name || checked[k] {
			continue
		}
		checked[k] = true
		for _, r := range s.tasks {
			if r.ID != c.TaskID {
				continue
			}
			t, _, err := s.visit(c.AgentDID).task(r)
			if err != nil {
				return err
			}
			// A task that ends before verification has not met its corrections.
			if err := s.correct(&t, c.AgentDID); err != nil {
				return err
			}
		}
	}
	return nil
}
