package host

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// silence lets the orchestrator of a world answer nothing while it is set.
func silence(w *world) *atomic.Bool {
	away := &atomic.Bool{}
	at := w.boundary.At
	w.boundary.At = func(ctx context.Context, call, topicID string) error {
		if call != "ready" && away.Load() { // ready asks nothing over the network
			return errors.New("orchestrator unreachable: it takes no connection")
		}
		return at(ctx, call, topicID)
	}
	return away
}

func TestDecision6ARestartOfTheAgentCostsNoSubmissionThatWasTaken(t *testing.T) {
	var away *atomic.Bool
	w := alone(t, func(w *world) { away, w.options.Patience = silence(w), time.Hour })
	w.boundary.Default.Primary = ptr(0.5)
	away.Store(true)
	var digests []string
	for miner := range 6 {
		digests = append(digests, w.async(w.sent(custom0, miner+1, byte(miner+1))))
	}
	require.Eventually(t, func() bool { return w.byDigest(digests[0])["phase"] == phaseAway }, 10*time.Second, time.Millisecond)
	require.Equal(t, "queued", w.byDigest(digests[5])["state"])
	require.Zero(t, w.rows())
	away.Store(false)
	for _, d := range digests {
		require.Eventually(t, func() bool { return w.byDigest(d)["id"] != nil }, 10*time.Second, time.Millisecond, "%v", w.byDigest(d))
	}
	require.Equal(t, 6, w.rows())
}

func TestSection113Row23AnAgentThatStaysAwayIsARefusalWithItsCause(t *testing.T) {
	var away *atomic.Bool
	w := alone(t, func(w *world) { away, w.options.Patience = silence(w), time.Minute })
	w.boundary.Default.Primary = ptr(0.5)
	away.Store(true)
	first := w.async(w.sent(custom0, 1, 1))
	second := w.async(w.sent(custom0, 2, 2))
	require.Eventually(t, func() bool { return w.byDigest(first)["phase"] == phaseAway }, 10*time.Second, time.Millisecond)
	nll := w.async(w.sent(nll0, 3, 3))
	w.until(nll, "awaiting_admin") // the harvest has nothing to do with it
	w.setups.since.Store(ptr(w.clock.now().Add(-time.Minute)))
	for _, d := range []string{first, second} {
		require.Contains(t, w.until(d, "refused")["error"], "orchestrator unreachable")
	}
	require.Equal(t, 1, w.rows())
	away.Store(false)
	require.Equal(t, "champion", w.submit(created, w.sent(custom0, 1, 1))["state"], "the nonce of a refusal is free")
	require.Zero(t, w.setups.away(w.clock.now()), "who answers is not away")
}

func TestDecision12ADriverThatTakesThePlaceOfAnotherRunsNothingInProduction(t *testing.T) {
	var away *atomic.Bool
	w := alone(t, func(w *world) {
		away, w.options.Production, w.boundary.Hypervisor = silence(w), true, "fake (nothing is isolated)"
		away.Store(true) // so that nothing is known of the driver when the host starts
	})
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	require.Equal(t, driverUnknown, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], "nobody knows what would run it")
	away.Store(false)
	require.Contains(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], "a production host refuses it")
	d := newTopic("new-custom", topic.Custom)
	w.ready(d, false)
	d.Status, d.Baseline.ScriptSHA256 = topic.Draft, hash("baseline script")
	require.NoError(t, w.publish(d))
	w.setup("new-custom", Approval{Approve: true})
	require.Contains(t, *w.lifecycle("new-custom").SetupError, "a production host refuses it", "nor does it measure a baseline")
	require.Equal(t, rlm.Draft, w.lifecycle("new-custom").State)
	require.Empty(t, w.boundary.Jobs())
	require.Zero(t, w.rows())
}

func TestLongBodiesTakeTurnsAndShortOnesPassThem(t *testing.T) {
	w := alone(t)
	for range cap(w.long) {
		w.long <- struct{}{} // as many long bodies as may be are being read
	}
	w.submit(created, w.sent(nll0, 1, 1))
	padded := func(f map[string]any) { f["architecture"] = strings.Repeat("x", longBody) }
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := w.Submit(ctx, w.sent(nll0, 2, 2, padded))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, w.rows(), "nothing of it was taken")
	<-w.long
	w.submit(created, w.sent(nll0, 2, 2, padded))
	require.Len(t, w.long, cap(w.long)-1, "a turn that was taken is given back")
}
