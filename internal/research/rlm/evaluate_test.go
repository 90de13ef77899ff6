package rlm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestSection17AWinBehindAGreenChecklistBecomesChampion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		row, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
		require.Equal(t, "harness_success_rate: success_rate = 0.500000; checklist green (rules v1); sandboxed=true; flops_used=900", row.Verdict.Agent.Rationale)
		require.True(t, row.Verdict.Agent.ClaimHoldsPublic)
		require.Equal(t, hash("plan"), row.ExecutorCommitment)
		require.Equal(t, []string{"submission_received", "promotion_candidate", "promoted"}, w.events(t))
		require.Equal(t, rlm.Open, w.state(t))
		w.free(t)
		require.Empty(t, w.boundary.Running(), "the VM of a run ends with it")

		var receipt rlm.Receipt
		require.NoError(t, json.Unmarshal([]byte(*row.ReceiptJSON), &receipt))
		require.Equal(t, rlmtest.SisterImage, receipt.ImageDigest)
		require.Equal(t, topicID+"-s1", receipt.PodID)
		require.True(t, receipt.TerminationVerified)

		c := w.zip(t, row.ID)
		require.True(t, c.Manifest.Promoted)
		require.Equal(t, "stdout.log", c.Logs[0].Name)
		require.Equal(t, `{"event":"scored","submission_id":"`+row.ID+`","primary_value":0.5,"checklist_green":true}
{"event":"promoted","submission_id":"`+row.ID+`","primary_value":0.5,"bar":0.4,"previous_best":null}
`, w.public(t, "events.jsonl"))
		require.Contains(t, w.public(t, "best.json"), row.ID+".zip")

		stored, err := w.ledger.Checklists(t.Context(), row.SubmissionDigest)
		require.NoError(t, err)
		require.Len(t, stored, 1)
		require.True(t, stored[0].Green)
		_, meta, err := w.ledger.Row(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, meta.TreeDigest, 64)
		versions, err := w.ledger.TopicVersions(t.Context(), topicID)
		require.NoError(t, err)
		require.Len(t, versions, 1, "the document was stored by its signature")
	})
}

func TestSection17TheBarIsTheHarderOfSealedValueAndReigningBest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		require.Equal(t, family.Champion, first.State)
		below, err := w.run(t, "b", wins(0.52)) // beats the seal, and the best by less than 5 %
		require.NoError(t, err)
		require.Equal(t, family.AwaitingAdmin, below.State)
		require.True(t, below.Verdict.Pass)
		require.False(t, w.zip(t, below.ID).Manifest.Promoted)
		above, err := w.run(t, "c", wins(0.53))
		require.NoError(t, err)
		require.Equal(t, family.Champion, above.State)
		promotions, err := w.ledger.Promotions(t.Context(), topicID)
		require.NoError(t, err)
		require.Len(t, promotions, 2)
		require.Equal(t, first.ID, *promotions[1].PreviousBest)
		require.InDelta(t, 0.5, *promotions[1].Bar, 0)
		miss, err := w.run(t, "d", wins(0.41))
		require.NoError(t, err)
		require.Equal(t, family.Rejected, miss.State)
		require.Contains(t, *miss.Detail, "ThroughputMiss")
	})
}

func TestSection17ARedChecklistIsARowWithoutASpend(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			script rlmtest.Script
			why    string
			failed []string
		}{
			"a red rule": {rlmtest.Script{Red: []string{"same_seed"}}, "checklist red: same_seed", []string{"same_seed"}},
			"a missing rule": {rlmtest.Script{Inspected: func(o *wire.Output) { o.Checklist.Items = o.Checklist.Items[1:] }},
				`checklist item "same_seed" missing`, []string{"same_seed"}},
			"too much evidence": {rlmtest.Script{Inspected: func(o *wire.Output) { o.Checklist.Items[1].Evidence = strings.Repeat("é", 2000) }},
				`checklist item "no_eval_short_circuit" has empty or oversized evidence`, []string{"no_eval_short_circuit"}},
			"another version of the rules": {rlmtest.Script{Inspected: func(o *wire.Output) { o.Checklist.RulesVersion = 9 }},
				"checklist is for another topic or rule version", []string{}},
			"names that no zip may hold": {rlmtest.Script{Red: []string{"same_seed"}, Files: []wire.File{{Path: "../x", Bytes: []byte("x")}}},
				"checklist red: same_seed", []string{"same_seed"}},
		} {
			before := len(w.boundary.Jobs())
			row, err := w.run(t, name, c.script)
			require.NoError(t, err, name)
			require.Equal(t, family.Rejected, row.State, name)
			require.Equal(t, "anti-cheat "+c.why+" (rules v1); no paid inference", row.Verdict.Agent.Rationale)
			require.Nil(t, row.ReceiptJSON)
			require.False(t, row.Verdict.Agent.Reproduced)
			require.Zero(t, row.Verdict.Agent.FlopsUsed)
			require.Equal(t, []family.CheatCode{family.Other}, row.Verdict.Agent.CheatCodes)
			jobs := w.boundary.Jobs()[before:]
			require.Len(t, jobs, 1, "%s: only the inspection ran", name)
			require.Equal(t, wire.Inspect, jobs[0].Kind)
			kept := w.zip(t, row.ID)
			require.Nil(t, kept.Report, name)
			require.False(t, kept.Manifest.ChecklistGreen)
			stored, err := w.ledger.Checklists(t.Context(), row.SubmissionDigest)
			require.NoError(t, err)
			require.False(t, stored[0].Green)
			require.Equal(t, c.failed, stored[0].FailedIDs)
		}
		require.Equal(t, rlm.Open, w.state(t))
		w.free(t)
	})
}

func TestSection12UsageIsHeldToBudgetAndDeclaration(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		over, err := w.run(t, "a", rlmtest.Script{Primary: ptr(0.9), Flops: 2001})
		require.NoError(t, err)
		require.Equal(t, family.Rejected, over.State)
		require.True(t, over.Verdict.Agent.Reproduced)
		require.Equal(t, []family.CheatCode{family.FlopsOverBudget, family.FlopsUnderDeclared}, over.Verdict.Agent.CheatCodes)
		under, err := w.run(t, "b", rlmtest.Script{Primary: ptr(0.9), Flops: 1001})
		require.NoError(t, err)
		require.Equal(t, []family.CheatCode{family.FlopsUnderDeclared}, under.Verdict.Agent.CheatCodes)
		require.Equal(t, uint64(1001), under.Verdict.Agent.FlopsUsed, "the measurement, not the declaration")
	})
}

func TestDecision14ARecipeThatRanAndFailedIsARejectedRow(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		row, err := w.run(t, "a", rlmtest.Script{Flops: 10, Failure: "exit status 1"})
		require.NoError(t, err)
		require.Equal(t, family.Rejected, row.State)
		require.Equal(t, "gates=[Unreproduced]", *row.Detail)
		require.Nil(t, row.Verdict.Harness.CustomValue)
		c := w.zip(t, row.ID)
		require.Nil(t, c.Report.PrimaryValue)
		require.Contains(t, w.public(t, "events.jsonl"), `"primary_value":null`)
	})
}

// TestSection16NoEvidenceNoRow: whatever comes back that is not evidence is a 503
// (decision 20: 500), leaves no row, no lease, no phase and no staged zip, and the
// next submission of the topic runs.
func TestSection16NoEvidenceNoRow(t *testing.T) {
	changed := func(edit func(o *wire.Output, a *wire.Attestation)) rlmtest.Script {
		s := wins(0.5)
		s.Evaluated = edit
		return s
	}
	cases := []struct {
		name   string
		script rlmtest.Script
		text   string
	}{
		{"a sister that was cut at its deadline", rlmtest.Script{Unmeasured: true, Failure: "deadline"}, `backend: run report has no flops_used; a run that measured no usage is no evidence (deadline of the run was 1800s; the guest says "deadline")`},
		{"no sister at all", rlmtest.Script{NoSister: true}, "backend: the run came back without the host's sister attestation"},
		{"a stand-in", changed(func(_ *wire.Output, a *wire.Attestation) { a.Standin = true }), "backend: the run was made by a stand-in of the sandbox"},
		{"sandboxed by another driver", changed(func(_ *wire.Output, a *wire.Attestation) { a.Driver = "qemu" }), `backend: the attestation says sandboxed for the driver "qemu"; only Firecracker is that`},
		{"outside the sandbox", changed(func(_ *wire.Output, a *wire.Attestation) { a.Sandboxed = false }), "backend: run report says miner code ran outside the Firecracker guest"},
		{"evidence about another artefact", changed(func(_ *wire.Output, a *wire.Attestation) { a.ArtifactDigest = hash("other") }), "sister evidence names artifact_digest"},
		{"a report about another custom id", changed(func(o *wire.Output, _ *wire.Attestation) { o.Report.CustomID = "other_id" }), "backend: run report custom_id does not match the run request"},
		{"a log of an unsafe name", changed(func(o *wire.Output, _ *wire.Attestation) { o.Logs[0].Name = "../log" }), "backend: artefact: "},
		{"a checklist about another submission", rlmtest.Script{Inspected: func(o *wire.Output) { o.Checklist.SubmissionDigest = hash("other") }}, "backend: checklist names submission_digest"},
		{"an empty tree behind a green checklist", rlmtest.Script{Files: []wire.File{}}, "backend: the inspection returned no artefact tree"},
		{"an unsafe tree behind a green checklist", rlmtest.Script{Files: []wire.File{{Path: "/etc/x", Bytes: []byte("x")}}}, "backend: inspected artefact: "},
		{"an inspection that fails", rlmtest.Script{InspectErr: errors.New("guest failed: no memory")}, "backend: guest failed: no memory"},
		{"a run that fails", rlmtest.Script{EvaluateErr: errors.New("guest failed: panic")}, "backend: guest failed: panic"},
	}
	each(t, func(t *testing.T, w *world) {
		for _, c := range cases {
			_, err := w.run(t, c.name, c.script)
			require.Contains(t, refused(t, err, 503).Text, c.text, c.name)
			require.Empty(t, w.rows(t), c.name)
			require.Equal(t, rlm.Open, w.state(t), c.name)
			w.free(t)
			require.Empty(t, w.boundary.Running(), c.name)
			left, err := w.root.Leftovers()
			require.NoError(t, err)
			require.Empty(t, left, c.name)
		}
		row, err := w.run(t, "afterwards", wins(0.5))
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
	})
}

func TestDecision20AnUnconfirmedTeardownIsAnIntegrityErrorWithoutARow(t *testing.T) {
	w := alone(t)
	w.boundary.Unconfirmed = true
	_, err := w.run(t, "a", wins(0.5))
	require.Equal(t, "integrity: the topic VM's teardown was not confirmed; no row", refused(t, err, 500).Text)
	require.Empty(t, w.rows(t))
	// The next run meets the VM and does not begin beside it.
	_, err = w.run(t, "b", wins(0.5))
	require.Contains(t, refused(t, err, 503).Text, "teardown was not confirmed")
	w.boundary.Unconfirmed = false
	_, err = w.run(t, "c", wins(0.5))
	require.NoError(t, err)
}

func TestDecision15AVMIsRecreatedAfterEachEvaluationUnlessItIsReused(t *testing.T) {
	w := alone(t)
	for _, m := range []string{"a", "b"} {
		_, err := w.run(t, m, wins(0.5))
		require.NoError(t, err)
	}
	require.Equal(t, 2, w.boundary.Booted())
	w.start(t, func(o *rlm.Options) { o.ReuseVM = true })
	for _, m := range []string{"c", "d"} {
		_, err := w.run(t, m, wins(0.5))
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.boundary.Booted())
	require.Equal(t, []string{topicID}, w.boundary.Running())
	// A VM of an image that is pinned no more is not reused.
	w.start(t, func(o *rlm.Options) { o.ReuseVM, o.Template.ImageDigest = true, rlmtest.SisterImage })
	_, err := w.run(t, "e", wins(0.5))
	require.NoError(t, err)
	require.Equal(t, 4, w.boundary.Booted())
}

func TestSection17ARunIsRefusedWhereItsRunnerCannotRun(t *testing.T) {
	w := alone(t)
	run := func() string {
		_, err := w.run(t, "a", wins(0.5))
		return refused(t, err, 503).Text
	}
	w.start(t, func(o *rlm.Options) { o.CustomIDs = nil })
	require.Equal(t, `custom metric "harness_success_rate" has no registered runner (custom metric "harness_success_rate" has no registered runner); refuse scoring`, run())
	w.start(t, func(o *rlm.Options) { o.Template.ImageDigest = "" })
	require.Contains(t, run(), "PROOF_RLM_VM_IMAGE_DIGEST")
	w.start(t)
	w.boundary.At = func(_ context.Context, call, _ string) error {
		if call == "ready" {
			return errors.New("PROOF_VM_ORCHESTRATOR_TOKEN_FILE missing or empty")
		}
		return nil
	}
	require.Contains(t, run(), "(runner not wired: PROOF_VM_ORCHESTRATOR_TOKEN_FILE missing or empty); refuse scoring")
	require.Equal(t, map[string]string{customID: "runner not wired: PROOF_VM_ORCHESTRATOR_TOKEN_FILE missing or empty"}, w.Runners(t.Context()))
	w.boundary.At = nil
	w.boundary.Hypervisor = "qemu"
	h, err := w.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "qemu", h.Hypervisor)
	require.Equal(t, `topic agent-harness-v0 has firecracker_required and the topic-VM orchestrator runs "qemu"; refuse scoring`, run())
	require.Empty(t, w.boundary.Jobs())
	require.Empty(t, w.events(t), "nothing was recorded for a run that never began")
}

func TestSection21AnUnwiredBoundaryRegistersNothingAndRefusesEveryCall(t *testing.T) {
	w := alone(t)
	w.start(t, func(o *rlm.Options) { o.Boundary = rlm.Unwired{} })
	require.Empty(t, w.Runners(t.Context()))
	require.False(t, w.Registered(customID))
	const text = "topic-vm orchestrator not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)"
	var u rlm.Unwired
	_, attach := u.Attach(t.Context(), topicID)
	_, create := u.Create(t.Context(), wire.Spec{})
	_, run := u.Run(t.Context(), wire.Handle{}, wire.Job{})
	_, teardown := u.Teardown(t.Context(), wire.Handle{}, wire.Destroy)
	for _, err := range []error{u.Ready(t.Context()), attach, create, run, teardown} {
		require.EqualError(t, err, text)
	}
}

func TestSection17AnUnusableRuleVectorIsRefused(t *testing.T) {
	w := alone(t)
	w.doc.Checklist = nil
	w.sign(t)
	_, err := w.run(t, "a", wins(0.5))
	require.Equal(t, "topic carries no usable anti-cheat rules (rule set is empty; nothing to verify, nothing to spend behind); refuse", refused(t, err, 503).Text)
	require.Empty(t, w.boundary.Jobs())
}

func TestSection17ATopicThatIsNotOpenTakesNoRun(t *testing.T) {
	w := alone(t)
	require.NoError(t, w.ledger.Apply(t.Context(), ledger.Move{TopicID: topicID, From: "open", Event: "close", To: "closed"}))
	_, err := w.run(t, "a", wins(0.5))
	require.Equal(t, "backend: topic lifecycle: illegal transition: submission_received does not happen in closed", refused(t, err, 503).Text)
}

func TestRulesThatChangeDuringTheInspectionAreNotSpentBehind(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		require.NoError(t, w.ledger.Publish(t.Context(), ledger.TopicVersion{TopicID: topicID, Version: 1, Status: "open", Document: must(w.doc.JSON()), Signature: w.doc.Signature}))
		s := wins(0.5)
		s.Inspected = func(*wire.Output) {
			_, err := w.EditRules(t.Context(), topicID, []topic.ChecklistItem{{ID: "new_rule", Text: "a rule that nobody ticked"}})
			require.NoError(t, err)
		}
		_, err := w.run(t, "a", s)
		require.Contains(t, refused(t, err, 503).Text, "rules changed during the inspection; nothing was spent")
		require.Len(t, w.boundary.Jobs(), 1)
		row, err := w.run(t, "b", wins(0.5))
		require.NoError(t, err)
		require.Contains(t, row.Verdict.Agent.Rationale, "(rules v2)")
	})
}

func TestATopicThatIsClosedUnderARunKeepsTheRowAndCrownsNobody(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := wins(0.5)
		s.Evaluated = func(*wire.Output, *wire.Attestation) {
			require.NoError(t, w.ledger.Apply(t.Context(), ledger.Move{TopicID: topicID, From: "evaluating", Event: "close", To: "closed"}))
		}
		row, err := w.run(t, "a", s)
		require.NoError(t, err)
		require.Equal(t, family.AwaitingAdmin, row.State)
		require.False(t, w.zip(t, row.ID).Manifest.Promoted)
		require.Equal(t, rlm.Closed, w.state(t))
		require.Empty(t, w.public(t, "best.json"))
	})
}

// TestDecision9ALostSwapIsStoredAsThePassThatItStillIs crowns another row between
// the decision and the commit, by a hand that does not keep to the lease.
func TestDecision9ALostSwapIsStoredAsThePassThatItStillIs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		other := w.outcome("other", hash("artefact", "other"))
		flight := w.admit(t, other)
		stolen := false
		w.SetStep(func(point string) {
			if point != "before commit" || stolen {
				return
			}
			stolen = true
			v, err := family.JudgeRun(intake.Scored(w.doc), family.Metrics{CustomValue: ptr(sealed)}, family.Run{DeclaredFlops: 1000, FlopsUsed: ptr(uint64(1)), PrimaryValue: ptr(0.7)})
			require.NoError(t, err)
			id, err := w.ledger.ReserveRow(t.Context())
			require.NoError(t, err)
			row, attempt, err := other.Persist(id, intake.Result{Verdict: v, Crowned: true})
			require.NoError(t, err)
			require.NoError(t, w.ledger.Commit(t.Context(), ledger.Commit{
				Row: row, Attempt: attempt, Flight: flight.ID, Holder: flight.Holder,
				Crown: &ledger.Crown{Expected: &first.ID, Primary: 0.7, Direction: family.Max},
			}))
		})
		row, err := w.run(t, "b", wins(0.6))
		require.NoError(t, err)
		require.True(t, stolen)
		require.Equal(t, family.AwaitingAdmin, row.State)
		require.False(t, w.zip(t, row.ID).Manifest.Promoted)
		require.NotContains(t, w.public(t, "events.jsonl"), `"promoted","submission_id":"`+row.ID)
		left, err := w.root.Leftovers()
		require.NoError(t, err)
		require.Empty(t, left, "the zip that claimed the crown is gone")
		events := w.events(t)
		require.Equal(t, []string{"submission_received", "promotion_candidate", "promotion_refused"}, events[len(events)-3:])
	})
}

func TestDecision10ALeaseIsRenewedWhileARunScores(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.start(t, func(o *rlm.Options) { o.LeaseTTL, o.RenewEvery = 600*time.Millisecond, 100*time.Millisecond })
		s := wins(0.5)
		s.Delay = 700 * time.Millisecond // two jobs: longer than a lease lasts
		row, err := w.run(t, "a", s)
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
	})
}

func TestDecision10ARunThatLostItsLeaseStoresNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.start(t, func(o *rlm.Options) { o.LeaseTTL, o.RenewEvery = 600*time.Millisecond, 300*time.Millisecond })
		s := wins(0.5)
		s.Evaluated = func(*wire.Output, *wire.Attestation) {
			// Another holder takes the lease the moment it may, before any renewal.
			late, err := ledger.Open(context.Background(), w.db, ledger.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
			require.NoError(t, err)
			l, err := late.Acquire(context.Background(), topicID, "thief", time.Hour)
			require.NoError(t, err)
			require.NotNil(t, l)
		}
		_, err := w.run(t, "a", s)
		require.Equal(t, "backend: the topic's lease was lost to another run; nothing was stored", refused(t, err, 503).Text)
		require.Empty(t, w.rows(t))
	})
}

func TestARunWhoseContextEndsIsCancelledAndLeavesItsFlight(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		artifact := hash("artefact", "a")
		s := wins(0.5)
		s.Delay = time.Minute
		w.boundary.Script(artifact, s)
		o := w.outcome("a", artifact)
		f := w.admit(t, o)
		var phases []string
		_, err := w.Evaluate(ctx, o, f, func(p string) {
			if phases = append(phases, p); p == rlm.PhaseInspecting {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		var refusal *intake.Refusal
		require.NotErrorAs(t, err, &refusal, "the host must not end the flight")
		require.Equal(t, []string{rlm.PhaseWaiting, rlm.PhaseProvisioning, rlm.PhaseInspecting}, phases)
		w.free(t)
		require.Equal(t, rlm.Open, w.state(t))
		require.Empty(t, w.boundary.Running())
		flight, err := w.ledger.FlightByDigest(t.Context(), o.Submission.Digest)
		require.NoError(t, err)
		require.Equal(t, ledger.Running, flight.State)
		w.boundary.Script(artifact, wins(0.5))
		row, err := w.Evaluate(t.Context(), o, f, nil)
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
	})
}

func TestARunThatIsStoppedWhileItPersistsIsStoredAllTheSame(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		w.boundary.Script(hash("artefact", "a"), wins(0.5))
		o := w.outcome("a", hash("artefact", "a"))
		row, err := w.Evaluate(ctx, o, w.admit(t, o), func(phase string) {
			if phase == rlm.PhasePersisting {
				cancel()
			}
		})
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
		w.consistent(t)
	})
}

func TestSection4ResubmittingAnArtefactIsLegalAndGetsItsOwnAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		second, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		require.Equal(t, first.SubmissionDigest, second.SubmissionDigest)
		require.NotEqual(t, first.ID, second.ID)
		stored, err := w.ledger.Checklists(t.Context(), first.SubmissionDigest)
		require.NoError(t, err)
		require.Len(t, stored, 2)
		_, m1, err := w.ledger.Row(t.Context(), 0)
		require.NoError(t, err)
		_, m2, err := w.ledger.Row(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, m1.TreeDigest, m2.TreeDigest)
	})
}

func TestNothingSecretIsInJobsLogsNotesArtefactsOrErrors(t *testing.T) {
	w := alone(t)
	_, err := w.run(t, "a", wins(0.5))
	require.NoError(t, err)
	_, err = w.run(t, "b", rlmtest.Script{Unmeasured: true})
	require.Error(t, err)
	row := w.rows(t)[0]
	text := must(row.JSON())
	for _, job := range w.boundary.Jobs() {
		text = append(text, must(json.Marshal(job))...)
	}
	text = append(text, w.log.Bytes()...)
	text = append(text, err.Error()...)
	text = append(text, w.public(t, "events.jsonl")+w.public(t, "best.json")...)
	text = append(text, must(json.Marshal(w.zip(t, row.ID)))...)
	moves, err := w.ledger.Moves(t.Context(), topicID)
	require.NoError(t, err)
	text = append(text, must(json.Marshal(moves))...)
	for _, secret := range []string{judgeKey, "planted-origin", "planted-key-path", w.dir} {
		require.NotContains(t, string(text), secret)
	}
}

func TestAFaultOfTheStoreShowsNoWordOfIt(t *testing.T) {
	w := alone(t)
	o := w.outcome("a", hash("artefact", "a"))
	f := w.admit(t, o)
	require.NoError(t, w.db.Close())
	_, err := w.Evaluate(t.Context(), o, f, nil)
	require.Equal(t, "backend: the store failed; nothing was stored", refused(t, err, 503).Text)
	require.Contains(t, w.log.String(), "closed")
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err) //nolint:forbidigo // a fixture
	}
	return text
}
