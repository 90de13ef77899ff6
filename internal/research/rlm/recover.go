package rlm

import (
	"context"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Recover makes good what a process before this one left half done, from the ledger,
// which is never half done: zips that have a row get their name, zips without one are
// removed, best.json and events.jsonl are written as the ledger has them, and topics
// in the phase of a run that never persisted are open again. Call it at start, before
// the first run; no other process may use the artefact root.
//
// A topic whose lease a dead run still has is left to the next run of it, which waits
// for the lease and does the same. An error of one topic does not keep the others
// from being recovered; all are returned.
func (e *Engine) Recover(ctx context.Context) error {
	errs := []error{e.settleLeftovers(ctx)}
	versions, err := e.o.Ledger.Topics(ctx)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, v := range versions {
		errs = append(errs, e.rebuild(ctx, v.TopicID), e.recoverPhase(ctx, v))
	}
	return errors.Join(errs...)
}

// settleLeftovers publishes or removes each staged zip, as the ledger says.
func (e *Engine) settleLeftovers(ctx context.Context) error {
	left, err := e.o.Artefacts.Leftovers()
	if err != nil {
		return err
	}
	var errs []error
	for i := range left {
		z := &left[i]
		id, err := intake.ParseID(z.RowID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		record, err := e.o.Ledger.Artefact(ctx, z.TopicID, id)
		switch {
		case err != nil: // nothing is removed that might still be wanted
		case record != nil && record.SHA256 == z.SHA256:
			err = z.Publish()
			e.o.Log.Info("published an artefact of the last run", "topic", z.TopicID, "row", z.RowID)
		default:
			err = z.Discard()
			e.o.Log.Info("removed an artefact that has no row", "topic", z.TopicID, "row", z.RowID)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// rebuild writes the public files of a topic from the ledger (R§20).
func (e *Engine) rebuild(ctx context.Context, topicID string) error {
	records, err := e.o.Ledger.Artefacts(ctx, topicID)
	if err != nil {
		return err
	}
	promotions, err := e.o.Ledger.Promotions(ctx, topicID)
	if err != nil {
		return err
	}
	crowned := make(map[string]*ledger.Promotion, len(promotions))
	var best *artefact.Best
	for i := range promotions {
		p := &promotions[i]
		crowned[p.SubmissionID] = p
		best = bestOf(p)
	}
	var events []artefact.Event
	for _, a := range records {
		events = append(events, artefact.Scored(a.SubmissionID, a.PrimaryValue, a.ChecklistGreen))
		if p := crowned[a.SubmissionID]; p != nil {
			events = append(events, artefact.Promoted(p.SubmissionID, p.Primary, p.Bar, p.PreviousBest))
		}
	}
	return e.o.Artefacts.Project(topicID, best, events)
}

func bestOf(p *ledger.Promotion) *artefact.Best {
	return &artefact.Best{
		TopicID: p.TopicID, SubmissionID: p.SubmissionID, SubmissionDigest: p.SubmissionDigest, PrimaryValue: p.Primary, Bar: p.Bar,
	}
}

// recoverPhase opens a topic again whose run never persisted, under its lease: a run
// that is still alive somewhere has that.
func (e *Engine) recoverPhase(ctx context.Context, v ledger.TopicVersion) error {
	state, err := e.o.Ledger.State(ctx, v.TopicID)
	if err != nil || State(state) != Evaluating && State(state) != Promoting {
		return err
	}
	d, err := topic.ParseJSON(v.Document)
	if err != nil {
		return fmt.Errorf("stored topic %s: %w", v.TopicID, err)
	}
	lease, err := e.take(ctx, v.TopicID)
	if err != nil || lease == nil {
		return err
	}
	defer lease.end()
	return e.freshen(lease.ctx, d)
}
