package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
)

func TestSection14ASubmissionToACustomTopicEndsAsChampionAwaitingOrRejected(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.30), Flops: 10})
		w.boundary.Script(rlmtest.Digest(2), rlmtest.Script{Primary: ptr(0.50), Flops: 10, Claim: true})
		w.boundary.Script(rlmtest.Digest(3), rlmtest.Script{Red: []string{"same_seed"}})
		worse := w.submit(created, w.sent(custom0, 1, 1))
		require.Equal(t, "rejected", worse["state"])
		require.Equal(t, false, worse["eligible"])
		require.Equal(t, "pf_0000000000000000", worse["id"])
		better := w.submit(created, w.sent(custom0, 2, 2))
		require.Equal(t, "champion", better["state"])
		require.Equal(t, true, better["eligible"])
		require.Equal(t, "lium", better["eval_backend"])
		require.Equal(t, "rejected", w.submit(created, w.sent(custom0, 3, 3))["state"])
		require.Equal(t, 3, w.rows())
		require.Equal(t, "awaiting_admin", w.submit(created, w.sent(nll0, 4, 4))["state"])
		require.Equal(t, "champion", w.byDigest(better["submission_digest"].(string))["state"])
	})
}

func TestDecision6AnAsyncSubmissionTellsItsPlaceItsPhaseAndItsRow(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Limits.Workers = 1 })
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	first := w.async(w.sent(custom0, 1, 1))
	running := w.until(first, "running")
	require.Contains(t, running, "phase")
	require.Contains(t, running, "age_s")
	second, third := w.async(w.sent(nll0, 2, 2)), w.async(w.sent(nll0, 3, 3))
	require.EqualValues(t, 1, w.byDigest(second)["position"])
	require.EqualValues(t, 2, w.byDigest(third)["position"])
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{status.Queued, status.Running})
	release()
	require.NotEmpty(t, w.until(first, "champion")["id"])
	w.until(third, "awaiting_admin")
	_, err = w.ByDigest(context.Background(), hash("nobody"))
	require.Equal(t, notFound, w.sawError(err).Status)
}

func TestSection29RunsSurviveTheirClients(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
		release := w.hold()
		sent := w.sent(custom0, 1, 1)
		ctx, cancel := context.WithCancel(context.Background())
		left := make(chan error, 1)
		go func() { _, err := w.Submit(ctx, sent); left <- err }()
		require.Eventually(t, func() bool { return len(w.boundary.Jobs()) == 2 }, 10*time.Second, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		w.until(w.digest(sent), "running")
		release()
		// The same nonce and body joins the run, and later meets its row.
		got := w.submit(created, sent)
		require.Equal(t, "champion", got["state"])
		require.Equal(t, got, w.submit(ok, sent))
		require.Equal(t, 1, w.rows())
		require.Len(t, w.boundary.Jobs(), 2, "inspected once, run once")
	})
}

func TestDecision5ANonceLeadsToOneBodyAndIsFreeAfterARefusal(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Unmeasured: true})
	sent := w.sent(custom0, 1, 1)
	refusedRun := w.submit(unavailable, sent)
	require.NotEmpty(t, refusedRun["error"])
	require.Zero(t, w.rows(), "a run without a measurement is no row")
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	require.Equal(t, "champion", w.submit(created, sent)["state"], "the refusal did not burn the nonce")
	other := w.sent(custom0, 1, 1, func(f map[string]any) { f["claim"] = "something else" })
	require.Contains(t, w.submit(conflict, other)["error"], "submit_nonce was used")
}

func TestDecision6TheSameArtefactInFlightAndASecondRunOfAHotkeyAreRefused(t *testing.T) {
	w := alone(t)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	digest := w.async(w.sent(custom0, 1, 1))
	anew := w.sent(custom0, 1, 1, func(f map[string]any) { f["submit_nonce"] = hash("another nonce") })
	require.Contains(t, w.submit(conflict, anew)["error"], "being evaluated already")
	require.Contains(t, w.submit(tooMany, w.sent(custom0, 1, 2))["error"], "in flight; one at a time")
	release()
	w.until(digest, "champion")
	// It is legal to submit the same artefact once more (decision 2).
	require.Equal(t, "awaiting_admin", w.submit(created, anew)["state"])
	require.Equal(t, 2, w.rows())
}

func TestDecision6AFullQueueIs503(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Limits = Limits{Workers: 1, QueueCap: 1} })
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	first := w.async(w.sent(custom0, 1, 1))
	w.until(first, "running")
	second := w.async(w.sent(nll0, 2, 2))
	sent := w.sent(nll0, 3, 3)
	reply, err := w.Submit(context.Background(), sent)
	require.NoError(t, err)
	require.Contains(t, w.saw(reply.JSON)["error"], "the queue is full")
	require.Equal(t, unavailable, reply.Status)
	require.Equal(t, queueRetry, reply.RetryAfter)
	release()
	w.until(second, "awaiting_admin")
	require.Equal(t, "awaiting_admin", w.submit(created, sent)["state"], "nothing was kept of the refusal")
}

func TestDecision7AddressesAndHotkeysAreLimited(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Limits.AddressPerMinute, w.options.Limits.HotkeyPerHour = 5, 2 })
	w.submit(created, w.sent(nll0, 1, 1))
	w.harvest.facts.Weights = false
	w.submit(unavailable, w.sent(nll0, 1, 2)) // before the plan: not counted
	w.harvest.facts.Weights = true
	w.submit(created, w.sent(nll0, 1, 2))
	sent := w.sent(nll0, 1, 3)
	reply, err := w.Submit(context.Background(), sent)
	require.NoError(t, err)
	require.Equal(t, tooMany, reply.Status)
	require.Contains(t, w.saw(reply.JSON)["error"], "too many submissions of this hotkey")
	require.Positive(t, reply.RetryAfter)
	w.submit(ok, w.sent(nll0, 1, 1)) // a retry of what was stored is no new submission
	require.Contains(t, w.submit(tooMany, sent)["error"], "from this address")
	w.clock.advance(3 * time.Hour)
	w.submit(created, sent)
}

func TestSection11NothingIsStoredOrRunOfAManifestThatMeetsTheHoldout(t *testing.T) {
	w := alone(t)
	hit := w.sent(custom0, 1, 1, func(f map[string]any) {
		f["manifest"] = map[string]any{"train_dataset_ids": []string{secretDataset + "-7"}}
	})
	got := w.submit(created, hit)
	require.Equal(t, "rejected", got["state"])
	row, err := w.Row(context.Background(), got["id"].(string))
	require.NoError(t, err)
	require.Equal(t, "pre-eval reject", row.Verdict.Agent.Rationale)
	require.True(t, row.Verdict.Agent.Contamination)
	require.Nil(t, row.ReceiptJSON)
	require.Equal(t, []string{secretDataset + "-7"}, row.Manifest.TrainDatasetIDs, "a manifest is stored as it was sent")
	require.Equal(t, "rejected", w.submit(created, w.sent(custom0, 2, 2, func(f map[string]any) { delete(f, "manifest") }))["state"])
	require.Empty(t, w.boundary.Jobs())
	require.Equal(t, got, w.submit(ok, hit))
}

func TestSection11RefusalsLeaveNoRowAndNothingRuns(t *testing.T) {
	w := alone(t)
	for name, c := range map[string]struct {
		status int
		text   string
		sent   Sent
	}{
		"an unknown topic":       {bad, "unknown topic", w.sent("no-such-topic", 1, 1)},
		"a forged signature":     {401, "hotkey_signature invalid", w.sent(custom0, 1, 1, func(f map[string]any) { f["hotkey_signature"] = hash(1) + hash(2) })},
		"no signature":           {401, "hotkey_signature required", w.sent(custom0, 1, 1, func(f map[string]any) { f["hotkey_signature"], f["submit_nonce"] = nil, nil })},
		"over the budget":        {bad, "declared_flops exceeds the topic budget", w.sent(custom0, 1, 1, func(f map[string]any) { f["declared_flops"] = 3000 })},
		"no address":             {bad, "artifact_uri is required for custom topics", w.sent(custom0, 1, 1, func(f map[string]any) { f["artifact_uri"] = " " })},
		"a body that is no JSON": {bad, "", Sent{ContentType: "application/json", Body: []byte("{")}},
		"another content type":   {415, "the body must be JSON: send Content-Type: application/json", Sent{ContentType: "text/plain", Body: []byte("{}")}},
	} {
		got := w.submit(c.status, c.sent)
		if c.text != "" {
			require.Equal(t, c.text, got["error"], name)
		}
	}
	require.Zero(t, w.rows())
	require.Empty(t, w.boundary.Jobs())
	require.Empty(t, w.harvest.seen())
	flights, err := w.ledger.Flights(context.Background())
	require.NoError(t, err)
	require.Empty(t, flights)
}

func TestSection29AVictimsHotkeyIsAcceptedOnlyWhereUnsignedSubmissionsAre(t *testing.T) {
	unsigned := func(f map[string]any) { f["hotkey_signature"], f["submit_nonce"] = nil, nil }
	w := alone(t, func(w *world) { w.options.UnsignedOK = true })
	require.Equal(t, "awaiting_admin", w.submit(created, w.sent(nll0, 1, 1, unsigned))["state"])
	require.Equal(t, 401, func() int {
		reply, err := w.Submit(context.Background(), w.sent(nll0, 1, 2, func(f map[string]any) { f["hotkey_signature"] = hash(1) + hash(2) }))
		require.NoError(t, err)
		return reply.Status
	}(), "a signature that is there is checked all the same")
}
