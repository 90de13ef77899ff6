package tlog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prova-dev/prova/evidence/merkle"
)

// add makes an entry durable and returns its leaf hash, and whether it was new.
func (e *Embedded) add(ctx context.Context, h *hashedRekord) (leaf [32]byte, created bool, err error) {
	body, err := h.body()
	if err != nil {
		return leaf, false, err
	}
	leaf = merkle.LeafHash(body)
	s, created, err := e.enqueue(leaf, body)
	if s == nil {
		return leaf, false, err
	}
	// Whoever gets the turn stores all that wait, so most of those that wait find themselves done. The store gets a
	// context of its own, because the others' entries must not fail when this caller goes away.
	for {
		select {
		case <-s.done:
			return leaf, created, s.err
		case e.turn <- struct{}{}:
			e.commit(context.WithoutCancel(ctx))
			<-e.turn
		case <-ctx.Done():
			return leaf, false, context.Cause(ctx)
		}
	}
}

// enqueue returns the submission to wait for: a new one, or that of an equal entry on its way. It returns none when the
// log has the entry already.
func (e *Embedded) enqueue(leaf [32]byte, body []byte) (s *submission, created bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.byLeaf[leaf]; known {
		return nil, false, nil
	}
	if s, ok := e.waiting[leaf]; ok {
		return s, false, nil
	}
	if len(e.queue) >= maxQueue {
		return nil, false, errBusy
	}
	s = &submission{leaf: leaf, body: body, done: make(chan struct{})}
	e.queue = append(e.queue, s)
	e.waiting[leaf] = s
	return s, true, nil
}

// commit stores everything that waits. The caller has the turn.
func (e *Embedded) commit(ctx context.Context) {
	e.mu.Lock()
	batch := e.queue
	e.queue = nil
	e.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	err := e.write(ctx, batch)
	if errors.Is(err, ErrConflict) {
		err = e.write(ctx, batch)
	}
	if err != nil && e.stale {
		// A write whose outcome was lost may have been done: what the store has is logged, whatever it answered.
		err = errors.Join(err, e.load(ctx))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastErr = err
	for _, s := range batch {
		if _, logged := e.byLeaf[s.leaf]; !logged {
			s.err = err
		}
		delete(e.waiting, s.leaf)
		close(s.done)
	}
}

// write appends those of batch that the log does not have.
func (e *Embedded) write(ctx context.Context, batch []*submission) error {
	if e.stale {
		if err := e.load(ctx); err != nil {
			return err
		}
	}
	now := e.clock().Unix()
	e.mu.Lock()
	base := e.size
	var records []Record
	for _, s := range batch {
		if _, known := e.byLeaf[s.leaf]; !known {
			records = append(records, Record{Body: s.body, IntegratedTime: now})
			e.tree.add(s.leaf)
		}
	}
	size := e.tree.size()
	root := e.tree.root(size)
	e.mu.Unlock()

	checkpoint, err := signCheckpoint(e.key, e.name, e.origin, size, root)
	if err == nil && size > base {
		err = e.store.Append(ctx, base, records, checkpoint)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.tree.truncate(base)
		e.stale = true
		return err
	}
	for i, leaf := range e.tree.levels[0][base:size] {
		e.byLeaf[leaf] = base + uint64(i)
	}
	e.size, e.root, e.checkpoint = size, root, checkpoint
	return nil
}

var errEnough = errors.New("enough records read")

// load takes in what the store holds beyond what is known here, checks it against the last checkpoint saved, and saves
// one for the whole tree if that was of a part.
func (e *Embedded) load(ctx context.Context) error {
	records, saved, err := e.store.State(ctx)
	if err != nil {
		return err
	}
	last, err := e.readSaved(saved, records)
	if err != nil {
		return err
	}
	if records < e.size {
		return fmt.Errorf("%w: the store has %d records, it had %d", ErrCorrupt, records, e.size)
	}
	leaves := make([][32]byte, 0, records-e.size)
	err = e.store.Scan(ctx, e.size, func(number uint64, r Record) error {
		if number >= records {
			return errEnough // appended since by somebody else; the next load takes it in
		}
		leaves = append(leaves, merkle.LeafHash(r.Body))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if uint64(len(leaves)) != records-e.size {
		return fmt.Errorf("%w: the store has %d records but returned %d of them", ErrCorrupt, records, e.size+uint64(len(leaves)))
	}
	return e.extend(ctx, leaves, last)
}

// extend adds stored leaves to the tree, provided that the result is what the saved checkpoint says.
func (e *Embedded) extend(ctx context.Context, leaves [][32]byte, last *Checkpoint) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	base := e.size
	for _, leaf := range leaves {
		e.tree.add(leaf)
	}
	size := e.tree.size()
	if last != nil {
		if root := e.tree.root(last.Size); root != last.Root {
			e.tree.truncate(base)
			return fmt.Errorf("%w: the first %d records have the root %x, the log signed %x", ErrCorrupt, last.Size, root, last.Root)
		}
	}
	root := e.tree.root(size)
	checkpoint, err := signCheckpoint(e.key, e.name, e.origin, size, root)
	if err == nil && (last == nil || last.Size < size) {
		err = e.store.Append(ctx, size, nil, checkpoint)
	}
	if err != nil {
		e.tree.truncate(base)
		return err
	}
	for i, leaf := range leaves {
		if _, known := e.byLeaf[leaf]; !known {
			e.byLeaf[leaf] = base + uint64(i)
		}
	}
	e.size, e.root, e.checkpoint, e.stale = size, root, checkpoint, false
	return nil
}

// readSaved checks the store's checkpoint: it is this log's, and not of more records than there are.
func (e *Embedded) readSaved(saved string, records uint64) (*Checkpoint, error) {
	if saved == "" {
		if records > 0 {
			return nil, fmt.Errorf("%w: %d records and no checkpoint", ErrCorrupt, records)
		}
		return nil, nil
	}
	c, err := ParseCheckpoint(saved)
	if err != nil {
		return nil, fmt.Errorf("%w: saved %w", ErrCorrupt, err)
	}
	if c.Origin != e.origin {
		return nil, fmt.Errorf("the store is of the log %q, not of %q: open it with its name and tree id", c.Origin, e.origin)
	}
	hint, err := keySum(&e.key.PublicKey)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Signatures, func(s NoteSignature) bool { return s.Hint == [hintSize]byte(hint[:hintSize]) }) {
		return nil, fmt.Errorf("the store was signed with another key (hint %x, this one has %x): open it with its key", c.Signatures[0].Hint, hint[:hintSize])
	}
	if err := c.SignedBy(&e.key.PublicKey); err != nil {
		return nil, fmt.Errorf("%w: saved %w", ErrCorrupt, err)
	}
	if c.Size > records {
		return nil, fmt.Errorf("%w: the log signed a tree of %d records, %d are left", ErrCorrupt, c.Size, records)
	}
	return c, nil
}
