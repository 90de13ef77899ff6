package ledger

import (
	"context"
	"database/sql"
	"encoding/json/v2"
	"time"
)

// ChecklistRecord is a checklist as an inspection returned it, red or green.
type ChecklistRecord struct {
	SubmissionDigest string
	TopicID          string
	RulesVersion     uint32
	Attempt          int // from 1; set by the ledger
	Green            bool
	FailedIDs        []string
	Document         []byte
	CreatedAt        time.Time // set by the ledger
}

// AddChecklist stores a checklist and returns which attempt of this submission
// under these rules it is, from 1: the same artefact may be inspected again.
func (l *Ledger) AddChecklist(ctx context.Context, c ChecklistRecord) (attempt int, err error) {
	now := l.now()
	failed, err := json.Marshal(c.FailedIDs)
	if err != nil {
		return 0, in("checklist", err)
	}
	err = l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(attempt), 0) + 1 FROM proof_checklist WHERE submission_digest = $1 AND rules_version = $2`,
			c.SubmissionDigest, int64(c.RulesVersion)).Scan(&attempt); err != nil {
			return err
		}
		return l.insert(ctx, tx, `INSERT INTO proof_checklist (submission_digest, rules_version, attempt, topic_id, green, failed_ids, document, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			c.SubmissionDigest, int64(c.RulesVersion), attempt, c.TopicID, asInt(c.Green), string(failed), notNil(c.Document), text(now))
	})
	if err != nil {
		return 0, in("checklist", err)
	}
	return attempt, nil
}

// Checklists returns the checklists of a submission digest in the order in which
// they were stored.
func (l *Ledger) Checklists(ctx context.Context, digest string) ([]ChecklistRecord, error) {
	all, err := list(ctx, l.db.Reader(), readChecklist, `SELECT submission_digest, rules_version, attempt, topic_id, green, failed_ids, document, created_at
		FROM proof_checklist WHERE submission_digest = $1 ORDER BY rules_version, attempt`, digest)
	return all, in("checklists", err)
}

func readChecklist(s scanner) (c ChecklistRecord, err error) {
	var green int
	var failed, at string
	if err := s.Scan(&c.SubmissionDigest, &c.RulesVersion, &c.Attempt, &c.TopicID, &green, &failed, &c.Document, &at); err != nil {
		return c, err
	}
	c.Green = green != 0
	if err := json.Unmarshal([]byte(failed), &c.FailedIDs); err != nil {
		return c, err
	}
	c.CreatedAt, err = instant(at)
	return c, err
}

// Measurement is the baseline of a topic as it was measured under a version of its
// rules.
type Measurement struct {
	TopicID      string
	RulesVersion uint32
	PrimaryValue float64
	Report       []byte
	CreatedAt    time.Time // set by the ledger
}

// AddMeasurement stores a measured baseline and the moves that go with it, all or
// nothing. A baseline may be measured again; the newest one counts.
func (l *Ledger) AddMeasurement(ctx context.Context, m Measurement, moves ...Move) error {
	if err := finite("primary_value", &m.PrimaryValue); err != nil {
		return in("baseline of "+m.TopicID, err)
	}
	now := l.now()
	err := l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := l.insert(ctx, tx, `INSERT INTO proof_baseline_measurement (topic_id, rules_version, primary_value, report, created_at) VALUES ($1, $2, $3, $4, $5)`,
			m.TopicID, int64(m.RulesVersion), m.PrimaryValue, notNil(m.Report), text(now)); err != nil {
			return err
		}
		return l.apply(ctx, tx, now, moves)
	})
	return in("baseline of "+m.TopicID, err)
}

// LatestMeasurement returns the newest measured baseline of a topic, nil when there
// is none.
func (l *Ledger) LatestMeasurement(ctx context.Context, id string) (*Measurement, error) {
	m, err := one(ctx, l.db.Reader(), func(s scanner) (m Measurement, err error) {
		var at string
		if err := s.Scan(&m.TopicID, &m.RulesVersion, &m.PrimaryValue, &m.Report, &at); err != nil {
			return m, err
		}
		m.CreatedAt, err = instant(at)
		return m, err
	}, `SELECT topic_id, rules_version, primary_value, report, created_at FROM proof_baseline_measurement WHERE topic_id = $1 ORDER BY id DESC LIMIT 1`, id)
	return m, in("baseline of "+id, err)
}
