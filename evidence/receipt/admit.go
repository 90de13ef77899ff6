package receipt

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/merkle"
)

// The details of bundle-format §10, word for word: step 1 (cause
// invalid_proof) in order of checking, then step 2 (cause identity_not_bound).
// The words of the checks that a caller makes are here too, so that all have
// one home: proof_missing (1), disclosure_mismatch (10), token_outside_window
// (11) and identity_other_did.
const (
	DetailProofMissing          = "proof_missing"
	DetailProofMalformed        = "proof_malformed"
	DetailCommitmentsMissing    = "commitments_missing"
	DetailCommitmentsMalformed  = "commitments_malformed"
	DetailChainMismatch         = "chain_mismatch"
	DetailIssuerKeyRefused      = "issuer_key_refused"
	DetailSignatureInvalid      = "signature_invalid"
	DetailBatchMalformed        = "batch_malformed"
	DetailPathLength            = "path_length"
	DetailPathMismatch          = "path_mismatch"
	DetailTokenMissing          = "token_missing"
	DetailTokenInvalid          = "token_invalid"
	DetailWitnessNotIndependent = "witness_not_independent"
	DetailLogEntryMissing       = "log_entry_missing"
	DetailLogEntryInvalid       = "log_entry_invalid"
	DetailDisclosureMismatch    = "disclosure_mismatch"
	DetailTokenOutsideWindow    = "token_outside_window"

	DetailSpecVersionTooOld  = "spec_version_too_old"
	DetailDisclosedMismatch  = "disclosed_mismatch"
	DetailIdentityUnverified = "identity_unverified"
	DetailIdentityOtherDID   = "identity_other_did"
)

// Refusal says which rule of bundle-format §10 a proof breaks. Detail is one of
// the Detail words, Why the reason in words for a reader.
type Refusal struct {
	Detail string
	Why    string
}

// Error is the detail, then the reason in words.
func (r *Refusal) Error() string { return r.Detail + ": " + r.Why }

func refuse(detail, format string, args ...any) *Refusal {
	return &Refusal{Detail: detail, Why: fmt.Sprintf(format, args...)}
}

// Evidence is what an admitted proof established.
type Evidence struct {
	// Chain is the chain hash, Root the batch root that the witnesses attest.
	Chain, Root [32]byte
	// Commitments are the committed fields; Chain is their Merkle root.
	Commitments map[string][32]byte
	// Kid names the issuer's key in the trust.
	Kid string
	// TokenTime is the token's genTime in UTC, fraction included.
	TokenTime time.Time
	// TokenIndependent and LogIndependent say whose word the witnesses are.
	// LogUUID is empty when the proof names no entry and none was required.
	TokenIndependent, LogIndependent bool
	LogUUID                          string
}

// Opens reports whether the pair opens the commitment of field: the nonce is 64
// lower-case hex digits, the field is committed and the hash agrees (check 10).
func (e *Evidence) Opens(field, nonce string, value any) bool {
	c, ok := e.Commitments[field]
	return ok && commit.Opens(c, field, nonce, value)
}

// Admit applies checks 1 (the form of hashes.chain) to 9 of bundle-format §10,
// step 1, in their order; the first that fails is the refusal. Existence,
// proof_id and the checks 10 and 11 are the caller's. entry returns the document
// of a log entry by its uuid, as the bundle keeps it.
func (c *Checker) Admit(p *Proof, entry func(uuid string) ([]byte, bool), pol Policy) (*Evidence, *Refusal) {
	chain, ok := p.Chain()
	if !ok {
		return nil, refuse(DetailProofMalformed, "hashes.chain is not \"sha256:\" and 64 lower-case hex digits")
	}
	commitments, root, refusal := p.commitments()
	if refusal != nil {
		return nil, refusal
	}
	if root != chain {
		return nil, refuse(DetailChainMismatch, "the Merkle root of the commitments is not hashes.chain")
	}
	e := &Evidence{Chain: chain, Commitments: commitments}
	key, err := c.issuerKey(p)
	if err != nil {
		return nil, refuse(DetailIssuerKeyRefused, "%v", err)
	}
	e.Kid = key.kid
	if err := verifySignature(p, key, chain); err != nil {
		return nil, refuse(DetailSignatureInvalid, "%v", err)
	}
	if e.Root, refusal = p.included(chain); refusal != nil {
		return nil, refusal
	}
	if refusal := c.admitToken(p, e, pol); refusal != nil {
		return nil, refusal
	}
	if !key.bounds.inTime(e.TokenTime) {
		return nil, refuse(DetailIssuerKeyRefused, "the token's time %s is an hour or more after the retirement of the key %s",
			e.TokenTime.Format(time.RFC3339Nano), key.kid)
	}
	if refusal := c.admitEntry(p, e, entry, pol); refusal != nil {
		return nil, refusal
	}
	return e, nil
}

// commitments is check 2, and the Merkle root for check 3 (T§6.1): the leaves in
// the order of the field names. It equals commit.Root of the map, which would
// have to collect and look up the names again; a proof is read here some ten
// thousand times a second.
func (p *Proof) commitments() (commitments map[string][32]byte, root [32]byte, refusal *Refusal) {
	value, _ := p.doc.Get("commitments")
	o, ok := value.(*canonjson.Object)
	if !ok || o.Len() == 0 {
		return nil, root, refuse(DetailCommitmentsMissing, "commitments is not an object with at least one field")
	}
	type leaf struct {
		name string
		hash [32]byte
	}
	var room [16]leaf // 12 fields at most today
	sorted := room[:0]
	commitments = make(map[string][32]byte, o.Len())
	for name, value := range o.All() {
		s, _ := value.(string)
		hash, ok := parseHash(s)
		if !ok {
			return nil, root, refuse(DetailCommitmentsMalformed, "the commitment of %s is not \"sha256:\" and 64 lower-case hex digits", show(name))
		}
		commitments[name] = hash
		sorted = append(sorted, leaf{name, merkle.LeafHash(hash[:])})
	}
	slices.SortFunc(sorted, func(a, b leaf) int { return strings.Compare(a.name, b.name) })
	var leavesRoom [16][32]byte
	leaves := leavesRoom[:0]
	for i := range sorted {
		leaves = append(leaves, sorted[i].hash)
	}
	root, err := merkle.Root(leaves)
	if err != nil {
		return nil, root, refuse(DetailCommitmentsMissing, "%v", err)
	}
	return commitments, root, nil
}

// verifySignature is check 5: Ed25519 over the 64 hex characters of the chain
// hash, not over its bytes (T§15.1).
func verifySignature(p *Proof, key *issuerKey, chain [32]byte) error {
	s, _ := text(p.doc, "arkforge_signature")
	var signature [ed25519.SignatureSize]byte
	if !parseEd25519(signature[:], s) {
		return errors.New("arkforge_signature is not \"ed25519:\" and 86 characters of canonical unpadded base64url")
	}
	var message [64]byte
	hex.Encode(message[:], chain[:])
	if len(key.public) != ed25519.PublicKeySize || !ed25519.Verify(key.public, message[:], signature[:]) {
		return withNote(fmt.Errorf("arkforge_signature is not the key %s's over this chain hash", key.kid), NoteSignatureWrong, key.kid)
	}
	return nil
}

// included is check 6; it returns the batch root.
func (p *Proof) included(chain [32]byte) ([32]byte, *Refusal) {
	value, _ := p.doc.Get("batch_anchor")
	b, err := readBatch(value)
	if err != nil {
		return b.root, refuse(DetailBatchMalformed, "%v", err)
	}
	switch err := b.include(chain); {
	case errors.Is(err, merkle.ErrPathLength):
		return b.root, refuse(DetailPathLength, "%v", err)
	case err != nil:
		return b.root, refuse(DetailPathMismatch, "%v", err)
	}
	return b.root, nil
}

// admitToken is check 7.
func (c *Checker) admitToken(p *Proof, e *Evidence, pol Policy) *Refusal {
	response, ok := text(p.doc, "timestamp_authority", "tsr_base64")
	if !ok {
		return refuse(DetailTokenMissing, "timestamp_authority.tsr_base64 is missing or no string")
	}
	provider, ok := text(p.doc, "timestamp_authority", "provider")
	if !ok {
		return refuse(DetailTokenInvalid, "timestamp_authority.provider is missing or no string")
	}
	r := c.token(provider, response, e.Root)
	if r.err != nil {
		return refuse(DetailTokenInvalid, "%v", r.err)
	}
	if !r.independent && !pol.AllowLocal {
		return refuse(DetailWitnessNotIndependent, "the authority %s is local and the policy refuses local witnesses", show(provider))
	}
	e.TokenTime, e.TokenIndependent = r.token.Time.UTC(), r.independent
	return nil
}

// admitEntry is check 9.
func (c *Checker) admitEntry(p *Proof, e *Evidence, entry func(uuid string) ([]byte, bool), pol Policy) *Refusal {
	if !pol.RequireLog && !p.namesEntry() {
		return nil
	}
	uuid, ok := p.LogUUID()
	if !ok {
		return refuse(DetailLogEntryMissing, "transparency_log.uuid is not 64 or 80 lower-case hex digits")
	}
	document, ok := entry(uuid)
	if !ok {
		return refuse(DetailLogEntryMissing, "there is no log entry %s", uuid)
	}
	r := c.entry(uuid, document, e.Root)
	if r.err != nil {
		return refuse(DetailLogEntryInvalid, "%v", r.err)
	}
	if err := c.attribute(p, r, e.TokenTime); err != nil {
		return refuse(DetailLogEntryInvalid, "%v", err)
	}
	independent := r.entry.Log != nil && r.entry.Log.Independent
	if !independent && !pol.AllowLocal {
		return refuse(DetailWitnessNotIndependent, "the log of the entry is local and the policy refuses local witnesses")
	}
	e.LogUUID, e.LogIndependent = uuid, independent
	return nil
}

// namesEntry reports whether the proof says anything about a log entry: a null
// or absent transparency_log, or one with a null or absent uuid, does not.
func (p *Proof) namesEntry() bool {
	value, _ := p.doc.Get("transparency_log")
	if value == nil {
		return false
	}
	o, ok := value.(*canonjson.Object)
	if !ok {
		return true
	}
	uuid, _ := o.Get("uuid")
	return uuid != nil
}

// attribute asks whether a key that the trust publishes signed the entry, and
// applies checks 4 and 8 to it. Without any published log key nobody is asked.
func (c *Checker) attribute(p *Proof, r entryResult, witnessed time.Time) error {
	if len(c.logKeys) == 0 {
		return nil
	}
	at, _ := text(p.doc, "timestamp")
	var known *logKey
	for i := range c.logKeys {
		k := &c.logKeys[i]
		if k.der != string(r.entry.SubmitterDER) {
			continue
		}
		known = k
		if k.bounds.admits(at) && k.bounds.inTime(witnessed) {
			return nil
		}
	}
	if known == nil {
		return withNote(errors.New("the key that signed the entry is not among the issuer's published log keys"), NoteEntryForeign)
	}
	return fmt.Errorf("the issuer's log key %s, which signed the entry, was not valid at the proof's timestamp %s or when it was witnessed, %s%s",
		known.kid, show(at), witnessed.Format(time.RFC3339), known.bounds)
}
