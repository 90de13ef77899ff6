package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Bounds of the group commit: how many callers may wait, how many share one
// commit, and how long the first of them may wait for the last to run.
const (
	queueLength = 1024
	batchLength = 512
	batchTime   = 20 * time.Millisecond
)

// States of a job. Only a waiting job can be withdrawn by its caller.
const (
	jobWaiting int32 = iota
	jobTaken
	jobWithdrawn
)

type job struct {
	fn    func(*sql.Tx) error
	state atomic.Int32
	done  chan error // One slot: the worker never waits for a caller.
}

// Batch runs fn as Tx does and promises the same: it returns nil only after a
// durable commit that holds fn's writes, and after an error nothing of fn is
// left. But many callers share one transaction and one fsync, each fn in its own
// savepoint, so that one that fails undoes only itself.
//
// While fn waits for its turn the end of ctx withdraws it; once it runs Batch
// waits for the outcome, whatever becomes of ctx. The queue is bounded: when it
// is full Batch waits for a place as long as ctx lives.
//
// fn runs on another goroutine and, if the shared transaction is lost before
// its commit (another member's connection fault, a disk that is full), once more
// from its start: assign to captured variables, do not append to them. Statements
// inside fn should not carry a context that a client can cancel; a cancelled
// statement costs the others a second run. fn must not call Tx or Batch.
func (d *DB) Batch(ctx context.Context, fn func(*sql.Tx) error) error {
	j := &job{fn: fn, done: make(chan error, 1)}
	select {
	case <-d.stop:
		return ErrClosed
	default:
	}
	select {
	case d.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobWaiting, jobWithdrawn) {
			return ctx.Err()
		}
	case <-d.done:
		// The worker is gone; what it took it has answered.
		if j.state.CompareAndSwap(jobWaiting, jobWithdrawn) {
			return ErrClosed
		}
	}
	return <-j.done
}

// work is the only goroutine that runs batches. It ends after Close, when the
// queue is empty.
func (d *DB) work() {
	defer close(d.done)
	for {
		select {
		case j := <-d.queue:
			d.runBatch(j)
			continue
		default:
		}
		select {
		case j := <-d.queue:
			d.runBatch(j)
		case <-d.stop:
			if len(d.queue) == 0 {
				return
			}
		}
	}
}

// runBatch runs first and whatever waits behind it in one transaction.
func (d *DB) runBatch(first *job) {
	if !first.state.CompareAndSwap(jobWaiting, jobTaken) {
		return
	}
	began := time.Now()
	t, err := d.begin(context.Background())
	if err != nil {
		// The database is away: whoever waits behind would wait in vain too.
		for j := first; j != nil; j = d.next() {
			j.done <- err
		}
		return
	}
	var members []*job
	for j := first; j != nil; j = d.next() {
		failure, lost := runMember(t, j.fn)
		if lost != nil {
			t.rollback()
			j.done <- errors.Join(failure, lost)
			d.again(members)
			return
		}
		if failure != nil {
			j.done <- failure
		} else {
			members = append(members, j)
		}
		if len(members) == batchLength || time.Since(began) > batchTime {
			break
		}
	}
	if len(members) == 0 {
		t.rollback()
		return
	}
	err = t.commit()
	if err != nil && !errors.Is(err, ErrUncertain) && len(members) > 1 {
		// Refused as a whole, perhaps for one member's deferred constraint.
		d.again(members)
		return
	}
	for _, j := range members {
		j.done <- err
	}
}

// next takes the next job that its caller has not withdrawn, without waiting.
func (d *DB) next() *job {
	for {
		select {
		case j := <-d.queue:
			if j.state.CompareAndSwap(jobWaiting, jobTaken) {
				return j
			}
		default:
			return nil
		}
	}
}

// again runs members of a lost transaction alone, each in its own.
func (d *DB) again(members []*job) {
	for _, j := range members {
		t, err := d.begin(context.Background())
		if err != nil {
			j.done <- err
			continue
		}
		if err := call(j.fn, t.tx); err != nil {
			t.rollback()
			j.done <- err
			continue
		}
		j.done <- t.commit()
	}
}

// runMember runs fn in a savepoint. failure is fn's own error, undone by the
// savepoint; lost means that the whole transaction can no longer be relied on.
func runMember(t *transaction, fn func(*sql.Tx) error) (failure, lost error) {
	if err := t.run("SAVEPOINT member"); err != nil {
		return nil, fmt.Errorf("store: no savepoint: %w", err)
	}
	failure = call(fn, t.tx)
	if failure != nil {
		if err := t.run("ROLLBACK TO SAVEPOINT member"); err != nil {
			return failure, fmt.Errorf("store: the transaction was lost: %w", err)
		}
	}
	if err := t.run("RELEASE SAVEPOINT member"); err != nil {
		return failure, fmt.Errorf("store: the transaction was lost: %w", err)
	}
	return failure, nil
}

// run executes a savepoint command. Nobody's context ends it: the members
// beside it depend on it.
func (t *transaction) run(command string) error {
	_, err := t.tx.ExecContext(context.Background(), command)
	return err
}
