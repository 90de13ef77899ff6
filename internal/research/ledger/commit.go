package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// Commit is everything that a run leaves (decision 9).
type Commit struct {
	Row        *intake.StoredRow // its id was reserved
	Attempt    *intake.Attempt
	TreeDigest string // of the artefact's tree, "" when none is known

	Flight FlightID // 0: the submission had none
	Holder string   // of the flight

	Lease    *Lease    // under which the run was scored; nil: none was needed
	Crown    *Crown    // of a champion; nil: the row is none
	Artefact *Artefact // nil: the family leaves none
	Moves    []Move
}

// Crown is the claim of a row to be the best of its topic.
type Crown struct {
	Expected  *string // row id of the best it was decided against; nil: there was none
	Primary   float64
	Bar       *float64
	Direction family.Direction
}

// Commit stores a row and everything beside it in one transaction: row, attempt,
// artefact, promotion, moves; the nonce is burned and the flight ends. After an
// error nothing of it was written, but for [store.ErrUncertain]:
//
//   - [ErrLost]: the flight has another holder, or is no more
//   - [ErrLease]: the lease is not the newest of its topic
//   - [ErrLostSwap]: another row was crowned since, or the incumbent is as good;
//     commit the row again without a crown
//   - [ErrMoved]: a move starts from another state
//   - [ErrClosed]: the epoch is closed (possible without a flight only)
func (l *Ledger) Commit(ctx context.Context, c Commit) error {
	if err := c.check(); err != nil {
		return in("commit", err)
	}
	now := l.now()
	return in("commit of "+c.Row.ID, l.writeGrouped(ctx, func(ctx context.Context, tx *sql.Tx) error { return l.commit(ctx, tx, now, &c) }))
}

// check refuses parts that do not belong together.
func (c *Commit) check() error {
	if err := consistent(c.Row, c.Attempt); err != nil {
		return err
	}
	switch r := c.Row; {
	case champion(r) != (c.Crown != nil):
		return fmt.Errorf("row %s says %s, and it is %t that it comes with a crown", r.ID, r.State, c.Crown != nil)
	case c.Artefact != nil && c.Artefact.Promoted != (c.Crown != nil):
		return fmt.Errorf("the artefact of row %s says promoted: %t, and it is %t that it comes with a crown", r.ID, c.Artefact.Promoted, c.Crown != nil)
	case c.Lease != nil && c.Lease.TopicID != r.TopicID:
		return fmt.Errorf("row %s is of the topic %s, the lease of %s", r.ID, r.TopicID, c.Lease.TopicID)
	case c.Crown == nil:
		return nil
	case c.Attempt.Primary == nil || *c.Attempt.Primary != c.Crown.Primary:
		return errors.New("the crown is not for the primary of the row")
	case c.Crown.Direction != family.Min && c.Crown.Direction != family.Max:
		return fmt.Errorf("the direction %q of the crown is neither min nor max", c.Crown.Direction)
	}
	return finite("bar", c.Crown.Bar)
}

// commit checks everything that may refuse first. One writer runs at a time, so
// nothing changes between a check and the writes.
func (l *Ledger) commit(ctx context.Context, tx *sql.Tx, now time.Time, c *Commit) error {
	if c.Lease != nil {
		if err := fenced(ctx, tx, c.Lease); err != nil {
			return err
		}
	}
	if err := unclosed(ctx, tx, c.Row.Epoch); err != nil {
		return err
	}
	if c.Flight != 0 {
		if err := l.land(ctx, tx, c); err != nil {
			return err
		}
	}
	if err := l.insertRow(ctx, tx, now, c.Row, c.Attempt, c.TreeDigest); err != nil {
		return err
	}
	if c.Artefact != nil {
		if err := l.insertArtefact(ctx, tx, now, c.Row, c.Artefact); err != nil {
			return err
		}
	}
	if c.Crown != nil {
		if err := l.crown(ctx, tx, now, c); err != nil {
			return err
		}
	}
	return l.apply(ctx, tx, now, c.Moves)
}

// crown is the compare-and-swap on the newest promotion.
func (l *Ledger) crown(ctx context.Context, tx *sql.Tx, now time.Time, c *Commit) error {
	best, err := bestOf(ctx, tx, c.Row.TopicID)
	if err != nil {
		return err
	}
	p := &Promotion{
		TopicID: c.Row.TopicID, SubmissionID: c.Row.ID, SubmissionDigest: c.Row.SubmissionDigest,
		Primary: c.Crown.Primary, Bar: c.Crown.Bar, Epoch: c.Row.Epoch,
	}
	switch expected := c.Crown.Expected; {
	case best == nil && expected == nil:
	case best == nil:
		return fmt.Errorf("%w: %s, and there is none", ErrLostSwap, *expected)
	case expected == nil || *expected != best.SubmissionID:
		return fmt.Errorf("%w: the best is %s", ErrLostSwap, best.SubmissionID)
	case !c.Crown.Direction.Better(c.Crown.Primary, best.Primary):
		return fmt.Errorf("%w: %v does not beat %v of %s", ErrLostSwap, c.Crown.Primary, best.Primary, best.SubmissionID)
	default:
		p.PreviousBest = &best.SubmissionID
	}
	return l.insertPromotion(ctx, tx, now, p)
}
