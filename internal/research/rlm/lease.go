package rlm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prova-dev/prova/internal/research/ledger"
)

// errLeaseLost ends a run whose topic another run was given in the meantime.
var errLeaseLost = errors.New("the topic's lease was lost to another run")

// held is a lease that is being renewed. Its context ends with the caller's, or when
// the lease is lost, errLeaseLost being the cause then.
type held struct {
	ctx   context.Context
	lease ledger.Lease
	end   func()
}

// wait takes the lease of a topic, polling while another run has it (R§17.2).
func (e *Engine) wait(ctx context.Context, topicID string) (*held, error) {
	poll := time.NewTicker(e.o.LeasePoll)
	defer poll.Stop()
	for {
		h, err := e.take(ctx, topicID)
		if h != nil || err != nil {
			return h, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-poll.C:
		}
	}
}

// take takes the lease of a topic and keeps it until end is called; nil when another
// run has it. Each lease has a holder of its own, so that two runs of one process
// exclude each other like those of two.
func (e *Engine) take(ctx context.Context, topicID string) (*held, error) {
	holder := fmt.Sprintf("%s/%d", e.o.Holder, e.runs.Add(1))
	lease, err := e.o.Ledger.Acquire(ctx, topicID, holder, e.o.LeaseTTL)
	if err != nil {
		return nil, fmt.Errorf("lease of topic %s: %w", topicID, err)
	}
	if lease == nil {
		return nil, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		e.renew(ctx, *lease, cancel)
	}()
	h := &held{ctx: ctx, lease: *lease}
	h.end = func() {
		cancel(nil)
		<-stopped
		free, done := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer done()
		if err := e.o.Ledger.Release(free, *lease); err != nil && !errors.Is(err, ledger.ErrLease) {
			e.o.Log.Warn("lease not released; it runs out", "topic", topicID, "error", err)
		}
	}
	return h, nil
}

// renew renews a lease until its context ends. A store that does not answer for as
// long as the lease lasts has lost it.
func (e *Engine) renew(ctx context.Context, lease ledger.Lease, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(e.o.RenewEvery)
	defer tick.Stop()
	last := e.o.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := e.o.Now()
		err := e.o.Ledger.Renew(ctx, lease)
		switch {
		case err == nil:
			last = asked
		case ctx.Err() != nil:
			return
		case errors.Is(err, ledger.ErrLease), e.o.Now().Sub(last) > e.o.LeaseTTL-e.o.RenewEvery:
			e.o.Log.Warn("lease lost", "topic", lease.TopicID, "error", err)
			cancel(errLeaseLost)
			return
		default:
			e.o.Log.Warn("lease not renewed; trying again", "topic", lease.TopicID, "error", err)
		}
	}
}
