package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// AppRole is the account that a service connects as on PostgreSQL when the
// tables belong to another one. It need not exist.
const AppRole = "base_app"

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// AppendOnly makes the database itself refuse to change or remove a row of these
// tables, whoever asks: the service, the owner of the tables, a tool. Each such
// statement fails as a whole with "TABLE is append-only". It is enforced by
// triggers; on PostgreSQL UPDATE, DELETE and TRUNCATE are moreover taken from
// everybody but the owner, and [AppRole], where it exists, may SELECT and INSERT.
// (The owner keeps its rights: PostgreSQL needs them to check references.) On
// SQLite an INSERT OR REPLACE, which would remove a row without any trigger for
// removals, is refused too.
//
// It may be called again and by several processes at once. What is in place is
// left alone, so that a process without rights over the tables starts once the
// owner has called it. A migration that must touch rows drops the triggers first.
func (d *DB) AppendOnly(ctx context.Context, tables ...string) error {
	return d.protect(ctx, tables, func(ctx context.Context, tx *sql.Tx, table string) error {
		if d.dialect == Postgres {
			return appendOnlyPostgres(ctx, tx, table)
		}
		return appendOnlySQLite(ctx, tx, table)
	})
}

// Grant lets [AppRole] read and write these tables, where there is such a role;
// SQLite knows none. It may be called again, as AppendOnly may.
func (d *DB) Grant(ctx context.Context, tables ...string) error {
	return d.grant(ctx, tables, "SELECT", "INSERT", "UPDATE", "DELETE")
}

// GrantRead lets [AppRole] read these tables. Migrate needs it of migrations_ROOM
// to find that nothing is to be done.
func (d *DB) GrantRead(ctx context.Context, tables ...string) error {
	return d.grant(ctx, tables, "SELECT")
}

func (d *DB) grant(ctx context.Context, tables []string, privileges ...string) error {
	if d.dialect != Postgres {
		return nil
	}
	return d.protect(ctx, tables, func(ctx context.Context, tx *sql.Tx, table string) error {
		t, err := lookPostgres(ctx, tx, table)
		if err != nil {
			return err
		}
		return t.grant(ctx, tx, privileges...)
	})
}

// protect runs fn for each table in one write transaction: two processes that
// start at once take turns.
func (d *DB) protect(ctx context.Context, tables []string, fn func(context.Context, *sql.Tx, string) error) error {
	inside := context.WithoutCancel(ctx)
	for _, table := range tables {
		if !tableName.MatchString(table) { // it becomes a part of statements
			return fmt.Errorf("store: %q is no table name: lower-case letters, digits and underscores", table)
		}
	}
	return d.Tx(ctx, func(tx *sql.Tx) error {
		for _, table := range tables {
			err := fn(inside, tx, table)
			if errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("store: there is no table %s to protect", table)
			}
			if e := new(pgconn.PgError); errors.As(err, &e) && e.Code == "42501" { // insufficient privilege
				return fmt.Errorf("store: protecting the table %s: %w; start once as the owner of the tables", table, err)
			}
			if err != nil {
				return fmt.Errorf("store: protecting the table %s: %w", table, err)
			}
		}
		return nil
	})
}

// postgresTable is what the catalogue says about a table.
type postgresTable struct {
	name     string
	oid      int64
	guarded  bool // our trigger is on it, and always on
	loose    bool // somebody but the owner may change rows
	app      bool // AppRole exists
	appOwner bool // and owns the table
}

// The trigger's type is BEFORE (2), DELETE (8), UPDATE (16), TRUNCATE (32), for
// each statement.
const lookTable = `SELECT c.oid::bigint,
	EXISTS (SELECT 1 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE t.tgrelid = c.oid AND t.tgname = 'append_only' AND t.tgtype = 58 AND t.tgenabled = 'A' AND p.proname = 'prova_append_only'),
	EXISTS (SELECT 1 FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner AND a.privilege_type IN ('UPDATE', 'DELETE', 'TRUNCATE'))
		OR EXISTS (SELECT 1 FROM pg_attribute f, aclexplode(f.attacl) a WHERE f.attrelid = c.oid AND a.grantee <> c.relowner AND a.privilege_type = 'UPDATE'),
	EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '` + AppRole + `'),
	pg_get_userbyid(c.relowner) = '` + AppRole + `'
	FROM pg_class c WHERE c.relname = $1 AND c.relkind = 'r' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())`

func lookPostgres(ctx context.Context, tx *sql.Tx, table string) (postgresTable, error) {
	t := postgresTable{name: table}
	err := tx.QueryRowContext(ctx, lookTable, table).Scan(&t.oid, &t.guarded, &t.loose, &t.app, &t.appOwner)
	return t, err
}

// grant gives AppRole the privileges that it has not got, and the way to the
// table.
func (t *postgresTable) grant(ctx context.Context, tx *sql.Tx, privileges ...string) error {
	if !t.app || t.appOwner {
		return nil
	}
	var schema string
	var missing bool
	check := "NOT has_schema_privilege('" + AppRole + "', current_schema(), 'USAGE')"
	for _, p := range privileges {
		check += " OR NOT has_table_privilege('" + AppRole + "', $1::bigint::oid, '" + p + "')"
	}
	if err := tx.QueryRowContext(ctx, "SELECT quote_ident(current_schema()), "+check, t.oid).Scan(&schema, &missing); err != nil || !missing {
		return err
	}
	return execAll(ctx, tx,
		"GRANT USAGE ON SCHEMA "+schema+" TO "+AppRole,
		"GRANT "+strings.Join(privileges, ", ")+" ON "+t.name+" TO "+AppRole)
}

func appendOnlyPostgres(ctx context.Context, tx *sql.Tx, table string) error {
	t, err := lookPostgres(ctx, tx, table)
	if err != nil {
		return err
	}
	if !t.guarded {
		if err := execAll(ctx, tx,
			`CREATE OR REPLACE FUNCTION prova_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
			END $$`,
			"DROP TRIGGER IF EXISTS append_only ON "+table,
			"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "+table+" FOR EACH STATEMENT EXECUTE FUNCTION prova_append_only()",
			"ALTER TABLE "+table+" ENABLE ALWAYS TRIGGER append_only"); err != nil {
			return err
		}
	}
	if t.loose {
		if err := revokePostgres(ctx, tx, t); err != nil {
			return err
		}
	}
	return t.grant(ctx, tx, "SELECT", "INSERT")
}

// revokePostgres takes the rights to change rows from everybody that somebody
// gave them to.
func revokePostgres(ctx context.Context, tx *sql.Tx, t postgresTable) error {
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END
		FROM pg_class c, LATERAL (
			SELECT grantee FROM aclexplode(c.relacl) UNION
			SELECT a.grantee FROM pg_attribute f, aclexplode(f.attacl) a WHERE f.attrelid = c.oid) g
		WHERE c.oid = $1::bigint::oid AND g.grantee <> c.relowner ORDER BY 1`, t.oid)
	if err != nil {
		return err
	}
	defer rows.Close()
	var revokes []string
	for rows.Next() {
		var grantee string
		if err := rows.Scan(&grantee); err != nil {
			return err
		}
		revokes = append(revokes, "REVOKE UPDATE, DELETE, TRUNCATE ON "+t.name+" FROM "+grantee+" CASCADE")
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return execAll(ctx, tx, revokes...)
}

func appendOnlySQLite(ctx context.Context, tx *sql.Tx, table string) error {
	keys, err := sqliteKeys(ctx, tx, table)
	if err != nil {
		return err
	}
	for _, trigger := range []struct{ name, body string }{
		{table + "_no_update", "BEFORE UPDATE ON " + table + " BEGIN SELECT RAISE(ABORT, '" + table + " is append-only: UPDATE is refused'); END"},
		{table + "_no_delete", "BEFORE DELETE ON " + table + " BEGIN SELECT RAISE(ABORT, '" + table + " is append-only: DELETE is refused'); END"},
		{table + "_no_replace", "BEFORE INSERT ON " + table + " WHEN EXISTS (SELECT 1 FROM " + table + " WHERE " + keys + ") BEGIN SELECT RAISE(ABORT, '" + table + " is append-only: a row with this key is there already'); END"},
	} {
		text := "CREATE TRIGGER " + trigger.name + " " + trigger.body
		var there bool
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM sqlite_master WHERE type = 'trigger' AND name = $1 AND sql = $2`, trigger.name, text).Scan(&there); err != nil {
			return err
		}
		if there {
			continue
		}
		if err := execAll(ctx, tx, "DROP TRIGGER IF EXISTS "+trigger.name, text); err != nil {
			return err
		}
	}
	return nil
}

// sqliteKeys is the condition under which a new row (NEW) would take the place of
// another one: one of the unique keys or the row number is equal.
func sqliteKeys(ctx context.Context, tx *sql.Tx, table string) (string, error) {
	var withoutRowID bool
	if err := tx.QueryRowContext(ctx, `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name = $1`, table).Scan(&withoutRowID); err != nil {
		return "", err
	}
	rows, err := tx.QueryContext(ctx, `SELECT l.name, l.partial, i.name FROM pragma_index_list($1) l, pragma_index_info(l.name) i WHERE l."unique" ORDER BY l.name, i.seqno`, table)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var alternatives []string
	if !withoutRowID {
		alternatives = append(alternatives, "rowid = NEW.rowid") // -1 where none was given
	}
	of := ""
	for rows.Next() {
		var index string
		var partial bool
		var column sql.NullString
		if err := rows.Scan(&index, &partial, &column); err != nil {
			return "", err
		}
		if partial || !column.Valid {
			return "", fmt.Errorf("the unique index %s is partial or over an expression, which is not supported here", index)
		}
		equal := fmt.Sprintf("%q = NEW.%q", column.String, column.String)
		if index == of {
			alternatives[len(alternatives)-1] += " AND " + equal
		} else {
			alternatives = append(alternatives, equal)
		}
		of = index
	}
	return strings.Join(alternatives, " OR "), rows.Err()
}

func execAll(ctx context.Context, tx *sql.Tx, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
