package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"time"
)

// The kinds of offers.
const (
	InferenceOffer = "inference"
	ExecutorOffer  = "executor"
)

type storedOffer struct {
	document []byte
	source   string
}

func newestOffer(ctx context.Context, q querier, kind string) (*storedOffer, error) {
	return one(ctx, q, func(s scanner) (o storedOffer, err error) {
		err = s.Scan(&o.document, &o.source)
		return o, err
	}, `SELECT document, source FROM proof_offer WHERE kind = $1 ORDER BY id DESC LIMIT 1`, kind)
}

// SaveOffer makes a document the live offer of its kind. Source says where it came
// from. The offer that is live already is not stored again.
func (l *Ledger) SaveOffer(ctx context.Context, kind string, document []byte, source string) error {
	now := l.now()
	return in(kind+" offer", l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		live, err := newestOffer(ctx, tx, kind)
		if err != nil || live != nil && bytes.Equal(live.document, document) && live.source == source {
			return err
		}
		return l.insert(ctx, tx, `INSERT INTO proof_offer (kind, document, source, created_at) VALUES ($1, $2, $3, $4)`, kind, notNil(document), source, text(now))
	}))
}

// Offer returns the newest document of a kind, nil when there is none.
func (l *Ledger) Offer(ctx context.Context, kind string) ([]byte, error) {
	live, err := newestOffer(ctx, l.db.Reader(), kind)
	if err != nil || live == nil {
		return nil, in(kind+" offer", err)
	}
	return live.document, nil
}

// AuditEntry is what an admin did (decision 18). It holds the label of a token, and
// no token.
type AuditEntry struct {
	At         time.Time // the ledger's clock when zero
	TokenLabel string
	Action     string
	Subject    string
	Status     int // of the answer
}

// Audit records what an admin did.
func (l *Ledger) Audit(ctx context.Context, e AuditEntry) error {
	if e.At.IsZero() {
		e.At = l.now()
	}
	return in("audit", l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return l.insert(ctx, tx, `INSERT INTO proof_admin_audit (at, token_label, action, subject, status) VALUES ($1, $2, $3, $4, $5)`,
			text(e.At), storable(e.TokenLabel), storable(e.Action), storable(e.Subject), e.Status)
	}))
}

// AuditLog returns the newest entries, newest first.
func (l *Ledger) AuditLog(ctx context.Context, limit int) ([]AuditEntry, error) {
	all, err := list(ctx, l.db.Reader(), func(s scanner) (e AuditEntry, err error) {
		var at string
		if err := s.Scan(&at, &e.TokenLabel, &e.Action, &e.Subject, &e.Status); err != nil {
			return e, err
		}
		e.At, err = instant(at)
		return e, err
	}, `SELECT at, token_label, action, subject, status FROM proof_admin_audit ORDER BY id DESC LIMIT $1`, max(limit, 0))
	return all, in("audit", err)
}
