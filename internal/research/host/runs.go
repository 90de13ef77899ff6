package host

import (
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
)

// ending is what a flight came to: a row or a refusal.
type ending struct {
	flight  ledger.FlightID
	row     *intake.StoredRow
	refusal *intake.Refusal
}

// runs is what this process knows of the flights in the ledger and the ledger does
// not: the outcomes that were decided here, and who waits. Everything in it can be
// lost; the ledger then tells the same, a little later.
type runs struct {
	wake chan struct{} // something may be to be claimed
	stop chan struct{} // closed when the host stops

	mu      sync.Mutex
	flying  map[ledger.FlightID]bool            // runs of this process
	decided map[string]decision                 // by submission digest, until a worker claims it
	waiting map[string]map[chan ending]struct{} // by submission digest
}

type decision struct {
	outcome *intake.Outcome
	at      time.Time
}

func newRuns() *runs {
	return &runs{
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
		flying: make(map[ledger.FlightID]bool), decided: make(map[string]decision), waiting: make(map[string]map[chan ending]struct{}),
	}
}

// knock tells one worker to look.
func (r *runs) knock() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// board tells whether a claimed flight is to be run. When the clock jumps, a run of
// this very process looks as if its worker had gone; it goes on, claimed anew.
func (r *runs) board(id ledger.FlightID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.flying[id] {
		return false
	}
	r.flying[id] = true
	return true
}

func (r *runs) alight(id ledger.FlightID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.flying, id)
}

// keep holds an outcome for the worker that will claim its flight, so that it runs
// under the offers that were frozen. There is one flight of a digest at a time.
func (r *runs) keep(o *intake.Outcome, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided[o.Submission.Digest] = decision{o, at}
}

// drop forgets an outcome whose flight was not stored.
func (r *runs) drop(o *intake.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o != nil && r.decided[o.Submission.Digest].outcome == o {
		delete(r.decided, o.Submission.Digest)
	}
}

// claim returns the outcome of a flight that was decided here, once, or nil.
func (r *runs) claim(f *ledger.Flight) *intake.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.decided[f.Digest]
	delete(r.decided, f.Digest)
	if !ok || d.outcome.Submission.Epoch != f.Epoch {
		return nil
	}
	return d.outcome
}

// sweep forgets the outcomes that are older than an instant and whose flight is
// not queued: another process has them.
func (r *runs) sweep(queued map[string]bool, before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for digest, d := range r.decided {
		if !queued[digest] && d.at.Before(before) {
			delete(r.decided, digest)
		}
	}
}

// join returns where the endings of flights of a digest arrive. A slow reader
// misses some, and has the ledger.
func (r *runs) join(digest string) chan ending {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch := make(chan ending, 4)
	if r.waiting[digest] == nil {
		r.waiting[digest] = make(map[chan ending]struct{})
	}
	r.waiting[digest][ch] = struct{}{}
	return ch
}

func (r *runs) leave(digest string, ch chan ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting[digest], ch)
	if len(r.waiting[digest]) == 0 {
		delete(r.waiting, digest)
	}
}

// tell hands an ending to everybody who waits for its digest.
func (r *runs) tell(digest string, e ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ch := range r.waiting[digest] {
		select {
		case ch <- e:
		default:
		}
	}
}
