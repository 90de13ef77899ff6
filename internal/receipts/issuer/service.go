package issuer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Service is an issuer: keys, proxy, proofs, batches. It is safe for concurrent
// use; several processes may serve one PostgreSQL database.
type Service struct {
	cfg    Config
	deps   Deps
	store  *storeSQL
	plans  *plans
	meter  *meter
	ids    *proofIDs
	secret *scrubber
	page   *proofPage

	signups *sliding
	binds   *sliding
	reads   *fixed
	auths   *sliding

	keys    keyCache
	flights flights

	queued  atomic.Int64  // proofs of this process since it last closed batches
	wake    chan struct{} // a batch may be full
	anchors sync.Map      // ids of the batches being anchored by this process
	anchor  chan struct{} // a batch was fixed

	metrics metrics
}

// New opens the issuer on its database: it applies the migrations and checks
// that configuration, keys and witnesses fit. Nothing runs yet; call Run.
func New(ctx context.Context, c Config, d Deps) (*Service, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := d.complete(&c); err != nil {
		return nil, err
	}
	if err := d.Signer.selfTest(d.Clock()); err != nil {
		return nil, err
	}
	st, err := openStore(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	page, err := newProofPage()
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	c.Challenge.report(d.Logger)
	s := &Service{
		cfg: c, deps: d, store: st,
		plans:   newPlans(c.Quotas),
		meter:   newMeter(st),
		ids:     newProofIDs(d.Rand),
		secret:  newScrubber(c.Internal.Value, c.Challenge.Value),
		page:    page,
		signups: newSliding(c.Limits.SignupsPerHour, time.Hour),
		binds:   newSliding(c.Limits.BindsPerHour, time.Hour),
		reads:   newFixed(c.Limits.ReadsPerHour, time.Hour),
		auths:   newSliding(c.Limits.AuthFailures, c.Limits.AuthWindow),
		wake:    make(chan struct{}, 1),
		anchor:  make(chan struct{}, 1),
	}
	return s, nil
}

// Close writes the counters that no proof carried. Call it after Run and the
// handlers have ended; the database stays open.
func (s *Service) Close(ctx context.Context) error {
	return errors.Join(s.meter.flush(ctx), s.store.close())
}

func (s *Service) now() time.Time { return s.deps.Clock().UTC() }

// DID is the issuer's own identifier: did:web and the base URL without scheme
// (T§3.12).
func (s *Service) DID() string {
	_, rest, _ := strings.Cut(s.cfg.BaseURL, "://")
	return "did:web:" + rest
}

// proof reads a stored proof; a *apiError 404 when there is none.
func (s *Service) proof(ctx context.Context, id string) (*proofDoc, error) {
	row, err := s.store.proof(ctx, id)
	if errors.Is(err, errNoRow) {
		return nil, refuse(404, "not_found", "Proof '"+id+"' not found")
	}
	if err != nil {
		return nil, fmt.Errorf("issuer: read proof %s: %w", id, err)
	}
	return parseProof(row)
}

// signal wakes a loop without waiting for it.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
