package rlm

import (
	"context"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// The phases of an evaluation, as progress is told of them.
const (
	PhaseWaiting      = "waiting" // for the topic's lease
	PhaseProvisioning = "provisioning"
	PhaseInspecting   = "inspecting"
	PhaseEvaluating   = "evaluating"
	PhasePersisting   = "persisting"
)

// The statuses of a run without a row (R§11.3 row 23).
const (
	unavailable = 503
	integrity   = 500
)

// Flight is the place in the ledger's queue that a row takes the nonce and the place
// from.
type Flight struct {
	ID     ledger.FlightID
	Holder string // of the flight
}

// run is what an evaluation has come to so far.
type run struct {
	out    *intake.Outcome
	flight Flight
	doc    *topic.Document
	topic  family.Topic
	sealed family.Metrics

	rules     topic.RuleSet
	checklist *wire.Checklist // as it is recorded
	red       []string        // the rules that are red; nil on a green checklist
	files     []wire.File
	tree      string // digest of the files; empty for none

	report  *wire.RunReport // nil on a red checklist
	logs    []wire.Log
	verdict family.Verdict
	receipt *string
}

// Evaluate runs a submission that the gate let through (R§17) and stores its row: the
// topic's VM inspects the artefact, and behind a green checklist runs and measures
// it; the verdict, the artefact, the crown and the row land in one transaction of the
// ledger (decision 9). progress, which may be nil, is told of each phase.
//
// Without a row the error is an *intake.Refusal, 503 or 500, which the host answers
// and ends the flight with; or, when ctx ended, an error that wraps its cause, and
// the flight is left for the next start; or, when a commit's outcome is unknown, one
// that wraps store.ErrUncertain: only a restart can tell whether there is a row.
func (e *Engine) Evaluate(ctx context.Context, o *intake.Outcome, f Flight, progress func(phase string)) (*intake.StoredRow, error) {
	if progress == nil {
		progress = func(string) {}
	}
	row, err := e.evaluate(ctx, o, f, progress)
	switch {
	case err == nil:
		return row, nil
	case errors.Is(err, store.ErrUncertain):
		return nil, err
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run %s stopped: %w", o.Submission.Digest, context.Cause(ctx))
	}
	return nil, e.refusal(o.Submission, err)
}

// storeError is a fault of the ledger or the artefact root: its text may show an
// address or a path and goes to the log alone.
type storeError struct{ err error }

func (s *storeError) Error() string { return s.err.Error() }
func (s *storeError) Unwrap() error { return s.err }

func stored(what string, err error) error {
	if err == nil {
		return nil
	}
	return &storeError{fmt.Errorf("%s: %w", what, err)}
}

func (e *Engine) refusal(s *intake.Submission, err error) *intake.Refusal {
	if refused, ok := errors.AsType[*intake.Refusal](err); ok {
		return refused
	}
	text, level := "backend: "+err.Error(), slog.LevelWarn
	if _, ok := errors.AsType[*storeError](err); ok { // the operator's to mend
		text, level = "backend: the store failed; nothing was stored", slog.LevelError
	}
	e.o.Log.Log(context.Background(), level, "run came to no row", "topic", s.TopicID, "submission", s.Digest, "error", err)
	return refuse(unavailable, text)
}

func refuse(status int, text string) *intake.Refusal {
	return &intake.Refusal{Row: "23", Name: "score", Status: status, Text: text}
}

func (e *Engine) evaluate(ctx context.Context, o *intake.Outcome, f Flight, progress func(string)) (*intake.StoredRow, error) {
	s := o.Submission
	r := &run{out: o, flight: f, doc: s.Topic.Document, topic: intake.Scored(s.Topic.Document)}
	if err := e.ready(ctx, r.doc); err != nil {
		return nil, err
	}
	if s.Topic.Baseline == nil {
		return nil, refuse(unavailable, "no sealed baseline recorded for this topic")
	}
	r.sealed = sealedMetrics(s.Topic.Baseline)

	progress(PhaseWaiting)
	lease, err := e.wait(ctx, r.doc.ID)
	if err != nil {
		return nil, stored("lease", err)
	}
	defer lease.end()
	ctx = lease.ctx
	row, err := e.leased(ctx, r, lease.lease, progress)
	if err != nil && (errors.Is(err, errLeaseLost) || errors.Is(context.Cause(ctx), errLeaseLost)) {
		err = refuse(unavailable, "backend: "+errLeaseLost.Error()+"; nothing was stored")
	}
	return row, err
}

// leased is what happens under the topic's lease: R§17 from step 3 on.
func (e *Engine) leased(ctx context.Context, r *run, lease ledger.Lease, progress func(string)) (*intake.StoredRow, error) {
	if err := e.keepVersion(ctx, r.doc); err != nil {
		return nil, stored("topic version", err)
	}
	if err := e.freshen(ctx, r.doc); err != nil {
		return nil, stored("stale phase", err)
	}
	if err := e.apply(ctx, r.doc, note(SubmissionReceived, r.out.Submission.Digest)); err != nil {
		return nil, transition(err)
	}
	row, err := e.scored(ctx, r, lease, progress)
	if err != nil && !errors.Is(err, store.ErrUncertain) {
		e.abandon(ctx, r.doc)
	}
	return row, err
}

// scored runs and persists. The VM has ended before there is a row.
func (e *Engine) scored(ctx context.Context, r *run, lease ledger.Lease, progress func(string)) (*intake.StoredRow, error) {
	var err error
	if r.rules, err = e.usableRules(ctx, r.doc); err != nil {
		return nil, err
	}
	req, err := NewRequest(r.out, r.rules, e.o.Pin.MaxProofDeadlineSCeiling)
	if err != nil {
		return nil, err
	}
	// A run whose artefact cannot be kept would be paid for nothing.
	if err := e.o.Artefacts.Writable(); err != nil {
		return nil, stored("artefact root", err)
	}
	progress(PhaseProvisioning)
	vm, err := e.vm(ctx, r.doc, e.o.ReuseVM)
	if err != nil {
		return nil, err
	}
	err = e.guest(ctx, r, vm, req, progress)
	if err != nil {
		e.discard(ctx, vm)
		return nil, err
	}
	if !e.o.ReuseVM {
		// What ran has a receipt that says that it ended, so it must have.
		if err := e.teardown(ctx, vm); err != nil {
			e.discard(ctx, vm)
			e.o.Log.Error("topic VM not confirmed ended", "topic", vm.TopicID, "vm", vm.VMID, "error", err)
			return nil, refuse(integrity, "integrity: "+errUnconfirmed.Error()+"; no row")
		}
	}
	progress(PhasePersisting)
	// What was measured is not thrown away because the caller leaves now; a lease that
	// was lost is found by its fence.
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer done()
	return e.persist(ctx, r, lease)
}

// guest inspects the artefact and, behind a green checklist, runs it.
func (e *Engine) guest(ctx context.Context, r *run, vm wire.Handle, req *wire.RunRequest, progress func(string)) error {
	progress(PhaseInspecting)
	out, err := e.job(ctx, vm, inspectJob(req, r.rules))
	if err != nil {
		return err
	}
	original := out.Output.Checklist
	token, verdict := Mint(original, r.rules, req.SubmissionDigest, req.ArtifactDigest)
	if foreign, ok := errors.AsType[*ForeignError](verdict); ok {
		return foreign
	}
	r.checklist = Recorded(original)
	if verdict != nil {
		r.red = redIDs(verdict)
	}
	if err := e.keepChecklist(ctx, r, req); err != nil {
		return err
	}
	treeErr := r.keepTree(out.Output.Artifact)
	if verdict != nil {
		r.verdict = family.RejectChecklist(r.topic, r.sealed, uint64(r.rules.Version), verdict.Error())
		return nil
	}
	// What will run must be what the rules were ticked on, and of a form that can be
	// kept; rules that have moved on were not ticked at all.
	if treeErr != nil {
		return treeErr
	}
	if len(r.files) == 0 {
		return unbound("the inspection returned no artefact tree")
	}
	if current, err := e.o.Ledger.Rules(ctx, r.doc.ID); err != nil {
		return stored("rules", err)
	} else if current == nil || current.Version != r.rules.Version {
		return unbound("the topic's rules changed during the inspection; nothing was spent")
	}
	progress(PhaseEvaluating)
	return e.spend(ctx, r, vm, req, token)
}

// keepTree keeps the inspected files and their digest. A tree that no zip may hold is
// kept by a red checklist as no tree at all: the miner's rejection does not hang on
// it.
func (r *run) keepTree(files []wire.File) error {
	if len(files) == 0 {
		return nil
	}
	entries := make([]recipe.Entry, len(files))
	for i, f := range files {
		entries[i] = recipe.Entry{Path: f.Path, Executable: f.Executable, Data: f.Bytes}
	}
	tree, err := recipe.FromEntries(entries)
	if err != nil {
		return fmt.Errorf("inspected artefact: %w", err)
	}
	sum := tree.Digest()
	r.files, r.tree = files, hex.EncodeToString(sum[:])
	return nil
}

// keepChecklist records the checklist, red or green, under the submission.
func (e *Engine) keepChecklist(ctx context.Context, r *run, req *wire.RunRequest) error {
	text, err := json.Marshal(r.checklist)
	if err != nil {
		return fmt.Errorf("checklist: %w", err)
	}
	err = e.write("checklist", func() error {
		_, err := e.o.Ledger.AddChecklist(ctx, ledger.ChecklistRecord{
			SubmissionDigest: req.SubmissionDigest, TopicID: req.TopicID, RulesVersion: r.rules.Version,
			Green: r.red == nil, FailedIDs: slices.Clone(r.red), Document: text,
		})
		return err
	})
	return stored("checklist", err)
}

// spend is the only place where miner code is run, and wants the token for it.
func (e *Engine) spend(ctx context.Context, r *run, vm wire.Handle, req *wire.RunRequest, token SpendToken) error {
	job, err := token.Job(req)
	if err != nil {
		return err
	}
	out, err := e.paid(ctx, vm, job)
	if err != nil {
		return err
	}
	report := out.Output.Report
	r.verdict, err = family.JudgeRun(r.topic, r.sealed, family.Run{
		DeclaredFlops: req.DeclaredFlops, FlopsUsed: report.FlopsUsed, PrimaryValue: report.PrimaryValue,
		ClaimHolds: report.ClaimHolds, Sandboxed: report.Sandboxed, RulesVersion: uint64(r.rules.Version), Failure: report.Failure,
	})
	if err != nil {
		return err
	}
	receipt, err := NewReceipt(req.SubmissionDigest, out.Sister, r.verdict.Harness).JSON()
	if err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	r.report, r.logs, r.receipt = report, out.Output.Logs, &receipt
	return nil
}

// ready is step 1 of R§17: the runner is registered, the orchestrator wired, the
// image pinned.
func (e *Engine) ready(ctx context.Context, d *topic.Document) error {
	id := d.Metric.CustomID
	if d.Metric.Family != topic.Custom {
		return refuse(unavailable, fmt.Sprintf("topic %s is of family %s; the custom scorer does not run it", d.ID, d.Metric.Family))
	}
	detail, registered := e.Runners(ctx)[id]
	if !registered {
		detail = fmt.Sprintf("custom metric %q has no registered runner", id)
	}
	if detail != "" {
		return refuse(unavailable, fmt.Sprintf("custom metric %q has no registered runner (%s); refuse scoring", id, detail))
	}
	if fault := e.TopicFault(d); fault != "" {
		return refuse(unavailable, fault)
	}
	return nil
}

// usableRules returns the current rules, version 1 being the signed vector where
// none were ever stored (R§17.6).
func (e *Engine) usableRules(ctx context.Context, d *topic.Document) (topic.RuleSet, error) {
	set, err := e.currentRules(ctx, d)
	if err != nil {
		return topic.RuleSet{}, stored("rules", err)
	}
	if set == nil {
		signed := d.Rules()
		set = &signed
	}
	if err := CheckRuleSet(*set); err != nil {
		return topic.RuleSet{}, refuse(unavailable, fmt.Sprintf("topic carries no usable anti-cheat rules (%v); refuse", err))
	}
	return *set, nil
}

// currentRules returns the newest rules of a topic, after storing its signed vector
// as version 1 where there are none; nil for a topic that never had a rule.
func (e *Engine) currentRules(ctx context.Context, d *topic.Document) (*topic.RuleSet, error) {
	set, err := e.o.Ledger.Rules(ctx, d.ID)
	if err != nil || set != nil {
		return set, err
	}
	signed := d.Rules()
	if len(signed.Rules) == 0 {
		return nil, nil
	}
	if err := CheckRuleSet(signed); err != nil {
		return &signed, nil //nolint:nilerr // what is wrong with it, whoever wants to use it is told
	}
	err = e.addRules(ctx, signed)
	if errors.Is(err, ledger.ErrVersionGap) { // somebody else was first
		return e.o.Ledger.Rules(ctx, d.ID)
	}
	return &signed, err
}
