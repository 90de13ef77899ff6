package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// What a caller decides on.
var (
	// ErrVersionGap refuses a version that is not the one after the newest.
	ErrVersionGap = errors.New("the version does not follow the newest one")
	// ErrMoved refuses a lifecycle move from a state that the topic is not in.
	ErrMoved = errors.New("the topic is not in the state that the move starts from")
	// ErrLost tells that the flight has another holder, or is no more.
	ErrLost = errors.New("the flight has another holder")
	// ErrLease tells that the lease is not held under this fencing number any more.
	ErrLease = errors.New("the lease was lost")
	// ErrLostSwap tells that the crown was decided against a best that is not the
	// best any more, or does not strictly beat it. Nothing was written.
	ErrLostSwap = errors.New("the crown was decided against another best")
	// ErrClosed tells that the epoch is closed.
	ErrClosed = errors.New("the epoch is closed")
	// ErrInFlight refuses to close an epoch with submissions in flight.
	ErrInFlight = errors.New("submissions of the epoch are in flight")
)

// Options of a ledger.
type Options struct {
	Now func() time.Time // time.Now when nil
}

// Ledger is the store of the research challenge. It is safe for concurrent use, by
// several processes on one database too. A write that returns nil is durable; an
// error that wraps [store.ErrUncertain] means that nobody knows.
type Ledger struct {
	db    *store.DB
	clock func() time.Time
	// wrote is told of each statement that wrote. Tests end the process there.
	wrote func()
}

// appendOnly are the tables of history, mutable those of what is in flight.
func appendOnly() []string {
	return []string{
		"proof_topic_version", "proof_rule_version", "proof_checklist", "proof_lifecycle_event",
		"proof_baseline_measurement", "proof_artefact", "proof_promotion_event", "proof_submission", "proof_row_id",
		"proof_offer", "proof_epoch_close", "proof_epoch_snapshot", "proof_admin_audit",
	}
}

func mutable() []string { return []string{"proof_nonce", "proof_flight", "proof_lease"} }

// Open brings the tables up to date, has the database protect them, and returns
// the ledger. The database stays the caller's to close.
func Open(ctx context.Context, db *store.DB, o Options) (*Ledger, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	err = db.Migrate(ctx, "research", files)
	if err == nil {
		err = db.AppendOnly(ctx, appendOnly()...)
	}
	if err == nil {
		err = db.Grant(ctx, mutable()...)
	}
	if err == nil {
		err = db.GrantRead(ctx, "migrations_research")
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{db: db, clock: o.Now, wrote: func() {}}
	if l.clock == nil {
		l.clock = time.Now
	}
	return l, nil
}

// layout is how instants are stored: RFC 3339 in UTC, all of one length, so that
// they sort as they stand.
const layout = "2006-01-02T15:04:05.000000Z"

// now is the clock with the precision that is recorded.
func (l *Ledger) now() time.Time { return l.clock().UTC().Truncate(time.Microsecond) }

func text(t time.Time) string { return t.UTC().Format(layout) }

func instant(s string) (time.Time, error) { return time.Parse(layout, s) }

// optionalInstant reads NULL as the zero time.
func optionalInstant(s sql.NullString) (time.Time, error) {
	if !s.Valid {
		return time.Time{}, nil
	}
	return instant(s.String)
}

// write runs one write transaction of its own. The context of its statements does
// not end with the request: a half-cancelled transaction helps nobody.
func (l *Ledger) write(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	inside := context.WithoutCancel(ctx)
	return l.db.Tx(ctx, func(tx *sql.Tx) error { return fn(inside, tx) })
}

// writeGrouped is write for what miners and workers do, many at a time: they share
// a commit. fn may run twice (store.DB.Batch).
func (l *Ledger) writeGrouped(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	inside := context.WithoutCancel(ctx)
	return l.db.Batch(ctx, func(tx *sql.Tx) error { return fn(inside, tx) })
}

// exec runs a statement that writes and returns how many rows it touched.
func (l *Ledger) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	r, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	l.wrote()
	return r.RowsAffected()
}

// insert is exec for a statement that has nothing to count.
func (l *Ledger) insert(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := l.exec(ctx, tx, query, args...)
	return err
}

// querier is a transaction or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row or a place in rows.
type scanner interface{ Scan(dst ...any) error }

// list reads all rows of a query.
func list[T any](ctx context.Context, q querier, read func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := read(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// one reads the only row of a query, nil when there is none.
func one[T any](ctx context.Context, q querier, read func(scanner) (T, error), query string, args ...any) (*T, error) {
	v, err := read(q.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// asInt is a boolean for a column that both databases read alike.
func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// asBigint is an unsigned number for a column of signed ones.
func asBigint(what string, n uint64) (int64, error) {
	if n > math.MaxInt64 {
		return 0, fmt.Errorf("%s %d is beyond what the ledger numbers", what, n)
	}
	return int64(n), nil
}

// finite refuses what a column of figures cannot keep on both databases.
func finite(what string, f *float64) error {
	if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
		return fmt.Errorf("%s %v is not finite", what, *f)
	}
	return nil
}

// nullable is a figure for a column that may have none.
func nullable(f *float64) sql.NullFloat64 {
	if f == nil {
		return sql.NullFloat64{}
	}
	return sql.NullFloat64{Float64: *f, Valid: true}
}

func pointer(f sql.NullFloat64) *float64 {
	if !f.Valid {
		return nil
	}
	return &f.Float64
}

// notNil keeps an empty document from becoming NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// storable is a text as both databases keep it: PostgreSQL refuses what is no
// UTF-8, and U+0000. What a guest or a client wrote may be either, and must not
// keep a flight from ending.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
