package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// Connections to PostgreSQL. Two to write: one waits at the lock while the
// other commits; more would only queue up there.
const (
	postgresWriters = 2
	postgresReaders = 8
)

// postgresLock makes write transactions queue as SQLite's do. The lock is the
// schema's, so that several installations share a server undisturbed.
const postgresLock = `SELECT pg_advisory_xact_lock(1886547830, hashtext(current_schema()))`

func openPostgres(ctx context.Context, url string) (*DB, error) {
	write, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("store: the PostgreSQL address does not parse: %w", err) // pgx hides the password in it.
	}
	// What the server's defaults may weaken is set for each connection.
	write.RuntimeParams["synchronous_commit"] = "on"
	write.RuntimeParams["lock_timeout"] = "10s"
	write.RuntimeParams["application_name"] = "prova"
	read := write.Copy()
	read.RuntimeParams["default_transaction_read_only"] = "on"

	d := &DB{backEnd: backEnd{dialect: Postgres, lock: postgresLock, failedCleanly: postgresFailedCleanly}}
	d.writer = stdlib.OpenDB(*write)
	d.writer.SetMaxOpenConns(postgresWriters)
	d.writer.SetMaxIdleConns(postgresWriters)
	d.reader = stdlib.OpenDB(*read)
	d.reader.SetMaxOpenConns(postgresReaders)
	d.reader.SetMaxIdleConns(postgresReaders)
	for _, pool := range []*sql.DB{d.writer, d.reader} {
		if err := pool.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("store: PostgreSQL does not answer: %w", err), d.reader.Close(), d.writer.Close())
		}
	}
	return d, nil
}

// postgresFailedCleanly: whatever the server itself answered to a COMMIT is a
// rollback. Silence, a broken connection, is not an answer.
func postgresFailedCleanly(err error) bool {
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return true
	}
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	// Class 57 is the server going down, class XX its own failure, class 08 the
	// connection's and 40003 the server's own word for "not known".
	class := e.Code[:min(2, len(e.Code))]
	return class != "57" && class != "XX" && class != "08" && e.Code != "40003"
}
