package store_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

// TestPostgresServerGoneAtTheCommitIsUncertainAndLaterWritesWork: whoever only
// sees the connection break cannot know whether the server had committed.
func TestPostgresServerGoneAtTheCommitIsUncertainAndLaterWritesWork(t *testing.T) {
	d, ctx := open(t, storetest.Postgres(t)), context.Background()
	reported := 0
	d.OnFatal = func(error) { reported++ }
	for i := range 2 {
		err := d.Tx(ctx, func(tx *sql.Tx) error {
			if err := insert(i, "lost")(tx); err != nil {
				return err
			}
			var pid int
			if err := tx.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid); err != nil {
				return err
			}
			_, err := d.Reader().Exec(`SELECT pg_terminate_backend($1, 5000)`, pid)
			return err
		})
		require.ErrorIs(t, err, store.ErrUncertain)
	}
	require.Equal(t, 1, reported)
	require.NoError(t, d.Batch(ctx, insert(1, "after")))
	require.Equal(t, []string{"after"}, words(t, d))
}
