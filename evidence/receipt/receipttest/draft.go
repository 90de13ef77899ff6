package receipttest

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/tlog"
)

// Spec says what the proof shall say. The zero value is a 3.1 proof of a bound
// DID with made-up hashes.
type Spec struct {
	// Version is the spec_version; "" means 3.1, "absent" a document without one.
	Version string
	// RequestHash and ResponseHash are bare hex; "" means a made-up hash.
	RequestHash, ResponseHash string
	// DID is the agent's identity; "" means did:web:agent.prova.test.
	DID string
	// Identity, when not nil, replaces the values of the four identity fields.
	Identity map[string]any
	// Seller is the target's host; "" means corpus.prova.test.
	Seller string
	// NoUpstream leaves upstream_timestamp out; Receipt adds a receipt hash.
	NoUpstream, Receipt bool
	// Timestamp is the proof's own; zero means the issuer's clock.
	Timestamp time.Time
	// Key signs; nil means the issuer's first.
	Key *Key
}

// Draft is a proof in the making, free to change. Doc is the public view.
type Draft struct {
	Doc *canonjson.Object
	// Nonces and Values are the private part of a 3.x proof: chain_data and what
	// opens its commitments.
	Nonces map[string]commit.Nonce
	Values *canonjson.Object
	// Full are the members that only the owner's view has.
	Full *canonjson.Object

	is  *Issuer
	key Key
}

// Issue makes a proof that waits for its batch.
func (is *Issuer) Issue(s Spec) *Draft {
	is.t.Helper()
	is.mu.Lock()
	is.issued++
	number, at := is.issued, s.Timestamp
	if at.IsZero() {
		at = is.now
	}
	is.mu.Unlock()
	fill := func(field *string, fallback string) {
		if *field == "" {
			*field = fallback
		}
	}
	fill(&s.Version, "3.1")
	fill(&s.RequestHash, strings.Repeat("a", 64))
	fill(&s.ResponseHash, strings.Repeat("b", 64))
	fill(&s.DID, "did:web:agent.prova.test")
	fill(&s.Seller, "corpus.prova.test")
	d := &Draft{is: is, key: is.Keys[0], Nonces: map[string]commit.Nonce{}}
	if s.Key != nil {
		d.key = *s.Key
	}
	stamp := at.UTC().Format("2006-01-02T15:04:05Z")
	const fingerprint = "5c8a1c387a15fcf4c67b2169b2b171ddbaa112c5d5b7f96522845255f9a4b354"
	d.Values = canonjson.NewObject("request_hash", s.RequestHash, "response_hash", s.ResponseHash,
		"transaction_id", "free_tier", "timestamp", stamp, "buyer_fingerprint", fingerprint, "seller", s.Seller)
	var upstream, payment any
	if !s.NoUpstream {
		upstream = at.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
		d.Values.Set("upstream_timestamp", upstream)
	}
	if s.Receipt {
		hash := strings.Repeat("c", 64)
		d.Values.Set("receipt_content_hash", hash)
		payment = canonjson.NewObject("type", "stripe", "receipt_content_hash", "sha256:"+hash, "verification_status", "fetched")
	}
	identity := map[string]any{"agent_identity": s.DID, "agent_identity_verified": true, "did_resolution_status": "bound", "identity_consistent": true}
	if s.Identity != nil {
		identity = s.Identity
	}
	d.Full = canonjson.NewObject(
		"parties", canonjson.NewObject("buyer_fingerprint", fingerprint, "seller", s.Seller, "agent_identity", identity["agent_identity"],
			"agent_identity_verified", identity["agent_identity_verified"], "did_resolution_status", identity["did_resolution_status"], "agent_version", nil),
		"certification_fee", canonjson.NewObject("method", "free_tier", "transaction_id", "free_tier", "amount", 0.0, "currency", "eur", "status", "free_tier"))
	var version any = s.Version
	if s.Version == "absent" {
		version = nil
	}
	d.Doc = canonjson.NewObject(
		"proof_id", fmt.Sprintf("prf_%s_%06x", at.UTC().Format("20060102_150405"), number&0xffffff),
		"is_demo", false,
		"spec_version", version,
		"hashes", canonjson.NewObject("request", "sha256:"+s.RequestHash, "response", "sha256:"+s.ResponseHash, "chain", nil),
		"commitments", nil,
		"batch_anchor", nil,
		"timestamp_authority", canonjson.NewObject("status", "pending_batch"),
		"timestamp", stamp,
		"upstream_timestamp", upstream,
		"verification_algorithm", "https://github.com/ark-forge/proof-spec/blob/main/SPEC.md#2-chain-hash-algorithm",
		"arkforge_signature", nil,
		"arkforge_pubkey", d.key.Public(),
		"arkforge_kid", d.key.Kid,
		"identity_consistent", identity["identity_consistent"],
		"views_count", 0,
		"transaction_success", true,
		"upstream_status_code", 200,
		"disputed", nil,
		"dispute_id", nil,
		"transparency_log", nil,
		"agent_identity", identity["agent_identity"],
		"agent_identity_verified", identity["agent_identity_verified"],
		"did_resolution_status", identity["did_resolution_status"],
		"seller", s.Seller,
		"provider_payment", payment,
		"integrity_verified", true,
	)
	parsed := receipt.ParseVersion(s.Version)
	if !parsed.AtLeast(3, 0) {
		d.sealValues(s.Version)
		return d
	}
	d.Doc.Set("batch_anchor", canonjson.NewObject("status", "pending"))
	if parsed.AtLeast(3, 1) {
		for _, field := range IdentityFields() {
			d.Values.Set(field, identity[field])
		}
	}
	for field := range d.Values.All() {
		nonce, err := commit.NewNonce(rand.Reader)
		is.must(err)
		d.Nonces[field] = nonce
	}
	d.Commit()
	if parsed.AtLeast(3, 1) {
		disclosed := canonjson.NewObject()
		for _, field := range IdentityFields() {
			disclosed.Set(field, d.Pair(field))
		}
		d.Doc.Set("disclosed", disclosed)
	}
	return d
}

// IdentityFields returns the four fields that 3.1 commits and discloses.
func IdentityFields() []string {
	return []string{"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}
}

// Commit commits Values with Nonces anew and signs the chain hash.
func (d *Draft) Commit() {
	d.is.t.Helper()
	commitments := canonjson.NewObject()
	for field, value := range d.Values.All() {
		commitments.Set(field, prefixed(commit.Field(field, d.Nonces[field], value)))
	}
	d.Doc.Set("commitments", commitments)
	d.Seal()
}

// Seal sets hashes.chain to the root of the commitments as they are in Doc, and
// signs it: what an issuer could do that restates a proof.
func (d *Draft) Seal() {
	d.is.t.Helper()
	value, _ := d.Doc.Get("commitments")
	leaves := map[string][32]byte{}
	for field, text := range value.(*canonjson.Object).All() {
		hash, err := parsePrefixed(text.(string))
		d.is.must(err)
		leaves[field] = hash
	}
	root, err := commit.Root(leaves)
	d.is.must(err)
	d.setChain(root)
}

func (d *Draft) sealValues(version string) {
	get := func(field string) string {
		value, _ := d.Values.Get(field)
		s, _ := value.(string)
		return s
	}
	v := receipt.ParseVersion(version)
	if version == "absent" {
		v = receipt.ParseVersion("1.0") // the same algorithm
	}
	d.setChain(receipt.ValueChain(v, receipt.ChainValues{
		RequestHash: get("request_hash"), ResponseHash: get("response_hash"), TransactionID: get("transaction_id"),
		Timestamp: get("timestamp"), BuyerFingerprint: get("buyer_fingerprint"), Seller: get("seller"),
		UpstreamTimestamp: get("upstream_timestamp"), ReceiptContentHash: get("receipt_content_hash"),
	}))
}

func (d *Draft) setChain(chain [32]byte) {
	hashes, _ := d.Doc.Get("hashes")
	hashes.(*canonjson.Object).Set("chain", prefixed(chain))
	d.Doc.Set("arkforge_signature", d.key.Sign(chain))
}

// Chain returns the chain hash of Doc.
func (d *Draft) Chain() [32]byte {
	d.is.t.Helper()
	hashes, _ := d.Doc.Get("hashes")
	text, _ := hashes.(*canonjson.Object).Get("chain")
	s, _ := text.(string)
	chain, err := parsePrefixed(s)
	d.is.must(err)
	return chain
}

// Pair returns {"nonce", "value"} of a committed field, as a disclosure has it.
func (d *Draft) Pair(field string) *canonjson.Object {
	value, _ := d.Values.Get(field)
	return canonjson.NewObject("nonce", d.Nonces[field].String(), "value", value)
}

// Disclosures returns the pairs of some fields, by field.
func (d *Draft) Disclosures(fields ...string) *canonjson.Object {
	o := canonjson.NewObject()
	for _, field := range fields {
		o.Set(field, d.Pair(field))
	}
	return o
}

// JSON returns the public view as GET /v1/proof/{id} answers it.
func (d *Draft) JSON() []byte { return canonjson.Compact(d.Doc) }

// FullJSON returns the owner's view: parties, fee, and the nonces of a 3.x proof.
func (d *Draft) FullJSON() []byte {
	o := d.Doc.Clone()
	for name, value := range d.Full.All() {
		o.Set(name, value)
	}
	if len(d.Nonces) > 0 {
		nonces := canonjson.NewObject()
		for field := range d.Values.All() {
			nonces.Set(field, d.Nonces[field].String())
		}
		o.Set("commitment_nonces", nonces)
		o.Set("chain_data", d.Values)
	}
	return canonjson.Compact(o)
}

// Proof parses the public view.
func (d *Draft) Proof() *receipt.Proof { return d.is.parse(d.JSON()) }

// FullProof parses the owner's view.
func (d *Draft) FullProof() *receipt.Proof { return d.is.parse(d.FullJSON()) }

func (is *Issuer) parse(data []byte) *receipt.Proof {
	is.t.Helper()
	p, err := receipt.Parse(data)
	is.must(err)
	return p
}

func (d *Draft) setWitnesses(token []byte, uuid string, e *tlog.Entry, anchored string) {
	d.Doc.Set("timestamp_authority", canonjson.NewObject("status", "verified", "provider", Provider,
		"tsr_base64", base64.StdEncoding.EncodeToString(token), "anchored", anchored))
	d.Doc.Set("transparency_log", canonjson.NewObject("provider", LogHost, "status", "verified", "uuid", uuid,
		"log_index", e.Index, "integrated_time", e.IntegratedTime.Unix(),
		"log_url", "https://"+LogHost+"/api/v1/log/entries/"+uuid, "anchored", anchored))
}

// Edit parses a document, lets f change a deep copy of it and returns the proof:
// the way to break one member and nothing else.
func (is *Issuer) Edit(document []byte, f func(o *canonjson.Object)) *receipt.Proof {
	is.t.Helper()
	value, err := canonjson.ParseStrict(document)
	is.must(err)
	o := value.(*canonjson.Object)
	f(o)
	return is.parse(canonjson.Compact(o))
}
