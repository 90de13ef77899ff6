package tlog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Names in a FileStore's folder.
const (
	entriesFile = "entries" // frames, see frame.go
	headFile    = "head"    // what was acknowledged, see head.go
	lockFile    = "lock"
)

// FileStore is a [Store] in a folder of its own. It holds the records in one file that only grows, and beside it a
// small file that says how much of it was acknowledged. Append returns after both have been synced to disk.
//
// After a crash the records file may be longer than what was acknowledged. What is whole there is kept, as if its
// acknowledgement had been lost on the way; a torn rest is cut off. Damage within the acknowledged part is never
// repaired: OpenFileStore refuses it with [ErrCorrupt]. One process at a time can hold the folder.
type FileStore struct {
	dir     string
	lock    *os.File
	entries *os.File
	dropped int64

	writing sync.Mutex   // held by Append and Close
	mu      sync.RWMutex // guards what follows
	offsets []int64      // where each record's frame starts
	end     int64        // where the next one goes
	head    head
	broken  error // set once the files are in a state that only opening them again can tell
	closed  bool
}

// OpenFileStore opens the log in dir, creating both when they do not exist. The error wraps [ErrCorrupt] when something
// acknowledged is missing or changed, and says where.
func OpenFileStore(dir string) (*FileStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("log store: %w", err)
	}
	// The folder itself may be new, and must not go with a power failure.
	if err := syncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("log store: %w", err)
	}
	lock, err := acquire(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("log store %s: %w", dir, err)
	}
	s := &FileStore{dir: dir, lock: lock}
	if err := s.load(); err != nil {
		if s.entries != nil {
			_ = s.entries.Close()
		}
		_ = lock.Close()
		return nil, fmt.Errorf("log store %s: %w", dir, err)
	}
	return s, nil
}

// Dropped returns how many bytes of a torn, never acknowledged record were cut off when the store was opened.
func (s *FileStore) Dropped() int64 { return s.dropped }

// Close releases the folder. Calls after it fail.
func (s *FileStore) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.broken = fmt.Errorf("log store %s: %w", s.dir, os.ErrClosed)
	return errors.Join(s.entries.Close(), s.lock.Close())
}

func (s *FileStore) load() error {
	h, found, err := readHead(filepath.Join(s.dir, headFile))
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir, entriesFile)
	if !found {
		// The head is written before the records file is created, so records without a head are not a new log.
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: there is a file %q but no %q; restore the folder from a copy", ErrCorrupt, entriesFile, headFile)
		}
		if err := writeHead(s.dir, h); err != nil {
			return err
		}
	}
	flags := os.O_RDWR
	if h.Records == 0 {
		flags |= os.O_CREATE
	}
	s.head = h
	s.entries, err = os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %d records were acknowledged but there is no file %q; restore it from a copy", ErrCorrupt, h.Records, entriesFile)
	}
	if err != nil {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		return err
	}
	if err := s.index(); err != nil {
		return err
	}
	return s.settle()
}

// index walks the records file, notes where each record starts, and finds where the whole ones end.
func (s *FileStore) index() error {
	r := bufio.NewReaderSize(s.entries, 1<<16)
	for {
		number := uint64(len(s.offsets))
		_, size, err := readFrame(r, number)
		acknowledged := s.end < s.head.Bytes
		switch {
		case err == nil && acknowledged && s.end+size > s.head.Bytes,
			err == nil && acknowledged != (number < s.head.Records):
			return fmt.Errorf("%w: %d records in %d bytes were acknowledged, but record %d is at bytes %d to %d of %q",
				ErrCorrupt, s.head.Records, s.head.Bytes, number, s.end, s.end+size, entriesFile)
		case err == nil:
			s.offsets = append(s.offsets, s.end)
			s.end += size
		case errors.Is(err, errNoFrame) && acknowledged:
			return fmt.Errorf("%w: record %d of %d acknowledged ones, at byte %d of %q: %w; restore the folder from a copy",
				ErrCorrupt, number, s.head.Records, s.end, entriesFile, err)
		case errors.Is(err, errNoFrame) && number < s.head.Records:
			return fmt.Errorf("%w: %d records were acknowledged, %q holds %d", ErrCorrupt, s.head.Records, entriesFile, number)
		case errors.Is(err, errNoFrame):
			return nil
		default:
			return err
		}
	}
}

// settle cuts off a torn record and makes whole ones durable that were never acknowledged: the process may have died
// between write and sync, and from now on they are served.
func (s *FileStore) settle() error {
	info, err := s.entries.Stat()
	if err != nil {
		return err
	}
	s.dropped = info.Size() - s.end
	if s.dropped == 0 && s.end == s.head.Bytes {
		return nil
	}
	if err := s.entries.Truncate(s.end); err != nil {
		return err
	}
	if err := s.entries.Sync(); err != nil {
		return err
	}
	h := head{Records: uint64(len(s.offsets)), Bytes: s.end, Checkpoint: s.head.Checkpoint}
	if err := writeHead(s.dir, h); err != nil {
		return err
	}
	s.head = h
	return nil
}

// State implements [Store].
func (s *FileStore) State(context.Context) (uint64, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(len(s.offsets)), s.head.Checkpoint, s.broken
}

// Scan implements [Store].
func (s *FileStore) Scan(ctx context.Context, first uint64, fn func(uint64, Record) error) error {
	s.mu.RLock()
	records, end, start, err := uint64(len(s.offsets)), s.end, int64(0), s.broken
	if first < records {
		start = s.offsets[first]
	}
	s.mu.RUnlock()
	if err != nil || first >= records {
		return err
	}
	r := bufio.NewReaderSize(io.NewSectionReader(s.entries, start, end-start), 1<<16)
	for n := first; n < records; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, _, err := readFrame(r, n)
		if err != nil {
			return fmt.Errorf("log store %s: record %d: %w: %w", s.dir, n, ErrCorrupt, err)
		}
		if err := fn(n, record); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [Store].
func (s *FileStore) Read(_ context.Context, number uint64) (Record, error) {
	s.mu.RLock()
	records, end, start, err := uint64(len(s.offsets)), s.end, int64(0), s.broken
	if number < records {
		start = s.offsets[number]
	}
	if number+1 < records {
		end = s.offsets[number+1]
	}
	s.mu.RUnlock()
	if err != nil {
		return Record{}, err
	}
	if number >= records {
		return Record{}, fmt.Errorf("log store %s: record %d of %d: %w", s.dir, number, records, ErrNotFound)
	}
	record, _, err := readFrame(io.NewSectionReader(s.entries, start, end-start), number)
	if err != nil {
		return Record{}, fmt.Errorf("log store %s: record %d: %w: %w", s.dir, number, ErrCorrupt, err)
	}
	return record, nil
}

// Append implements [Store].
func (s *FileStore) Append(_ context.Context, first uint64, records []Record, checkpoint string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	count, start, broken := uint64(len(s.offsets)), s.end, s.broken
	s.mu.RUnlock()
	if broken != nil {
		return broken
	}
	if first != count {
		return fmt.Errorf("log store %s: append at %d, it has %d records: %w", s.dir, first, count, ErrConflict)
	}
	var frames []byte
	offsets := make([]int64, len(records))
	for i, r := range records {
		offsets[i] = start + int64(len(frames))
		var err error
		if frames, err = appendFrame(frames, count+uint64(i), r); err != nil {
			return fmt.Errorf("log store %s: %w", s.dir, err)
		}
	}
	end := start + int64(len(frames))
	h := head{Records: count + uint64(len(records)), Bytes: end, Checkpoint: checkpoint}
	if err := s.write(frames, start, h); err != nil {
		return fmt.Errorf("log store %s: %w", s.dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offsets, s.end, s.head = append(s.offsets, offsets...), end, h
	return nil
}

// write puts frames at the end of the records file and then replaces the head, each synced. A write that fails, as on a
// full disk, is taken back. After a sync that fails nobody knows what is on the disk, and a second sync would not tell
// (the kernel reports such an error once), so the store stops until it is opened again.
func (s *FileStore) write(frames []byte, start int64, h head) error {
	if len(frames) > 0 {
		if _, err := s.entries.WriteAt(frames, start); err != nil {
			return s.takeBack(start, err)
		}
		if err := s.entries.Sync(); err != nil {
			return s.halt(err)
		}
	}
	switch err := writeHead(s.dir, h); {
	case err == nil:
		return nil
	case errors.Is(err, errHeadUncertain):
		return s.halt(err)
	default:
		return s.takeBack(start, err)
	}
}

func (s *FileStore) takeBack(end int64, cause error) error {
	if err := s.entries.Truncate(end); err != nil {
		return s.halt(errors.Join(cause, err))
	}
	return cause
}

func (s *FileStore) halt(cause error) error {
	err := fmt.Errorf("the log's files are in an unknown state, open the log again: %w", cause)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
	return err
}
