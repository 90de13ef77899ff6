package issuer

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// storeSQL is all the SQL of the issuer but the batches' (store_batches.go). The
// statements of the proxy's path are prepared once.
type storeSQL struct {
	db *store.DB

	insertProof *sql.Stmt
	bumpUsage   *sql.Stmt
}

func openStore(ctx context.Context, db *store.DB) (*storeSQL, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	if err := db.Migrate(ctx, "issuer", files); err != nil {
		return nil, err
	}
	s := &storeSQL{db: db}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&s.insertProof, `INSERT INTO issuer_proofs (proof_id, chain, queued_at, record, private)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (proof_id) DO NOTHING`},
		{&s.bumpUsage, `INSERT INTO issuer_usage (counter_key, period, used) VALUES ($1, $2, $3)
			ON CONFLICT (counter_key, period) DO UPDATE SET used = issuer_usage.used + $3 RETURNING used`},
	} {
		if *p.stmt, err = db.Writer().PrepareContext(ctx, p.text); err != nil { //nolint:sqlclosecheck // storeSQL.close does.
			return nil, fmt.Errorf("issuer: prepare a statement: %w", err)
		}
	}
	return s, nil
}

func (s *storeSQL) close() error {
	return errors.Join(s.insertProof.Close(), s.bumpUsage.Close())
}

// keyRow is a key as stored: never the key itself.
type keyRow struct {
	Fingerprint, CounterKey string
	Plan                    Plan
	Active                  bool
	CreatedAt, ExpiresAt    string
	Email, Ref              string
	DID, Method, BoundAt    string
	Declared                string
	Mismatched              bool
}

const keyColumns = `fingerprint, counter_key, plan, active, created_at, expires_at, email, ref_id,
	verified_did, verified_method, bound_at, declared_identity, identity_mismatch`

// errNoRow is what single-row reads return when there is none.
var errNoRow = sql.ErrNoRows

func (s *storeSQL) key(ctx context.Context, fingerprint string) (*keyRow, error) {
	var k keyRow
	var active, mismatched int
	err := s.db.Reader().QueryRowContext(ctx, `SELECT `+keyColumns+` FROM issuer_keys WHERE fingerprint = $1`, fingerprint).
		Scan(&k.Fingerprint, &k.CounterKey, &k.Plan, &active, &k.CreatedAt, &k.ExpiresAt, &k.Email, &k.Ref,
			&k.DID, &k.Method, &k.BoundAt, &k.Declared, &mismatched)
	if err != nil {
		return nil, err
	}
	k.Active, k.Mismatched = active == 1, mismatched == 1
	return &k, nil
}

// addKey stores a key; false means that an active free key has the email.
func (s *storeSQL) addKey(ctx context.Context, k *keyRow) (bool, error) {
	var added bool
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(context.WithoutCancel(ctx), `INSERT INTO issuer_keys (`+keyColumns+`)
			VALUES ($1, $2, $3, 1, $4, $5, $6, $7, '', '', '', '', 0) ON CONFLICT DO NOTHING`,
			k.Fingerprint, k.CounterKey, string(k.Plan), k.CreatedAt, k.ExpiresAt, k.Email, k.Ref)
		if err != nil {
			return fmt.Errorf("store a key: %w", err)
		}
		n, err := res.RowsAffected()
		added = n == 1
		return err
	})
	return added, err
}

// emailTaken reports whether an active free key has this email.
func (s *storeSQL) emailTaken(ctx context.Context, email string) (bool, error) {
	var n int
	err := s.db.Reader().QueryRowContext(ctx,
		`SELECT COUNT(*) FROM issuer_keys WHERE plan = 'free' AND active = 1 AND email = $1`, email).Scan(&n)
	return n > 0, err
}

// noteIdentity records the identity a key declared (T§4.9). A second, different
// one marks the key for ever.
func (s *storeSQL) noteIdentity(ctx context.Context, tx *sql.Tx, fingerprint, identity string) error {
	_, err := tx.ExecContext(ctx, `UPDATE issuer_keys SET
		identity_mismatch = CASE WHEN declared_identity <> '' AND declared_identity <> $2 THEN 1 ELSE identity_mismatch END,
		declared_identity = $2 WHERE fingerprint = $1`, fingerprint, identity)
	if err != nil {
		return fmt.Errorf("record the declared identity: %w", err)
	}
	return nil
}

// pastBinding is one entry of verified_did_history (T§12.4).
type pastBinding struct{ DID, BoundAt, Method, UnboundAt string }

func (s *storeSQL) history(ctx context.Context, fingerprint string) ([]pastBinding, error) {
	rows, err := s.db.Reader().QueryContext(ctx,
		`SELECT did, bound_at, method, unbound_at FROM issuer_did_history WHERE fingerprint = $1 ORDER BY position`, fingerprint)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []pastBinding
	for rows.Next() {
		var b pastBinding
		if err := rows.Scan(&b.DID, &b.BoundAt, &b.Method, &b.UnboundAt); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, rows.Err()
}

// challenge is a started binding. Only the hash of the challenge is stored.
type challenge struct {
	Fingerprint, DID, PublicKey string
	ExpiresAt                   int64 // unix seconds
}

func (s *storeSQL) addChallenge(ctx context.Context, hash string, c challenge, now time.Time) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(context.WithoutCancel(ctx), `DELETE FROM issuer_challenges WHERE expires_at <= $1`, now.Unix()); err != nil {
			return fmt.Errorf("forget old challenges: %w", err)
		}
		_, err := tx.ExecContext(context.WithoutCancel(ctx), `INSERT INTO issuer_challenges (challenge_sha256, fingerprint, did, public_key, expires_at)
			VALUES ($1, $2, $3, $4, $5)`, hash, c.Fingerprint, c.DID, c.PublicKey, c.ExpiresAt)
		if err != nil {
			return fmt.Errorf("store a challenge: %w", err)
		}
		return nil
	})
}

// takeChallenge removes a challenge and returns it: it serves once, whatever
// comes of it (T§12.2). errNoRow when there is none.
func (s *storeSQL) takeChallenge(ctx context.Context, hash string) (challenge, error) {
	var c challenge
	err := s.db.Tx(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(context.WithoutCancel(ctx), `DELETE FROM issuer_challenges WHERE challenge_sha256 = $1
			RETURNING fingerprint, did, public_key, expires_at`, hash).Scan(&c.Fingerprint, &c.DID, &c.PublicKey, &c.ExpiresAt)
	})
	return c, err
}

// bind records a binding and, when DID or method change, what it replaces.
func (s *storeSQL) bind(ctx context.Context, fingerprint, did, method, at string) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		var old pastBinding
		err := tx.QueryRowContext(context.WithoutCancel(ctx), `SELECT verified_did, bound_at, verified_method FROM issuer_keys WHERE fingerprint = $1`, fingerprint).
			Scan(&old.DID, &old.BoundAt, &old.Method)
		if err != nil {
			return fmt.Errorf("read the key to bind: %w", err)
		}
		if old.DID != "" && (old.DID != did || old.Method != method) {
			_, err := tx.ExecContext(context.WithoutCancel(ctx), `INSERT INTO issuer_did_history (fingerprint, position, did, bound_at, method, unbound_at)
				SELECT $1, COUNT(*), $2, $3, $4, $5 FROM issuer_did_history WHERE fingerprint = $1`,
				fingerprint, old.DID, old.BoundAt, old.Method, at)
			if err != nil {
				return fmt.Errorf("append to the binding history: %w", err)
			}
		}
		if _, err := tx.ExecContext(context.WithoutCancel(ctx), `UPDATE issuer_keys SET verified_did = $2, verified_method = $3, bound_at = $4 WHERE fingerprint = $1`,
			fingerprint, did, method, at); err != nil {
			return fmt.Errorf("bind the key: %w", err)
		}
		if _, err := tx.ExecContext(context.WithoutCancel(ctx), `INSERT INTO issuer_key_dids (fingerprint, did) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
			fingerprint, did); err != nil {
			return fmt.Errorf("record the binding: %w", err)
		}
		return nil
	})
}

// linkedDIDs are the other DIDs ever bound to a key that was ever bound to did,
// sorted by code points.
func (s *storeSQL) linkedDIDs(ctx context.Context, did string) ([]string, error) {
	rows, err := s.db.Reader().QueryContext(ctx, `SELECT DISTINCT b.did FROM issuer_key_dids a
		JOIN issuer_key_dids b ON b.fingerprint = a.fingerprint
		WHERE a.did = $1 AND b.did <> $1 ORDER BY b.did`, did)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var d string
		if err := rows.Scan(&d); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, rows.Err()
}

func (s *storeSQL) usage(ctx context.Context, counterKey, period string) (int64, error) {
	var used int64
	err := s.db.Reader().QueryRowContext(ctx,
		`SELECT used FROM issuer_usage WHERE counter_key = $1 AND period = $2`, counterKey, period).Scan(&used)
	if errors.Is(err, errNoRow) {
		return 0, nil
	}
	return used, err
}

func (s *storeSQL) addUsage(ctx context.Context, tx *sql.Tx, counterKey, period string, n int64) (total int64, err error) {
	//nolint:sqlclosecheck // A statement bound to a transaction is closed with it.
	err = tx.StmtContext(ctx, s.bumpUsage).QueryRowContext(ctx, counterKey, period, n).Scan(&total) //nolint:sqlclosecheck // The transaction closes it.
	return total, err
}

// errProofIDTaken asks the caller for another id.
var errProofIDTaken = errors.New("issuer: the proof id is taken")

func (s *storeSQL) addProof(ctx context.Context, tx *sql.Tx, p *sealed, record, private string, queuedAt time.Time) error {
	//nolint:sqlclosecheck // A statement bound to a transaction is closed with it.
	res, err := tx.StmtContext(ctx, s.insertProof).ExecContext(ctx, p.ID, p.Chain, queuedAt.UnixMicro(), record, private) //nolint:sqlclosecheck // The transaction closes it.
	if err != nil {
		return fmt.Errorf("store a proof: %w", err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = errProofIDTaken
	}
	return err
}

// proofRow is a stored proof with what of it moves: its views and its batch.
type proofRow struct {
	Seq             int64
	ID, Chain       string
	Record, Private string
	Views           int64
	Batch           *batchRow // nil while the proof is in the pending batch
}

func (s *storeSQL) proof(ctx context.Context, id string) (*proofRow, error) {
	p := &proofRow{ID: id}
	err := s.db.Reader().QueryRowContext(ctx, `SELECT p.seq, p.chain, p.record, p.private, COALESCE(v.views, 0)
		FROM issuer_proofs p LEFT JOIN issuer_views v ON v.proof_id = p.proof_id WHERE p.proof_id = $1`, id).
		Scan(&p.Seq, &p.Chain, &p.Record, &p.Private, &p.Views)
	if err != nil {
		return nil, err
	}
	p.Batch, err = s.batchOf(ctx, p.Seq)
	return p, err
}

// countView adds a view and returns their number.
func (s *storeSQL) countView(ctx context.Context, id string) (views int64, err error) {
	err = s.db.Batch(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(context.WithoutCancel(ctx), `INSERT INTO issuer_views (proof_id, views) VALUES ($1, 1)
			ON CONFLICT (proof_id) DO UPDATE SET views = issuer_views.views + 1 RETURNING views`, id).Scan(&views)
	})
	return views, err
}

// answer is a whole answer kept for X-Idempotency-Key.
type answer struct {
	Status   int
	ProofID  string
	Verified bool
	Body     []byte
}

func (s *storeSQL) answer(ctx context.Context, name string, now time.Time) (*answer, error) {
	a := &answer{}
	var verified int
	err := s.db.Reader().QueryRowContext(ctx, `SELECT status, proof_id, verified, body FROM issuer_answers
		WHERE name = $1 AND expires_at > $2`, name, now.Unix()).Scan(&a.Status, &a.ProofID, &verified, &a.Body)
	if err != nil {
		return nil, err
	}
	a.Verified = verified == 1
	return a, nil
}

func (s *storeSQL) keepAnswer(ctx context.Context, tx *sql.Tx, name string, a *answer, until time.Time) error {
	verified := 0
	if a.Verified {
		verified = 1
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO issuer_answers (name, expires_at, status, proof_id, verified, body)
		VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (name) DO UPDATE SET expires_at = $2, status = $3, proof_id = $4, verified = $5, body = $6`,
		name, until.Unix(), a.Status, a.ProofID, verified, a.Body)
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

func (s *storeSQL) forgetAnswers(ctx context.Context, now time.Time) error {
	return s.db.Batch(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(context.WithoutCancel(ctx), `DELETE FROM issuer_answers WHERE expires_at <= $1`, now.Unix())
		return err
	})
}
