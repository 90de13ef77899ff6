package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

// RowMeta is what the ledger knows of a row beside the row itself.
type RowMeta struct {
	Attempt    intake.Attempt
	TreeDigest string // of the artefact's tree, "" when none is known
	CreatedAt  time.Time
}

// RowQuery selects rows. Empty members select nothing.
type RowQuery struct {
	Topic, Hotkey string
	Before        *intake.ID // only rows with a smaller id
	Limit         int        // at most MaxRows, and that many when it is not positive
}

// MaxRows is the longest list of rows that one query returns, and MaxRowBytes what
// its documents hold together: a row has a manifest of up to 2 MB, which takes many
// times its length once it is read. A list has one row at least.
const (
	MaxRows     = 500
	MaxRowBytes = 1 << 20
)

// ReserveRow returns an id that no row has had and no caller was given, from 0
// upward. The reservation is durable before it returns; an id that is not used
// stays unused.
func (l *Ledger) ReserveRow(ctx context.Context) (intake.ID, error) {
	now := l.now()
	var id intake.ID
	err := l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		id, err = l.reserve(ctx, tx, now)
		return err
	})
	return id, in("reserving a row", err)
}

func (l *Ledger) reserve(ctx context.Context, tx *sql.Tx, now time.Time) (intake.ID, error) {
	var id int64
	err := tx.QueryRowContext(ctx, `INSERT INTO proof_row_id (id, reserved_at) SELECT COALESCE(MAX(id) + 1, 0), CAST($1 AS TEXT) FROM proof_row_id RETURNING id`, text(now)).Scan(&id)
	if err == nil {
		l.wrote()
	}
	return intake.ID(id), err
}

// insertRow stores a row with its attempt. The id must have been reserved and be
// unused; the database refuses any other.
func (l *Ledger) insertRow(ctx context.Context, tx *sql.Tx, now time.Time, r *intake.StoredRow, a *intake.Attempt, tree string) error {
	if err := consistent(r, a); err != nil {
		return err
	}
	id, err := asBigint("row", uint64(a.Row))
	if err != nil {
		return err
	}
	epoch, err := asBigint("epoch", a.Epoch)
	if err != nil {
		return err
	}
	document, err := r.JSON()
	if err != nil {
		return err
	}
	return l.insert(ctx, tx, `INSERT INTO proof_submission (id, topic_id, miner_hotkey, submission_digest, artifact_digest, tree_digest, epoch, state, pass, primary_value, document, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		id, r.TopicID, r.MinerHotkey, r.SubmissionDigest, r.ArtifactDigest, tree, epoch, string(r.State), asInt(a.Pass), nullable(a.Primary), document, text(now))
}

// consistent refuses a row and an attempt that are not of one submission.
func consistent(r *intake.StoredRow, a *intake.Attempt) error {
	if r == nil || a == nil {
		return errors.New("a row and its attempt are stored together; one of them is missing")
	}
	id, err := intake.ParseID(r.ID)
	if err != nil {
		return err
	}
	if id != a.Row || r.Epoch != a.Epoch || r.TopicID != a.TopicID || r.MinerHotkey != a.Hotkey || r.Verdict.Pass != a.Pass || r.ArtifactDigest != a.ArtifactDigest {
		return fmt.Errorf("row %s and its attempt %+v differ", r.ID, *a)
	}
	return finite("primary", a.Primary)
}

// Row returns a row and what is known beside it; both are nil when there is none.
func (l *Ledger) Row(ctx context.Context, id intake.ID) (*intake.StoredRow, *RowMeta, error) {
	found, err := one(ctx, l.db.Reader(), readRowMeta, `SELECT document, id, epoch, topic_id, miner_hotkey, pass, primary_value, artifact_digest, tree_digest, created_at FROM proof_submission WHERE id = $1`, int64(id))
	if err != nil || found == nil {
		return nil, nil, in("row "+id.String(), err)
	}
	return found.row, &found.meta, nil
}

type rowAndMeta struct {
	row  *intake.StoredRow
	meta RowMeta
}

func readRowMeta(s scanner) (found rowAndMeta, err error) {
	var (
		document []byte
		pass     int
		primary  sql.NullFloat64
		at       string
	)
	a := &found.meta.Attempt
	if err := s.Scan(&document, &a.Row, &a.Epoch, &a.TopicID, &a.Hotkey, &pass, &primary, &a.ArtifactDigest, &found.meta.TreeDigest, &at); err != nil {
		return found, err
	}
	a.Pass, a.Primary = pass != 0, pointer(primary)
	if found.meta.CreatedAt, err = instant(at); err != nil {
		return found, err
	}
	found.row, err = intake.ParseRow(document)
	return found, err
}

func readRow(s scanner) (*intake.StoredRow, error) {
	var document []byte
	if err := s.Scan(&document); err != nil {
		return nil, err
	}
	return intake.ParseRow(document)
}

// Rows returns rows by descending id, and whether more of them are selected beyond
// the last one, because of the limit or of [MaxRowBytes].
func (l *Ledger) Rows(ctx context.Context, q RowQuery) (rows []*intake.StoredRow, more bool, err error) {
	where := []string{"TRUE"}
	var args []any
	filter := func(column string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf("%s $%d", column, len(args)))
	}
	if q.Topic != "" {
		filter("topic_id =", q.Topic)
	}
	if q.Hotkey != "" {
		filter("miner_hotkey =", q.Hotkey)
	}
	if q.Before != nil {
		before, err := asBigint("row", uint64(*q.Before))
		if err != nil {
			return nil, false, in("rows", err)
		}
		filter("id <", before)
	}
	if q.Limit <= 0 || q.Limit > MaxRows {
		q.Limit = MaxRows
	}
	// Both databases know the length of a document without reading it.
	sizes, err := list(ctx, l.db.Reader(), func(s scanner) (r sized, err error) { return r, s.Scan(&r.id, &r.bytes) },
		fmt.Sprintf("SELECT id, length(document) FROM proof_submission WHERE %s ORDER BY id DESC LIMIT %d", strings.Join(where, " AND "), q.Limit+1), args...)
	if err != nil || len(sizes) == 0 {
		return nil, false, in("rows", err)
	}
	n := fitting(sizes, q.Limit)
	filter("id >=", sizes[n-1].id)
	rows, err = list(ctx, l.db.Reader(), readRow,
		fmt.Sprintf("SELECT document FROM proof_submission WHERE %s ORDER BY id DESC LIMIT %d", strings.Join(where, " AND "), n), args...)
	return rows, n < len(sizes), in("rows", err)
}

// sized is a row and the length of its document.
type sized struct{ id, bytes int64 }

// fitting is how many of the first rows one list takes.
func fitting(rows []sized, limit int) int {
	total := int64(0)
	for n, r := range rows {
		if total += r.bytes; n == limit || n > 0 && total > MaxRowBytes {
			return n
		}
	}
	return len(rows)
}

// RowByDigest returns the newest row of a submission digest, nil when it has none.
func (l *Ledger) RowByDigest(ctx context.Context, digest string) (*intake.StoredRow, error) {
	row, err := one(ctx, l.db.Reader(), readRow, `SELECT document FROM proof_submission WHERE submission_digest = $1 ORDER BY id DESC LIMIT 1`, digest)
	if err != nil || row == nil {
		return nil, in("row of a digest", err)
	}
	return *row, nil
}

// Artefact is the zip of a row of a custom topic.
type Artefact struct {
	Path, SHA256             string
	Bytes                    int64
	ChecklistGreen, Promoted bool
	PrimaryValue             *float64 // nil on a red checklist and a failed run
}

// ArtefactRecord is a stored artefact.
type ArtefactRecord struct {
	TopicID, SubmissionID, SubmissionDigest string
	Artefact
	CreatedAt time.Time
}

func (l *Ledger) insertArtefact(ctx context.Context, tx *sql.Tx, now time.Time, r *intake.StoredRow, a *Artefact) error {
	if err := finite("primary_value", a.PrimaryValue); err != nil {
		return err
	}
	return l.insert(ctx, tx, `INSERT INTO proof_artefact (topic_id, submission_id, submission_digest, path, sha256, bytes, primary_value, checklist_green, promoted, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.TopicID, r.ID, r.SubmissionDigest, a.Path, a.SHA256, a.Bytes, nullable(a.PrimaryValue), asInt(a.ChecklistGreen), asInt(a.Promoted), text(now))
}

const artefactColumns = `SELECT topic_id, submission_id, submission_digest, path, sha256, bytes, primary_value, checklist_green, promoted, created_at FROM proof_artefact `

func readArtefact(s scanner) (a ArtefactRecord, err error) {
	var (
		primary         sql.NullFloat64
		green, promoted int
		at              string
	)
	if err := s.Scan(&a.TopicID, &a.SubmissionID, &a.SubmissionDigest, &a.Path, &a.SHA256, &a.Bytes, &primary, &green, &promoted, &at); err != nil {
		return a, err
	}
	a.PrimaryValue, a.ChecklistGreen, a.Promoted = pointer(primary), green != 0, promoted != 0
	a.CreatedAt, err = instant(at)
	return a, err
}

// Artefacts returns the artefacts of a topic in the order of their rows.
func (l *Ledger) Artefacts(ctx context.Context, topicID string) ([]ArtefactRecord, error) {
	all, err := list(ctx, l.db.Reader(), readArtefact, artefactColumns+`WHERE topic_id = $1 ORDER BY submission_id`, topicID)
	return all, in("artefacts of "+topicID, err)
}

// Artefact returns the artefact of a row, nil when it left none.
func (l *Ledger) Artefact(ctx context.Context, topicID string, row intake.ID) (*ArtefactRecord, error) {
	a, err := one(ctx, l.db.Reader(), readArtefact, artefactColumns+`WHERE topic_id = $1 AND submission_id = $2`, topicID, row.String())
	return a, in("artefact of "+row.String(), err)
}

// Promotion is a crown that landed.
type Promotion struct {
	ID                                      int64
	TopicID, SubmissionID, SubmissionDigest string
	Primary                                 float64
	Bar                                     *float64 // that it was decided against
	PreviousBest                            *string  // id of the row that it displaced
	Epoch                                   uint64   // of the row
	CreatedAt                               time.Time
}

func (l *Ledger) insertPromotion(ctx context.Context, tx *sql.Tx, now time.Time, p *Promotion) error {
	return l.insert(ctx, tx, `INSERT INTO proof_promotion_event (topic_id, submission_id, submission_digest, primary_value, bar, previous_best, epoch, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		p.TopicID, p.SubmissionID, p.SubmissionDigest, p.Primary, nullable(p.Bar), p.PreviousBest, int64(p.Epoch), text(now))
}

const promotionColumns = `SELECT id, topic_id, submission_id, submission_digest, primary_value, bar, previous_best, epoch, created_at FROM proof_promotion_event `

func readPromotion(s scanner) (p Promotion, err error) {
	var (
		bar      sql.NullFloat64
		previous sql.NullString
		at       string
	)
	if err := s.Scan(&p.ID, &p.TopicID, &p.SubmissionID, &p.SubmissionDigest, &p.Primary, &bar, &previous, &p.Epoch, &at); err != nil {
		return p, err
	}
	p.Bar = pointer(bar)
	if previous.Valid {
		p.PreviousBest = &previous.String
	}
	p.CreatedAt, err = instant(at)
	return p, err
}

// Promotions returns the promotions of a topic, oldest first.
func (l *Ledger) Promotions(ctx context.Context, topicID string) ([]Promotion, error) {
	all, err := list(ctx, l.db.Reader(), readPromotion, promotionColumns+`WHERE topic_id = $1 ORDER BY id`, topicID)
	return all, in("promotions of "+topicID, err)
}

// Best returns the newest promotion of a topic, nil before the first.
func (l *Ledger) Best(ctx context.Context, topicID string) (*Promotion, error) {
	p, err := bestOf(ctx, l.db.Reader(), topicID)
	return p, in("best of "+topicID, err)
}

func bestOf(ctx context.Context, q querier, topicID string) (*Promotion, error) {
	return one(ctx, q, readPromotion, promotionColumns+`WHERE topic_id = $1 ORDER BY id DESC LIMIT 1`, topicID)
}

// PayoutRows returns the rows of an epoch and those before, by id.
func (l *Ledger) PayoutRows(ctx context.Context, upTo uint64) ([]payout.Row, error) {
	epoch, err := asBigint("epoch", upTo)
	if err != nil {
		return nil, in("payout", err)
	}
	rows, err := list(ctx, l.db.Reader(), func(s scanner) (r payout.Row, err error) {
		var (
			hotkey  string
			pass    int
			primary sql.NullFloat64
		)
		if err := s.Scan(&r.ID, &r.Epoch, &r.TopicID, &hotkey, &pass, &primary, &r.ArtifactDigest, &r.TreeDigest); err != nil {
			return r, err
		}
		r.Pass, r.Primary = pass != 0, pointer(primary)
		r.Miner, err = payout.ParseHotkey(hotkey)
		return r, err
	}, `SELECT id, epoch, topic_id, miner_hotkey, pass, primary_value, artifact_digest, tree_digest FROM proof_submission WHERE epoch <= $1 ORDER BY id`, epoch)
	return rows, in("payout", err)
}

// PayoutPromotions returns the promotions of an epoch and those before, oldest
// first.
func (l *Ledger) PayoutPromotions(ctx context.Context, upTo uint64) ([]payout.Promotion, error) {
	epoch, err := asBigint("epoch", upTo)
	if err != nil {
		return nil, in("payout", err)
	}
	all, err := list(ctx, l.db.Reader(), func(s scanner) (payout.Promotion, error) {
		p, err := readPromotion(s)
		if err != nil {
			return payout.Promotion{}, err
		}
		id, err := intake.ParseID(p.SubmissionID)
		return payout.Promotion{TopicID: p.TopicID, Row: uint64(id), Epoch: p.Epoch, Primary: p.Primary}, err
	}, promotionColumns+`WHERE epoch <= $1 ORDER BY id`, epoch)
	return all, in("payout", err)
}

// champion tells whether a row says so.
func champion(r *intake.StoredRow) bool { return r.State == family.Champion }
