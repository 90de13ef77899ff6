package issuer

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

const (
	anchorWorkers = 4
	anchorRound   = 64
	housekeeping  = time.Second
)

// Run closes and anchors batches, writes counters and forgets old answers until
// ctx ends. What a kill interrupts the next Run takes up: every step of a closing
// batch is durable by itself, and each is safe to repeat.
func (s *Service) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.closeLoop(ctx); return nil })
	g.Go(func() error { s.anchorLoop(ctx); return nil })
	g.Go(func() error { s.keepHouse(ctx); return nil })
	return g.Wait()
}

func (s *Service) closeLoop(ctx context.Context) {
	s.note(ctx, "close batches", s.closeDue(ctx))
	timer := time.NewTimer(s.nextForced())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			s.note(ctx, "close full batches", s.closeFull(ctx))
		case <-timer.C:
			s.note(ctx, "close batches", s.closeDue(ctx))
			timer.Reset(s.nextForced())
		}
	}
}

func (s *Service) anchorLoop(ctx context.Context) {
	// What an earlier process left is tried at once, whatever its pause was.
	s.note(ctx, "anchor batches", s.anchorDue(ctx, s.now().Add(s.cfg.RetryMax)))
	tick := time.NewTicker(max(s.cfg.RetryMin/2, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.anchor:
		case <-tick.C:
		}
		s.note(ctx, "anchor batches", s.anchorDue(ctx, s.now()))
	}
}

func (s *Service) keepHouse(ctx context.Context) {
	tick := time.NewTicker(housekeeping)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.note(ctx, "write usage counters", s.meter.flush(ctx))
		if n%60 == 0 {
			s.note(ctx, "forget kept answers", s.store.forgetAnswers(ctx, s.now()))
		}
	}
}

// note logs a failure of a loop; the loop goes on and tries again.
func (s *Service) note(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.deps.Logger.Error("could not "+what, "error", err)
	}
}

// anchorDue tries every closing batch whose next attempt is due by now.
func (s *Service) anchorDue(ctx context.Context, now time.Time) error {
	for {
		rows, err := s.store.closing(ctx, now, anchorRound)
		if err != nil {
			return fmt.Errorf("list closing batches: %w", err)
		}
		var failed bool
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(anchorWorkers)
		faults := make([]error, len(rows))
		for i, b := range rows {
			g.Go(func() error {
				faults[i] = s.anchorOnce(gctx, b)
				return nil
			})
		}
		_ = g.Wait() // The functions return no error.
		for _, f := range faults {
			failed = failed || f != nil
		}
		// A full round without a fault may have left more; failed ones wait.
		if len(rows) < anchorRound || failed || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// anchorOnce makes one attempt, unless this process is already at it.
func (s *Service) anchorOnce(ctx context.Context, listed *batchRow) error {
	done := make(chan struct{})
	if running, busy := s.anchors.LoadOrStore(listed.ID, done); busy {
		select {
		case <-running.(chan struct{}):
		case <-ctx.Done():
		}
		return nil
	}
	defer func() {
		s.anchors.Delete(listed.ID)
		close(done)
	}()
	// The row may be older than the attempt that has just ended.
	b, err := s.store.batch(ctx, listed.ID)
	if err != nil || b.State == stateAnchored {
		return err
	}
	if err := s.anchorBatch(ctx, b); err != nil {
		s.metrics.anchorFaults.Add(1)
		if ctx.Err() != nil {
			return err // a shutdown is no fault of a witness
		}
		next := s.now().Add(s.pause(b.Attempts))
		s.deps.Logger.Warn("batch stays pending: a witness is missing", "batch", b.ID, "attempt", b.Attempts+1, "next", next, "error", err)
		return errors.Join(err, s.store.setFailed(ctx, b.ID, shorten(err.Error()), next))
	}
	s.metrics.anchored.Add(1)
	s.deps.Logger.Info("batch anchored", "batch", b.ID, "size", b.Size)
	return nil
}

// pause doubles from RetryMin to RetryMax.
func (s *Service) pause(attempts int64) time.Duration {
	d := s.cfg.RetryMin
	for range attempts {
		if d *= 2; d >= s.cfg.RetryMax {
			return s.cfg.RetryMax
		}
	}
	return d
}

// anchorBatch obtains what the batch still lacks. Each witness is verified, then
// stored by itself, so a later attempt asks for the missing one only. A witness
// that fails keeps the batch closing; the other one is kept.
func (s *Service) anchorBatch(ctx context.Context, b *batchRow) error {
	var faults []error
	if b.Token == "" {
		if err := s.obtainToken(ctx, b); err != nil {
			faults = append(faults, fmt.Errorf("timestamp: %w", err))
		}
	}
	if s.deps.Log != nil && b.UUID == "" {
		if err := s.obtainEntry(ctx, b); err != nil {
			faults = append(faults, fmt.Errorf("log: %w", err))
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	return s.store.setAnchored(ctx, b.ID, isoFormat(s.now()))
}

func (s *Service) obtainToken(ctx context.Context, b *batchRow) error {
	root, err := hex.DecodeString(b.Root)
	if err != nil {
		return fmt.Errorf("batch %s: %w", b.ID, err)
	}
	asking, cancel := context.WithTimeout(ctx, s.cfg.WitnessTimeout)
	defer cancel()
	stamp, err := s.deps.Stampers.Stamp(asking, root)
	if err != nil {
		return err
	}
	authority, ok := s.cfg.authority(stamp.Provider)
	if !ok {
		return fmt.Errorf("no authority configured for %q", stamp.Provider)
	}
	// What a stamper says of its own token is not taken on trust.
	token, err := timestamp.Verify(stamp.Response, root, authority)
	if err != nil {
		return fmt.Errorf("the token of %s does not verify: %w", stamp.Provider, err)
	}
	b.Provider, b.Token, b.TokenTime = stamp.Provider, base64.StdEncoding.EncodeToString(stamp.Response), isoFormat(token.Time)
	return s.store.setToken(ctx, b)
}

func (s *Service) obtainEntry(ctx context.Context, b *batchRow) error {
	asking, cancel := context.WithTimeout(ctx, s.cfg.WitnessTimeout)
	defer cancel()
	uuid, document, err := s.deps.Log.Submit(asking, b.Root, s.deps.Signer.log)
	if err != nil {
		return err
	}
	entry, err := tlog.VerifyEntry(uuid, document, b.Root, s.cfg.Logs)
	if err != nil {
		return fmt.Errorf("the entry %s does not verify: %w", uuid, err)
	}
	own, err := x509.MarshalPKIXPublicKey(&s.deps.Signer.log.PublicKey)
	if err != nil {
		return fmt.Errorf("marshal the log key: %w", err)
	}
	if !bytes.Equal(own, entry.SubmitterDER) {
		return fmt.Errorf("the entry %s was signed by another key than this issuer's", uuid)
	}
	b.UUID, b.Entry, b.LogIndex, b.IntegratedTime = uuid, string(document), entry.Index, entry.IntegratedTime.Unix()
	return s.store.setEntry(ctx, b)
}
