package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
)

// wholeness checks what no crash and no race may break, over everything that is
// stored. It takes for granted that each run of a test leaves an artefact.
func wholeness(t testing.TB, l *Ledger) {
	t.Helper()
	count := func(what, query string) {
		var n int
		require.NoError(t, l.db.Reader().QueryRow(query).Scan(&n), what)
		require.Zero(t, n, what)
	}
	count("rows whose id nobody reserved", `SELECT COUNT(*) FROM proof_submission WHERE id NOT IN (SELECT id FROM proof_row_id)`)
	count("rows of flights that are still there", `SELECT COUNT(*) FROM proof_nonce n JOIN proof_flight f ON f.id = n.flight WHERE n.state = 'burned'`)
	count("reservations without a flight", `SELECT COUNT(*) FROM proof_nonce n WHERE n.state = 'reserved' AND NOT EXISTS (SELECT 1 FROM proof_flight f WHERE f.id = n.flight AND f.state IN ('queued', 'running'))`)
	count("flights without their reservation", `SELECT COUNT(*) FROM proof_flight f WHERE f.state IN ('queued', 'running') AND f.nonce <> '' AND NOT EXISTS (SELECT 1 FROM proof_nonce n WHERE n.flight = f.id AND n.state = 'reserved')`)
	count("burned nonces without a row", `SELECT COUNT(*) FROM proof_nonce n WHERE n.state = 'burned' AND n.row_id NOT IN (SELECT id FROM proof_submission)`)
	count("rows with two nonces", `SELECT COUNT(*) FROM (SELECT row_id FROM proof_nonce WHERE state = 'burned' GROUP BY row_id HAVING COUNT(*) > 1) x`)
	count("hotkeys with two flights", `SELECT COUNT(*) FROM (SELECT miner_hotkey FROM proof_flight WHERE state IN ('queued', 'running') GROUP BY miner_hotkey HAVING COUNT(*) > 1) x`)

	rows, _, err := l.Rows(t.Context(), RowQuery{})
	require.NoError(t, err)
	require.Less(t, len(rows), MaxRows, "all rows are looked at")
	champions, runs := map[string][]string{}, 0
	for i := len(rows) - 1; i >= 0; i-- {
		r := rows[i]
		id, err := intake.ParseID(r.ID)
		require.NoError(t, err)
		artefact, err := l.Artefact(t.Context(), r.TopicID, id)
		require.NoError(t, err)
		if r.Verdict.Agent.Rationale == "pre-eval reject" {
			require.Nil(t, artefact)
			continue
		}
		runs++
		require.NotNil(t, artefact, "row %s has its artefact", r.ID)
		require.Equal(t, champion(r), artefact.Promoted, r.ID)
		if champion(r) {
			champions[r.TopicID] = append(champions[r.TopicID], r.ID)
		}
	}
	var artefacts, promoted int
	require.NoError(t, l.db.Reader().QueryRow(`SELECT COUNT(*) FROM proof_artefact`).Scan(&artefacts))
	require.Equal(t, runs, artefacts, "artefacts without a row")
	require.NoError(t, l.db.Reader().QueryRow(`SELECT COUNT(*) FROM proof_promotion_event`).Scan(&promoted))
	for topicID, ids := range champions {
		promotions, err := l.Promotions(t.Context(), topicID)
		require.NoError(t, err)
		require.Len(t, promotions, len(ids), "a row says champion if and only if it was promoted")
		promoted -= len(promotions)
		for i, p := range promotions {
			require.Contains(t, ids, p.SubmissionID)
			if i == 0 {
				require.Nil(t, p.PreviousBest)
				continue
			}
			require.Equal(t, promotions[i-1].SubmissionID, *p.PreviousBest, "crowns follow each other")
			require.Greater(t, p.Primary, promotions[i-1].Primary, "the best never gets worse")
		}
	}
	require.Zero(t, promoted, "promotions without a champion")
}
