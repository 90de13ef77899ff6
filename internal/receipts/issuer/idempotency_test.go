package issuer

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
)

func TestT411Idempotency(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	k := withHeader("X-Idempotency-Key", "k-1")
	first := w.call(key, entity, k)
	require.Equal(t, 200, first.Status)
	again := w.call(key, `{"target":"https://`+corpusHost+`/another"}`, k)
	require.Equal(t, first.Body, again.Body, "the body of the request is not compared")
	require.Equal(t, first.Header.Get("X-ArkForge-Proof-ID"), again.Header.Get("X-ArkForge-Proof-ID"))
	_, _, calls := w.upstream.seen()
	require.Equal(t, 1, calls)
	require.Equal(t, canonjson.Int("2"), w.get("/v1/usage", withKey(key)).at("/daily/used"), "a hit still spends")
	require.NotEqual(t, first.Body, w.call(w.key(PlanFree), entity, k).Body, "another key, another cache")

	w.upstream.handle(cut)
	bad := withHeader("X-Idempotency-Key", "k-2")
	failed := w.call(key, entity, bad)
	require.Equal(t, 502, failed.Status)
	w.upstream.answer(200, "application/json", `{"a":1}`)
	require.Equal(t, failed.Body, w.call(key, entity, bad).Body, "502 and 504 are kept too")

	rejected := withHeader("X-Idempotency-Key", "k-3")
	require.Equal(t, 400, w.call(key, `{"target":"https://`+corpusHost+`/a","extra_headers":{"A":1}}`, rejected).Status)
	require.Equal(t, 200, w.call(key, entity, rejected).Status, "requests refused before a proof are not")

	w.upstream.answer(200, "application/json", `"`+strings.Repeat("x", maxKeptAnswer)+`"`)
	big := withHeader("X-Idempotency-Key", "k-4")
	require.NotEqual(t, w.call(key, entity, big).Body, w.call(key, entity, big).Body, "above 512 KB nothing is kept")

	w.clock.advance(24*time.Hour + time.Second)
	require.NotEqual(t, first.Body, w.call(key, entity, k).Body, "kept for 24 hours")
}

func TestT411ConcurrentCallsOfOneIdempotencyKeyMakeOneProof(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	bodies := make([]string, 16)
	var wg sync.WaitGroup
	for i := range bodies {
		wg.Go(func() { bodies[i] = w.call(key, entity, withHeader("X-Idempotency-Key", "same")).Body })
	}
	wg.Wait()
	for _, b := range bodies {
		require.Equal(t, bodies[0], b)
	}
	_, _, calls := w.upstream.seen()
	require.Equal(t, 1, calls)
}
