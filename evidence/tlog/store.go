package tlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Record is what a log keeps of one entry. Everything else that a reader gets follows from it, the log's key and the
// other records.
type Record struct {
	// Body is the entry as hashed into the tree.
	Body []byte
	// IntegratedTime is when the log took it, in Unix seconds.
	IntegratedTime int64
}

// Store keeps the records of one [Embedded] log and its last checkpoint. An implementation over a database needs one
// table of records by number, one row for the checkpoint, and one transaction in Append.
//
// Methods may be called at once from several goroutines; [Embedded] never runs two Appends at a time. Nothing is ever
// changed or removed.
type Store interface {
	// State returns how many records are durable and the last checkpoint saved, "" when none was.
	State(ctx context.Context) (records uint64, checkpoint string, err error)

	// Scan calls fn for each record from number first on, in order, until fn fails or the last durable one.
	Scan(ctx context.Context, first uint64, fn func(number uint64, r Record) error) error

	// Read returns one record. The error wraps ErrNotFound when there is none of that number.
	Read(ctx context.Context, number uint64) (Record, error)

	// Append adds records under the numbers first, first+1, … and replaces the checkpoint. When it returns nil, both
	// have reached stable storage. When it fails, or the machine does, the old checkpoint must still be there, and
	// records of this call may be there from its first one on (State tells). It fails without a change and wraps
	// ErrConflict when first is not the number of records, because somebody else has appended. No records at all is
	// valid: that saves a checkpoint.
	Append(ctx context.Context, first uint64, records []Record, checkpoint string) error
}

var (
	// ErrNotFound says that a log has no such entry, or a store no such record.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that a store holds another number of records than the writer thought.
	ErrConflict = errors.New("another writer has appended to the log's store")
	// ErrCorrupt says that what a store holds is not what was written to it, or not what the log signed.
	ErrCorrupt = errors.New("the log's stored data are damaged")
)

// MemoryStore is a [Store] that forgets everything when the process ends, for tests and trials. The zero value is an
// empty store.
type MemoryStore struct {
	mu         sync.RWMutex
	records    []Record
	checkpoint string
}

// State implements [Store].
func (s *MemoryStore) State(context.Context) (uint64, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(len(s.records)), s.checkpoint, nil
}

// Scan implements [Store].
func (s *MemoryStore) Scan(ctx context.Context, first uint64, fn func(uint64, Record) error) error {
	s.mu.RLock()
	records := s.records
	s.mu.RUnlock()
	for n := first; n < uint64(len(records)); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(n, records[n]); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [Store].
func (s *MemoryStore) Read(_ context.Context, number uint64) (Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if number >= uint64(len(s.records)) {
		return Record{}, fmt.Errorf("log record %d of %d: %w", number, len(s.records), ErrNotFound)
	}
	return s.records[number], nil
}

// Append implements [Store], but for durability.
func (s *MemoryStore) Append(_ context.Context, first uint64, records []Record, checkpoint string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first != uint64(len(s.records)) {
		return fmt.Errorf("append at %d, the store has %d records: %w", first, len(s.records), ErrConflict)
	}
	for _, r := range records {
		s.records = append(s.records, Record{Body: slices.Clone(r.Body), IntegratedTime: r.IntegratedTime})
	}
	s.checkpoint = checkpoint
	return nil
}
