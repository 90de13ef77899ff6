package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/topic"
)

// fill writes at least one row into every table.
func (f *fixture) fill(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, f.Publish(ctx, version("topic-a", 1), move("draft", "x", "open")))
	require.NoError(t, f.AddRules(ctx, ruleSet("topic-a", 1, topic.FromDocument)))
	require.NoError(t, f.AddMeasurement(ctx, Measurement{TopicID: "topic-a", RulesVersion: 1, PrimaryValue: 1}))
	_, err := f.AddChecklist(ctx, ChecklistRecord{SubmissionDigest: hash("s"), TopicID: "topic-a", RulesVersion: 1})
	require.NoError(t, err)
	s, c := f.run(t, "topic-a", 1, 2)
	c = f.commitOf(t, s, c.Flight, c.Holder, 2, &Crown{Primary: 2, Direction: "max"})
	require.NoError(t, f.Commit(ctx, c))
	require.NoError(t, f.CloseEpoch(ctx, 0, []byte("snapshot")))
	require.NoError(t, f.SaveOffer(ctx, ExecutorOffer, []byte("{}"), "file"))
	require.NoError(t, f.Audit(ctx, AuditEntry{Action: "x"}))
	next := submission("topic-a", 2, 1)
	next.Epoch = 1
	f.admit(t, next, intake.Run, options())
	_, err = f.Acquire(ctx, "topic-a", "w1", 1)
	require.NoError(t, err)
}

// tables are the tables of the research room that the database has.
func tables(t *testing.T, db *store.DB) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'proof%' ORDER BY name`
	if db.Dialect() == store.Postgres {
		query = `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'proof%' ORDER BY 1`
	}
	all, err := list(t.Context(), db.Reader(), func(s scanner) (name string, err error) {
		err = s.Scan(&name)
		return name, err
	}, query)
	require.NoError(t, err)
	return all
}

func TestDecision1HistoryIsAppendOnlyForTheServiceAndTheOwner(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.fill(t)
		require.ElementsMatch(t, append(appendOnly(), mutable()...), tables(t, f.db), "every table is on one of the lists")
		owner, err := store.Open(t.Context(), f.owner)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, owner.Close()) })
		for _, table := range appendOnly() {
			column := columnOf(t, f.db, table)
			statements := []string{
				"UPDATE " + table + " SET " + column + " = " + column,
				"DELETE FROM " + table,
			}
			if owner.Dialect() == store.Postgres {
				statements = append(statements, "TRUNCATE "+table+" CASCADE")
			} else {
				statements = append(statements, "INSERT OR REPLACE INTO "+table+" SELECT * FROM "+table)
			}
			for _, statement := range statements {
				for who, db := range map[string]*store.DB{"the service": f.db, "the owner": owner} {
					err := db.Tx(t.Context(), func(tx *sql.Tx) error {
						_, err := tx.Exec(statement)
						return err
					})
					require.Error(t, err, "%s: %s", who, statement)
					if who == "the owner" || owner.Dialect() == store.SQLite {
						require.ErrorContains(t, err, "append-only", statement)
					} else {
						require.ErrorContains(t, err, "permission denied", statement)
					}
				}
			}
			var n int
			require.NoError(t, f.db.Reader().QueryRow("SELECT COUNT(*) FROM "+table).Scan(&n))
			require.Positive(t, n, table)
		}
	})
}

func columnOf(t *testing.T, db *store.DB, table string) string {
	t.Helper()
	rows, err := db.Reader().Query("SELECT * FROM " + table)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	require.NoError(t, rows.Err())
	return names[len(names)-1]
}

func TestMigrationRunsOnceByManyAndAgainWithoutRights(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		app := storetest.AppRole(t, url)
		c := newClock()
		var group sync.WaitGroup
		for range 4 {
			db, err := store.Open(t.Context(), url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			group.Go(func() {
				if _, err := Open(context.Background(), db, Options{}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		f := &fixture{Ledger: openLedger(t, app, c), clock: c, owner: url, app: app}
		f.fill(t)
		before := dump(t, f.db)
		require.NotEmpty(t, before)
		openLedger(t, url, c)
		openLedger(t, app, c)
		require.Equal(t, before, dump(t, f.db), "opening changes nothing that is stored")
		var versions int
		require.NoError(t, f.db.Reader().QueryRow(`SELECT COUNT(*) FROM migrations_research WHERE version_id > 0`).Scan(&versions))
		require.Equal(t, 1, versions)
	})
}

func TestAServiceBeforeItsTablesIsToldSo(t *testing.T) {
	url := storetest.Postgres(t)
	db, err := store.Open(t.Context(), storetest.AppRole(t, url))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = Open(t.Context(), db, Options{})
	require.ErrorContains(t, err, "research")
}

// dump is everything that is stored, as text.
func dump(t *testing.T, db *store.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range tables(t, db) {
		b.WriteString(strings.Join(dumpTable(t, db, table), "\n") + "\n")
	}
	return b.String()
}

func dumpTable(t *testing.T, db *store.DB, table string) (lines []string) {
	t.Helper()
	rows, err := db.Reader().Query("SELECT * FROM " + table)
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		line := table
		for i := range values {
			line += fmt.Sprintf(" %s=%v", names[i], *values[i].(*any))
		}
		lines = append(lines, line)
	}
	require.NoError(t, rows.Err())
	slices.Sort(lines)
	return lines
}

func TestSection29RowIDsSurviveARestartAndAreNeverUsedTwice(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		second := openLedger(t, f.app, f.clock)
		var mu sync.Mutex
		var got []intake.ID
		var group sync.WaitGroup
		for i := range 8 {
			l := f.Ledger
			if i%2 == 1 {
				l = second
			}
			group.Go(func() {
				for range 10 {
					id, err := l.ReserveRow(context.Background())
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					got = append(got, id)
					mu.Unlock()
				}
			})
		}
		group.Wait()
		slices.Sort(got)
		for i, id := range got {
			require.Equal(t, intake.ID(i), id, "from 0 upward, each once")
		}
		third := openLedger(t, f.app, f.clock)
		id, err := third.ReserveRow(t.Context())
		require.NoError(t, err)
		require.Equal(t, intake.ID(80), id, "an id that was reserved and not used stays unused")
	})
}
