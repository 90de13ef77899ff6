package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

var schema = fstest.MapFS{"0001_rows.sql": {Data: []byte(`-- +goose Up
CREATE TABLE rows_kept (id BIGINT PRIMARY KEY, raw {{blob}}, word TEXT {{bytes}} NOT NULL UNIQUE);
CREATE TABLE counted (n {{id}}, word TEXT NOT NULL);
CREATE TABLE links (row BIGINT NOT NULL REFERENCES rows_kept (id) DEFERRABLE INITIALLY DEFERRED);
`)}}

func open(t testing.TB, url string) *store.DB {
	t.Helper()
	d, err := store.Open(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Migrate(context.Background(), "test", schema))
	return d
}

func insert(id int, word string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO rows_kept (id, raw, word) VALUES ($1, $2, $3)`, id, []byte{0, 255, byte(id)}, word)
		return err
	}
}

func words(t testing.TB, d *store.DB) []string {
	t.Helper()
	rows, err := d.Reader().Query(`SELECT word FROM rows_kept ORDER BY word`)
	require.NoError(t, err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		var w string
		require.NoError(t, rows.Scan(&w))
		out = append(out, w)
	}
	require.NoError(t, rows.Err())
	return out
}

func TestOpenRefusesAnAddressThatNamesNoDatabase(t *testing.T) {
	for name, url := range map[string]string{
		"unknown scheme":    "mysql://x",
		"no scheme":         "prova.db",
		"empty":             "",
		"sqlite, no path":   "sqlite:",
		"sqlite in memory":  "sqlite::memory:",
		"a folder":          "sqlite:" + t.TempDir(),
		"postgres, garbage": "postgres://%zz",
	} {
		t.Run(name, func(t *testing.T) {
			d, err := store.Open(context.Background(), url)
			require.Error(t, err)
			require.Nil(t, d)
		})
	}
	_, err := store.Open(context.Background(), "postgres://user:hushhush@/x?host=/nonexistent&connect_timeout=1")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hushhush", "a password must not get into an error")
}

func TestSQLiteFileIsForItsOwnerOnlyAndItsNameMayHoldAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "100% #1?.db")
	open(t, "sqlite:"+path)
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), p)
	}
}

func TestConnectionsAreSetForDurability(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d := open(t, url)
		queries := map[string]string{"PRAGMA synchronous": "2", "PRAGMA journal_mode": "wal", "PRAGMA foreign_keys": "1"}
		if d.Dialect() == store.Postgres {
			queries = map[string]string{"SHOW synchronous_commit": "on"}
		}
		for query, want := range queries {
			var got string
			require.NoError(t, d.Writer().QueryRow(query).Scan(&got))
			require.Equal(t, want, got, query)
		}
		_, err := d.Reader().Exec(`DELETE FROM rows_kept`)
		require.Error(t, err, "readers cannot write")
	})
}

func TestMigrateMayRunAgainAndEachRoomHasItsOwnVersions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d := open(t, url)
		require.NoError(t, d.Migrate(context.Background(), "test", schema))
		require.NoError(t, d.Migrate(context.Background(), "other", fstest.MapFS{"0001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE other_a (x TEXT);\n")}}))
		require.Error(t, d.Migrate(context.Background(), "Bad Name", schema))
		require.Error(t, d.Migrate(context.Background(), "broken", fstest.MapFS{"0001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABEL x (y TEXT);\n")}}))
		require.Error(t, d.Migrate(context.Background(), "nothing", fstest.MapFS{}))
		require.NoError(t, d.Tx(context.Background(), func(tx *sql.Tx) error {
			for _, w := range []string{"a", "b"} {
				if _, err := tx.Exec(`INSERT INTO counted (word) VALUES ($1)`, w); err != nil {
					return err
				}
			}
			return nil
		}))
		var n int
		require.NoError(t, d.Reader().QueryRow(`SELECT n FROM counted WHERE word = $1`, "b").Scan(&n))
		require.Equal(t, 2, n)
	})
}

func TestTxKeepsAllOfAFunctionOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d, ctx := open(t, url), context.Background()
		require.NoError(t, d.Tx(ctx, insert(1, "é")))
		boom := errors.New("boom")
		require.ErrorIs(t, d.Tx(ctx, func(tx *sql.Tx) error {
			if err := insert(2, "two")(tx); err != nil {
				return err
			}
			return boom
		}), boom)
		require.ErrorContains(t, d.Tx(ctx, func(tx *sql.Tx) error {
			_ = insert(3, "three")(tx)
			panic("at the disco")
		}), "panicked: at the disco")
		ended, cancel := context.WithCancel(ctx)
		require.ErrorIs(t, d.Tx(ended, func(tx *sql.Tx) error {
			cancel()
			return insert(4, "four")(tx)
		}), context.Canceled)
		require.Error(t, d.Tx(ctx, func(tx *sql.Tx) error { return tx.Rollback() }), "a function that ends the transaction itself is told so")
		err := d.Tx(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO links (row) VALUES (99)`)
			return err
		})
		require.Error(t, err, "a deferred reference is refused at the commit")
		require.NotErrorIs(t, err, store.ErrUncertain)
		require.NoError(t, d.Tx(ctx, insert(5, "Z")))
		require.Equal(t, []string{"Z", "é"}, words(t, d), "text marked {{bytes}} is ordered by code points")
		var raw []byte
		require.NoError(t, d.Reader().QueryRow(`SELECT raw FROM rows_kept WHERE id = 1`).Scan(&raw))
		require.Equal(t, []byte{0, 255, 1}, raw)
	})
}

func TestBatchUndoesOnlyTheMemberThatFails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d, ctx := open(t, url), context.Background()
		const n = 200
		var wg sync.WaitGroup
		var failed atomic.Int64
		for i := range n {
			wg.Go(func() {
				err := d.Batch(ctx, func(tx *sql.Tx) error {
					if err := insert(i, fmt.Sprintf("w%03d", i))(tx); err != nil {
						return err
					}
					switch i % 8 {
					case 1:
						return errors.New("own error")
					case 3:
						panic("own panic")
					case 5:
						return insert(i, "again")(tx) // A broken constraint, which PostgreSQL answers by aborting.
					case 7:
						_, err := tx.Exec(`INSERT INTO links (row) VALUES ($1)`, 100000+i) // Refused at the commit only.
						return err
					}
					return nil
				})
				if (err != nil) != (i%2 == 1) {
					t.Errorf("member %d: %v", i, err)
				}
				if errors.Is(err, store.ErrUncertain) {
					t.Errorf("member %d: %v", i, err)
				}
				if err != nil {
					failed.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, n/2, failed.Load())
		got := words(t, d)
		require.Len(t, got, n/2)
		for _, w := range got {
			require.Contains(t, "02468", w[len(w)-1:])
		}
	})
}

func TestBatchSharesCommits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d, ctx := open(t, url), context.Background()
		gate, entered := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = d.Batch(ctx, func(*sql.Tx) error { close(entered); <-gate; return nil })
		})
		<-entered
		var seen sync.Map
		for i := range 20 {
			wg.Go(func() {
				err := d.Batch(ctx, func(tx *sql.Tx) error { seen.Store(tx, true); return insert(i, fmt.Sprint(i))(tx) })
				if err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond) // All twenty are in the queue; were they not, the count below would only be higher.
		close(gate)
		wg.Wait()
		count := 0
		seen.Range(func(any, any) bool { count++; return true })
		require.LessOrEqual(t, count, 3, "twenty waiting callers share few transactions")
		require.Len(t, words(t, d), 20)
	})
}

func TestBatchWithdrawsAWaitingCallerAndWaitsForARunningOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d := open(t, url)
		ctx, cancel := context.WithCancel(context.Background())
		entered := make(chan struct{})
		running := make(chan error, 1)
		go func() {
			running <- d.Batch(ctx, func(tx *sql.Tx) error {
				close(entered)
				<-ctx.Done()
				time.Sleep(50 * time.Millisecond)
				return insert(1, "running")(tx)
			})
		}()
		<-entered
		waiting := make(chan error, 1)
		go func() { waiting <- d.Batch(ctx, insert(2, "waiting")) }()
		time.Sleep(20 * time.Millisecond)
		cancel()
		require.ErrorIs(t, <-waiting, context.Canceled)
		require.NoError(t, <-running, "an accepted function's outcome is reported, whatever becomes of its context")
		require.NoError(t, d.Batch(context.Background(), insert(3, "after")))
		require.Equal(t, []string{"after", "running"}, words(t, d))
	})
}

func TestBatchMembersSurviveAMemberThatLosesTheTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d, ctx := open(t, url), context.Background()
		gate, entered := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = d.Batch(ctx, func(*sql.Tx) error { close(entered); <-gate; return nil })
		})
		<-entered
		for i := range 10 {
			wg.Go(func() {
				err := d.Batch(ctx, func(tx *sql.Tx) error {
					if i == 5 {
						_ = tx.Rollback() // What a broken connection amounts to.
						return errors.New("lost")
					}
					return insert(i, fmt.Sprint(i))(tx)
				})
				if (err != nil) != (i == 5) {
					t.Errorf("member %d: %v", i, err)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		close(gate)
		wg.Wait()
		require.Len(t, words(t, d), 9)
	})
}

func TestOneWriteTransactionRunsAtATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		a, ctx := open(t, url), context.Background()
		b := open(t, url) // A second process, as it were.
		var wg sync.WaitGroup
		for i, d := range []*store.DB{a, b, a, b} {
			write := d.Tx
			if i >= 2 {
				write = d.Batch
			}
			wg.Go(func() {
				for range 10 {
					err := write(ctx, func(tx *sql.Tx) error {
						var n int
						if err := tx.QueryRow(`SELECT COALESCE(MAX(id), 0) FROM rows_kept`).Scan(&n); err != nil {
							return err
						}
						return insert(n+1, fmt.Sprint(n+1))(tx)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.Len(t, words(t, a), 40)
	})
}

func TestCloseFinishesAcceptedWorkAndRefusesNew(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		d, ctx := open(t, url), context.Background()
		var ok atomic.Int64
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				switch err := d.Batch(ctx, insert(i, fmt.Sprint(i))); {
				case err == nil:
					ok.Add(1)
				case !errors.Is(err, store.ErrClosed):
					t.Error(err)
				}
			})
		}
		require.NoError(t, d.Close())
		wg.Wait()
		require.ErrorIs(t, d.Tx(ctx, insert(1000, "late")), store.ErrClosed)
		require.ErrorIs(t, d.Batch(ctx, insert(1000, "late")), store.ErrClosed)
		require.NoError(t, d.Close())
		require.Len(t, words(t, open(t, url)), int(ok.Load()))
	})
}

func TestAFullDiskIsAnErrorOfTheWriteAndOfNothingElse(t *testing.T) {
	d, ctx := open(t, "sqlite:"+filepath.Join(t.TempDir(), "full.db")), context.Background()
	d.OnFatal = func(err error) { t.Errorf("a full disk is no uncertain commit: %v", err) }
	_, err := d.Writer().Exec(`PRAGMA max_page_count = 40`)
	require.NoError(t, err)
	stored := 0
	for i := range 100 {
		err := d.Batch(ctx, insert(i, strings.Repeat("x", 4000)+fmt.Sprint(i)))
		if err == nil {
			stored++
			continue
		}
		require.NotErrorIs(t, err, store.ErrUncertain)
	}
	require.Positive(t, stored)
	require.Less(t, stored, 100)
	require.Len(t, words(t, d), stored, "what was acknowledged is there, and nothing else")
	_, err = d.Writer().Exec(`PRAGMA max_page_count = 4000`)
	require.NoError(t, err)
	require.NoError(t, d.Batch(ctx, insert(1000, "room again")))
}
