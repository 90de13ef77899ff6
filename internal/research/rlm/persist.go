package rlm

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
)

// landing is one way for a row to be stored.
type landing struct {
	crown  *ledger.Crown // nil: the row does not reign
	events []noted       // out of evaluating
}

// persist stores what a run came to (decision 9). The number of the row is reserved
// before anything bears it; then comes the zip under a temporary name, then one
// transaction with everything, and only then the zip's own name and the projections.
// A crown that the ledger refuses is stored as the pass that it still is, by a zip
// and a row that never said otherwise.
func (e *Engine) persist(ctx context.Context, r *run, lease ledger.Lease) (*intake.StoredRow, error) {
	best, err := e.o.Ledger.Best(ctx, r.doc.ID)
	if err != nil {
		return nil, stored("reigning best", err)
	}
	var id intake.ID
	err = e.write("row number", func() (err error) {
		id, err = e.o.Ledger.ReserveRow(ctx)
		return err
	})
	if err != nil {
		return nil, stored("row number", err)
	}
	want := r.landing(id, best)
	row, err := e.land(ctx, r, lease, id, want)
	if errors.Is(err, ledger.ErrLostSwap) {
		e.o.Log.Info("crown refused", "topic", r.doc.ID, "row", id.String())
		want = landing{events: []noted{
			note(PromotionCandidate, id.String()),
			note(PromotionRefused, id.String()+": the best it was decided against is not the best any more"),
		}}
		row, err = e.land(ctx, r, lease, id, want)
	}
	if errors.Is(err, ledger.ErrMoved) && e.closed(ctx, r) {
		// The operator closed the topic under the run. The run counts for the epoch it
		// was accepted in; a closed topic crowns nobody and moves no more.
		row, err = e.land(ctx, r, lease, id, landing{})
	}
	switch {
	case errors.Is(err, ledger.ErrLease):
		return nil, errLeaseLost
	case errors.Is(err, ledger.ErrLost):
		return nil, fmt.Errorf("the submission's place in the queue was taken over; nothing was stored")
	}
	return row, err
}

func (e *Engine) closed(ctx context.Context, r *run) bool {
	s, err := e.State(ctx, r.doc)
	return err == nil && s == Closed
}

// landing decides about the crown, against the reigning best of the store and under
// the lease of the topic (R§17).
func (r *run) landing(id intake.ID, best *ledger.Promotion) landing {
	var reigning *float64
	var expected *string
	if best != nil {
		reigning, expected = &best.Primary, &best.SubmissionID
	}
	primary := r.verdict.Harness.CustomValue
	bar := family.Bar(r.topic.Direction, r.sealed.CustomValue, reigning)
	decision := family.Promote(family.Candidate{
		Pass: r.verdict.Pass, ChecklistComplete: r.red == nil, Red: r.red, Primary: primary, Bar: bar,
		Direction: r.topic.Direction, EpsilonRel: r.topic.EpsilonRel,
	})
	if !decision.Promote {
		return landing{events: []noted{note(VerdictRecorded, id.String()+": "+string(decision.Keep))}}
	}
	why := id.String()
	if expected != nil {
		why += " displaces " + *expected
	}
	return landing{
		crown:  &ledger.Crown{Expected: expected, Primary: *primary, Bar: bar, Direction: r.topic.Direction},
		events: []noted{note(PromotionCandidate, id.String()), note(Promoted, why)},
	}
}

// land stores the row in one way, or stores nothing.
func (e *Engine) land(ctx context.Context, r *run, lease ledger.Lease, id intake.ID, way landing) (*intake.StoredRow, error) {
	row, attempt, err := r.out.Persist(id, intake.Result{Verdict: r.verdict, Crowned: way.crown != nil, Receipt: r.receipt})
	if err != nil {
		return nil, err
	}
	moves, err := path(r.doc.ID, Evaluating, way.events...)
	if err != nil {
		return nil, err
	}
	zip, err := artefact.Build(r.contents(row.ID, way.crown != nil))
	if err != nil {
		return nil, fmt.Errorf("artefact: %w", err)
	}
	var staged *artefact.Staged
	err = e.write("staged zip", func() (err error) {
		staged, err = e.o.Artefacts.Stage(r.doc.ID, row.ID, zip)
		return err
	})
	if err != nil {
		return nil, stored("artefact", err)
	}
	record := ledger.Artefact{
		Path: staged.Path, SHA256: staged.SHA256, Bytes: staged.Bytes,
		ChecklistGreen: r.red == nil, Promoted: way.crown != nil, PrimaryValue: r.verdict.Harness.CustomValue,
	}
	err = e.write("commit", func() error {
		return e.o.Ledger.Commit(ctx, ledger.Commit{
			Row: row, Attempt: attempt, TreeDigest: r.tree, Flight: r.flight.ID, Holder: r.flight.Holder,
			Lease: &lease, Crown: way.crown, Artefact: &record, Moves: moves,
		})
	})
	if err != nil {
		if !errors.Is(err, store.ErrUncertain) { // then only a restart can tell whether the zip has a row
			e.unstage(staged)
		}
		return nil, commitError(err)
	}
	e.publish(ctx, r, row, staged, way.crown)
	return row, nil
}

// unstage removes a zip that no row refers to.
func (e *Engine) unstage(staged *artefact.Staged) {
	if err := staged.Discard(); err != nil {
		e.o.Log.Warn("staged artefact not removed; the next start removes it", "topic", staged.TopicID, "row", staged.RowID, "error", err)
	}
}

// commitError leaves the refusals of the ledger as they are and hides its faults.
func commitError(err error) error {
	for _, refused := range []error{ledger.ErrLostSwap, ledger.ErrMoved, ledger.ErrLease, ledger.ErrLost, store.ErrUncertain} {
		if errors.Is(err, refused) {
			return err
		}
	}
	return stored("row", err)
}

// publish makes files of what the ledger already holds. A failure here costs nothing
// but time: Recover does it again.
func (e *Engine) publish(ctx context.Context, r *run, row *intake.StoredRow, staged *artefact.Staged, crown *ledger.Crown) {
	if err := e.write("published zip", staged.Publish); err != nil {
		e.o.Log.Error("artefact not published; the next start publishes it", "topic", row.TopicID, "row", row.ID, "error", err)
	}
	err := e.write("scored event", func() error {
		return e.o.Artefacts.Append(row.TopicID, artefact.Scored(row.ID, r.verdict.Harness.CustomValue, r.red == nil))
	})
	if err == nil && crown != nil {
		err = e.write("promoted event", func() error {
			return e.o.Artefacts.Append(row.TopicID, artefact.Promoted(row.ID, crown.Primary, crown.Bar, crown.Expected))
		})
	}
	if err == nil && crown != nil {
		err = e.write("best", func() error {
			return e.o.Artefacts.SetBest(&artefact.Best{
				TopicID: row.TopicID, SubmissionID: row.ID, SubmissionDigest: row.SubmissionDigest, PrimaryValue: crown.Primary, Bar: crown.Bar,
			})
		})
	}
	if err != nil { // whatever is there now, the ledger knows better
		err = e.rebuild(context.WithoutCancel(ctx), row.TopicID)
	}
	if err != nil {
		e.o.Log.Error("public files not written; the next start writes them", "topic", row.TopicID, "error", err)
	}
}

// contents are what the zip of a row holds (R§20).
func (r *run) contents(rowID string, promoted bool) *artefact.Contents {
	s := r.out.Submission
	c := &artefact.Contents{
		Manifest: artefact.Manifest{
			SchemaVersion: SchemaVersion, TopicID: s.TopicID, CustomID: r.doc.Metric.CustomID, SubmissionID: rowID,
			SubmissionDigest: s.Digest, ArtifactDigest: s.ArtifactDigest, RulesVersion: r.rules.Version,
			PrimaryValue: r.verdict.Harness.CustomValue, ChecklistGreen: r.red == nil, Promoted: promoted,
		},
		Checklist: r.checklist,
		BaselineRef: artefact.BaselineRef{
			TopicID: s.TopicID, ScriptSHA256: r.doc.Baseline.ScriptSHA256, MetricsCommitment: r.doc.Baseline.MetricsCommitment,
			HoldoutCommitment: r.doc.HoldoutCommitment, EvalImageDigest: s.Topic.Baseline.EvalImageDigest,
		},
		Files: r.files,
	}
	if r.red == nil {
		c.Report, c.Logs = r.report, r.logs
	}
	return c
}

// finite reports whether a figure can be compared at all.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
