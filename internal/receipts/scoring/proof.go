package scoring

import (
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// citedProof is what steps 0 to 2 found for one proof with the disclosures of
// one submission. It does not depend on the assertion that cites it.
type citedProof struct {
	id       string
	pending  bool
	invalid  string // detail of step 1, "" when the proof passes
	unbound  string // detail of step 2, "" when it passes
	request  string // the opened values, once step 1 passed
	response string
	fault    string   // the system resource whose body the response is, if any
	flat     []string // paths of diverging flat members, once step 1 passed
}

// proof examines a cited proof. The error is the bundle's, not the proof's.
func (s *trackScorer) proof(id string, d bundle.Disclosure, agentDID string) (*citedProof, error) {
	c := &citedProof{id: id}
	data, found, err := s.b.Proof(id)
	if err != nil {
		return nil, err
	}
	if !found {
		c.invalid = receipt.DetailProofMissing
		return c, nil
	}
	p, err := receipt.Parse(data)
	if err != nil {
		c.invalid = receipt.DetailProofMalformed
		return c, nil
	}
	if c.pending = receipt.Pending(p); c.pending {
		return c, nil
	}
	evidence, err := s.admit(p, c, d)
	if err != nil || evidence == nil {
		return c, err
	}
	c.request, c.response = d.Request.Value, d.Response.Value
	c.fault = s.faults[c.response]
	opened := receipt.Opened(p, evidence)
	opened["request_hash"], opened["response_hash"] = c.request, c.response
	c.flat = receipt.FlatDivergences(p, opened)
	identity, refusal := s.checker.Identity(p, evidence)
	switch {
	case refusal != nil:
		c.unbound = refusal.Detail
	case identity.DID != agentDID:
		c.unbound = receipt.DetailIdentityOtherDID
	}
	return c, nil
}

// admit is step 1; without evidence the detail stands in c.invalid.
func (s *trackScorer) admit(p *receipt.Proof, c *citedProof, d bundle.Disclosure) (*receipt.Evidence, error) {
	if p.ID() != c.id {
		c.invalid = receipt.DetailProofMalformed
		return nil, nil
	}
	var unreadable error
	entry := func(uuid string) ([]byte, bool) {
		data, found, err := s.b.LogEntry(uuid)
		if err != nil {
			unreadable = err
		}
		return data, found
	}
	evidence, refusal := s.checker.Admit(p, entry, s.policy)
	switch {
	case unreadable != nil:
		return nil, unreadable
	case refusal != nil:
		c.invalid = refusal.Detail
	case !d.Opens(evidence.Commitments):
		c.invalid = receipt.DetailDisclosureMismatch
	case evidence.TokenTime.Before(s.b.Season.Opens) || evidence.TokenTime.After(s.b.Season.Closes):
		c.invalid = receipt.DetailTokenOutsideWindow
	default:
		return evidence, nil
	}
	return nil, nil
}
