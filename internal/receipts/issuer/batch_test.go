package issuer

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// faultyStamper is an authority that can be down or answer garbage.
type faultyStamper struct {
	mu    sync.Mutex
	inner timestamp.Stamper
	mode  string // "", "down", "garbage", "other message", "slow"
	calls int
}

func (f *faultyStamper) Name() string { return f.inner.Name() }

func (f *faultyStamper) set(mode string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = mode
}

func (f *faultyStamper) Stamp(ctx context.Context, message []byte) ([]byte, *timestamp.Token, error) {
	f.mu.Lock()
	mode := f.mode
	f.calls++
	f.mu.Unlock()
	switch mode {
	case "down":
		return nil, nil, errors.New("connection refused")
	case "garbage":
		return []byte("<html>"), &timestamp.Token{Time: time.Now()}, nil
	case "other message":
		return f.inner.Stamp(ctx, []byte("something else, 32 bytes long..."))
	case "slow":
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	return f.inner.Stamp(ctx, message)
}

// faultyLog is a log that can be down, answer garbage or another's entry.
type faultyLog struct {
	mu    sync.Mutex
	inner tlog.Appender
	mode  string
	calls int
}

func (f *faultyLog) set(mode string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode = mode
}

func (f *faultyLog) Submit(ctx context.Context, anchored string, signer crypto.Signer) (string, []byte, error) {
	f.mu.Lock()
	mode := f.mode
	f.calls++
	f.mu.Unlock()
	switch mode {
	case "down":
		return "", nil, errors.New("connection refused")
	case "garbage":
		return strings.Repeat("a", 64), []byte(`{}`), nil
	case "already exists":
		return "_already_exists", nil, nil
	case "other hash":
		return f.inner.Submit(ctx, strings.Repeat("0", 64), signer)
	case "other key":
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", nil, err
		}
		return f.inner.Submit(ctx, anchored, key)
	}
	return f.inner.Submit(ctx, anchored, signer)
}

func (f *faultyLog) Entry(ctx context.Context, uuid string) ([]byte, error) {
	return f.inner.Entry(ctx, uuid)
}

func newFaultyWorld(t *testing.T, changes ...func(*setup)) (*world, *faultyStamper, *faultyLog) {
	stamper, log := &faultyStamper{}, &faultyLog{}
	w := newWorld(t, append([]func(*setup){func(s *setup) {
		stamper.inner, log.inner = s.deps.Stampers[0], s.deps.Log
		s.deps.Stampers, s.deps.Log = timestamp.Pool{stamper}, log
		s.cfg.WitnessTimeout = 50 * time.Millisecond
	}}, changes...)...)
	return w, stamper, log
}

func TestT8AWitnessThatFailsLeavesTheBatchPendingAndIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct{ stamper, log string }{
		"authority down":            {"down", ""},
		"authority slow":            {"slow", ""},
		"authority answers garbage": {"garbage", ""},
		"token of another message":  {"other message", ""},
		"log down":                  {"", "down"},
		"log answers garbage":       {"", "garbage"},
		"log says already exists":   {"", "already exists"},
		"entry of another hash":     {"", "other hash"},
		"entry of another key":      {"", "other key"},
		"both":                      {"down", "garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			w, stamper, log := newFaultyWorld(t)
			id := w.issue(w.key(PlanFree))
			stamper.set(c.stamper)
			log.set(c.log)
			b := w.close()
			require.Len(t, b, 1)
			require.False(t, b[0].Anchored)
			require.NotEmpty(t, b[0].LastError)
			view := w.get("/v1/proof/" + id)
			require.Equal(t, "pending", view.at("/batch_anchor/status"), "nothing is marked that was not checked")
			require.Equal(t, "pending_batch", view.at("/timestamp_authority/status"))
			require.Nil(t, view.at("/transparency_log"))
			require.Equal(t, 404, w.get("/v1/proof/"+id+"/tsr").Status)
			shown := w.do(w.internal, "GET", "/internal/v1/pending", "")
			require.Equal(t, canonjson.Int("1"), shown.at("/closing_batches"))
			require.Equal(t, b[0].ID, shown.at("/batches/0/batch_id"))
			require.NotEmpty(t, shown.at("/batches/0/last_error"))
			require.Equal(t, c.stamper == "", shown.at("/batches/0/token"), "a token once obtained is kept")

			stamper.set("")
			log.set("")
			tokens := stamper.calls
			w.clock.advance(time.Second)
			require.NoError(t, w.svc.anchorDue(context.Background(), w.clock.now()))
			view = w.get("/v1/proof/" + id)
			require.Equal(t, "anchored", view.at("/batch_anchor/status"))
			require.Equal(t, "verified", view.at("/timestamp_authority/status"))
			require.Equal(t, "verified", view.at("/transparency_log/status"))
			if c.stamper == "" {
				require.Equal(t, tokens, stamper.calls, "only the missing witness is asked again")
			}
		})
	}
}

func TestT8RetriesBackOff(t *testing.T) {
	w, stamper, _ := newFaultyWorld(t, func(s *setup) { s.cfg.RetryMin, s.cfg.RetryMax = time.Second, 4*time.Second })
	w.issue(w.key(PlanFree))
	stamper.set("down")
	w.close()
	ctx := context.Background()
	calls := stamper.calls
	require.NoError(t, w.svc.anchorDue(ctx, w.clock.now()))
	require.Equal(t, calls, stamper.calls, "not before the pause is over")
	for i, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
		w.clock.advance(pause)
		require.NoError(t, w.svc.anchorDue(ctx, w.clock.now()))
		require.Equal(t, calls+i+1, stamper.calls)
	}
}

func TestT71AnIssuerWithoutALogSaysDisabled(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.deps.Log, s.cfg.Logs = nil, nil })
	id := w.issue(w.key(PlanFree))
	require.True(t, w.close()[0].Anchored)
	require.Equal(t, "disabled", w.get("/v1/proof/"+id).at("/transparency_log/status"))
}

func TestT71Anchored(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	ids := []string{w.issue(key), w.issue(key), w.issue(key)}
	b := w.close()[0]
	require.Equal(t, int64(3), b.Size)
	require.Regexp(t, `^batch_\d{8}_\d{6}_\d{3}$`, b.ID)
	for i, id := range ids {
		r := w.get("/v1/proof/" + id)
		anchor := r.at("/batch_anchor").(*canonjson.Object)
		require.Equal(t, []string{"status", "batch_id", "leaf_index", "tree_size", "audit_path", "root"}, anchor.Names())
		require.Equal(t, number(i), valueOf(anchor, "leaf_index"))
		require.Len(t, valueOf(anchor, "audit_path"), merkle.PathLength(uint64(i), 3))
		require.Equal(t, "sha256:"+b.Root, text(anchor, "root"))
		require.Equal(t, []string{"status", "provider", "tsr_base64", "anchored"}, r.at("/timestamp_authority").(*canonjson.Object).Names(), "tsr_url is gone")
		require.Equal(t, []string{"provider", "status", "uuid", "log_index", "integrated_time", "log_url", "verify_url", "anchored"}, r.at("/transparency_log").(*canonjson.Object).Names())
		require.Equal(t, "batch_root", r.at("/transparency_log/anchored"))
	}
}

func TestT8ABatchClosesBySize(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.cfg.BatchSize = 4 })
	key := w.key(PlanFree)
	for range 3 {
		w.issue(key)
	}
	ctx := context.Background()
	require.NoError(t, w.svc.closeDue(ctx))
	require.Equal(t, int64(3), w.pending(), "not before it is full")
	for range 6 {
		w.issue(key)
	}
	require.NoError(t, w.svc.closeFull(ctx))
	require.Equal(t, int64(1), w.pending())
	rows, err := w.svc.store.closing(ctx, w.clock.now(), 10)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	for _, b := range rows {
		require.Equal(t, int64(4), b.Size)
		require.Equal(t, ReasonSize, b.Reason)
	}
	require.NotEqual(t, rows[0].ID, rows[1].ID, "two batches opened in one millisecond differ in id")
}

func (w *world) pending() int64 {
	w.t.Helper()
	p, err := w.svc.Pending(context.Background())
	require.NoError(w.t, err)
	return p.Proofs
}

func TestT8ABatchClosesByAge(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	require.NoError(t, w.svc.closeDue(ctx))
	w.issue(w.key(PlanFree))
	w.clock.advance(599 * time.Second)
	require.NoError(t, w.svc.closeDue(ctx))
	require.Equal(t, int64(1), w.pending(), "not before")
	w.clock.advance(time.Second)
	require.NoError(t, w.svc.closeDue(ctx))
	require.Zero(t, w.pending())
}

func TestASeasonsEndForcesBatchesClosedEvenIfTheProcessWasDown(t *testing.T) {
	end := newClock().now().Add(time.Minute)
	w := newWorld(t, func(s *setup) { s.cfg.ForcedCloses = []time.Time{end} })
	key, ctx := w.key(PlanFree), context.Background()
	id := w.issue(key)
	require.NoError(t, w.svc.closeDue(ctx))
	require.Equal(t, int64(1), w.pending())
	require.LessOrEqual(t, w.svc.nextForced(), time.Minute, "the loop wakes for it")
	w.clock.advance(2 * time.Minute) // nobody looked at the minute itself
	require.NoError(t, w.svc.closeDue(ctx))
	require.Zero(t, w.pending())
	row, err := w.svc.store.proof(ctx, id)
	require.NoError(t, err)
	require.Equal(t, ReasonSeasonEnd, row.Batch.Reason)
	w.issue(key)
	require.NoError(t, w.svc.closeDue(ctx))
	require.Equal(t, int64(1), w.pending(), "proofs after the end wait for age or size")
}

func TestT316AdminClose(t *testing.T) {
	w := newWorld(t)
	secret := withHeader("X-Internal-Secret", internalSecret)
	for _, opts := range [][]option{nil, {withHeader("X-Internal-Secret", "wrong")}, {withHeader("X-Internal-Secret", "")}} {
		r := w.post("/v1/admin/batch/close", "", opts...)
		require.Equal(t, 403, r.Status)
		require.Equal(t, `{"error":"forbidden"}`, r.Body)
	}
	require.Equal(t, `{"anchored":false,"reason":"no pending batch"}`, w.post("/v1/admin/batch/close", "", secret).Body)
	w.issue(w.key(PlanFree))
	r := w.post("/v1/admin/batch/close", "", secret)
	require.Equal(t, []string{"anchored", "batch_id", "tree_size", "root", "timestamp_authority", "transparency_log"}, r.object().Names())
	require.Equal(t, true, r.at("/anchored"))
	require.Equal(t, "verified", r.at("/timestamp_authority"))
	require.Equal(t, `{"anchored":false,"reason":"no pending batch"}`, w.do(w.internal, "POST", "/internal/v1/batch/close", "").Body)

	unset := newWorld(t, func(s *setup) { s.cfg.Internal.Value = "" })
	require.Equal(t, 403, unset.post("/v1/admin/batch/close", "", withHeader("X-Internal-Secret", "")).Status, "an unset secret opens nothing")
}

func TestT8AnInterruptedCloseIsTakenUp(t *testing.T) {
	w, stamper, log := newFaultyWorld(t)
	ctx := context.Background()
	id := w.issue(w.key(PlanFree))
	// The root is fixed and the process gone before any witness was asked.
	_, err := w.svc.closeAll(ctx, closeRule{reason: ReasonAdmin, size: 100})
	require.NoError(t, err)
	again, err := New(ctx, w.svc.cfg, w.svc.deps)
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- again.Run(running) }()
	require.Eventually(t, func() bool {
		row, err := again.store.proof(ctx, id)
		return err == nil && row.Batch != nil && row.Batch.State == stateAnchored
	}, 5*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-done)
	require.Equal(t, 1, stamper.calls)
	require.Equal(t, 1, log.calls)
	require.NoError(t, again.Close(ctx))
}

func TestT8TwoProcessesAnchorABatchOnceInEffect(t *testing.T) {
	w, _, _ := newFaultyWorld(t)
	ctx := context.Background()
	id := w.issue(w.key(PlanFree))
	other, err := New(ctx, w.svc.cfg, w.svc.deps)
	require.NoError(t, err)
	_, err = w.svc.closeAll(ctx, closeRule{reason: ReasonAdmin, size: 100})
	require.NoError(t, err)
	var wg sync.WaitGroup
	faults := make([]error, 2)
	for i, s := range []*Service{w.svc, other} {
		wg.Go(func() { faults[i] = s.anchorDue(ctx, w.clock.now()) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(faults...))
	row, err := w.svc.store.proof(ctx, id)
	require.NoError(t, err)
	require.Equal(t, stateAnchored, row.Batch.State)
	require.Equal(t, row.Batch.Token, mustProof(t, other, id).Batch.Token)
	_, err = tlog.VerifyEntry(row.Batch.UUID, []byte(row.Batch.Entry), row.Batch.Root, w.svc.cfg.Logs)
	require.NoError(t, err)
	require.NoError(t, other.Close(ctx))
}

func mustProof(t *testing.T, s *Service, id string) *proofRow {
	t.Helper()
	row, err := s.store.proof(context.Background(), id)
	require.NoError(t, err)
	return row
}

func TestT8AuditPathsAgreeWithTheMerklePackage(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 100} {
		leaves := make([][32]byte, n)
		for i := range leaves {
			leaves[i] = merkle.LeafHash([]byte{byte(i)})
		}
		want := merkle.Paths(leaves)
		for i := range leaves {
			require.True(t, slices.Equal(want[i], auditPath(leaves, i)), "size %d leaf %d", n, i)
		}
	}
}

// A database that cannot be read in the middle of anchoring is an error of that
// attempt, whatever the reason: the process goes on, and the next attempt works.
func TestT8AnAttemptThatCannotReadItsBatchIsAnErrorAndNoPanic(t *testing.T) {
	w, _, _ := newFaultyWorld(t)
	ctx := context.Background()
	id := w.issue(w.key(PlanFree))
	_, err := w.svc.closeAll(ctx, closeRule{reason: ReasonAdmin, size: 100})
	require.NoError(t, err)
	rows, err := w.svc.store.closing(ctx, w.clock.now(), anchorRound)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, w.svc.anchorOnce(gone, rows[0]), context.Canceled)
	require.Error(t, w.svc.anchorOnce(ctx, &batchRow{ID: "batch_20260101_000000_000"}), "a batch that is not there")
	require.NoError(t, w.svc.anchorOnce(ctx, rows[0]), "the attempt that failed has given the batch free")
	row, err := w.svc.store.proof(ctx, id)
	require.NoError(t, err)
	require.Equal(t, stateAnchored, row.Batch.State)
}
