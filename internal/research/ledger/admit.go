package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
)

var errNoHolder = errors.New("a holder has a name")

// AdmitOptions is what an admission needs beside the submission.
type AdmitOptions struct {
	ContentType string
	Body        []byte // as it was sent; a run is decided again over it
	QueueCap    int    // flights that may wait
	Limited     bool   // this hotkey sent too much
	Serial      bool   // the run must be alone on its topic
	// TopicVersion is the version of the document that was frozen; 0 stands for the
	// newest one in the store.
	TopicVersion uint32
}

// Admission is what became of a submission.
type Admission struct {
	Miner   intake.Miner    // what the store knew
	Outcome *intake.Outcome // nil when it was refused
	Refusal *intake.Refusal // of the gate
	// Flight of a run; of a rejoin, the flight of its first copy while that is under
	// way.
	Flight FlightID
	// Row of a reject; of a rejoin, the row of its first copy once that has one.
	Row *intake.StoredRow
}

// Admit asks what is known of the miner of a frozen submission, has decide walk the
// rest of the gate over it, and records what it decided, all in one write
// transaction, so that no two submissions see the same free place. A refusal and a
// rejoin write nothing. A run becomes a flight with its nonce reserved; a reject
// becomes a row with its nonce burned.
//
// decide must be pure and quick: other writers wait for it, and it may run twice.
// [ErrClosed] when the epoch of the submission, or a later one, was closed
// meanwhile: freeze it again.
func (l *Ledger) Admit(ctx context.Context, s *intake.Submission, a AdmitOptions, decide func(intake.Miner) (*intake.Outcome, *intake.Refusal)) (*Admission, error) {
	now := l.now()
	var done *Admission
	err := l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done = &Admission{} // anew when the transaction runs twice
		miner, nonce, err := minerOf(ctx, tx, s, a)
		if err != nil {
			return err
		}
		done.Miner = miner
		done.Outcome, done.Refusal = decide(miner)
		if (done.Outcome == nil) == (done.Refusal == nil) {
			return errors.New("the gate decides either a refusal or an outcome")
		}
		if done.Outcome == nil {
			return nil
		}
		switch done.Outcome.Kind {
		case intake.Rejoin:
			return l.rejoin(ctx, tx, nonce, done)
		case intake.Run:
			if err := unclosed(ctx, tx, s.Epoch); err != nil {
				return err
			}
			done.Flight, err = l.insertFlight(ctx, tx, now, s, a)
			return err
		case intake.Reject:
			done.Row, err = l.reject(ctx, tx, now, s, done.Outcome)
			return err
		}
		return fmt.Errorf("the gate ended with %q, which the ledger does not know", done.Outcome.Kind)
	})
	if err != nil {
		return nil, in("admission", err)
	}
	return done, nil
}

// reject stores the row of a submission that does not run.
func (l *Ledger) reject(ctx context.Context, tx *sql.Tx, now time.Time, s *intake.Submission, o *intake.Outcome) (*intake.StoredRow, error) {
	if err := unclosed(ctx, tx, s.Epoch); err != nil {
		return nil, err
	}
	id, err := l.reserve(ctx, tx, now)
	if err != nil {
		return nil, err
	}
	row, attempt, err := o.Persist(id, o.PreEvalReject())
	if err != nil {
		return nil, err
	}
	if err := l.insertRow(ctx, tx, now, row, attempt, ""); err != nil {
		return nil, err
	}
	if err := l.forgetRefusal(ctx, tx, s.Digest); err != nil {
		return nil, err
	}
	return row, l.burn(ctx, tx, s, id)
}

// rejoin finds what the first copy of a submission has become.
func (l *Ledger) rejoin(ctx context.Context, tx *sql.Tx, nonce *nonceRecord, done *Admission) error {
	if nonce == nil {
		return errors.New("the gate rejoined a submission whose nonce is free")
	}
	if !nonce.burned {
		done.Flight = nonce.flight
		return nil
	}
	row, err := one(ctx, tx, readRow, `SELECT document FROM proof_submission WHERE id = $1`, int64(nonce.row))
	if row != nil {
		done.Row = *row
	}
	return err
}
