package scoring

import (
	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// assertion decides the status of one assertion from its proofs, in the order
// cited (§10). Each step is applied to all proofs before the next; the first
// that fails gives cause and detail (D10). Its resource is in the task's graph.
func (s *trackScorer) assertion(a bundle.Assertion, proofs []*citedProof) results.Assertion {
	out := results.Assertion{ID: a.ID, ProofIDs: a.ProofIDs}
	for _, p := range proofs {
		if p.pending {
			out.Status = bundle.StatusPending
			return out
		}
	}
	for _, p := range proofs {
		if p.invalid != "" {
			return unsupported(out, bundle.CauseInvalidProof, p.invalid)
		}
	}
	for _, p := range proofs {
		if p.unbound != "" {
			return unsupported(out, bundle.CauseIdentityNotBound, p.unbound)
		}
	}
	frozen, _ := s.t.Manifest.Entry(a.Resource)
	for _, p := range proofs {
		if frozen.RequestSHA256 == nil || p.request != *frozen.RequestSHA256 {
			return unsupported(out, bundle.CauseResourceMismatch, results.DetailRequestHashDiffers)
		}
	}
	// Looked at after the resource, so that nobody can produce such bodies at
	// will from another address (specification §4.1).
	for _, p := range proofs {
		if p.fault != "" {
			out.Status, out.Detail = bundle.StatusInstrumentFault, &p.fault
			return out
		}
	}
	for _, p := range proofs {
		if p.response != frozen.ResponseSHA256 {
			return unsupported(out, bundle.CauseValueMismatch, results.DetailResponseHashDiffers)
		}
	}
	document, _ := s.corpus.Value(a.Resource)
	value, ok := canonjson.Resolve(document, a.Field)
	if !ok {
		return unsupported(out, bundle.CauseValueMismatch, results.DetailFieldAbsent)
	}
	if !canonjson.Equal(value, a.Value) {
		return unsupported(out, bundle.CauseValueMismatch, results.DetailValueDiffers)
	}
	out.Status = bundle.StatusSupported
	return out
}

func unsupported(a results.Assertion, cause, detail string) results.Assertion {
	a.Status, a.Cause, a.Detail = bundle.StatusUnsupported, &cause, &detail
	return a
}
