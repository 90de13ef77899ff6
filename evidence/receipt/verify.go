package receipt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// VerifyOptions is what the caller of Verify adds to the proof.
type VerifyOptions struct {
	// Require decides the verdict only; empty means RequireAny.
	Require Require
	// Entry returns the document of the log entry that the proof names. Nil means
	// that no entry can be had. An error that wraps tlog.ErrNotFound says that the
	// log denies the entry, which fails the witness; any other one leaves it
	// unchecked.
	Entry func(uuid string) ([]byte, error)
	// Disclosures maps fields to {"nonce", "value"}: pairs the owner handed over
	// beside the proof. Nil for none.
	Disclosures *canonjson.Object
}

// Verify checks everything that can be checked of a proof of any spec version
// and reports each witness. It is stricter than the issuer's own verifier where
// T§13 lists leniencies, and applies key life spans as D11 says. It never fails:
// what is malformed is a failed witness.
func (c *Checker) Verify(p *Proof, o VerifyOptions) *Report {
	if o.Require == "" {
		o.Require = RequireAny
	}
	v := &verification{c: c, p: p, o: o}
	identity, chain, disclosure := v.content()
	batch := v.batch()
	timestamp := v.timestamp(batch)
	log := v.log(batch)
	signature := v.signature()
	r := &Report{
		ProofID:     p.id,
		SpecVersion: p.version,
		Witnesses:   []Witness{identity, chain, disclosure, signature, batch, timestamp, log},
		Incidents:   []Incident{},
	}
	for i, name := range [...]string{WitnessIdentity, WitnessChain, WitnessDisclosure, WitnessSignature, WitnessBatch, WitnessTimestamp, WitnessLog} {
		r.Witnesses[i].Name = name
	}
	for _, path := range v.diverging {
		r.Incidents = append(r.Incidents, Incident{Kind: IncidentFlatField, Detail: path})
	}
	r.decide(o.Require, signature.Status == OK || v.logAttributed)
	return r
}

// verification carries what one witness's check learns for a later one.
type verification struct {
	c *Checker
	p *Proof
	o VerifyOptions

	chain   [32]byte
	chainOK bool // hashes.chain has its form
	root    [32]byte
	rootOK  bool // root is what the outside witnesses attest

	tokenTime, logTime time.Time // zero unless that witness verified
	logAttributed      bool
	diverging          []string
}

func ok(format string, args ...any) Witness {
	return Witness{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func fail(format string, args ...any) Witness {
	return Witness{Status: Fail, Detail: fmt.Sprintf(format, args...)}
}

func notChecked(format string, args ...any) Witness {
	return Witness{Status: NotChecked, Detail: fmt.Sprintf(format, args...)}
}

const chainMalformed = "hashes.chain is not \"sha256:\" and 64 lower-case hex digits"

// content checks what the chain hash covers: the chain itself, and on 3.x the
// disclosed pairs and the identity.
func (v *verification) content() (identity, chain, disclosure Witness) {
	v.chain, v.chainOK = v.p.Chain()
	version := v.p.version
	if !version.Absent() && !version.Valid() {
		chain = fail("spec_version %s is not \"<major>.<minor>\"", show(version.text))
		unknown := notChecked("the spec_version is not known").noted(NoteSpecUnknown)
		return unknown, chain, unknown
	}
	if !version.AtLeast(3, 0) {
		return v.unanchoredIdentity(), v.valueChain(), v.noDisclosure()
	}
	commitments, root, refusal := v.p.commitments()
	switch {
	case !v.chainOK:
		chain = fail(chainMalformed).noted(NoteChainMalformed)
	case refusal != nil:
		chain = fail("%s", refusal.Why)
	case root != v.chain:
		chain = fail("the Merkle root of the %d commitments is not hashes.chain", len(commitments)).noted(NoteChainOther, decimal(len(commitments)))
	default:
		chain = ok("%d commitments lead to hashes.chain", len(commitments)).noted(NoteChainCommitted, decimal(len(commitments)))
	}
	opened, disclosure := v.disclosure(commitments, chain.Status)
	if version.AtLeast(3, 1) {
		identity = v.identity(commitments, opened)
	} else {
		identity = v.unanchoredIdentity()
	}
	if chain.Status == OK {
		v.diverging = append(v.diverging, divergences(v.p, opened, scoredFlat)...)
		v.diverging = append(v.diverging, divergences(v.p, opened, shownFlat)...)
	}
	return identity, chain, disclosure
}

// valueChain recomputes the chain hash of a version before 3.0 when the document
// still has its preimage. A public view redacts it: that is no mismatch.
func (v *verification) valueChain() Witness {
	if !v.chainOK {
		return fail(chainMalformed).noted(NoteChainMalformed)
	}
	for _, name := range []string{"commitments", "disclosed"} {
		if value, _ := v.p.doc.Get(name); value != nil {
			return fail("%s is there, but spec_version %s has none: the version was restated", name, show(v.p.version.text))
		}
	}
	values, missing, malformed := v.p.preimage()
	switch {
	case malformed != "":
		return fail("%s is not of the form that the chain hash covers", malformed)
	case len(missing) > 0:
		return notChecked("this view redacts %s, so the chain hash cannot be recomputed", strings.Join(missing, ", ")).noted(NoteChainRedacted)
	}
	if ValueChain(v.p.version, values) == v.chain {
		return ok("recomputed from the proof's values").noted(NoteChainRecomputed)
	}
	if values.BuyerFingerprint == "" || values.TransactionID == "" {
		return notChecked("this view blanks part of the preimage, so the chain hash cannot be recomputed").noted(NoteChainRedacted)
	}
	return fail("the hash of the proof's values is %s, not hashes.chain", prefixed(ValueChain(v.p.version, values)))
}

func (v *verification) noDisclosure() Witness {
	if v.o.Disclosures.Len() > 0 {
		return fail("pairs were handed over, but spec_version %s has no commitments to open", show(v.p.version.text))
	}
	return notChecked("this version has no commitments").noted(NoteNothingToCommit)
}

func (v *verification) unanchoredIdentity() Witness {
	for _, path := range [][]string{{"agent_identity"}, {"parties", "agent_identity"}} {
		if id, _ := member(v.p.doc, path...); id != nil {
			return notChecked("%s is claimed, but no version before 3.1 anchors an identity: not evidence", show(id)).noted(NoteIdentityUnanchored, named(id))
		}
	}
	return notChecked("no identity is claimed").noted(NoteIdentityUnclaimed)
}

// disclosure opens every pair: of the proof's disclosed block, of the caller,
// and of an owner's full view.
func (v *verification) disclosure(commitments map[string][32]byte, chain Status) (opened map[string]any, w Witness) {
	opened = map[string]any{}
	count, failed := 0, ""
	open := func(pairs *canonjson.Object) {
		for field, pair := range pairs.All() {
			count++
			value, ok := openPair(commitments, field, pair)
			switch {
			case ok:
				opened[field] = value
			case failed == "":
				failed = field
			}
		}
	}
	var malformed string
	if value, _ := v.p.doc.Get("disclosed"); value != nil {
		if o, ok := value.(*canonjson.Object); ok {
			open(o)
		} else {
			malformed = "disclosed is " + canonjson.Kind(value) + ", want an object"
		}
	}
	open(v.o.Disclosures)
	fullView, err := v.p.fullView()
	if err != nil && malformed == "" {
		malformed = err.Error()
	}
	open(fullView)
	switch {
	case malformed != "":
		return opened, fail("%s", malformed)
	case failed != "":
		return opened, fail("the pair of %s does not open its commitment", show(failed)).noted(NoteDisclosedWrong, failed)
	case chain != OK:
		return opened, notChecked("the commitments are not those of hashes.chain").noted(NoteDisclosedLoose)
	case count == 0:
		return opened, notChecked("nothing is disclosed").noted(NoteDisclosedNone)
	}
	return opened, ok("%d pairs open their commitments", count).noted(NoteDisclosed, decimal(count))
}

// fullView pairs commitment_nonces and chain_data of an owner's full view.
func (p *Proof) fullView() (*canonjson.Object, error) {
	nonces, _ := p.doc.Get("commitment_nonces")
	data, _ := p.doc.Get("chain_data")
	if nonces == nil || data == nil {
		return nil, nil
	}
	n, okN := nonces.(*canonjson.Object)
	d, okD := data.(*canonjson.Object)
	if !okN || !okD {
		return nil, errors.New("commitment_nonces and chain_data must be objects")
	}
	if n.Len() != d.Len() {
		return nil, errors.New("commitment_nonces and chain_data do not name the same fields")
	}
	pairs := canonjson.NewObject()
	for field, nonce := range n.All() {
		value, ok := d.Get(field)
		if !ok {
			return nil, fmt.Errorf("chain_data lacks %s, which commitment_nonces has", show(field))
		}
		pairs.Set(field, canonjson.NewObject("nonce", nonce, "value", value))
	}
	return pairs, nil
}

// identity is T§13's first row for 3.1 and later: all four fields committed,
// disclosed and open.
func (v *verification) identity(commitments map[string][32]byte, opened map[string]any) Witness {
	block, _ := object(v.p.doc, "disclosed")
	for _, field := range identityFields {
		if _, ok := commitments[field]; !ok {
			return fail("%s is not committed; 3.1 commits all four identity fields", field).noted(NoteIdentityUncommitted, field)
		}
		if !block.Has(field) && !v.o.Disclosures.Has(field) {
			return fail("%s is not disclosed; 3.1 discloses all four identity fields", field).noted(NoteIdentityUndisclosed, field)
		}
		for _, pairs := range []*canonjson.Object{block, v.o.Disclosures} {
			if pair, ok := pairs.Get(field); ok {
				if _, ok := openPair(commitments, field, pair); !ok {
					return fail("the disclosed %s does not open its commitment", field).noted(NoteIdentityUnopened, field)
				}
			}
		}
	}
	id := opened["agent_identity"]
	switch {
	case id == nil:
		return ok("the proof anchors that no identity was declared").noted(NoteIdentityNone)
	case opened["agent_identity_verified"] == any(true) && opened["did_resolution_status"] == any("bound"):
		return ok("verified DID %s, bound when the proof was made", show(id)).noted(NoteIdentityBound, named(id))
	case opened["agent_identity_verified"] == any(true):
		return ok("DID %s, verified but not bound", show(id)).noted(NoteIdentityUnbound, named(id))
	}
	return ok("%s is self-declared, NOT a verified DID", show(id)).noted(NoteIdentitySelfDeclared, named(id))
}
