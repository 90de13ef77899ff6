package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Dialects that DB.Dialect returns.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

var (
	// ErrUncertain is wrapped by the error of a commit whose outcome is not
	// known: the write may be on disk or not. The caller must not acknowledge
	// it, and must not assume that it failed.
	ErrUncertain = errors.New("store: the outcome of the commit is not known")
	// ErrClosed is returned for work that arrives after Close.
	ErrClosed = errors.New("store: closed")
)

// backEnd is what differs between the two databases.
type backEnd struct {
	dialect string
	// lock makes the transaction the only writer, where BEGIN did not already.
	lock string
	// failedCleanly tells that a failed commit certainly left nothing behind.
	failedCleanly func(error) bool
	// poisoned: after an uncertain commit later ones cannot be trusted either
	// (a failed fsync may be reported once only), so writing stops.
	poisoned bool
}

// DB is a database with one writer at a time and many readers. It is safe for
// concurrent use.
type DB struct {
	// OnFatal, when set before the first write, is called once with the first
	// uncertain commit. A service should stop there: a restart reads the truth.
	OnFatal func(error)

	backEnd
	writer, reader *sql.DB

	queue chan *job
	stop  chan struct{}
	done  chan struct{}

	closing sync.Once
	fatal   sync.Once
	dead    atomic.Pointer[error]
}

// Open opens the database that url names, and creates it if it is an SQLite
// file that does not exist yet:
//
//	sqlite:PATH          (the folder is created as well, readable by the owner only)
//	postgres://…         (any connection string of PostgreSQL)
//
// Call Close when done.
func Open(ctx context.Context, url string) (*DB, error) {
	var (
		d   *DB
		err error
	)
	switch {
	case strings.HasPrefix(url, "sqlite:"):
		d, err = openSQLite(ctx, strings.TrimPrefix(url, "sqlite:"))
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		d, err = openPostgres(ctx, url)
	default:
		scheme, _, _ := strings.Cut(url, ":")
		return nil, fmt.Errorf("store: %q is no database address: write sqlite:PATH or postgres://…", scheme)
	}
	if err != nil {
		return nil, err
	}
	d.queue = make(chan *job, queueLength)
	d.stop = make(chan struct{})
	d.done = make(chan struct{})
	go d.work()
	return d, nil
}

// Dialect is SQLite or Postgres.
func (d *DB) Dialect() string { return d.dialect }

// Writer is the pool that Tx and Batch use. It is for migrations and tools; a
// service writes through Tx or Batch.
func (d *DB) Writer() *sql.DB { return d.writer }

// Reader is the pool for reading. It sees everything that was committed before
// the query began.
func (d *DB) Reader() *sql.DB { return d.reader }

// Close finishes the writes that were accepted, refuses new ones and closes the
// connections. It may be called more than once.
func (d *DB) Close() error {
	var err error
	d.closing.Do(func() {
		close(d.stop)
		<-d.done
		err = errors.Join(d.reader.Close(), d.writer.Close())
	})
	return err
}

// Tx runs fn in one write transaction and returns only after the commit is
// durable. An error of fn, a panic in fn (returned as an error), or the end of
// ctx before the commit rolls everything back. fn must not call Tx or Batch of
// the same DB: there is one writer.
func (d *DB) Tx(ctx context.Context, fn func(*sql.Tx) error) error {
	select {
	case <-d.stop:
		return ErrClosed
	default:
	}
	t, err := d.begin(ctx)
	if err != nil {
		return err
	}
	if err := call(fn, t.tx); err != nil {
		t.rollback()
		return err
	}
	if err := ctx.Err(); err != nil {
		t.rollback()
		return err
	}
	return t.commit()
}

// transaction is a running write transaction with the connection it owns.
type transaction struct {
	d    *DB
	conn *sql.Conn
	tx   *sql.Tx
}

// begin waits for the writer no longer than ctx. Once the transaction runs, ctx
// no longer touches it: a commit that is cancelled half-way would be uncertain.
func (d *DB) begin(ctx context.Context) (*transaction, error) {
	if p := d.dead.Load(); p != nil {
		return nil, fmt.Errorf("store: writing has stopped since %w", *p)
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: no connection to write with: %w", err)
	}
	tx, err := conn.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		drop(conn)
		return nil, fmt.Errorf("store: cannot begin a transaction: %w", err)
	}
	t := &transaction{d: d, conn: conn, tx: tx}
	if d.lock != "" {
		if _, err := tx.ExecContext(ctx, d.lock); err != nil {
			t.rollback()
			return nil, fmt.Errorf("store: the write lock is not to be had: %w", err)
		}
	}
	return t, nil
}

// rollback gives everything up. A connection that cannot even do that is not
// used again.
func (t *transaction) rollback() {
	if err := t.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		drop(t.conn)
		return
	}
	_ = t.conn.Close() // Only returns the connection to its pool.
}

// commit returns nil only when the transaction is durable.
func (t *transaction) commit() error {
	err := t.tx.Commit()
	if err == nil {
		_ = t.conn.Close() // Only returns the connection to its pool.
		return nil
	}
	// database/sql hands a connection back even if the transaction is still
	// open on it: end it here and do not use the connection again.
	_, _ = t.conn.ExecContext(context.Background(), "ROLLBACK")
	drop(t.conn)
	if errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("store: the function ended the transaction itself: %w", err)
	}
	if t.d.failedCleanly(err) {
		return fmt.Errorf("store: commit refused, nothing was written: %w", err)
	}
	lost := fmt.Errorf("%w: %w", ErrUncertain, err)
	if t.d.poisoned {
		t.d.dead.CompareAndSwap(nil, &lost)
	}
	t.d.fatal.Do(func() {
		if t.d.OnFatal != nil {
			t.d.OnFatal(lost)
		}
	})
	return lost
}

// drop closes a connection instead of returning it to the pool.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}

// call runs fn and turns a panic into an error, so that a fault in one caller's
// function never takes the writer down.
func call(fn func(*sql.Tx) error, tx *sql.Tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("store: the transaction's function panicked: %v", v)
		}
	}()
	return fn(tx)
}
