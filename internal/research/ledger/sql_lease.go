package ledger

import (
	"context"
	"database/sql"
	"time"
)

// Lease is the right to score on a topic, alone, until it is released or expires
// without renewal. Fence grows with each holder; what is written under an older
// one is refused.
type Lease struct {
	TopicID string
	Fence   uint64
	Holder  string
	TTL     time.Duration // from each renewal on
}

// Acquire takes the lease of a topic, and returns nil while somebody has it, the
// same holder included.
func (l *Ledger) Acquire(ctx context.Context, topicID, holder string, ttl time.Duration) (*Lease, error) {
	if holder == "" {
		return nil, in("lease of "+topicID, errNoHolder)
	}
	now := l.now()
	var lease *Lease
	err := l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		lease, err = one(ctx, tx, func(s scanner) (Lease, error) {
			n := Lease{TopicID: topicID, Holder: holder, TTL: ttl}
			return n, s.Scan(&n.Fence)
		}, `INSERT INTO proof_lease (topic_id, fence, holder, expires_at) VALUES ($1, 1, $2, $3)
			ON CONFLICT (topic_id) DO UPDATE SET fence = proof_lease.fence + 1, holder = excluded.holder, expires_at = excluded.expires_at
				WHERE proof_lease.holder = '' OR proof_lease.expires_at <= $4
			RETURNING fence`, topicID, holder, text(now.Add(ttl)), text(now))
		if err == nil && lease != nil {
			l.wrote()
		}
		return err
	})
	if err != nil {
		return nil, in("lease of "+topicID, err)
	}
	return lease, nil
}

// Renew lets a lease expire one TTL from now, also one that has expired and that
// nobody took since; otherwise [ErrLease].
func (l *Ledger) Renew(ctx context.Context, lease Lease) error {
	return l.leased(ctx, lease, `UPDATE proof_lease SET expires_at = $4 WHERE topic_id = $1 AND fence = $2 AND holder = $3`, text(l.now().Add(lease.TTL)))
}

// Release gives a lease back. [ErrLease] when it was somebody else's already, or
// given back before.
func (l *Ledger) Release(ctx context.Context, lease Lease) error {
	return l.leased(ctx, lease, `UPDATE proof_lease SET holder = '' WHERE topic_id = $1 AND fence = $2 AND holder = $3`)
}

func (l *Ledger) leased(ctx context.Context, lease Lease, query string, more ...any) error {
	return in("lease of "+lease.TopicID, l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		n, err := l.exec(ctx, tx, query, append([]any{lease.TopicID, int64(lease.Fence), lease.Holder}, more...)...)
		if err == nil && n == 0 {
			err = ErrLease
		}
		return err
	}))
}

// fenced checks inside a transaction that a lease is the newest one and not given
// back. Whether its time is over does not matter as long as nobody took it.
func fenced(ctx context.Context, tx *sql.Tx, lease *Lease) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM proof_lease WHERE topic_id = $1 AND fence = $2 AND holder = $3`, lease.TopicID, int64(lease.Fence), lease.Holder).Scan(&n)
	if err == nil && n == 0 {
		err = ErrLease
	}
	return err
}
