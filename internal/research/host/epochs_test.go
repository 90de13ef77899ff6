package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// closes waits until an epoch is closed.
func (w *world) closes(n uint64) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return w.closed.has(n) }, 15*time.Second, 3*time.Millisecond, "epoch %d", n)
}

// hourlyEach runs a test on both databases with epochs of an hour.
func hourlyEach(t *testing.T, fn func(t *testing.T, w *world)) {
	each(t, func(t *testing.T, w *world) {
		w.stop()
		hourly(w)
		w.options.LeafKey = newKey(secretLeaf)
		w.start(t)
		fn(t, w)
	})
}

func TestDecision3AnEpochClosesOnceAndPaysFromItsSnapshot(t *testing.T) {
	hourlyEach(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
		w.boundary.Script(rlmtest.Digest(2), rlmtest.Script{Primary: ptr(0.6), Flops: 10})
		first := w.submit(created, w.sent(custom0, 1, 1))
		w.submit(created, w.sent(nll0, 2, 3))
		epochs := w.Epochs()
		w.sawValue(epochs)
		require.Zero(t, epochs.Current)
		require.Empty(t, epochs.Closed)
		require.Equal(t, time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC), *epochs.ClosesAt)
		_, err := w.Payout(ctx, 0)
		require.Equal(t, notFound, w.sawError(err).Status)

		// Until its epoch is closed a row shows neither address nor claim, nor its zip.
		row, err := w.Row(ctx, first["id"].(string))
		require.NoError(t, err)
		require.Nil(t, row.ArtifactURI)
		require.Empty(t, row.Claim)
		_, err = w.ArtefactOf(ctx, row.ID)
		require.Contains(t, w.sawError(err).Text, "until epoch 0 is closed")

		w.clock.advance(time.Hour + grace)
		w.closes(0)
		row, err = w.Row(ctx, row.ID)
		require.NoError(t, err)
		require.Equal(t, "https://example.invalid/recipe.tar", *row.ArtifactURI)
		require.NotEmpty(t, row.Claim)
		zip, err := w.ArtefactOf(ctx, row.ID)
		require.NoError(t, err)
		require.NotEmpty(t, zip)

		snapshot, err := w.Snapshot(ctx, 0)
		require.NoError(t, err)
		sum := sha256.Sum256(snapshot)
		require.Equal(t, hex.EncodeToString(sum[:]), w.Epochs().Closed[0].SHA256)
		result, err := w.Payout(ctx, 0)
		require.NoError(t, err)
		w.sawValue(result)
		require.Len(t, result.Topics, 2)
		require.Equal(t, sealed0, *result.Topics[0].Bar)
		// One champion takes the whole of a discovery topic.
		key, stranger := newKey("miner 1").Public().String(), newKey("nobody").Public().String()
		miner, err := payout.ParseHotkey(key)
		require.NoError(t, err)
		nobody, err := payout.ParseHotkey(stranger)
		require.NoError(t, err)
		require.EqualValues(t, 500_000, result.Explain(miner).Score)
		leaves, err := w.Leaves(ctx, 0, []payout.Hotkey{miner, nobody})
		require.NoError(t, err)
		w.sawValue(leaves)
		require.Len(t, leaves.Leaves, 2)
		require.Len(t, leaves.Unexpected, 1, "the nll miner was not expected")
		for _, leaf := range leaves.Leaves {
			payload, err := hex.DecodeString(leaf.Payload)
			require.NoError(t, err)
			read, err := payout.ParseLeaf(payload)
			require.NoError(t, err)
			require.Equal(t, leaf.Hotkey, read.Hotkey)
			verified(t, leaf, payload)
		}

		// The champion of epoch 0 is the bar of epoch 1.
		w.submit(created, w.sent(custom0, 3, 2))
		w.clock.advance(time.Hour)
		w.closes(1)
		result, err = w.Payout(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, 0.5, *result.Topics[0].Bar)
		again, err := w.Snapshot(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, snapshot, again)
	})
}

func verified(t *testing.T, leaf SignedLeaf, payload []byte) {
	t.Helper()
	raw, err := hex.DecodeString(leaf.Signature)
	require.NoError(t, err)
	require.NoError(t, newKey(secretLeaf).Public().Verify(payout.LeafDomain, payload, raw))
}

func TestDecision3AnEpochWaitsForItsRunsAndARunKeepsTheEpochOfItsAcceptance(t *testing.T) {
	w := alone(t, hourly)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	digest := w.async(w.sent(custom0, 1, 1))
	w.clock.advance(time.Hour + grace)
	time.Sleep(60 * time.Millisecond)
	require.False(t, w.closed.has(0), "a run of the epoch is in flight")
	release()
	got := w.until(digest, "champion")
	w.closes(0)
	row, err := w.Row(context.Background(), got["id"].(string))
	require.NoError(t, err)
	require.Zero(t, row.Epoch)
	result, err := w.Payout(context.Background(), 0)
	require.NoError(t, err)
	require.Len(t, result.Scores, 1)
}

func TestDecision3EpochsThatPassedInAnAbsenceCloseInOrderWithTheTopicsOfTheirTime(t *testing.T) {
	w := alone(t, hourly)
	w.submit(created, w.sent(nll0, 1, 1))
	w.stop()
	w.clock.advance(4*time.Hour + grace)
	w.start(t)
	closed := newTopic(nll0, topic.NLL)
	w.ready(closed, true)
	closed.Status = topic.Closed
	require.NoError(t, w.publish(closed)) // in epoch 4, or before 0 to 3 are closed
	for n := range uint64(4) {
		w.closes(n)
		result, err := w.Payout(context.Background(), n)
		require.NoError(t, err)
		require.Len(t, result.Topics, 2, "epoch %d", n)
	}
	require.False(t, w.closed.has(4))
	w.clock.advance(time.Hour)
	w.closes(4)
	result, err := w.Payout(context.Background(), 4)
	require.NoError(t, err)
	require.Len(t, result.Topics, 1)
}

func TestDecision3AnEpochWithPassesIsNotClosedWithoutTheMeasurementThatSealsThem(t *testing.T) {
	w := alone(t, hourly)
	w.submit(created, w.sent(nll0, 1, 1))
	w.stop()
	require.NoError(t, os.Rename(w.path("baseline.json"), w.path("aside.json")))
	w.clock.advance(time.Hour + grace)
	w.start(t)
	require.Eventually(t, func() bool { return contains(w.log, "does not have the measurement") }, 10*time.Second, 5*time.Millisecond)
	require.False(t, w.closed.has(0))
	require.NoError(t, os.Rename(w.path("aside.json"), w.path("baseline.json")))
	require.NoError(t, w.Reload(context.Background()))
	w.closes(0)
}

func TestDecision3BeforeTheGenesisNothingIsTaken(t *testing.T) {
	w := alone(t, func(w *world) {
		epochs, err := payout.EpochsFrom(time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC), 3600)
		require.NoError(t, err)
		w.options.Epochs = epochs
	})
	w.outOfTime("before the genesis of epochs")
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.Empty(t, status.OpenTopics)
	require.False(t, status.BaselineSealed)
	w.clock.advance(time.Hour)
	w.submit(created, w.sent(nll0, 1, 1))
}

func TestSection59AWindowOpensATopicInItsEpochs(t *testing.T) {
	w := alone(t, hourly)
	d := newTopic("later-topic", topic.NLL)
	d.ValidFromEpoch, d.ValidUntilEpoch = 1, ptr(uint64(1))
	w.ready(d, true)
	require.NoError(t, w.publish(d))
	w.submit(bad, w.sent("later-topic", 1, 1))
	w.clock.advance(time.Hour)
	w.submit(created, w.sent("later-topic", 1, 1))
	w.clock.advance(time.Hour)
	w.submit(bad, w.sent("later-topic", 1, 2))
}

func TestDecision3AFixedEpochStaysOpenUntilAnotherIsSet(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Epochs = payout.FixedEpoch(7) })
	w.submit(created, w.sent(nll0, 1, 1))
	require.Nil(t, w.Epochs().ClosesAt)
	w.clock.advance(1000 * time.Hour)
	time.Sleep(50 * time.Millisecond)
	require.Empty(t, w.Epochs().Closed)
	w.options.Epochs = payout.FixedEpoch(9)
	w.restart(t)
	w.closes(7)
	w.closes(8)
	require.False(t, w.closed.has(9))
	w.options.Epochs = payout.FixedEpoch(8)
	w.restart(t)
	w.outOfTime("the epoch of this host is closed")
	require.Equal(t, "awaiting_admin", w.submit(ok, w.sent(nll0, 1, 1))["state"], "what was taken before is told all the same")
	w.options.Epochs = payout.FixedEpoch(9)
	w.restart(t)
	w.submit(created, w.sent(nll0, 1, 2))
}

// outOfTime wants a host that says in each place that it takes nothing now: to miners,
// in the status, of each topic, to whoever sets an offer, and in the log of the start.
func (w *world) outOfTime(why string) {
	w.t.Helper()
	ctx, text := context.Background(), why+"; no submission is taken"
	rows := w.rows()
	for n, id := range []string{custom0, nll0} {
		require.Equal(w.t, text, w.submit(unavailable, w.sent(id, 10+n, byte(10+n)))["error"])
		ready, err := w.Readiness(ctx, id)
		require.NoError(w.t, err)
		w.sawValue(ready)
		require.False(w.t, ready.Scorable)
		require.Equal(w.t, []Missing{{Row: "8e", Name: "epoch", Error: text}}, ready.Missing)
	}
	status, err := w.Status(ctx)
	require.NoError(w.t, err)
	w.sawValue(status)
	require.False(w.t, status.CanScore)
	require.Empty(w.t, status.ScorableTopics)
	set, err := w.SetExecutor(ctx, w.executor(7200, offer.Open))
	require.NoError(w.t, err)
	require.False(w.t, set.CanScore)
	require.Equal(w.t, rows, w.rows())
	require.Contains(w.t, w.log.String(), `"no submission is taken" why="`+why+`"`)
}

func TestDecision3AnEpochThatAnotherProcessClosedTakesNothingAndIsShownAsClosed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.submit(created, w.sent(nll0, 1, 1))
		require.NoError(t, w.ledger.CloseEpoch(context.Background(), 3, []byte(`{}`)))
		require.Equal(t, "the epoch of this host is closed; no submission is taken", w.submit(unavailable, w.sent(nll0, 2, 2))["error"])
		require.Equal(t, "the epoch of this host is closed; no submission is taken", w.submit(unavailable, w.sent(custom0, 3, 3))["error"])
		status, err := w.Status(context.Background())
		require.NoError(t, err)
		require.False(t, status.CanScore)
		require.Empty(t, status.ScorableTopics)
		require.Equal(t, 1, w.rows())
		require.Empty(t, w.runs.decided)
	})
}

func TestDecision3AnEpochThatIsOverClosesUnderItsOwnSealWhateverTheTopicIsSealedWithSince(t *testing.T) {
	w := alone(t, hourly)
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	w.boundary.Script(rlmtest.Digest(2), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	release := w.hold()
	digest := w.async(w.sent(custom0, 1, 1))
	w.clock.advance(time.Hour + grace) // the epoch is over, and waits for its run
	d, err := w.Topic(custom0)
	require.NoError(t, err)
	anew := *d
	w.addBaseline(w.sealAs(&anew, 0.30))
	require.NoError(t, w.publish(&anew))
	release()
	w.until(digest, "champion")
	w.closes(0)
	bar := func(epoch uint64) float64 {
		snapshot, err := w.Snapshot(context.Background(), epoch)
		require.NoError(t, err)
		var got struct {
			Topics []struct {
				ID     string
				Sealed *float64
			}
		}
		decode(t, snapshot, &got)
		for _, topic := range got.Topics {
			if topic.ID == custom0 {
				require.NotNil(t, topic.Sealed, "%s", snapshot)
				return *topic.Sealed
			}
		}
		t.Fatalf("epoch %d does not pay %s: %s", epoch, custom0, snapshot)
		return 0
	}
	require.Equal(t, sealed0, bar(0))
	w.submit(created, w.sent(custom0, 2, 2))
	w.clock.advance(time.Hour)
	w.closes(1)
	require.Equal(t, 0.30, bar(1))
}
