package issuer

import (
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
)

const (
	specVersion = "3.1"
	algorithm   = "https://github.com/ark-forge/proof-spec/blob/main/SPEC.md#2-chain-hash-algorithm"
	hashPrefix  = "sha256:"
)

// identity is what a proof says of its caller (T§4.9). The zero value is a
// caller without any: four nulls.
type identity struct {
	Agent      any // string or nil
	Verified   any // true or nil, never false
	Status     any // "bound", "unverified" or nil
	Consistent any // bool or nil
}

// identityOf decides the four fields. A bound key wins over any header; an empty
// header commits the empty string but counts as no identity.
func identityOf(boundDID string, req *proxyRequest, declared string, mismatched bool) identity {
	if boundDID != "" {
		return identity{Agent: boundDID, Verified: true, Status: "bound", Consistent: true}
	}
	if !req.HasIdentity {
		return identity{}
	}
	if req.Identity == "" {
		return identity{Agent: ""}
	}
	return identity{
		Agent:      req.Identity,
		Status:     "unverified",
		Consistent: !mismatched && (declared == "" || declared == req.Identity),
	}
}

// identityFields are the four fields that stand in disclosed, in its order.
func identityFields() []string {
	return []string{"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}
}

// charge is certification_fee, in the order of T§4.9.
type charge struct {
	Method, TransactionID, Currency, Status string
}

func (c charge) object() *canonjson.Object {
	return canonjson.NewObject("method", c.Method, "transaction_id", c.TransactionID,
		"amount", 0.0, "currency", c.Currency, "status", c.Status)
}

// issue is everything a proof is made of.
type issue struct {
	ID           string
	At           time.Time
	RequestHash  string
	ResponseHash string
	Charge       charge
	Fingerprint  string
	Seller       string
	UpstreamDate string // empty when the upstream sent none
	StatusCode   int    // 0 when the upstream did not answer
	Success      bool
	Identity     identity
	AgentVersion string
}

// chainField is one committed value with the nonce that hides it.
type chainField struct {
	Name  string
	Value any
	Nonce commit.Nonce
}

// chainData lists the committed fields in the order of T§6.1.
func (i *issue) chainData() []chainField {
	fields := make([]chainField, 0, 12)
	add := func(name string, v any) { fields = append(fields, chainField{Name: name, Value: v}) }
	add("request_hash", i.RequestHash)
	add("response_hash", i.ResponseHash)
	add("transaction_id", i.Charge.TransactionID)
	add("timestamp", i.At.UTC().Format(secondsLayout))
	add("buyer_fingerprint", i.Fingerprint)
	add("seller", i.Seller)
	if i.UpstreamDate != "" {
		add("upstream_timestamp", i.UpstreamDate)
	}
	add("agent_identity", i.Identity.Agent)
	add("agent_identity_verified", i.Identity.Verified)
	add("did_resolution_status", i.Identity.Status)
	add("identity_consistent", i.Identity.Consistent)
	return fields
}

// sealed is a proof ready to store: the record as the proxy answers it, and what
// stays private.
type sealed struct {
	ID      string
	Chain   string // bare hex
	Record  *canonjson.Object
	Private *canonjson.Object // {"nonces":{…},"chain_data":{…}}
}

// seal commits, signs and writes the record of T§4.10.
func seal(i *issue, s *Signer, random io.Reader, baseURL string) (*sealed, error) {
	fields := i.chainData()
	var room [12 * 32]byte
	nonces := room[:32*len(fields)]
	if _, err := io.ReadFull(random, nonces); err != nil {
		return nil, fmt.Errorf("read nonces: %w", err)
	}
	// One text for all nonces and one for all commitments: the proxy's path is
	// short of memory bandwidth before it is short of anything else.
	nonceText := hex.EncodeToString(nonces)
	digestText := make([]byte, 0, len(fields)*(len(hashPrefix)+64))
	digests := make(map[string][32]byte, len(fields))
	for n := range fields {
		f := &fields[n]
		copy(f.Nonce[:], nonces[32*n:])
		digest := commit.Field(f.Name, f.Nonce, f.Value)
		digests[f.Name] = digest
		digestText = hex.AppendEncode(append(digestText, hashPrefix...), digest[:])
	}
	commitments, secret, data := canonjson.NewObject(), canonjson.NewObject(), canonjson.NewObject()
	for n, all, size := 0, string(digestText), len(hashPrefix)+64; n < len(fields); n++ {
		f := &fields[n]
		commitments.Set(f.Name, all[n*size:(n+1)*size])
		secret.Set(f.Name, nonceText[n*64:(n+1)*64])
		data.Set(f.Name, f.Value)
	}
	root, err := commit.Root(digests)
	if err != nil {
		return nil, fmt.Errorf("commitments: %w", err)
	}
	chain := hex.EncodeToString(root[:])
	signature, err := s.sign(chain)
	if err != nil {
		return nil, err
	}
	rec := canonjson.NewObject(
		"proof_id", i.ID,
		"spec_version", specVersion,
		"verification_url", proofURL(baseURL, i.ID),
		"verification_algorithm", algorithm,
		"hashes", canonjson.NewObject(
			"request", hashPrefix+i.RequestHash,
			"response", hashPrefix+i.ResponseHash,
			"chain", hashPrefix+chain),
		"commitments", commitments,
		"parties", canonjson.NewObject(
			"buyer_fingerprint", i.Fingerprint,
			"seller", i.Seller,
			"agent_identity", i.Identity.Agent,
			"agent_identity_verified", i.Identity.Verified,
			"did_resolution_status", i.Identity.Status,
			"agent_version", orNull(i.AgentVersion)),
		"certification_fee", i.Charge.object(),
		"timestamp", i.At.UTC().Format(secondsLayout),
		"timestamp_authority", canonjson.NewObject("status", "pending_batch", "tsr_url", proofURL(baseURL, i.ID)+"/tsr"),
		"batch_anchor", canonjson.NewObject("status", "pending"),
		"identity_consistent", i.Identity.Consistent,
		"transaction_success", i.Success)
	if i.StatusCode != 0 {
		rec.Set("upstream_status_code", number(i.StatusCode))
	}
	if i.UpstreamDate != "" {
		rec.Set("upstream_timestamp", i.UpstreamDate)
	}
	rec.Set("arkforge_signature", signature)
	rec.Set("arkforge_pubkey", s.entry.Public)
	rec.Set("arkforge_kid", s.entry.Kid)
	return &sealed{
		ID:      i.ID,
		Chain:   chain,
		Record:  rec,
		Private: canonjson.NewObject("nonces", secret, "chain_data", data),
	}, nil
}

// rename gives a sealed proof another id: the id is in no hash, only in links.
func (p *sealed) rename(id, baseURL string) {
	p.ID = id
	p.Record.Set("proof_id", id)
	p.Record.Set("verification_url", proofURL(baseURL, id))
	p.Record.Set("timestamp_authority", canonjson.NewObject("status", "pending_batch", "tsr_url", proofURL(baseURL, id)+"/tsr"))
}

func proofURL(base, id string) string { return base + "/v1/proof/" + id }
