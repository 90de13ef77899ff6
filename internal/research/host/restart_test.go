package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestDecision6QueuedAndRunningSubmissionsSurviveARestart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.stop()
		w.options.Limits.Workers = 1
		w.start(t)
		slow := make(chan struct{})
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10, Delay: time.Hour})
		running := w.sent(custom0, 1, 1)
		first := w.async(running)
		w.until(first, "running")
		queued := w.sent(nll0, 2, 2)
		waits := make(chan map[string]any, 1)
		host := w.Host
		go func() {
			defer close(slow)
			reply, err := host.Submit(context.Background(), queued)
			if err == nil && reply.Status == accepted {
				waits <- w.saw(reply.JSON)
			}
		}()
		require.Eventually(t, func() bool { n, _, err := w.load(context.Background()); return err == nil && n == 1 }, 5*time.Second, 2*time.Millisecond)
		w.stop()
		<-slow
		second := (<-waits)["submission_digest"].(string) // whoever waited was told that it is taken
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
		w.start(t)
		require.Equal(t, "champion", w.until(first, "champion")["state"])
		w.until(second, "awaiting_admin")
		require.Equal(t, 2, w.rows())
		// Their nonces are burned: the same body meets its row, another is refused.
		w.submit(ok, running)
		w.submit(ok, queued)
		w.submit(conflict, w.sent(custom0, 1, 1, func(f map[string]any) { f["claim"] = "another" }))
	})
}

func TestDecision5AReservedNonceIsStillReservedAfterARestart(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10, Delay: time.Hour})
	sent := w.sent(custom0, 1, 1)
	digest := w.async(sent)
	w.until(digest, "running")
	w.restart(t)
	require.Contains(t, w.submit(conflict, w.sent(custom0, 1, 1, func(f map[string]any) { f["claim"] = "another" }))["error"], "submit_nonce was used")
	require.Equal(t, digest, w.async(sent), "the same body joins its run")
	require.Zero(t, w.rows())
}

func TestAResumedRunIsDecidedAgainUnderTheTopicAndTheEpochOfItsAcceptance(t *testing.T) {
	w := alone(t, hourly)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10, Delay: time.Hour})
	digest := w.async(w.sent(custom0, 1, 1))
	w.until(digest, "running")
	closed := newTopic(custom0, topic.Custom)
	w.ready(closed, true)
	closed.Status = topic.Closed
	require.NoError(t, w.publish(closed))
	w.submit(bad, w.sent(custom0, 2, 2))
	w.stop()
	w.clock.advance(time.Hour + 2*grace)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	w.start(t)
	// The engine has the last word about a topic that was closed meanwhile; the gate
	// let the submission through, and its epoch is the old one.
	require.Eventually(t, func() bool {
		return w.byDigest(digest)["state"] != "running" && w.byDigest(digest)["state"] != "queued"
	}, 15*time.Second, 5*time.Millisecond)
	got := w.byDigest(digest)
	if id, stored := got["id"].(string); stored {
		row, err := w.Row(context.Background(), id)
		require.NoError(t, err)
		require.Zero(t, row.Epoch)
		return
	}
	require.EqualValues(t, unavailable, got["status"])
	require.Contains(t, got["error"], "lifecycle")
}

func TestAResumedRunIsRefusedWhenTheHostCannotScoreAnyMore(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10, Delay: time.Hour})
	sent := w.sent(custom0, 1, 1)
	digest := w.async(sent)
	w.until(digest, "running")
	w.stop()
	w.write("executor.json", w.executor(600, offer.Closed))
	w.start(t)
	got := w.until(digest, "refused")
	require.EqualValues(t, unavailable, got["status"])
	require.Contains(t, got["error"], "eval executor offer is closed")
	require.Zero(t, w.rows())
	w.write("executor.json", w.executor(600, offer.Open))
	require.NoError(t, w.Reload(context.Background()))
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	w.submit(created, sent)
}

func TestDecision1AnOfferSurvivesARestartAndASetFileWins(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.stop()
		file := w.options.Files.ExecutorOffer
		w.options.Files.ExecutorOffer = ""
		w.start(t)
		_, err := w.SetExecutor(context.Background(), w.executor(600, offer.Open))
		require.NoError(t, err)
		w.restart(t)
		require.EqualValues(t, 600, w.Executor().EvalExecutor.MaxProofDeadlineS)
		w.options.Files.ExecutorOffer = file
		w.restart(t)
		require.EqualValues(t, 7200, w.Executor().EvalExecutor.MaxProofDeadlineS)
		require.True(t, contains(w.log, "source="+executorVariable))
	})
}

func TestDecision2TopicsRowsAndIdsSurviveARestart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		draft := newDraft(w, "new-topic")
		require.NoError(t, w.publish(draft))
		require.Equal(t, "pf_0000000000000000", w.submit(created, w.sent(nll0, 1, 1))["id"])
		before, err := w.Row(context.Background(), "pf_0000000000000000")
		require.NoError(t, err)
		w.restart(t)
		after, err := w.Row(context.Background(), "pf_0000000000000000")
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, "pf_0000000000000001", w.submit(created, w.sent(nll0, 1, 2))["id"])
		got, err := w.Topic("new-topic")
		require.NoError(t, err)
		require.Equal(t, draft.Signature, got.Signature)
		page, err := w.Rows(context.Background(), ledger.RowQuery{Limit: 1})
		require.NoError(t, err)
		require.Equal(t, "pf_0000000000000001", *page.Next)
		before0 := intake.ID(1)
		page, err = w.Rows(context.Background(), ledger.RowQuery{Topic: nll0, Before: &before0, Limit: 1})
		require.NoError(t, err)
		require.Nil(t, page.Next)
		require.Equal(t, "pf_0000000000000000", page.Items[0].ID)
	})
}

func TestTwoHostsOnOneLedgerShareTopicsAndTellWhoeverWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		other := &world{}
		*other = world{
			t: t, url: w.url, dir: w.dir, root: w.root, boundary: w.boundary, harvest: w.harvest, clock: w.clock, log: w.log,
			options: w.options, engine: w.engine, pin: w.pin, n: 50,
		}
		require.NoError(t, other.open(t)) // it takes submissions and runs nothing
		defer func() { require.NoError(t, other.db.Close()) }()
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10, Delay: 30 * time.Millisecond})
		require.Equal(t, "champion", other.submit(created, other.sent(custom0, 1, 1))["state"])
		w.boundary.Script(rlmtest.Digest(2), rlmtest.Script{Unmeasured: true})
		require.NotEmpty(t, other.submit(unavailable, other.sent(custom0, 2, 2))["error"])
		shared := newTopic("new-topic", topic.NLL)
		other.ready(shared, true)
		require.NoError(t, other.publish(shared))
		require.Eventually(t, func() bool { _, err := w.Topic("new-topic"); return err == nil }, 5*time.Second, 5*time.Millisecond)
		w.submit(created, w.sent("new-topic", 3, 3)) // with what the files hold for it now
		require.NoError(t, other.purge(context.Background()))
		other.clock.advance(2 * time.Minute)
		require.NoError(t, other.purge(context.Background()))
		require.Empty(t, other.runs.decided, "another process ran them")
		other.secrets()
	})
}

func TestARunThatAnotherProcessClaimedWritesNothing(t *testing.T) {
	w := alone(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	w.harvest.run = func(ctx context.Context, o *intake.Outcome) (intake.Result, error) {
		if len(w.harvest.seen()) == 1 {
			close(entered)
			<-leave // deaf to its context
		}
		return simulate(o, pinned, true)
	}
	digest := w.async(w.sent(nll0, 1, 1))
	<-entered
	f, err := w.ledger.FlightByDigest(context.Background(), digest)
	require.NoError(t, err)
	// The ledger's clock jumps past the beat of this process before the next one.
	w.clock.advance(time.Hour)
	taken, err := w.ledger.Claim(context.Background(), "somebody-else", time.Minute)
	require.NoError(t, err)
	require.NotNil(t, taken)
	require.Equal(t, f.ID, taken.ID)
	close(leave)
	require.Eventually(t, func() bool { return contains(w.log, "lost to another process") }, 10*time.Second, 5*time.Millisecond)
	require.Zero(t, w.rows())
	require.NoError(t, w.ledger.Refuse(context.Background(), f.ID, "somebody-else", unavailable, "gone"))
}

func TestAClockThatJumpsDoesNotRunASubmissionTwice(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	digest := w.async(w.sent(custom0, 1, 1))
	require.Eventually(t, func() bool { return len(w.boundary.Jobs()) == 2 }, 10*time.Second, time.Millisecond)
	for range 5 { // past each beat of the run
		w.clock.advance(time.Minute)
		time.Sleep(20 * time.Millisecond)
	}
	release()
	w.until(digest, "champion")
	require.Len(t, w.boundary.Jobs(), 2)
	require.Equal(t, 1, w.rows())
	require.Eventually(t, func() bool {
		w.runs.mu.Lock()
		defer w.runs.mu.Unlock()
		return len(w.runs.flying) == 0
	}, 5*time.Second, time.Millisecond)
}

func TestAPanicOfAScorerEndsItsRunAlone(t *testing.T) {
	w := alone(t)
	w.harvest.run = func(_ context.Context, o *intake.Outcome) (intake.Result, error) {
		if o.Submission.ArtifactDigest == rlmtest.Digest(1) {
			var none *intake.Outcome
			return intake.Result{Crowned: none.Kind == ""}, nil
		}
		return simulate(o, pinned, true)
	}
	got := w.submit(broken, w.sent(nll0, 1, 1))
	require.Equal(t, "internal error; no row was stored", got["error"])
	w.submit(created, w.sent(nll0, 2, 2))
	require.Equal(t, 1, w.rows())
}

func TestSection11ARunWithoutARowAnswersWithItsStatus(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		text   string
	}{
		"a deadline":              {&intake.Refusal{Status: unavailable, Text: "proof deadline of 600s exceeded; stdout_tail: x"}, unavailable, "proof deadline of 600s exceeded"},
		"an unverified end":       {&intake.Refusal{Status: broken, Text: "integrity: pod termination not verified"}, broken, "integrity: "},
		"a fault of the host":     {errors.New("disk " + secretFolder + " is full"), broken, "internal error"},
		"a text with the origin":  {&intake.Refusal{Status: unavailable, Text: "dial " + secretOrigin + "/chat: refused"}, unavailable, withheld},
		"a text with a host name": {&intake.Refusal{Status: unavailable, Text: "lookup planted-judge.internal:8443: no such host"}, unavailable, withheld},
	} {
		t.Run(name, func(t *testing.T) {
			w := alone(t)
			if name == "a fault of the host" {
				c.err = errors.New("open " + w.path("judge.key") + ": no space left")
			}
			w.harvest.run = func(context.Context, *intake.Outcome) (intake.Result, error) { return intake.Result{}, c.err }
			sent := w.sent(nll0, 1, 1)
			require.Contains(t, w.submit(c.status, sent)["error"], c.text)
			require.Zero(t, w.rows())
			got := w.byDigest(w.digest(sent))
			require.Equal(t, "refused", got["state"])
			require.EqualValues(t, c.status, got["status"])
			w.clock.advance(kept + time.Hour)
			require.NoError(t, w.purge(context.Background()))
			_, err := w.ByDigest(context.Background(), w.digest(sent))
			require.Equal(t, notFound, w.sawError(err).Status, "a refusal is kept for a day")
		})
	}
}

// digest is the submission digest of what was sent.
func (w *world) digest(s Sent) string {
	w.t.Helper()
	r, err := intake.Parse(s.Body)
	require.NoError(w.t, err)
	return intake.Digest(r.MinerHotkey, r.TopicID, r.ArtifactDigest)
}

func TestSection29TheRowCarriesTheCommitmentOfWhatRan(t *testing.T) {
	w := alone(t)
	d := newTopic("short-topic", topic.NLL)
	d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(900))
	w.ready(d, true)
	require.NoError(t, w.publish(d))
	got := w.submit(created, w.sent("short-topic", 1, 1))
	row, err := w.Row(context.Background(), got["id"].(string))
	require.NoError(t, err)
	plan := w.harvest.seen()[0].Plan
	require.EqualValues(t, 900, plan.DeadlineS)
	require.Equal(t, plan.ConfigCommitment, row.ExecutorCommitment)
	require.NotEqual(t, plan.OfferCommitment, row.ExecutorCommitment)
	require.Equal(t, w.Executor().EvalExecutor.ConfigCommitment, plan.OfferCommitment)
}

func TestSection8AnUnusableOverrideRefusesTheRentAndTheTopicThatPinsAnOfferRefusesIt(t *testing.T) {
	overrides := map[string]string{offer.DeadlineVariable: "soon"}
	w := alone(t, func(w *world) { w.options.Lookup = func(name string) string { return overrides[name] } })
	require.Contains(t, w.submit(unavailable, w.sent(nll0, 1, 1))["error"], offer.DeadlineVariable)
	overrides[offer.DeadlineVariable] = "7201"
	require.NoError(t, w.Reload(context.Background()))
	w.submit(unavailable, w.sent(nll0, 1, 1))
	overrides[offer.DeadlineVariable] = "1200"
	require.NoError(t, w.Reload(context.Background()))
	w.submit(created, w.sent(nll0, 1, 1))
	require.EqualValues(t, 1200, w.harvest.seen()[0].Plan.DeadlineS)
	d := newTopic("pinning-topic", topic.NLL)
	d.EvalExecutor.RequireOfferCommitment = ptr(w.Executor().EvalExecutor.ConfigCommitment)
	w.ready(d, true)
	require.NoError(t, w.publish(d))
	w.submit(unavailable, w.sent("pinning-topic", 1, 2))
	require.Len(t, w.harvest.seen(), 1)
}

func TestSection27TheSimBackendIsVisibleAndCrownsNobody(t *testing.T) {
	w := alone(t, func(w *world) { w.options.ForceSim, w.options.Harvest = true, nil })
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.Equal(t, "sim", status.EvalBackend)
	require.True(t, status.ForceSim && status.SimStubWin && status.CanScore)
	got := w.submit(created, w.sent(nll0, 1, 1))
	require.Equal(t, "sim", got["eval_backend"])
	row, err := w.Row(context.Background(), got["id"].(string))
	require.NoError(t, err)
	require.Contains(t, *row.ReceiptJSON, `"provider":"sim"`)
	require.Equal(t, nllSeal-0.02, row.Verdict.Harness.HoldoutNLL)
	require.Equal(t, "awaiting_admin", w.submit(created, w.sent(custom0, 2, 2))["state"])
	require.Empty(t, w.boundary.Jobs(), "nothing is rented or booted")

	w = alone(t, func(w *world) { w.options.ForceSim, w.boundary = true, nil })
	require.Contains(t, w.submit(created, w.sent(nll0, 1, 1))["state"], "awaiting_admin")
	unknown := w.submit(bad, w.sent(custom0, 2, 2))
	require.Equal(t, "unknown topic", unknown["error"], "its runner is not registered, so its document did not open")
}
