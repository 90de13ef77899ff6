package issuer

import (
	"context"
	"crypto"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// brokenKey is a signing key that has stopped working.
type brokenKey struct{ crypto.Signer }

func (brokenKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("the device is gone")
}

func TestT42Step9AKeyThatFailsMidCallMakesNoProof(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.svc.deps.Signer.proof = brokenKey{w.svc.deps.Signer.proof}
	r := w.call(key, entity)
	require.Equal(t, 503, r.Status)
	require.Equal(t, "signing_unavailable", r.at("/error/code"))
	require.Zero(t, w.pending())
	health := w.get("/health")
	require.Equal(t, 503, health.Status)
	require.Equal(t, "failed", health.at("/signing/self_test"))
}

func TestT42Step11AKeptAnswerComesBeforeExtraHeadersAreLookedAt(t *testing.T) {
	w := newWorld(t)
	key, k := w.key(PlanFree), withHeader("X-Idempotency-Key", "k")
	first := w.call(key, entity, k)
	again := w.call(key, `{"target":"https://`+corpusHost+`/a","extra_headers":{"A":1}}`, k)
	require.Equal(t, first.Body, again.Body)
	require.Equal(t, 400, w.call(key, `{"target":"https://`+corpusHost+`/a","payload":[]}`, k).Status, "but not before the request's own checks")
}

func TestABindingCountsFromTheNextCallOn(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.issue(key) // the key's row is remembered now
	name := w.bind(key)
	require.Equal(t, name, w.call(key, entity).at("/proof/parties/agent_identity"))

	var cache keyCache
	now := time.Now()
	_, changes := cache.get("f", now)
	cache.forget("f")
	cache.put(&keyRow{Fingerprint: "f"}, now, changes)
	row, _ := cache.get("f", now)
	require.Nil(t, row, "a row read before a change is not remembered after it")
}

func TestManyCallersAndAClosingLoopKeepEveryProofInOneBatch(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.cfg.BatchSize, s.cfg.Tick, s.cfg.BatchAge = 7, 5*time.Millisecond, 20*time.Millisecond
		s.cfg.Quotas = map[Plan]Quota{PlanInternal: {Daily: 1 << 30}}
		s.deps.Clock = nil
	})
	key := w.key(PlanInternal)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.svc.Run(ctx) }()
	ids := make([][]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			for range 20 {
				r := w.call(key, entity)
				if r.Status == 200 {
					ids[i] = append(ids[i], r.Header.Get("X-ArkForge-Proof-ID"))
				}
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool {
		p, err := w.svc.Pending(context.Background())
		return err == nil && p.Proofs == 0 && len(p.Closing) == 0
	}, 10*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-done)
	places := map[string]string{}
	for _, list := range ids {
		require.Len(t, list, 20)
		for _, id := range list {
			row, err := w.svc.store.proof(context.Background(), id)
			require.NoError(t, err)
			index, _, err := row.Batch.place(row.Chain)
			require.NoError(t, err)
			place := row.Batch.ID + "/" + itoa(index)
			require.Empty(t, places[place], "two proofs at one place")
			places[place] = id
		}
	}
	require.Len(t, places, 320)
}

func TestMetricsAreRegisteredOnceAndTellWhatWaits(t *testing.T) {
	w := newWorld(t)
	w.issue(w.key(PlanFree))
	registry := prometheus.NewRegistry()
	require.NoError(t, w.svc.Register(registry))
	require.Error(t, w.svc.Register(registry))
	families, err := registry.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, f := range families {
		m := f.GetMetric()[0]
		text.WriteString(f.GetName() + "=" + itoa(int(m.GetCounter().GetValue()+m.GetGauge().GetValue())) + " ")
	}
	require.Contains(t, text.String(), "prova_issuer_proofs_total=1 ")
	require.Contains(t, text.String(), "prova_issuer_pending_proofs=1 ")
	require.Contains(t, w.do(w.internal, "GET", "/internal/v1/counters", "").Body, `"proofs":1`)
}
