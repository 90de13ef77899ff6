package api

import (
	"context"
	"sync"

	"github.com/prova-dev/prova/internal/research/payout"
)

// payouts remembers what closed epochs pay: a payout follows from a snapshot that
// never changes, and takes seconds where miners are many. One is computed at a time.
type payouts struct {
	compute func(ctx context.Context, epoch uint64) (*payout.Result, error)
	turn    chan struct{}

	mu    sync.Mutex
	known []remembered // the one that was asked for last stands last
}

type remembered struct {
	epoch  uint64
	result *payout.Result
}

const (
	rememberedEpochs  = 8
	rememberedEntries = 1 << 18 // passes of one epoch; a larger one is computed again
)

func newPayouts(compute func(context.Context, uint64) (*payout.Result, error)) *payouts {
	return &payouts{compute: compute, turn: make(chan struct{}, 1)}
}

// of returns the payout of a closed epoch; it is not to be changed.
func (p *payouts) of(ctx context.Context, epoch uint64) (*payout.Result, error) {
	if r := p.find(epoch); r != nil {
		return r, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r := p.find(epoch); r != nil { // computed by the one before
		return r, nil
	}
	r, err := p.compute(ctx, epoch)
	if err != nil {
		return nil, err
	}
	entries := 0
	for i := range r.Topics {
		entries += len(r.Topics[i].Entries)
	}
	if entries <= rememberedEntries {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.known) == rememberedEpochs {
			p.known = p.known[1:]
		}
		p.known = append(p.known, remembered{epoch, r})
	}
	return r, nil
}

func (p *payouts) find(epoch uint64) *payout.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, k := range p.known {
		if k.epoch == epoch {
			p.known = append(append(p.known[:i:i], p.known[i+1:]...), k)
			return k.result
		}
	}
	return nil
}
