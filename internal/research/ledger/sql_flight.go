package ledger

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
)

// FlightID is the number of a flight, from 1; 0 is none.
type FlightID int64

// FlightState is what has become of an accepted submission that has no row.
type FlightState string

// The states of a flight.
const (
	Queued  FlightState = "queued"
	Running FlightState = "running"
	Refused FlightState = "refused" // over; kept to be asked about
)

// Flight is an accepted submission on its way to a row.
type Flight struct {
	ID             FlightID
	Digest         string // of the submission
	TopicID        string
	TopicVersion   uint32 // at the acceptance; 0 when the store had none
	Hotkey         string
	ArtifactDigest string
	Nonce          string // submit_nonce; "" of an unsigned submission
	Epoch          uint64 // of the acceptance
	ContentType    string
	Body           []byte // as it was sent; only Claim and Flight read it
	Serial         bool   // runs alone on its topic
	State          FlightState
	Phase          string
	Holder         string    // "" while it waits
	AcceptedAt     time.Time // and the zero time for what did not happen yet:
	StartedAt      time.Time // of the claim that runs it now
	PhaseAt        time.Time // since when it is in its phase
	BeatAt         time.Time // last sign of life of the holder
	EndedAt        time.Time // of the refusal
	Status         int       // of the refusal
	Text           string    // of the refusal
}

const flightColumns = `f.id, f.submission_digest, f.topic_id, f.topic_version, f.miner_hotkey, f.artifact_digest, f.nonce, f.epoch, f.content_type,
	f.serial, f.state, f.phase, f.holder, f.accepted_at, f.started_at, f.phase_at, f.beat_at, f.ended_at, f.status, f.text`

// readFlight reads flightColumns, and the body where more asks for it.
func readFlight(s scanner, more ...any) (f Flight, err error) {
	var (
		serial                      int
		accepted                    string
		started, phase, beat, ended sql.NullString
	)
	if err := s.Scan(append([]any{
		&f.ID, &f.Digest, &f.TopicID, &f.TopicVersion, &f.Hotkey, &f.ArtifactDigest, &f.Nonce, &f.Epoch, &f.ContentType,
		&serial, &f.State, &f.Phase, &f.Holder, &accepted, &started, &phase, &beat, &ended, &f.Status, &f.Text,
	}, more...)...); err != nil {
		return f, err
	}
	f.Serial = serial != 0
	if f.AcceptedAt, err = instant(accepted); err != nil {
		return f, err
	}
	for _, t := range []struct {
		from sql.NullString
		to   *time.Time
	}{{started, &f.StartedAt}, {phase, &f.PhaseAt}, {beat, &f.BeatAt}, {ended, &f.EndedAt}} {
		if *t.to, err = optionalInstant(t.from); err != nil {
			return f, err
		}
	}
	return f, nil
}

func readFlightOnly(s scanner) (Flight, error) { return readFlight(s) }

func readFlightAndBody(s scanner) (Flight, error) {
	var body []byte
	f, err := readFlight(s, &body)
	f.Body = body
	return f, err
}

// Flights returns the flights that wait or run, oldest first, without bodies.
func (l *Ledger) Flights(ctx context.Context) ([]Flight, error) {
	all, err := list(ctx, l.db.Reader(), readFlightOnly, `SELECT `+flightColumns+` FROM proof_flight f WHERE f.state IN ('queued', 'running') ORDER BY f.id`)
	return all, in("flights", err)
}

// Flight returns a flight with its body, nil when it is no more.
func (l *Ledger) Flight(ctx context.Context, id FlightID) (*Flight, error) {
	f, err := one(ctx, l.db.Reader(), readFlightAndBody, `SELECT `+flightColumns+`, f.body FROM proof_flight f WHERE f.id = $1`, int64(id))
	return f, in("flight", err)
}

// FlightByDigest returns the flight of a submission digest without its body, a
// refused one too; nil when there is none.
func (l *Ledger) FlightByDigest(ctx context.Context, digest string) (*Flight, error) {
	f, err := one(ctx, l.db.Reader(), readFlightOnly, `SELECT `+flightColumns+` FROM proof_flight f WHERE f.submission_digest = $1`, digest)
	return f, in("flight", err)
}

// Position returns the place of a waiting flight in the queue, from 1; 0 for one
// that does not wait.
func (l *Ledger) Position(ctx context.Context, id FlightID) (int, error) {
	var n int
	err := l.db.Reader().QueryRowContext(ctx, `SELECT COUNT(*) FROM proof_flight f WHERE f.state = 'queued' AND f.id <= $1
		AND EXISTS (SELECT 1 FROM proof_flight g WHERE g.id = $1 AND g.state = 'queued')`, int64(id)).Scan(&n)
	return n, in("flight", err)
}

// InFlight returns how many accepted submissions of the epoch, and of those before
// it, wait or run.
func (l *Ledger) InFlight(ctx context.Context, epoch uint64) (int, error) {
	n, err := inFlight(ctx, l.db.Reader(), epoch)
	return n, in("flights", err)
}

func inFlight(ctx context.Context, q querier, upTo uint64) (n int, err error) {
	epoch, err := asBigint("epoch", upTo)
	if err != nil {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM proof_flight WHERE epoch <= $1 AND state IN ('queued', 'running')`, epoch).Scan(&n)
	return n, err
}

// Claim gives a worker a flight to run, nil when there is none: the oldest one that
// waits, a serial one only while no other flight of its topic runs; or one that
// runs and whose holder has not been heard of for longer than stale. Holder names
// this process and this life of it: another one with the same name would share its
// flights.
func (l *Ledger) Claim(ctx context.Context, holder string, stale time.Duration) (*Flight, error) {
	if holder == "" {
		return nil, in("claim", errNoHolder)
	}
	now := l.now()
	var claimed *Flight
	err := l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		claimed, err = one(ctx, tx, readFlightAndBody, `SELECT `+flightColumns+`, f.body FROM proof_flight f
			WHERE f.state = 'running' AND f.beat_at < $1
				OR f.state = 'queued' AND (f.serial = 0 OR NOT EXISTS (SELECT 1 FROM proof_flight g WHERE g.topic_id = f.topic_id AND g.state = 'running'))
			ORDER BY f.id LIMIT 1`, text(now.Add(-stale)))
		if err != nil || claimed == nil {
			return err
		}
		claimed.State, claimed.Holder, claimed.Phase = Running, holder, ""
		claimed.StartedAt, claimed.PhaseAt, claimed.BeatAt = now, now, now
		return l.insert(ctx, tx, `UPDATE proof_flight SET state = 'running', holder = $2, phase = '', started_at = $3, phase_at = $3, beat_at = $3 WHERE id = $1`,
			int64(claimed.ID), holder, text(now))
	})
	if err != nil {
		return nil, in("claim", err)
	}
	return claimed, nil
}

// Beat says that the holder still runs the flight, and in which phase; an empty one
// leaves the phase as it is. [ErrLost] when another holder has the flight.
func (l *Ledger) Beat(ctx context.Context, id FlightID, holder, phase string) error {
	now := text(l.now())
	return in("flight", l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return l.held(ctx, tx, `UPDATE proof_flight SET beat_at = $3,
				phase_at = CASE WHEN CAST($4 AS TEXT) IN ('', phase) THEN phase_at ELSE CAST($3 AS TEXT) END,
				phase = CASE WHEN CAST($4 AS TEXT) = '' THEN phase ELSE CAST($4 AS TEXT) END
			WHERE id = $1 AND holder = $2 AND state = 'running'`, int64(id), holder, now, storable(phase))
	}))
}

// Refuse ends a flight without a row: its nonce is free again, and the refusal is
// kept for whoever asks by digest until the next attempt or [Ledger.Purge].
// [ErrLost] when another holder has the flight.
func (l *Ledger) Refuse(ctx context.Context, id FlightID, holder string, status int, reason string) error {
	now := text(l.now())
	return in("flight", l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The body is of no use any more and may be long.
		if err := l.held(ctx, tx, `UPDATE proof_flight SET state = 'refused', body = $3, ended_at = $4, status = $5, text = $6 WHERE id = $1 AND holder = $2 AND state = 'running'`,
			int64(id), holder, []byte{}, now, status, storable(reason)); err != nil {
			return err
		}
		return l.insert(ctx, tx, `DELETE FROM proof_nonce WHERE flight = $1 AND state = 'reserved'`, int64(id))
	}))
}

// held runs a statement that touches the one flight of a holder.
func (l *Ledger) held(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	n, err := l.exec(ctx, tx, query, args...)
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}

// Purge forgets the refusals that were given before an instant.
func (l *Ledger) Purge(ctx context.Context, before time.Time) error {
	return in("purge", l.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return l.insert(ctx, tx, `DELETE FROM proof_flight WHERE state = 'refused' AND ended_at < $1`, text(before))
	}))
}

// minerOf reads what row 8a and the rows after it ask about (intake.Miner).
func minerOf(ctx context.Context, tx *sql.Tx, s *intake.Submission, a AdmitOptions) (m intake.Miner, known *nonceRecord, err error) {
	m.Limited = a.Limited
	if key := nonceOf(s); key != "" {
		known, err = one(ctx, tx, readNonce, `SELECT body, state, flight, row_id FROM proof_nonce WHERE miner_hotkey = $1 AND nonce = $2`, s.Hotkey, key)
		if err != nil {
			return m, nil, err
		}
		if known != nil {
			m.Nonce = intake.NonceOtherBody
			if known.body == hex.EncodeToString(s.Body[:]) {
				m.Nonce = intake.NonceSameBody
			}
		}
	}
	var same, others, waiting int
	err = tx.QueryRowContext(ctx, `SELECT
		(SELECT COUNT(*) FROM proof_flight WHERE submission_digest = $1 AND state IN ('queued', 'running')),
		(SELECT COUNT(*) FROM proof_flight WHERE miner_hotkey = $2 AND submission_digest <> $1 AND state IN ('queued', 'running')),
		(SELECT COUNT(*) FROM proof_flight WHERE state = 'queued')`, s.Digest, s.Hotkey).Scan(&same, &others, &waiting)
	m.InFlight, m.Running, m.QueueFull = same > 0, others > 0, waiting >= a.QueueCap
	return m, known, err
}

// nonceRecord is what is known of a nonce of a hotkey.
type nonceRecord struct {
	body   string // hex of Submission.Body
	burned bool
	flight FlightID
	row    intake.ID // of a burned one
}

func readNonce(s scanner) (n nonceRecord, err error) {
	var state string
	var flight, row sql.NullInt64
	err = s.Scan(&n.body, &state, &flight, &row)
	n.burned, n.flight, n.row = state == "burned", FlightID(flight.Int64), intake.ID(row.Int64)
	return n, err
}

// nonceOf is the submit_nonce that is used up, "" of an unsigned submission.
func nonceOf(s *intake.Submission) string {
	if !s.Signed || s.Request.SubmitNonce == nil {
		return ""
	}
	return *s.Request.SubmitNonce
}

// insertFlight stores a flight and reserves its nonce. A refusal of an earlier
// attempt is forgotten.
func (l *Ledger) insertFlight(ctx context.Context, tx *sql.Tx, now time.Time, s *intake.Submission, a AdmitOptions) (id FlightID, err error) {
	epoch, err := asBigint("epoch", s.Epoch)
	if err != nil {
		return 0, err
	}
	version := int64(a.TopicVersion)
	if version == 0 {
		if version, err = newestVersion(ctx, tx, "proof_topic_version", s.TopicID); err != nil {
			return 0, err
		}
	}
	if err := l.forgetRefusal(ctx, tx, s.Digest); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO proof_flight (submission_digest, topic_id, topic_version, miner_hotkey, artifact_digest, nonce, epoch, content_type, body, serial, state, phase, holder, accepted_at, status, text)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'queued', '', '', $11, 0, '') RETURNING id`,
		s.Digest, s.TopicID, version, s.Hotkey, s.ArtifactDigest, nonceOf(s), epoch, storable(a.ContentType), notNil(a.Body), asInt(a.Serial), text(now)).Scan(&id)
	if err != nil {
		return 0, err
	}
	l.wrote()
	if nonceOf(s) == "" {
		return id, nil
	}
	return id, l.insert(ctx, tx, `INSERT INTO proof_nonce (miner_hotkey, nonce, body, state, flight) VALUES ($1, $2, $3, 'reserved', $4)`,
		s.Hotkey, nonceOf(s), hex.EncodeToString(s.Body[:]), int64(id))
}

func (l *Ledger) forgetRefusal(ctx context.Context, tx *sql.Tx, digest string) error {
	return l.insert(ctx, tx, `DELETE FROM proof_flight WHERE submission_digest = $1 AND state = 'refused'`, digest)
}

// burn uses up the nonce of a submission that got its row at once.
func (l *Ledger) burn(ctx context.Context, tx *sql.Tx, s *intake.Submission, row intake.ID) error {
	if nonceOf(s) == "" {
		return nil
	}
	return l.insert(ctx, tx, `INSERT INTO proof_nonce (miner_hotkey, nonce, body, state, row_id) VALUES ($1, $2, $3, 'burned', $4)`,
		s.Hotkey, nonceOf(s), hex.EncodeToString(s.Body[:]), int64(row))
}

// land ends a flight with its row: the nonce is burned, the flight is gone.
func (l *Ledger) land(ctx context.Context, tx *sql.Tx, c *Commit) error {
	f, err := one(ctx, tx, readFlightOnly, `SELECT `+flightColumns+` FROM proof_flight f WHERE f.id = $1 AND f.holder = $2 AND f.state = 'running'`, int64(c.Flight), c.Holder)
	if err != nil {
		return err
	}
	if f == nil {
		return ErrLost
	}
	if f.Digest != c.Row.SubmissionDigest || f.Epoch != c.Row.Epoch {
		return fmt.Errorf("flight %d is of another submission than row %s", f.ID, c.Row.ID)
	}
	if err := l.insert(ctx, tx, `UPDATE proof_nonce SET state = 'burned', row_id = $2 WHERE flight = $1 AND state = 'reserved'`, int64(f.ID), int64(c.Attempt.Row)); err != nil {
		return err
	}
	return l.insert(ctx, tx, `DELETE FROM proof_flight WHERE id = $1`, int64(f.ID))
}
