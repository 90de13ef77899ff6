package payout

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Epochs says which epoch an instant belongs to (decision 3): a fixed one, or
// equal lengths from a genesis on. The zero Epochs is the fixed epoch 0 of the
// specification's era.
type Epochs struct {
	genesis time.Time
	length  int64 // seconds; 0 means fixed
	fixed   uint64
}

// FixedEpoch is PROOF_EPOCH: every instant belongs to epoch n.
func FixedEpoch(n uint64) Epochs { return Epochs{fixed: n} }

// EpochsFrom is PROOF_EPOCH_GENESIS and PROOF_EPOCH_LENGTH_S: epoch 0 starts at
// genesis and each epoch lasts lengthSeconds.
func EpochsFrom(genesis time.Time, lengthSeconds int64) (Epochs, error) {
	if lengthSeconds <= 0 {
		return Epochs{}, fmt.Errorf("epoch length of %d s; it must be at least 1 s", lengthSeconds)
	}
	return Epochs{genesis: genesis.UTC(), length: lengthSeconds}, nil
}

// ErrBeforeGenesis is returned for an instant that belongs to no epoch.
var ErrBeforeGenesis = errors.New("before the genesis of epochs")

// At returns the epoch of an instant. An epoch includes its first instant and
// excludes its last, which is the first of the next one.
func (e Epochs) At(t time.Time) (uint64, error) {
	if e.length == 0 {
		return e.fixed, nil
	}
	if t.Before(e.genesis) {
		return 0, fmt.Errorf("%s is %w at %s", t.UTC().Format(time.RFC3339), ErrBeforeGenesis, e.genesis.Format(time.RFC3339))
	}
	// Seconds, because time.Duration ends after 292 years.
	seconds := t.Unix() - e.genesis.Unix()
	if t.Nanosecond() < e.genesis.Nanosecond() {
		seconds--
	}
	return uint64(seconds / e.length), nil
}

// Bounds returns the first instant of epoch n and that of the next one, and
// false when the epoch is fixed or is beyond the range of instants.
func (e Epochs) Bounds(n uint64) (from, until time.Time, ok bool) {
	const last = math.MaxInt64 / 4 // seconds, far beyond any calendar
	if e.length == 0 || n >= uint64(last/e.length) {
		return time.Time{}, time.Time{}, false
	}
	start := int64(n) * e.length
	at := func(s int64) time.Time {
		return time.Unix(e.genesis.Unix()+s, int64(e.genesis.Nanosecond())).UTC()
	}
	return at(start), at(start + e.length), true
}

// Window is the opening window of a topic, both ends inclusive (R§5.9).
type Window struct {
	From  uint64
	Until *uint64 // nil: no end
}

// Contains reports whether the window is open in the epoch.
func (w Window) Contains(epoch uint64) bool {
	return w.From <= epoch && (w.Until == nil || epoch <= *w.Until)
}
