package issuer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

// TestStoreOnBothDatabases runs one life of an issuer on SQLite and PostgreSQL, so
// that every statement of store_*.go is run on both.
func TestStoreOnBothDatabases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		w := newWorld(t, func(s *setup) { s.url, s.cfg.Limits.BindsPerHour, s.cfg.BatchSize = url, 0, 3 })
		ctx := context.Background()
		key := w.post("/v1/keys/free-signup", `{"email":"a@agents.example"}`).at("/api_key").(string)
		require.Equal(t, 409, w.post("/v1/keys/free-signup", `{"email":"a@agents.example"}`).Status)
		row, _ := w.svc.plans.named(PlanFree)
		_, added, err := w.svc.newKey(ctx, row, "a@agents.example", "race")
		require.NoError(t, err)
		require.False(t, added, "two sign-ups of one email at once: the index decides")

		require.Equal(t, 200, w.call(key, entity, withHeader("X-Agent-Identity", "one")).Status)
		require.Equal(t, false, w.call(key, entity, withHeader("X-Agent-Identity", "two")).at("/proof/identity_consistent"))
		first, second := w.bind(key), w.bind(key)
		require.Equal(t, []any{second}, w.do(w.internal, "GET", "/internal/v1/linked-dids?did="+first, "").at("/linked_dids"))
		require.Equal(t, first, w.get("/v1/keys/identity", withKey(key)).at("/verified_did_history/0/did"))

		kept := w.call(key, entity, withHeader("X-Idempotency-Key", "k"))
		require.Equal(t, kept.Body, w.call(key, entity, withHeader("X-Idempotency-Key", "k")).Body)
		w.issue(key)
		require.NoError(t, w.svc.closeFull(ctx))
		require.Equal(t, int64(1), w.pending())
		require.Len(t, w.close(), 1)
		r := w.get("/v1/proof/" + kept.at("/proof/proof_id").(string))
		require.Equal(t, "anchored", r.at("/batch_anchor/status"))
		require.Equal(t, canonjson.Int("2"), r.at("/batch_anchor/leaf_index"))
		require.Equal(t, canonjson.Int("2"), w.get("/v1/proof/"+kept.at("/proof/proof_id").(string)).at("/views_count"))
		require.Equal(t, 200, w.do(w.internal, "GET", "/internal/v1/log-entries/"+r.at("/transparency_log/uuid").(string), "").Status)
		require.Equal(t, 404, w.do(w.internal, "GET", "/internal/v1/log-entries/none", "").Status)

		require.NoError(t, w.svc.meter.flush(ctx))
		used, err := w.svc.store.usage(ctx, counterKeyOf(key), w.clock.now().Format(dayLayout))
		require.NoError(t, err)
		require.Equal(t, int64(5), used, "four proofs and one replay")
		w.clock.advance(25 * time.Hour)
		require.NoError(t, w.svc.store.forgetAnswers(ctx, w.clock.now()))
		var n int
		require.NoError(t, w.db.Reader().QueryRow(`SELECT COUNT(*) FROM issuer_answers`).Scan(&n))
		require.Zero(t, n)
	})
}
