package issuer

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/merkle"
)

// Reasons why a batch was closed (T§8, and the season's end).
const (
	ReasonSize      = "size"
	ReasonAge       = "age"
	ReasonAdmin     = "admin"
	ReasonSeasonEnd = "season_end"
)

// Batch is a closed batch as others may see it.
type Batch struct {
	ID, Reason         string
	OpenedAt, ClosedAt string
	Size               int64
	Root               string // bare hex
	// Anchored means that every witness was obtained and verified.
	Anchored            bool
	Provider, TokenTime string
	LogUUID             string
	Attempts            int64
	LastError           string
}

func (b *batchRow) public() Batch {
	return Batch{
		ID: b.ID, Reason: b.Reason, OpenedAt: b.OpenedAt, ClosedAt: b.ClosedAt, Size: b.Size, Root: b.Root,
		Anchored: b.State == stateAnchored, Provider: b.Provider, TokenTime: b.TokenTime, LogUUID: b.UUID,
		Attempts: b.Attempts, LastError: b.LastError,
	}
}

// CloseBatch closes whatever is pending, in batches of at most BatchSize, and
// tries at once to anchor every batch that still waits for a witness. It returns
// the batches it closed. A witness that fails is no error of CloseBatch: the
// batch stays closing and is tried again until every witness holds.
func (s *Service) CloseBatch(ctx context.Context, reason string) ([]Batch, error) {
	fixed, err := s.closeAll(ctx, closeRule{reason: reason, size: s.cfg.BatchSize})
	if err != nil {
		return nil, err
	}
	if err := s.anchorDue(ctx, s.now().Add(s.cfg.RetryMax)); err != nil {
		return nil, err
	}
	out := make([]Batch, len(fixed))
	for i, b := range fixed {
		row, err := s.store.batch(ctx, b.ID)
		if err != nil {
			return nil, fmt.Errorf("issuer: read batch %s: %w", b.ID, err)
		}
		out[i] = row.public()
	}
	return out, nil
}

// closeAll fixes batches until the rule asks for no more.
func (s *Service) closeAll(ctx context.Context, rule closeRule) ([]*batchRow, error) {
	var out []*batchRow
	for rule.most == 0 || len(out) < rule.most {
		b, err := s.store.fix(ctx, rule, s.buildBatch)
		if err != nil {
			return out, fmt.Errorf("issuer: close a batch: %w", err)
		}
		if b == nil {
			return out, nil
		}
		s.deps.Logger.Info("batch closed", "batch", b.ID, "reason", b.Reason, "size", b.Size)
		out = append(out, b)
		signal(s.anchor)
	}
	return out, nil
}

// buildBatch computes what a batch fixes: its leaves in queue order and root.
func (s *Service) buildBatch(chains []string, opened time.Time) (*batchRow, error) {
	leaves, err := leafHashes(chains)
	if err != nil {
		return nil, err
	}
	root, err := merkle.Root(leaves)
	if err != nil {
		return nil, fmt.Errorf("issuer: batch root: %w", err)
	}
	return &batchRow{
		OpenedAt: isoFormat(opened), ClosedAt: isoFormat(s.now()),
		Size: int64(len(chains)), Root: hex.EncodeToString(root[:]), Leaves: strings.Join(chains, ""),
		State: stateClosing,
	}, nil
}

// closeFull closes full batches only. It asks a reader first: the writer is busy
// with proofs.
func (s *Service) closeFull(ctx context.Context) error {
	for {
		s.queued.Store(0)
		p, err := s.store.pending(ctx)
		if err != nil {
			return fmt.Errorf("issuer: count pending proofs: %w", err)
		}
		if p.Count < int64(s.cfg.BatchSize) {
			// Proofs of the meantime may count twice: the loop then looks once in vain.
			s.queued.Add(p.Count)
			return nil
		}
		rule := closeRule{reason: ReasonSize, size: s.cfg.BatchSize, full: true, most: int(p.Count) / s.cfg.BatchSize}
		if _, err := s.closeAll(ctx, rule); err != nil {
			return err
		}
	}
}

// closeDue closes what is full, what is old, and what a forced close asks for.
func (s *Service) closeDue(ctx context.Context) error {
	if err := s.closeFull(ctx); err != nil {
		return err
	}
	now := s.now()
	for _, at := range s.cfg.ForcedCloses {
		if at.After(now) {
			continue
		}
		// Whatever was queued before that instant goes, once: a season's proofs must
		// not wait for a batch to grow old, even if the process was down then.
		rule := closeRule{reason: ReasonSeasonEnd, size: s.cfg.BatchSize, limited: true, before: at}
		if _, err := s.closeAll(ctx, rule); err != nil {
			return err
		}
	}
	old := closeRule{reason: ReasonAge, size: s.cfg.BatchSize, limited: true, before: now.Add(time.Microsecond - s.cfg.BatchAge)}
	_, err := s.closeAll(ctx, old)
	return err
}

// nextForced returns the time until the next forced close, or a tick.
func (s *Service) nextForced() time.Duration {
	wait, now := s.cfg.Tick, s.now()
	for _, at := range s.cfg.ForcedCloses {
		if d := at.Sub(now); d > 0 && d < wait {
			wait = d
		}
	}
	return wait
}

// PendingState is what has been issued and is not anchored yet.
type PendingState struct {
	// Proofs wait in the pending batch, the oldest since Oldest.
	Proofs int64
	Oldest time.Time
	// Closing batches wait for a witness.
	Closing []Batch
}

const maxListedBatches = 100

// Pending returns what is not anchored yet; at most 100 closing batches are
// listed, oldest first.
func (s *Service) Pending(ctx context.Context) (PendingState, error) {
	p, err := s.store.pending(ctx)
	if err != nil {
		return PendingState{}, fmt.Errorf("issuer: count pending proofs: %w", err)
	}
	rows, err := s.store.closing(ctx, s.now().AddDate(100, 0, 0), maxListedBatches)
	if err != nil {
		return PendingState{}, fmt.Errorf("issuer: list closing batches: %w", err)
	}
	out := PendingState{Proofs: p.Count, Oldest: p.Oldest, Closing: []Batch{}}
	for _, b := range rows {
		out.Closing = append(out.Closing, b.public())
	}
	return out, nil
}
