package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json/v2"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/research/topic"
)

// TopicVersion is one version of a signed topic document.
type TopicVersion struct {
	TopicID   string
	Version   uint32 // from 1
	Status    string // draft, open or closed
	Document  []byte // as it was signed, byte for byte
	Signature string
	CreatedAt time.Time // set by the ledger
}

const topicColumns = `SELECT topic_id, version, status, document, signature, created_at FROM proof_topic_version v `

func readTopic(s scanner) (v TopicVersion, err error) {
	var at string
	if err := s.Scan(&v.TopicID, &v.Version, &v.Status, &v.Document, &v.Signature, &at); err != nil {
		return v, err
	}
	v.CreatedAt, err = instant(at)
	return v, err
}

// Topics returns the newest version of each topic, by id.
func (l *Ledger) Topics(ctx context.Context) ([]TopicVersion, error) {
	all, err := list(ctx, l.db.Reader(), readTopic, topicColumns+`
		WHERE version = (SELECT MAX(version) FROM proof_topic_version w WHERE w.topic_id = v.topic_id) ORDER BY topic_id`)
	return all, in("topics", err)
}

// Topic returns the newest version of a topic, nil when there is none.
func (l *Ledger) Topic(ctx context.Context, id string) (*TopicVersion, error) {
	v, err := one(ctx, l.db.Reader(), readTopic, topicColumns+`WHERE topic_id = $1 ORDER BY version DESC LIMIT 1`, id)
	return v, in("topic "+id, err)
}

// TopicVersions returns all versions of a topic, oldest first.
func (l *Ledger) TopicVersions(ctx context.Context, id string) ([]TopicVersion, error) {
	all, err := list(ctx, l.db.Reader(), readTopic, topicColumns+`WHERE topic_id = $1 ORDER BY version`, id)
	return all, in("topic "+id, err)
}

// Publish stores the next version of a topic and the moves that go with it, all or
// nothing. The version is the newest one plus 1, else [ErrVersionGap].
func (l *Ledger) Publish(ctx context.Context, v TopicVersion, moves ...Move) error {
	now := l.now()
	err := l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := follows(ctx, tx, "proof_topic_version", v.TopicID, v.Version); err != nil {
			return err
		}
		if err := l.insert(ctx, tx, `INSERT INTO proof_topic_version (topic_id, version, status, document, signature, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			v.TopicID, int64(v.Version), v.Status, notNil(v.Document), v.Signature, text(now)); err != nil {
			return err
		}
		return l.apply(ctx, tx, now, moves)
	})
	return in("publishing "+v.TopicID, err)
}

// follows checks that a version comes right after the newest one of its topic.
func follows(ctx context.Context, tx *sql.Tx, table, id string, version uint32) error {
	newest, err := newestVersion(ctx, tx, table, id)
	if err == nil && int64(version) != newest+1 {
		err = fmt.Errorf("%w: version %d, the newest is %d", ErrVersionGap, version, newest)
	}
	return err
}

// newestVersion is 0 before the first; table is one of ours.
func newestVersion(ctx context.Context, q querier, table, id string) (newest int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) FROM `+table+` WHERE topic_id = $1`, id).Scan(&newest)
	return newest, err
}

// storedRule is a rule as the rules column has it.
type storedRule struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

const ruleColumns = `SELECT topic_id, version, source, rules, digest FROM proof_rule_version `

func readRules(s scanner) (topic.RuleSet, error) {
	var rs topic.RuleSet
	var rules, digest string
	if err := s.Scan(&rs.TopicID, &rs.Version, &rs.Source, &rules, &digest); err != nil {
		return rs, err
	}
	var stored []storedRule
	if err := json.Unmarshal([]byte(rules), &stored); err != nil {
		return rs, err
	}
	for _, r := range stored {
		rs.Rules = append(rs.Rules, topic.ChecklistItem(r))
	}
	sum, err := rs.Digest()
	if err == nil && hex.EncodeToString(sum[:]) != digest {
		err = fmt.Errorf("rules version %d no longer have the digest that checklists are bound to", rs.Version)
	}
	return rs, err
}

// Rules returns the newest rules of a topic, nil when there are none.
func (l *Ledger) Rules(ctx context.Context, id string) (*topic.RuleSet, error) {
	rs, err := one(ctx, l.db.Reader(), readRules, ruleColumns+`WHERE topic_id = $1 ORDER BY version DESC LIMIT 1`, id)
	return rs, in("rules of "+id, err)
}

// RuleVersions returns all rules of a topic, oldest first.
func (l *Ledger) RuleVersions(ctx context.Context, id string) ([]topic.RuleSet, error) {
	all, err := list(ctx, l.db.Reader(), readRules, ruleColumns+`WHERE topic_id = $1 ORDER BY version`, id)
	return all, in("rules of "+id, err)
}

// AddRules stores the next version of a topic's rules and the moves that go with
// it, all or nothing. The version is the newest one plus 1, else [ErrVersionGap].
func (l *Ledger) AddRules(ctx context.Context, rs topic.RuleSet, moves ...Move) error {
	now := l.now()
	stored := make([]storedRule, len(rs.Rules))
	for i, r := range rs.Rules {
		stored[i] = storedRule(r)
	}
	rules, err := json.Marshal(stored)
	if err != nil {
		return in("rules of "+rs.TopicID, err)
	}
	digest, err := rs.Digest()
	if err != nil {
		return in("rules of "+rs.TopicID, err)
	}
	err = l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := follows(ctx, tx, "proof_rule_version", rs.TopicID, rs.Version); err != nil {
			return err
		}
		if err := l.insert(ctx, tx, `INSERT INTO proof_rule_version (topic_id, version, source, rules, digest, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			rs.TopicID, int64(rs.Version), string(rs.Source), string(rules), hex.EncodeToString(digest[:]), text(now)); err != nil {
			return err
		}
		return l.apply(ctx, tx, now, moves)
	})
	return in("rules of "+rs.TopicID, err)
}

// Move is one move of a topic's lifecycle (R§16.1). The ledger checks where it
// starts; which moves are legal is the engine's to say.
type Move struct {
	TopicID, From, Event, To string
	Note                     string // trimmed; never holds a secret
}

// MoveRecord is a move that was made.
type MoveRecord struct {
	ID int64 // ascends in the order of moves
	Move
	CreatedAt time.Time
}

func readMove(s scanner) (m MoveRecord, err error) {
	var at string
	if err := s.Scan(&m.ID, &m.TopicID, &m.From, &m.Event, &m.To, &m.Note, &at); err != nil {
		return m, err
	}
	m.CreatedAt, err = instant(at)
	return m, err
}

// State returns the state that the last move of a topic led to, "" before the
// first one.
func (l *Ledger) State(ctx context.Context, id string) (string, error) {
	state, err := stateOf(ctx, l.db.Reader(), id)
	return state, in("lifecycle of "+id, err)
}

func stateOf(ctx context.Context, q querier, id string) (string, error) {
	state, err := one(ctx, q, func(s scanner) (state string, err error) {
		err = s.Scan(&state)
		return state, err
	}, `SELECT to_state FROM proof_lifecycle_event WHERE topic_id = $1 ORDER BY id DESC LIMIT 1`, id)
	if state == nil {
		return "", err
	}
	return *state, nil
}

// Moves returns the moves of a topic, oldest first.
func (l *Ledger) Moves(ctx context.Context, id string) ([]MoveRecord, error) {
	all, err := list(ctx, l.db.Reader(), readMove, `SELECT id, topic_id, from_state, event, to_state, note, created_at FROM proof_lifecycle_event WHERE topic_id = $1 ORDER BY id`, id)
	return all, in("lifecycle of "+id, err)
}

// Apply makes moves one after the other, all or none: [ErrMoved] when a topic is
// not in the state that its move starts from. The first move of a topic may start
// anywhere: its state until then is the one that its document implies.
func (l *Ledger) Apply(ctx context.Context, moves ...Move) error {
	now := l.now()
	return in("lifecycle", l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error { return l.apply(ctx, tx, now, moves) }))
}

func (l *Ledger) apply(ctx context.Context, tx *sql.Tx, now time.Time, moves []Move) error {
	for _, m := range moves {
		state, err := stateOf(ctx, tx, m.TopicID)
		if err != nil {
			return err
		}
		if state != "" && state != m.From {
			return fmt.Errorf("%w: %s of %s starts from %s, the topic is %s", ErrMoved, m.Event, m.TopicID, m.From, state)
		}
		if err := l.insert(ctx, tx, `INSERT INTO proof_lifecycle_event (topic_id, from_state, event, to_state, note, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
			m.TopicID, m.From, m.Event, m.To, storable(strings.TrimSpace(m.Note)), text(now)); err != nil {
			return err
		}
	}
	return nil
}

// in says what an error of the database was about; nil stays nil.
func in(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ledger: %s: %w", what, err)
}
