package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var linked = fstest.MapFS{"0001_a.sql": {Data: []byte(`-- +goose Up
CREATE TABLE a (id BIGINT PRIMARY KEY);
CREATE TABLE b (a BIGINT REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED);
`)}}

// refused makes the commit fail, by a deferred reference to nothing.
func refused(tx *sql.Tx) error {
	_, err := tx.Exec(`INSERT INTO b (a) VALUES (1)`)
	return err
}

// TestUncertainCommitIsReportedOnceAndStopsWriting stands in for a failed fsync:
// a commit that fails in a way the back end does not know as a clean refusal.
func TestUncertainCommitIsReportedOnceAndStopsWriting(t *testing.T) {
	ctx := context.Background()
	d, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Migrate(ctx, "test", linked))
	reported := 0
	d.OnFatal = func(err error) {
		reported++
		require.ErrorIs(t, err, ErrUncertain)
	}
	d.failedCleanly = func(error) bool { return false }
	require.ErrorIs(t, d.Batch(ctx, refused), ErrUncertain)
	require.ErrorIs(t, d.Tx(ctx, refused), ErrUncertain, "what comes after is not even begun")
	require.ErrorIs(t, d.Batch(ctx, func(*sql.Tx) error { return nil }), ErrUncertain)
	require.Equal(t, 1, reported)
	var n int
	require.NoError(t, d.Reader().QueryRow(`SELECT COUNT(*) FROM b`).Scan(&n), "reading goes on")
}

func TestSQLiteKnowsItsCleanRefusals(t *testing.T) {
	ctx := context.Background()
	d, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	require.NoError(t, d.Migrate(ctx, "test", linked))
	err = d.Tx(ctx, refused)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrUncertain)
	require.False(t, sqliteFailedCleanly(context.DeadlineExceeded), "what SQLite did not say is not known")
	require.False(t, postgresFailedCleanly(context.DeadlineExceeded))
	require.NoError(t, d.Tx(ctx, func(tx *sql.Tx) error { _, err := tx.Exec(`INSERT INTO a (id) VALUES (1)`); return err }))
}
