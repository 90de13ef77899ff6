package season

import (
	"context"
	"database/sql"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/did"
)

// querier is a transaction or a pool.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readSeason(ctx context.Context, q querier, number int64) (Season, error) {
	var (
		s                           Season
		opens, closes, tracks       string
		closedAt                    sql.NullString
		requireLog, local, practice int
	)
	err := q.QueryRowContext(ctx, `SELECT season, state, opens, closes, closed_at, host, require_log, allow_local, practice, tracks FROM seasons WHERE season = $1`, number).
		Scan(&s.Number, &s.State, &opens, &closes, &closedAt, &s.Host, &requireLog, &local, &practice, &tracks)
	if errors.Is(err, sql.ErrNoRows) {
		return Season{}, refuse(NotFound, "there is no season %d", number)
	}
	if err != nil {
		return Season{}, fmt.Errorf("reading season %d: %w", number, err)
	}
	s.Witnesses.RequireLog, s.Witnesses.AllowLocal, s.Practice = requireLog != 0, local != 0, practice != 0
	s.Tracks = strings.Split(tracks, ",")
	var e1, e2, e3 error
	s.Opens, e1 = time.Parse(secondLayout, opens)
	s.Closes, e2 = time.Parse(secondLayout, closes)
	if closedAt.Valid {
		s.ClosedAt, e3 = time.Parse(microLayout, closedAt.String)
	}
	return s, errors.Join(e1, e2, e3)
}

// lockSeason reads a season inside a write transaction, with the state that it
// has at now written down if it is a new one.
func lockSeason(ctx context.Context, tx *sql.Tx, number int64, now time.Time) (Season, error) {
	s, err := readSeason(ctx, tx, number)
	if err != nil {
		return s, err
	}
	if state := s.at(now); state != s.State {
		s.State = state
		return s, setState(ctx, tx, number, state)
	}
	return s, nil
}

func setState(ctx context.Context, tx *sql.Tx, number int64, state State) error {
	_, err := tx.ExecContext(ctx, `UPDATE seasons SET state = $2 WHERE season = $1`, number, string(state))
	return err
}

func setClosed(ctx context.Context, tx *sql.Tx, number int64, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE seasons SET state = $2, closed_at = $3 WHERE season = $1`, number, string(Closed), now.Format(microLayout))
	return err
}

// deleteSeason takes back a definition and the freezes that were stored for it;
// hasProvenFreezes tells when it is too late.
func deleteSeason(ctx context.Context, tx *sql.Tx, number int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM freezes WHERE season = $1`, number); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM seasons WHERE season = $1`, number)
	return err
}

// hasProvenFreezes reports a freeze that is in force or was.
func hasProvenFreezes(ctx context.Context, tx *sql.Tx, number int64) (bool, error) {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM freezes WHERE season = $1 AND proof_id IS NOT NULL`, number).Scan(&n)
	return n > 0, err
}

func insertSeason(ctx context.Context, tx *sql.Tx, d Definition) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO seasons (season, state, opens, closes, host, require_log, allow_local, practice, tracks) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		d.Number, string(Draft), d.Opens.Format(secondLayout), d.Closes.Format(secondLayout), d.Host,
		asInt(d.Witnesses.RequireLog), asInt(d.Witnesses.AllowLocal), asInt(d.Practice), strings.Join(d.Tracks, ","))
	return err
}

// asInt is a boolean for a column that both databases read alike.
func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func insertFreeze(ctx context.Context, tx *sql.Tx, number int64, f *frozen, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE freezes SET status = 'abandoned' WHERE season = $1 AND track = $2 AND status = 'pending'`, number, f.Track); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO freezes (season, track, status, reason, corpus_host, rules_text, rules, tasks, catalogue, rules_version, rules_sha256, manifest_sha256, key_commitment, stored_at)
		VALUES ($1, $2, 'pending', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		number, f.Track, f.Reason, f.CorpusHost, notNil(f.RulesText), f.Rules, f.Tasks, f.Catalogue,
		f.version, f.rulesSHA256, f.ManifestSHA256, f.KeyCommitment, now.Format(microLayout))
	return err
}

// notNil keeps an empty document from becoming NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// freezes reads the freezes of a season that a condition selects, by track.
func freezes(ctx context.Context, tx *sql.Tx, d Definition, where string, args ...any) ([]*frozen, error) {
	return selectFreezes(ctx, tx, d, where, args...)
}

func selectFreezes(ctx context.Context, q querier, d Definition, where string, args ...any) ([]*frozen, error) {
	rows, err := q.QueryContext(ctx, `SELECT id, track, reason, corpus_host, rules_text, rules, tasks, catalogue, manifest_sha256, key_commitment, called_at, proof_id, disclosures, rules_sha256
		FROM freezes WHERE season = $1 AND `+where+` ORDER BY track, id`, append([]any{d.Number}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("reading the freezes of season %d: %w", d.Number, err)
	}
	defer rows.Close()
	var out []*frozen
	for rows.Next() {
		var (
			f             Freeze
			id            int64
			called, proof sql.NullString
			disclosures   []byte
			rulesSHA256   string
		)
		if err := rows.Scan(&id, &f.Track, &f.Reason, &f.CorpusHost, &f.RulesText, &f.Rules, &f.Tasks, &f.Catalogue, &f.ManifestSHA256, &f.KeyCommitment, &called, &proof, &disclosures, &rulesSHA256); err != nil {
			return nil, fmt.Errorf("reading the freezes of season %d: %w", d.Number, err)
		}
		read, err := f.read(d)
		if err != nil {
			return nil, err
		}
		if read.rulesSHA256 != rulesSHA256 {
			return nil, fmt.Errorf("freeze of track %s: the stored documents no longer give the rules hash that was frozen, %s", f.Track, rulesSHA256)
		}
		read.id, read.calledAt, read.proofID, read.disclosures = id, called.String, proof.String, disclosures
		out = append(out, read)
	}
	return out, rows.Err()
}

func currentIDs(ctx context.Context, q querier, number int64) ([]int64, error) {
	rows, err := q.QueryContext(ctx, `SELECT id FROM freezes WHERE season = $1 AND status = 'current' ORDER BY id`, number)
	if err != nil {
		return nil, fmt.Errorf("reading the freezes of season %d: %w", number, err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("reading the freezes of season %d: %w", number, err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func freezesByID(ctx context.Context, q querier, d Definition, ids []int64) ([]*frozen, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10) // Numbers of ours: nothing to escape.
	}
	return selectFreezes(ctx, q, d, "id IN ("+strings.Join(texts, ",")+")")
}

func setCalled(ctx context.Context, tx *sql.Tx, id int64, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE freezes SET called_at = $2 WHERE id = $1 AND called_at IS NULL`, id, now.Format(microLayout))
	return err
}

func makeCurrent(ctx context.Context, tx *sql.Tx, number, id int64, trackName, proofID string, disclosures []byte) error {
	if _, err := tx.ExecContext(ctx, `UPDATE freezes SET status = 'replaced' WHERE season = $1 AND track = $2 AND status = 'current'`, number, trackName); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE freezes SET status = 'current', proof_id = $2, disclosures = $3 WHERE id = $1`, id, proofID, disclosures)
	return err
}

// replacedFreezes lists the freezes that were replaced, oldest first, each with
// the reason that its successor gave.
func replacedFreezes(ctx context.Context, q querier, number int64, trackName string) ([]Replaced, error) {
	rows, err := q.QueryContext(ctx, `SELECT proof_id, reason, status FROM freezes WHERE season = $1 AND track = $2 AND status IN ('current', 'replaced') ORDER BY id`, number, trackName)
	if err != nil {
		return nil, fmt.Errorf("reading the replaced freezes of season %d: %w", number, err)
	}
	defer rows.Close()
	var out []Replaced
	before := ""
	for rows.Next() {
		var proof, reason, status string
		if err := rows.Scan(&proof, &reason, &status); err != nil {
			return nil, fmt.Errorf("reading the replaced freezes of season %d: %w", number, err)
		}
		if before != "" {
			out = append(out, Replaced{ProofID: before, Reason: reason})
		}
		before = proof
	}
	return out, rows.Err()
}

func insertEnrolment(ctx context.Context, tx *sql.Tx, number int64, e newEnrolment) error {
	linked, err := json.Marshal(e.LinkedDIDs)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO enrolments (season, agent_did, key_sha256, token_sha256, agent_name, name_key, declared_stack, enrolled_at, kind, linked_dids)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		number, e.AgentDID, e.keySHA256, e.tokenSHA256, e.AgentName, e.nameKey, e.DeclaredStack, e.EnrolledAt.Format(microLayout), e.Kind, string(linked))
	return err
}

// taken tells which of the three unique things of an enrolment exist.
func taken(ctx context.Context, tx *sql.Tx, number int64, e newEnrolment) (key, did, name bool, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT key_sha256 = $2, agent_did = $3, name_key = $4 FROM enrolments WHERE season = $1 AND (key_sha256 = $2 OR agent_did = $3 OR name_key = $4)`,
		number, e.keySHA256, e.AgentDID, e.nameKey)
	if err != nil {
		return false, false, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var k, d, n bool
		if err := rows.Scan(&k, &d, &n); err != nil {
			return false, false, false, err
		}
		key, did, name = key || k, did || d, name || n
	}
	return key, did, name, rows.Err()
}

func didOfToken(ctx context.Context, q querier, number int64, tokenSHA256 string) (string, error) {
	var did string
	err := q.QueryRowContext(ctx, `SELECT agent_did FROM enrolments WHERE season = $1 AND token_sha256 = $2`, number, tokenSHA256).Scan(&did)
	if errors.Is(err, sql.ErrNoRows) {
		return "", refuse(Unauthorized, "the season token is missing or not one of season %d", number)
	}
	return did, err
}

func enrolments(ctx context.Context, q querier, number int64) ([]Enrolment, error) {
	rows, err := q.QueryContext(ctx, `SELECT agent_did, agent_name, declared_stack, enrolled_at, kind, run, linked_dids FROM enrolments WHERE season = $1 ORDER BY agent_did`, number)
	if err != nil {
		return nil, fmt.Errorf("reading the enrolments of season %d: %w", number, err)
	}
	defer rows.Close()
	var out []Enrolment
	for rows.Next() {
		var (
			e          Enrolment
			at, linked string
			run        sql.NullString
		)
		if err := rows.Scan(&e.AgentDID, &e.AgentName, &e.DeclaredStack, &at, &e.Kind, &run, &linked); err != nil {
			return nil, fmt.Errorf("reading the enrolments of season %d: %w", number, err)
		}
		if e.EnrolledAt, err = time.Parse(microLayout, at); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(linked), &e.LinkedDIDs); err != nil {
			return nil, err
		}
		if run.Valid {
			e.Run = &Run{}
			if err := json.Unmarshal([]byte(run.String), e.Run); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

func updateLinks(ctx context.Context, tx *sql.Tx, number int64, agent string, linked []string) error {
	text, err := json.Marshal(linked)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE enrolments SET linked_dids = $3 WHERE season = $1 AND agent_did = $2`, number, agent, string(text))
	return err
}

func setReference(ctx context.Context, tx *sql.Tx, number int64, did, kind string, run Run) (found bool, err error) {
	text, err := json.Marshal(run)
	if err != nil {
		return false, err
	}
	r, err := tx.ExecContext(ctx, `UPDATE enrolments SET kind = $3, run = $4 WHERE season = $1 AND agent_did = $2`, number, did, kind, string(text))
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n == 1, err
}

// putSubmission stores the last submission for a task and tells which revision
// it is, from 1.
func putSubmission(ctx context.Context, tx *sql.Tx, number int64, x Submission) (revision int64, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO submissions (season, agent_did, task_id, track, body, sha256, recorded_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, 1)
		ON CONFLICT (season, agent_did, task_id) DO UPDATE SET track = excluded.track, body = excluded.body, sha256 = excluded.sha256, recorded_at = excluded.recorded_at, revision = submissions.revision + 1
		RETURNING revision`,
		number, x.AgentDID, x.TaskID, x.Track, x.Body, x.SHA256, x.RecordedAt.Format(microLayout)).Scan(&revision)
	return revision, err
}

// submissions reads one row at a time, by DID and task.
func submissions(ctx context.Context, q querier, number int64) iter.Seq2[Submission, error] {
	return func(yield func(Submission, error) bool) {
		rows, err := q.QueryContext(ctx, `SELECT agent_did, task_id, track, body, sha256, recorded_at FROM submissions WHERE season = $1 ORDER BY agent_did, task_id`, number)
		if err != nil {
			yield(Submission{}, fmt.Errorf("reading the submissions of season %d: %w", number, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var x Submission
			var at string
			err := rows.Scan(&x.AgentDID, &x.TaskID, &x.Track, &x.Body, &x.SHA256, &at)
			if err == nil {
				x.RecordedAt, err = time.Parse(microLayout, at)
			}
			if err == nil && hexSum(x.Body) != x.SHA256 {
				err = fmt.Errorf("submission of %s for %s: the stored bytes do not have the hash that was acknowledged", x.AgentDID, x.TaskID)
			}
			if !yield(x, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Submission{}, err)
		}
	}
}

func insertPublication(ctx context.Context, tx *sql.Tx, number int64, p Publication, now time.Time) (version int64, err error) {
	files, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return 0, err
	}
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) + 1 FROM publications WHERE season = $1`, number).Scan(&version); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO publications (season, version, published_at, files) VALUES ($1, $2, $3, $4)`, number, version, now.Format(microLayout), string(files))
	return version, err
}

// publication is the newest one; found is false before the first.
func publication(ctx context.Context, q querier, number int64) (p Publication, version int64, at string, found bool, err error) {
	var files string
	err = q.QueryRowContext(ctx, `SELECT version, published_at, files FROM publications WHERE season = $1 ORDER BY version DESC LIMIT 1`, number).Scan(&version, &at, &files)
	if errors.Is(err, sql.ErrNoRows) {
		return p, 0, "", false, nil
	}
	if err != nil {
		return p, 0, "", false, fmt.Errorf("reading the publication of season %d: %w", number, err)
	}
	return p, version, at, true, json.Unmarshal([]byte(files), &p)
}

func isEnrolled(ctx context.Context, q querier, number int64, agent string) (bool, error) {
	if !did.IsDID(agent) {
		return false, nil // PostgreSQL refuses some strings as a parameter; they are no DIDs.
	}
	var n int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM enrolments WHERE season = $1 AND agent_did = $2`, number, agent).Scan(&n)
	return n > 0, err
}
