package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"
)

// snapshotPart is the size of the parts in which a snapshot is stored.
const snapshotPart = 1 << 20

// EpochClose tells that an epoch was closed, and on what.
type EpochClose struct {
	Epoch    uint64
	SHA256   string // of the snapshot, hex
	Bytes    int64
	ClosedAt time.Time
}

// CloseEpoch stores the snapshot that the payout of an epoch replays from, once:
// [ErrClosed] after that. While an accepted submission of the epoch, or of one
// before it, is in flight it is [ErrInFlight]. From then on nothing is added to
// the epoch or to those before it.
func (l *Ledger) CloseEpoch(ctx context.Context, epoch uint64, snapshot []byte) error {
	what := fmt.Sprintf("closing epoch %d", epoch)
	number, err := asBigint("epoch", epoch)
	if err != nil {
		return in(what, err)
	}
	now := l.now()
	sum := sha256.Sum256(snapshot)
	parts := (len(snapshot) + snapshotPart - 1) / snapshotPart
	return in(what, l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var closed int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM proof_epoch_close WHERE epoch = $1`, number).Scan(&closed); err != nil {
			return err
		}
		if closed > 0 {
			return ErrClosed
		}
		n, err := inFlight(ctx, tx, epoch)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: %d", ErrInFlight, n)
		}
		if err := l.insert(ctx, tx, `INSERT INTO proof_epoch_close (epoch, sha256, bytes, parts, closed_at) VALUES ($1, $2, $3, $4, $5)`,
			number, hex.EncodeToString(sum[:]), int64(len(snapshot)), parts, text(now)); err != nil {
			return err
		}
		for part := range parts {
			data := snapshot[part*snapshotPart : min(len(snapshot), (part+1)*snapshotPart)]
			if err := l.insert(ctx, tx, `INSERT INTO proof_epoch_snapshot (epoch, part, data) VALUES ($1, $2, $3)`, number, part, data); err != nil {
				return err
			}
		}
		return nil
	}))
}

// unclosed refuses an epoch to which nothing may be added any more.
func unclosed(ctx context.Context, tx *sql.Tx, epoch uint64) error {
	number, err := asBigint("epoch", epoch)
	if err != nil {
		return err
	}
	var closed int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM proof_epoch_close WHERE epoch >= $1`, number).Scan(&closed); err != nil {
		return err
	}
	if closed > 0 {
		return fmt.Errorf("%w: %d", ErrClosed, epoch)
	}
	return nil
}

const closeColumns = `SELECT epoch, sha256, bytes, closed_at FROM proof_epoch_close `

func readClose(s scanner) (c EpochClose, err error) {
	var at string
	if err := s.Scan(&c.Epoch, &c.SHA256, &c.Bytes, &at); err != nil {
		return c, err
	}
	c.ClosedAt, err = instant(at)
	return c, err
}

// Snapshot returns the snapshot of a closed epoch, nil when it is not closed. It is
// checked against the hash that was stored with it.
func (l *Ledger) Snapshot(ctx context.Context, epoch uint64) ([]byte, error) {
	what := fmt.Sprintf("snapshot of epoch %d", epoch)
	number, err := asBigint("epoch", epoch)
	if err != nil {
		return nil, in(what, err)
	}
	closed, err := one(ctx, l.db.Reader(), readClose, closeColumns+`WHERE epoch = $1`, number)
	if err != nil || closed == nil {
		return nil, in(what, err)
	}
	parts, err := list(ctx, l.db.Reader(), func(s scanner) (data []byte, err error) {
		err = s.Scan(&data)
		return data, err
	}, `SELECT data FROM proof_epoch_snapshot WHERE epoch = $1 ORDER BY part`, number)
	if err != nil {
		return nil, in(what, err)
	}
	snapshot := bytes.Join(parts, nil) // never nil: closed on nothing is not the same as not closed
	if sum := sha256.Sum256(snapshot); hex.EncodeToString(sum[:]) != closed.SHA256 {
		return nil, in(what, fmt.Errorf("the stored bytes no longer have the hash that was published, %s", closed.SHA256))
	}
	return snapshot, nil
}

// ClosedEpochs returns the closed epochs, ascending.
func (l *Ledger) ClosedEpochs(ctx context.Context) ([]EpochClose, error) {
	all, err := list(ctx, l.db.Reader(), readClose, closeColumns+`ORDER BY epoch`)
	return all, in("epochs", err)
}
