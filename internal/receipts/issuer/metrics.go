package issuer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counters of this process since it started.
type metrics struct {
	proofs, refusals, upstreamFaults, anchored, anchorFaults atomic.Int64
}

// Counters are the figures of Service.Counters.
type Counters struct {
	// Proofs issued, proxy requests refused before a proof, upstream calls that
	// timed out or failed, batches anchored, attempts to anchor that failed.
	Proofs, Refusals, UpstreamFaults, Anchored, AnchorFaults int64
}

// Counters returns what this process has done since it started.
func (s *Service) Counters() Counters {
	m := &s.metrics
	return Counters{m.proofs.Load(), m.refusals.Load(), m.upstreamFaults.Load(), m.anchored.Load(), m.anchorFaults.Load()}
}

const gaugeTimeout = 2 * time.Second

// Register adds the issuer's figures to a metrics registry. The gauges read the
// database when they are scraped; -1 says that it could not be read.
func (s *Service) Register(r prometheus.Registerer) error {
	counters := []struct {
		name, help string
		value      *atomic.Int64
	}{
		{"proofs_total", "Proofs issued.", &s.metrics.proofs},
		{"refusals_total", "Proxy requests refused before a proof.", &s.metrics.refusals},
		{"upstream_faults_total", "Upstream calls that timed out or failed.", &s.metrics.upstreamFaults},
		{"batches_anchored_total", "Batches whose witnesses were all verified.", &s.metrics.anchored},
		{"anchor_faults_total", "Attempts to anchor a batch that failed.", &s.metrics.anchorFaults},
	}
	for _, c := range counters {
		err := r.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "prova", Subsystem: "issuer", Name: c.name, Help: c.help},
			func() float64 { return float64(c.value.Load()) }))
		if err != nil {
			return fmt.Errorf("issuer: register %s: %w", c.name, err)
		}
	}
	gauges := []struct {
		name, help string
		value      func(PendingState) float64
	}{
		{"pending_proofs", "Proofs in the pending batch.", func(p PendingState) float64 { return float64(p.Proofs) }},
		{"closing_batches", "Batches that wait for a witness (at most 100 are counted).", func(p PendingState) float64 { return float64(len(p.Closing)) }},
		{"oldest_pending_seconds", "Age of the oldest proof in the pending batch.", func(p PendingState) float64 {
			if p.Oldest.IsZero() {
				return 0
			}
			return s.now().Sub(p.Oldest).Seconds()
		}},
	}
	for _, g := range gauges {
		err := r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "prova", Subsystem: "issuer", Name: g.name, Help: g.help},
			func() float64 {
				ctx, cancel := context.WithTimeout(context.Background(), gaugeTimeout)
				defer cancel()
				p, err := s.Pending(ctx)
				if err != nil {
					return -1
				}
				return g.value(p)
			}))
		if err != nil {
			return fmt.Errorf("issuer: register %s: %w", g.name, err)
		}
	}
	return nil
}
