package issuer

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// meter spends quota units (T§2). A unit is counted in memory at once and written
// with the next proof of the key, so that many proofs cost one update; what no
// proof carries (replays, rejected headers) is written by flush. After a kill at
// most the units of requests that got no proof are lost, never those of proofs.
type meter struct {
	db *storeSQL

	mu   sync.Mutex
	keys map[string]*usage
}

// usage is what one counter key has used, by period.
type usage struct {
	mu      sync.Mutex
	periods map[string]*count
}

// count is written units, those of other processes included, plus units still to
// be written.
type count struct {
	written int64
	pending int64
}

func newMeter(db *storeSQL) *meter { return &meter{db: db, keys: map[string]*usage{}} }

func (m *meter) of(counterKey string) *usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.keys[counterKey]
	if u == nil {
		u = &usage{periods: map[string]*count{}}
		m.keys[counterKey] = u
	}
	return u
}

// load returns the count of a period, read from the database the first time. The
// caller holds u's lock.
func (m *meter) load(ctx context.Context, u *usage, counterKey, period string) (*count, error) {
	if c := u.periods[period]; c != nil {
		return c, nil
	}
	used, err := m.db.usage(ctx, counterKey, period)
	if err != nil {
		return nil, err
	}
	for p, c := range u.periods {
		// Another day or month has begun: what is written of the old one goes.
		if len(p) == len(period) && c.pending == 0 {
			delete(u.periods, p)
		}
	}
	c := &count{written: used}
	u.periods[period] = c
	return c, nil
}

// spend takes one unit, daily cap first, or returns the refusal of T§4.2 step 10.
func (m *meter) spend(ctx context.Context, counterKey string, q Quota, now time.Time) (*apiError, error) {
	u := m.of(counterKey)
	u.mu.Lock()
	defer u.mu.Unlock()
	day, err := m.load(ctx, u, counterKey, now.UTC().Format(dayLayout))
	if err != nil {
		return nil, err
	}
	month, err := m.load(ctx, u, counterKey, now.UTC().Format(monthLayout))
	if err != nil {
		return nil, err
	}
	if day.written+day.pending >= q.Daily {
		return rateLimited("Daily rate limit reached"), nil
	}
	if q.Monthly > 0 && month.written+month.pending >= q.Monthly {
		return rateLimited("Monthly quota exhausted. Enable overage at POST /v1/keys/overage to continue."), nil
	}
	day.pending++
	month.pending++
	return nil, nil
}

// used returns the units of the day and the month of now.
func (m *meter) used(ctx context.Context, counterKey string, now time.Time) (day, month int64, err error) {
	u := m.of(counterKey)
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := m.load(ctx, u, counterKey, now.UTC().Format(dayLayout))
	if err != nil {
		return 0, 0, err
	}
	mo, err := m.load(ctx, u, counterKey, now.UTC().Format(monthLayout))
	if err != nil {
		return 0, 0, err
	}
	return d.written + d.pending, mo.written + mo.pending, nil
}

// debit is what one transaction writes of a key's pending units. It may run more
// than once in Batch; it takes the units the first time only.
type debit struct {
	u          *usage
	counterKey string
	taken      bool
	units      map[string]int64
}

func (m *meter) debit(counterKey string) *debit {
	return &debit{u: m.of(counterKey), counterKey: counterKey}
}

func (d *debit) write(ctx context.Context, tx *sql.Tx, db *storeSQL) error {
	d.u.mu.Lock()
	if !d.taken {
		d.taken = true
		for period, c := range d.u.periods {
			if c.pending == 0 {
				continue
			}
			if d.units == nil {
				d.units = map[string]int64{}
			}
			d.units[period] = c.pending
			c.written += c.pending
			c.pending = 0
		}
	}
	d.u.mu.Unlock()
	for period, n := range d.units {
		total, err := db.addUsage(ctx, tx, d.counterKey, period, n)
		if err != nil {
			return fmt.Errorf("count usage: %w", err)
		}
		d.u.mu.Lock()
		if c := d.u.periods[period]; c != nil && total > c.written {
			c.written = total // other processes count as well
		}
		d.u.mu.Unlock()
	}
	return nil
}

// undo gives the units back after the transaction failed.
func (d *debit) undo() {
	d.u.mu.Lock()
	defer d.u.mu.Unlock()
	for period, n := range d.units {
		c := d.u.periods[period]
		if c == nil {
			c = &count{}
			d.u.periods[period] = c
		}
		c.written -= n
		c.pending += n
	}
	d.units, d.taken = nil, false
}

// flush writes every pending unit.
func (m *meter) flush(ctx context.Context) error {
	m.mu.Lock()
	keys := make([]string, 0, len(m.keys))
	for k, u := range m.keys {
		u.mu.Lock()
		for _, c := range u.periods {
			if c.pending > 0 {
				keys = append(keys, k)
				break
			}
		}
		u.mu.Unlock()
	}
	m.mu.Unlock()
	for _, k := range keys {
		d := m.debit(k)
		steady := context.WithoutCancel(ctx)
		if err := m.db.db.Batch(ctx, func(tx *sql.Tx) error { return d.write(steady, tx, m.db) }); err != nil {
			d.undo()
			return err
		}
	}
	return nil
}
