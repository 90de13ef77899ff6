package issuer

import "sync/atomic"

// metrics are counters of this process since it started; the internal handler
// shows them and app may export them.
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
