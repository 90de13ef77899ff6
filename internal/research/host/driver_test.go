package host

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// turning is an orchestrator that another one takes the place of: what it says of
// itself changes while the host runs.
type turning struct {
	*rlmtest.Boundary
	driver atomic.Pointer[string]
}

func (b *turning) Probe(ctx context.Context) (*wire.Health, error) {
	health, err := b.Boundary.Probe(ctx)
	if driver := b.driver.Load(); err == nil && driver != nil {
		health.Hypervisor = *driver
	}
	return health, err
}

// sandbox is what the status says of the driver.
func (w *world) driver() Sandbox {
	w.t.Helper()
	status, err := w.Status(context.Background())
	require.NoError(w.t, err)
	w.sawValue(status)
	require.NotNil(w.t, status.Sandbox)
	require.Equal(w.t, status.Sandbox.Ready, len(status.ScorableTopics) == 2, "%v", status.ScorableTopics)
	return *status.Sandbox
}

func TestDecision12AProductionHostWithoutAnAnswerOfTheOrchestratorRunsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.stop()
		silence(w).Store(true)
		w.options.Production, w.options.Patience, w.boundary.Hypervisor = true, time.Hour, "fake"
		w.start(t)
		got := w.submit(unavailable, w.sent(custom0, 1, 1))
		require.Equal(t, driverUnknown, got["error"])
		require.Contains(t, got["error"], "PROOF_VM_ORCHESTRATOR_URL")
		require.Equal(t, Sandbox{Driver: UnknownDriver}, w.driver())
		ready, err := w.Readiness(context.Background(), custom0)
		require.NoError(t, err)
		require.Equal(t, []Missing{{Row: "16", Name: "scorer_ready", Error: driverUnknown}}, ready.Missing)
		require.Empty(t, w.boundary.Jobs())
		require.Zero(t, w.boundary.Booted())
		require.Zero(t, w.rows())
		w.submit(created, w.sent(nll0, 2, 2)) // the harvest has nothing to do with it
	})
}

func TestDecision12WhatAnOrchestratorSaidIsNotBelievedForEver(t *testing.T) {
	var away *atomic.Bool
	w := alone(t, func(w *world) { away, w.options.Production, w.options.Patience = silence(w), true, time.Hour })
	w.boundary.Default.Primary = ptr(0.5)
	require.Eventually(t, func() bool { return w.driver() == Sandbox{"firecracker", true} }, 10*time.Second, time.Millisecond)
	w.submit(created, w.sent(custom0, 1, 1))
	jobs := len(w.boundary.Jobs())
	away.Store(true)
	w.Probe(context.Background())
	status, err := w.Status(context.Background())
	require.NoError(t, err)
	require.Equal(t, Sandbox{Driver: "firecracker"}, *status.Sandbox, "who does not answer is not ready")
	taken := w.async(w.sent(custom0, 2, 2)) // a restart of the agent costs nothing
	w.clock.advance(time.Hour)
	w.until(taken, "refused")
	require.Equal(t, Sandbox{Driver: UnknownDriver}, w.driver())
	require.Equal(t, driverUnknown, w.submit(unavailable, w.sent(custom0, 3, 3))["error"])
	require.Len(t, w.boundary.Jobs(), jobs, "nothing began")
	away.Store(false)
	w.Probe(context.Background())
	require.Equal(t, Sandbox{"firecracker", true}, w.driver())
	w.submit(created, w.sent(custom0, 3, 3))
}

func TestDecision12ADriverThatWasReplacedAfterTheGateRunsNothing(t *testing.T) {
	b := &turning{}
	w := alone(t, func(w *world) {
		b.Boundary, w.engine.Boundary = w.boundary, b
		w.options.Production, w.options.Limits.Workers = true, 1
	})
	w.boundary.Default.Primary = ptr(0.5)
	release := w.hold()
	first := w.async(w.sent(custom0, 1, 1))
	w.until(first, "running")
	second := w.async(w.sent(custom0, 2, 2)) // the gate knows of Firecracker
	require.Eventually(t, func() bool { return len(w.boundary.Jobs()) == 2 }, 10*time.Second, time.Millisecond)
	b.driver.Store(ptr("gvisor"))
	release()
	require.Equal(t, "the topic-VM orchestrator's driver is gvisor; a production host refuses it", w.until(second, "refused")["error"])
	require.Len(t, w.boundary.Jobs(), 2, "inspection and run of the first")
}

// An agent may say one thing of itself and attest another.
func TestDecision12AnAttestationOfAnotherDriverIsNoRowInProduction(t *testing.T) {
	b := &turning{}
	b.driver.Store(ptr("firecracker"))
	w := alone(t, func(w *world) {
		b.Boundary, w.engine.Boundary = w.boundary, b
		w.options.Production, w.boundary.Hypervisor = true, "qemu"
	})
	w.boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: ptr(0.5), Flops: 10})
	require.Contains(t, w.submit(unavailable, w.sent(custom0, 1, 1))["error"], `the attestation names the driver "qemu", sandboxed false; a production host takes Firecracker's alone`)
	require.Zero(t, w.rows())
}

func TestDecision12AQueueOutlivesARestartOfHostAndAgentInProduction(t *testing.T) {
	w := newWorld(t, "sqlite:"+t.TempDir()+"/prova.db", func(w *world) { w.options.Patience = time.Hour })
	w.boundary.Default.Primary = ptr(0.5)
	require.NoError(t, w.open(t))
	digest := w.async(w.sent(custom0, 1, 1))
	require.NoError(t, w.db.Close())
	away := silence(w)
	away.Store(true)
	w.options.Production = true
	require.NoError(t, w.open(t))
	w.run(t)
	require.Eventually(t, func() bool { return w.byDigest(digest)["phase"] == phaseAway }, 10*time.Second, time.Millisecond)
	away.Store(false)
	w.until(digest, "champion")
}
