package issuer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	stateClosing  = "closing"
	stateAnchored = "anchored"
)

// batchRow is a closed batch: its proofs and root never change, its witnesses
// are filled in one by one.
type batchRow struct {
	FirstSeq, LastSeq        int64
	ID                       string
	OpenedAt, ClosedAt       string
	Reason                   string
	Size                     int64
	Root                     string // bare hex
	Leaves                   string // the chain hashes, 64 hex each, in leaf order
	State                    string
	Provider, Token          string // token is the base64 of the DER response
	TokenTime                string
	UUID, Entry              string
	LogIndex, IntegratedTime int64
	Attempts, NextAttempt    int64
	LastError                string
	AnchoredAt               string
}

const batchColumns = `first_seq, last_seq, batch_id, opened_at, closed_at, reason, tree_size, root, leaves, state,
	token_provider, token, token_time, log_uuid, log_entry, log_index, integrated_time, attempts, next_attempt,
	last_error, anchored_at`

func (b *batchRow) fields() []any {
	return []any{&b.FirstSeq, &b.LastSeq, &b.ID, &b.OpenedAt, &b.ClosedAt, &b.Reason, &b.Size, &b.Root, &b.Leaves, &b.State,
		&b.Provider, &b.Token, &b.TokenTime, &b.UUID, &b.Entry, &b.LogIndex, &b.IntegratedTime, &b.Attempts, &b.NextAttempt,
		&b.LastError, &b.AnchoredAt}
}

// batchOf returns the batch that holds a queue position, nil for the pending one.
func (s *storeSQL) batchOf(ctx context.Context, seq int64) (*batchRow, error) {
	b := &batchRow{}
	err := s.db.Reader().QueryRowContext(ctx, `SELECT `+batchColumns+` FROM issuer_batches
		WHERE last_seq >= $1 ORDER BY last_seq LIMIT 1`, seq).Scan(b.fields()...)
	if errors.Is(err, errNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if b.FirstSeq > seq {
		return nil, fmt.Errorf("issuer: queue position %d is before batch %s and in none", seq, b.ID)
	}
	return b, nil
}

func (s *storeSQL) batch(ctx context.Context, id string) (*batchRow, error) {
	b := &batchRow{}
	err := s.db.Reader().QueryRowContext(ctx, `SELECT `+batchColumns+` FROM issuer_batches WHERE batch_id = $1`, id).
		Scan(b.fields()...)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// pendingState is what waits behind the last batch.
type pendingState struct {
	Count  int64
	Oldest time.Time // zero when nothing waits
}

func (s *storeSQL) pending(ctx context.Context) (pendingState, error) {
	var p pendingState
	var oldest int64
	err := s.db.Reader().QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(MIN(queued_at), 0) FROM issuer_proofs
		WHERE seq > (SELECT COALESCE(MAX(last_seq), 0) FROM issuer_batches)`).Scan(&p.Count, &oldest)
	if oldest > 0 {
		p.Oldest = time.UnixMicro(oldest).UTC()
	}
	return p, err
}

// closeRule decides, inside the transaction that closes, whether a batch is due.
type closeRule struct {
	reason  string
	size    int  // largest batch
	most    int  // how many batches; 0 for all
	full    bool // only a full one
	before  time.Time
	limited bool // only when the oldest was queued before that time
}

// fix writes the next batch: it takes the oldest pending proofs, at most size,
// and computes ids, root and leaves in build. Joining a proof to the pending
// batch and closing it are writes of one writer, so no proof is in two batches
// and none is left out. It returns nil when the rule asks for no batch.
func (s *storeSQL) fix(ctx context.Context, rule closeRule, build func(chains []string, opened time.Time) (*batchRow, error)) (*batchRow, error) {
	var fixed *batchRow
	steady := context.WithoutCancel(ctx)
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		fixed = nil
		chains, seqs, opened, err := nextPending(steady, tx, rule.size)
		if err != nil || len(chains) == 0 {
			return err
		}
		if (rule.full && len(chains) < rule.size) || (rule.limited && !opened.Before(rule.before)) {
			return nil
		}
		b, err := build(chains, opened)
		if err != nil {
			return err
		}
		b.FirstSeq, b.LastSeq, b.Reason = seqs[0], seqs[len(seqs)-1], rule.reason
		if b.ID, err = freeBatchID(steady, tx, opened); err != nil {
			return err
		}
		marks := make([]string, len(b.fields()))
		for i := range marks {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
		if _, err := tx.ExecContext(steady, `INSERT INTO issuer_batches (`+batchColumns+`) VALUES (`+strings.Join(marks, ", ")+`)`, b.fields()...); err != nil {
			return fmt.Errorf("fix a batch: %w", err)
		}
		fixed = b
		return nil
	})
	return fixed, err
}

func nextPending(ctx context.Context, tx *sql.Tx, size int) (chains []string, seqs []int64, opened time.Time, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT seq, chain, queued_at FROM issuer_proofs
		WHERE seq > (SELECT COALESCE(MAX(last_seq), 0) FROM issuer_batches) ORDER BY seq LIMIT $1`, size)
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, queued int64
		var chain string
		if err := rows.Scan(&seq, &chain, &queued); err != nil {
			return nil, nil, time.Time{}, err
		}
		if len(chains) == 0 {
			opened = time.UnixMicro(queued).UTC()
		}
		chains, seqs = append(chains, chain), append(seqs, seq)
	}
	return chains, seqs, opened, rows.Err()
}

// freeBatchID is the id of T§1; of several batches opened in one millisecond the
// later ones take the next free one.
func freeBatchID(ctx context.Context, tx *sql.Tx, opened time.Time) (string, error) {
	for at := opened; ; at = at.Add(time.Millisecond) {
		id := batchID(at)
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM issuer_batches WHERE batch_id = $1`, id).Scan(&n); err != nil {
			return "", err
		}
		if n == 0 {
			return id, nil
		}
	}
}

// closing lists the batches whose next attempt is due, oldest first.
func (s *storeSQL) closing(ctx context.Context, now time.Time, limit int) ([]*batchRow, error) {
	rows, err := s.db.Reader().QueryContext(ctx, `SELECT `+batchColumns+` FROM issuer_batches
		WHERE state = 'closing' AND next_attempt <= $1 ORDER BY last_seq LIMIT $2`, now.UnixMilli(), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*batchRow
	for rows.Next() {
		b := &batchRow{}
		if err := rows.Scan(b.fields()...); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, rows.Err()
}

func (s *storeSQL) countClosing(ctx context.Context) (n int64, err error) {
	err = s.db.Reader().QueryRowContext(ctx, `SELECT COUNT(*) FROM issuer_batches WHERE state = 'closing'`).Scan(&n)
	return n, err
}

// setToken stores a verified token, unless the batch has one: the first counts.
func (s *storeSQL) setToken(ctx context.Context, b *batchRow) error {
	return s.update(ctx, `UPDATE issuer_batches SET token_provider = $2, token = $3, token_time = $4
		WHERE batch_id = $1 AND token = ''`, b.ID, b.Provider, b.Token, b.TokenTime)
}

// setEntry stores a verified log entry, unless the batch has one.
func (s *storeSQL) setEntry(ctx context.Context, b *batchRow) error {
	return s.update(ctx, `UPDATE issuer_batches SET log_uuid = $2, log_entry = $3, log_index = $4, integrated_time = $5
		WHERE batch_id = $1 AND log_uuid = ''`, b.ID, b.UUID, b.Entry, b.LogIndex, b.IntegratedTime)
}

func (s *storeSQL) setAnchored(ctx context.Context, id, at string) error {
	return s.update(ctx, `UPDATE issuer_batches SET state = 'anchored', anchored_at = $2, last_error = ''
		WHERE batch_id = $1 AND state = 'closing' AND token <> ''`, id, at)
}

func (s *storeSQL) setFailed(ctx context.Context, id, fault string, next time.Time) error {
	return s.update(ctx, `UPDATE issuer_batches SET attempts = attempts + 1, last_error = $2, next_attempt = $3
		WHERE batch_id = $1 AND state = 'closing'`, id, fault, next.UnixMilli())
}

func (s *storeSQL) update(ctx context.Context, text string, args ...any) error {
	return s.db.Batch(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(context.WithoutCancel(ctx), text, args...)
		return err
	})
}

// entry returns the stored document of a log entry.
func (s *storeSQL) entry(ctx context.Context, uuid string) (doc string, err error) {
	err = s.db.Reader().QueryRowContext(ctx, `SELECT log_entry FROM issuer_batches WHERE log_uuid = $1`, uuid).Scan(&doc)
	return doc, err
}
