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

// visit is the work on one participant. It keeps the log entries read, because
// the proofs of one batch share one; they go with the visit.
type visit struct {
	*trackScorer
	agentDID string
	entries  map[string]entryFile
}

type entryFile struct {
	data  []byte
	found bool
}

func (s *trackScorer) visit(agentDID string) *visit {
	return &visit{trackScorer: s, agentDID: agentDID, entries: map[string]entryFile{}}
}

// entry reads a log entry, once.
func (v *visit) entry(uuid string) (entryFile, error) {
	if e, ok := v.entries[uuid]; ok {
		return e, nil
	}
	data, found, err := v.b.LogEntry(uuid)
	if err != nil {
		return entryFile{}, err
	}
	e := entryFile{data, found}
	v.entries[uuid] = e
	return e, nil
}

// proof examines a cited proof. The error is the bundle's, not the proof's.
func (v *visit) proof(id string, d bundle.Disclosure) (*citedProof, error) {
	c := &citedProof{id: id}
	data, found, err := v.b.Proof(id)
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
		return c, nil //nolint:nilerr // the fault is the proof's and stands in c.invalid
	}
	if c.pending = receipt.Pending(p); c.pending {
		return c, nil
	}
	evidence, err := v.admit(p, c, d)
	if err != nil || evidence == nil {
		return c, err
	}
	c.request, c.response = d.Request.Value, d.Response.Value
	c.fault = v.faults[c.response]
	opened := receipt.Opened(p, evidence)
	opened["request_hash"], opened["response_hash"] = c.request, c.response
	c.flat = receipt.FlatDivergences(p, opened)
	identity, refusal := v.checker.Identity(p, evidence)
	switch {
	case refusal != nil:
		c.unbound = refusal.Detail
	case identity.DID != v.agentDID:
		c.unbound = receipt.DetailIdentityOtherDID
	}
	return c, nil
}

// admit is step 1; without evidence the detail stands in c.invalid.
func (v *visit) admit(p *receipt.Proof, c *citedProof, d bundle.Disclosure) (*receipt.Evidence, error) {
	if p.ID() != c.id {
		c.invalid = receipt.DetailProofMalformed
		return nil, nil
	}
	var unreadable error
	entry := func(uuid string) ([]byte, bool) {
		e, err := v.entry(uuid)
		if err != nil {
			unreadable = err
		}
		return e.data, e.found
	}
	evidence, refusal := v.checker.Admit(p, entry, v.policy)
	switch {
	case unreadable != nil:
		return nil, unreadable
	case refusal != nil:
		c.invalid = refusal.Detail
	case !d.Opens(evidence.Commitments):
		c.invalid = receipt.DetailDisclosureMismatch
	case evidence.TokenTime.Before(v.b.Season.Opens) || evidence.TokenTime.After(v.b.Season.Closes):
		c.invalid = receipt.DetailTokenOutsideWindow
	default:
		return evidence, nil
	}
	return nil, nil
}
