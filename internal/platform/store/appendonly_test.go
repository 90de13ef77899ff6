package store_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
)

var history = fstest.MapFS{"0001_history.sql": {Data: []byte(`-- +goose Up
CREATE TABLE history (name TEXT {{bytes}} NOT NULL, version BIGINT NOT NULL, word TEXT UNIQUE, PRIMARY KEY (name, version));
CREATE TABLE history_events (id {{id}}, word TEXT NOT NULL);
CREATE TABLE details (name TEXT {{bytes}} NOT NULL, version BIGINT NOT NULL, FOREIGN KEY (name, version) REFERENCES history (name, version));
CREATE TABLE scratch (word TEXT NOT NULL);
`)}}

// protected opens a database with protected tables and one row in each: as the
// owner of the tables and as the service's account.
func protected(t *testing.T, url string) (owner, app *store.DB) {
	t.Helper()
	var opened []*store.DB
	for _, address := range []string{url, storetest.AppRole(t, url)} {
		d, err := store.Open(context.Background(), address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		require.NoError(t, protect(d))
		opened = append(opened, d)
	}
	owner, app = opened[0], opened[1]
	do(t, app, `INSERT INTO history (name, version, word) VALUES ('a', 1, 'w')`)
	do(t, app, `INSERT INTO history_events (word) VALUES ('w')`)
	do(t, app, `INSERT INTO details (name, version) VALUES ('a', 1)`)
	do(t, app, `INSERT INTO scratch (word) VALUES ('w')`)
	return owner, app
}

// protect is what a room does when it starts.
func protect(d *store.DB) error {
	ctx := context.Background()
	if err := d.Migrate(ctx, "history", history); err != nil {
		return err
	}
	if err := d.AppendOnly(ctx, "history", "history_events", "details"); err != nil {
		return err
	}
	if err := d.Grant(ctx, "scratch"); err != nil {
		return err
	}
	return d.GrantRead(ctx, "migrations_history")
}

func do(t *testing.T, d *store.DB, statement string) {
	t.Helper()
	require.NoError(t, try(d, statement), statement)
}

func try(d *store.DB, statement string) error {
	return d.Tx(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
}

func TestAppendOnlyTablesRefuseChangesFromEverybody(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		owner, app := protected(t, url)
		statements := []string{
			`UPDATE history SET word = 'x'`,
			`UPDATE history SET word = 'x' WHERE name = 'a'`,
			`DELETE FROM history_events`,
			`DELETE FROM details WHERE name = 'a'`,
			`INSERT INTO history (name, version) VALUES ('a', 1) ON CONFLICT (name, version) DO UPDATE SET word = 'x'`,
		}
		if owner.Dialect() == store.Postgres {
			statements = append(statements,
				`TRUNCATE details`, `TRUNCATE history CASCADE`,
				`UPDATE history SET word = 'x' WHERE name = 'nobody'`, // even where it would change nothing
				`MERGE INTO history h USING (SELECT 'a' AS name) s ON h.name = s.name WHEN MATCHED THEN DELETE`)
		} else {
			statements = append(statements,
				`REPLACE INTO history (name, version, word) VALUES ('a', 1, 'x')`,
				`REPLACE INTO history (name, version, word) VALUES ('b', 1, 'w')`,
				`INSERT OR REPLACE INTO history (rowid, name, version, word) VALUES (1, 'c', 1, 'y')`,
				`REPLACE INTO history_events (id, word) VALUES (1, 'x')`,
				`UPDATE OR REPLACE history_events SET word = 'x'`)
		}
		for _, statement := range statements {
			require.ErrorContains(t, try(owner, statement), "is append-only", statement)
			require.Error(t, try(app, statement), statement)
		}
		for query, want := range map[string]int{
			`SELECT COUNT(*) FROM history WHERE word = 'w'`:        1,
			`SELECT COUNT(*) FROM history_events WHERE word = 'w'`: 1,
			`SELECT COUNT(*) FROM details`:                         1,
			`SELECT COUNT(*) FROM history`:                         1,
		} {
			var n int
			require.NoError(t, app.Reader().QueryRow(query).Scan(&n))
			require.Equal(t, want, n, query)
		}
		do(t, app, `INSERT INTO history (name, version, word) VALUES ('a', 2, NULL)`)
		do(t, app, `INSERT INTO history (name, version, word) VALUES ('a', 3, NULL)`)
		do(t, app, `INSERT INTO history_events (word) VALUES ('w')`)
		do(t, app, `UPDATE scratch SET word = 'x'`)
		do(t, app, `DELETE FROM scratch`)
	})
}

func TestPostgresServiceAccountCannotLiftTheProtection(t *testing.T) {
	_, app := protected(t, storetest.Postgres(t))
	for _, statement := range []string{
		`DROP TABLE details`,
		`DROP TRIGGER append_only ON history`,
		`ALTER TABLE history DISABLE TRIGGER append_only`,
		`ALTER TABLE history OWNER TO base_app`,
		`CREATE OR REPLACE FUNCTION prova_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$`,
		`CREATE TABLE another (x TEXT)`,
		`DELETE FROM migrations_history`,
		`TRUNCATE scratch`,
	} {
		require.Error(t, try(app, statement), statement)
	}
	do(t, app, `GRANT UPDATE ON history TO base_app`) // PostgreSQL warns only, and grants nothing
	require.ErrorContains(t, try(app, `UPDATE history SET word = 'x'`), "permission denied")
}

func TestAppendOnlyRepairsWhatWasLoosened(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		owner, app := protected(t, url)
		loosen := []string{`DROP TRIGGER history_no_update`, `DROP TRIGGER history_events_no_delete`}
		if owner.Dialect() == store.Postgres {
			loosen = []string{
				`ALTER TABLE history DISABLE TRIGGER append_only`, `GRANT ALL ON history TO PUBLIC`,
				`DROP TRIGGER append_only ON history_events`, `GRANT UPDATE (word), SELECT ON history_events TO base_app`,
			}
		}
		for _, statement := range loosen {
			do(t, owner, statement)
		}
		do(t, app, `UPDATE history SET word = 'w'`) // no protection any more
		require.NoError(t, protect(owner))
		for _, statement := range []string{`UPDATE history SET word = 'x'`, `DELETE FROM history_events`, `UPDATE history_events SET word = 'x'`} {
			require.ErrorContains(t, try(owner, statement), "is append-only", statement)
			require.Error(t, try(app, statement), statement)
		}
		require.NoError(t, protect(app), "all is in place for a process without rights over the tables")
	})
}

func TestPostgresServiceAccountBeforeTheOwnerIsToldWhatItLacks(t *testing.T) {
	url := storetest.Postgres(t)
	d, err := store.Open(context.Background(), storetest.AppRole(t, url))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.Error(t, protect(d))

	owner, err := store.Open(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, owner.Close()) })
	require.NoError(t, owner.Migrate(context.Background(), "history", history))
	do(t, owner, `GRANT ALL ON SCHEMA `+schemaOf(t, owner)+` TO base_app`)
	err = d.AppendOnly(context.Background(), "history")
	require.ErrorContains(t, err, "history")
	require.ErrorContains(t, err, "start once as the owner of the tables")
}

func schemaOf(t *testing.T, d *store.DB) (name string) {
	t.Helper()
	require.NoError(t, d.Reader().QueryRow(`SELECT current_schema()`).Scan(&name))
	return name
}

func TestAppendOnlyByManyAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		var group sync.WaitGroup
		for range 6 {
			d, err := store.Open(context.Background(), url)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			group.Go(func() {
				if err := protect(d); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func TestAppendOnlyRefusesWhatItCannotProtect(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		owner, _ := protected(t, url)
		ctx := context.Background()
		require.ErrorContains(t, owner.AppendOnly(ctx, "nothing"), "there is no table nothing")
		for _, name := range []string{"", "Upper", "a b", "x; DROP TABLE history", `"q"`} {
			require.ErrorContains(t, owner.AppendOnly(ctx, name), "is no table name", name)
		}
		require.ErrorContains(t, owner.AppendOnly(ctx, "scratch", "nothing"), "there is no table nothing")
		do(t, owner, `DELETE FROM scratch`) // all tables or none
		if owner.Dialect() == store.SQLite {
			do(t, owner, `CREATE UNIQUE INDEX scratch_some ON scratch (word) WHERE word <> ''`)
			require.ErrorContains(t, owner.AppendOnly(ctx, "scratch"), "scratch_some")
			do(t, owner, `CREATE TABLE keyed (a TEXT PRIMARY KEY, b TEXT) WITHOUT ROWID`)
			require.NoError(t, owner.AppendOnly(ctx, "keyed"))
			do(t, owner, `INSERT INTO keyed VALUES ('a', 'b')`)
			require.ErrorContains(t, try(owner, `REPLACE INTO keyed VALUES ('a', 'c')`), "append-only")
		}
	})
}
