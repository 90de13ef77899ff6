package issuer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/merkle"
)

// proofDoc is a stored proof, parsed.
type proofDoc struct {
	row    *proofRow
	record *canonjson.Object
	nonces *canonjson.Object
	data   *canonjson.Object
}

func parseProof(row *proofRow) (*proofDoc, error) {
	record, err := parseObject(row.Record)
	if err != nil {
		return nil, fmt.Errorf("issuer: record of %s: %w", row.ID, err)
	}
	private, err := parseObject(row.Private)
	if err != nil {
		return nil, fmt.Errorf("issuer: private part of %s: %w", row.ID, err)
	}
	d := &proofDoc{row: row, record: record, nonces: child(private, "nonces"), data: child(private, "chain_data")}
	if d.nonces == nil || d.data == nil {
		return nil, fmt.Errorf("issuer: private part of %s lacks nonces or chain_data", row.ID)
	}
	return d, nil
}

func parseObject(text string) (*canonjson.Object, error) {
	v, err := canonjson.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return o, nil
}

func child(o *canonjson.Object, name string) *canonjson.Object {
	v, _ := o.Get(name)
	c, _ := v.(*canonjson.Object)
	return c
}

func text(o *canonjson.Object, name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

func valueOf(o *canonjson.Object, name string) any {
	v, _ := o.Get(name)
	return v
}

// witnesses are the three members that follow a proof's batch (T§7.1). A batch
// counts as anchored only when every witness was obtained and verified; until
// then all three say what they said at issue.
type witnesses struct {
	anchor, token *canonjson.Object
	log           any
}

func (c *Config) witnesses(d *proofDoc) (*witnesses, error) {
	b := d.row.Batch
	if b == nil || b.State != stateAnchored {
		return &witnesses{
			anchor: canonjson.NewObject("status", "pending"),
			token:  canonjson.NewObject("status", "pending_batch", "tsr_url", proofURL(c.BaseURL, d.row.ID)+"/tsr"),
		}, nil
	}
	index, path, err := b.place(d.row.Chain)
	if err != nil {
		return nil, err
	}
	w := &witnesses{
		anchor: canonjson.NewObject(
			"status", "anchored",
			"batch_id", b.ID,
			"leaf_index", number(index),
			"tree_size", number(b.Size),
			"audit_path", path,
			"root", hashPrefix+b.Root),
		token: canonjson.NewObject(
			"status", "verified",
			"provider", b.Provider,
			"tsr_base64", b.Token,
			"anchored", "batch_root"),
		log: canonjson.NewObject(
			"provider", c.LogProvider,
			"status", "disabled",
			"reason", "this issuer writes to no transparency log",
			"anchored", "batch_root"),
	}
	if b.UUID != "" {
		w.log = canonjson.NewObject(
			"provider", c.LogProvider,
			"status", "verified",
			"uuid", b.UUID,
			"log_index", number(b.LogIndex),
			"integrated_time", number(b.IntegratedTime),
			"log_url", strings.TrimSuffix(c.LogURL, "/")+"/api/v1/log/entries/"+b.UUID,
			"verify_url", c.logSearch(b),
			"anchored", "batch_root")
	}
	return w, nil
}

func (c *Config) logSearch(b *batchRow) string {
	if strings.Contains(c.LogSearchURL, "%d") {
		return strings.Replace(c.LogSearchURL, "%d", fmt.Sprint(b.LogIndex), 1)
	}
	return strings.TrimSuffix(c.LogURL, "/") + "/api/v1/log/entries?logIndex=" + fmt.Sprint(b.LogIndex)
}

// leafHashes are the batch's leaves: RFC 6962 hashes of the raw chain hashes.
func leafHashes(chains []string) ([][32]byte, error) {
	out := make([][32]byte, len(chains))
	for i, c := range chains {
		raw, err := hex.DecodeString(c)
		if err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("issuer: %q is no chain hash", c)
		}
		out[i] = merkle.LeafHash(raw)
	}
	return out, nil
}

func (b *batchRow) chains() []string {
	out := make([]string, 0, len(b.Leaves)/64)
	for i := 0; i+64 <= len(b.Leaves); i += 64 {
		out = append(out, b.Leaves[i:i+64])
	}
	return out
}

// place finds a chain hash among the leaves, with its audit path.
func (b *batchRow) place(chain string) (int, []any, error) {
	chains := b.chains()
	index := -1
	for i, c := range chains {
		if c == chain {
			index = i
			break
		}
	}
	if index < 0 {
		return 0, nil, fmt.Errorf("issuer: batch %s does not hold the chain hash %s", b.ID, chain)
	}
	leaves, err := leafHashes(chains)
	if err != nil {
		return 0, nil, err
	}
	path := []any{}
	for _, h := range auditPath(leaves, index) {
		path = append(path, hex.EncodeToString(h[:]))
	}
	return index, path, nil
}

// auditPath is the path of one leaf; merkle.Paths makes those of all.
func auditPath(level [][32]byte, index int) [][32]byte {
	var path [][32]byte
	for len(level) > 1 {
		if sibling := index ^ 1; sibling < len(level) {
			path = append(path, level[sibling])
		}
		next := make([][32]byte, 0, (len(level)+1)/2)
		for i := 0; i+1 < len(level); i += 2 {
			next = append(next, merkle.NodeHash(level[i], level[i+1]))
		}
		if len(level)%2 == 1 {
			next = append(next, level[len(level)-1])
		}
		level, index = next, index/2
	}
	return path
}

// disclosed opens the four identity fields (T§6.2), from what was committed and
// not from the flat members.
func (d *proofDoc) disclosed() *canonjson.Object {
	out := canonjson.NewObject()
	for _, name := range identityFields() {
		out.Set(name, canonjson.NewObject("nonce", valueOf(d.nonces, name), "value", valueOf(d.data, name)))
	}
	return out
}

// publicView is T§7.2, in its order of members, without integrity_verified.
func (c *Config) publicView(d *proofDoc) (*canonjson.Object, error) {
	w, err := c.witnesses(d)
	if err != nil {
		return nil, err
	}
	get := func(name string) any { return valueOf(d.record, name) }
	return canonjson.NewObject(
		"proof_id", get("proof_id"),
		"is_demo", false,
		"spec_version", get("spec_version"),
		"hashes", get("hashes"),
		"commitments", get("commitments"),
		"batch_anchor", w.anchor,
		"timestamp_authority", w.token,
		"timestamp", get("timestamp"),
		"upstream_timestamp", get("upstream_timestamp"),
		"verification_algorithm", get("verification_algorithm"),
		"arkforge_signature", get("arkforge_signature"),
		"arkforge_pubkey", get("arkforge_pubkey"),
		"arkforge_kid", get("arkforge_kid"),
		"identity_consistent", valueOf(d.data, "identity_consistent"),
		"views_count", number(d.row.Views),
		"transaction_success", get("transaction_success"),
		"upstream_status_code", get("upstream_status_code"),
		"disputed", nil,
		"dispute_id", nil,
		"transparency_log", w.log,
		"agent_identity", valueOf(d.data, "agent_identity"),
		"agent_identity_verified", valueOf(d.data, "agent_identity_verified"),
		"did_resolution_status", valueOf(d.data, "did_resolution_status"),
		"seller", valueOf(d.data, "seller"),
		"disclosed", d.disclosed(),
		"provider_payment", nil,
	), nil
}

// publicDocument is the public view as GET /v1/proof/{id} answers it.
func (c *Config) publicDocument(d *proofDoc) (*canonjson.Object, error) {
	v, err := c.publicView(d)
	if err != nil {
		return nil, err
	}
	v.Set("integrity_verified", d.intact())
	return v, nil
}

// fullDocument is T§7.3: the public view, then what only the owner sees.
func (c *Config) fullDocument(d *proofDoc) (*canonjson.Object, error) {
	v, err := c.publicView(d)
	if err != nil {
		return nil, err
	}
	v.Set("parties", valueOf(d.record, "parties"))
	v.Set("certification_fee", valueOf(d.record, "certification_fee"))
	v.Set("buyer_reputation_score", nil)
	v.Set("buyer_profile_url", nil)
	v.Set("commitment_nonces", d.nonces)
	v.Set("chain_data", d.data)
	v.Set("integrity_verified", d.intact())
	return v, nil
}

// intact is integrity_verified of T§6.3: the commitments make the chain hash, and
// every stored value opens its commitment. It says nothing of anchors.
func (d *proofDoc) intact() bool {
	commitments := child(d.record, "commitments")
	if commitments.Len() == 0 || commitments.Len() != d.nonces.Len() || commitments.Len() != d.data.Len() {
		return false
	}
	for _, name := range identityFields() {
		if !commitments.Has(name) {
			return false
		}
	}
	digests := make(map[string][32]byte, commitments.Len())
	for name, v := range commitments.All() {
		s, _ := v.(string)
		digest, ok := parsePrefixed(s)
		if !ok || !d.data.Has(name) {
			return false
		}
		if !commit.Opens(digest, name, text(d.nonces, name), valueOf(d.data, name)) {
			return false
		}
		digests[name] = digest
	}
	root, err := commit.Root(digests)
	return err == nil && hashPrefix+hex.EncodeToString(root[:]) == text(child(d.record, "hashes"), "chain")
}

func parsePrefixed(s string) (digest [32]byte, ok bool) {
	bare, ok := strings.CutPrefix(s, hashPrefix)
	if !ok || !validHash(bare) {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(bare))
	return digest, err == nil
}

// verifySummary is T§3.8.
func (c *Config) verifySummary(d *proofDoc) (*canonjson.Object, error) {
	w, err := c.witnesses(d)
	if err != nil {
		return nil, err
	}
	token := canonjson.NewObject("status", text(w.token, "status"))
	token.Set("provider", valueOf(w.token, "provider"))
	logStatus, batch := "none", valueOf(w.anchor, "batch_id")
	if o, ok := w.log.(*canonjson.Object); ok {
		logStatus = text(o, "status")
	}
	return canonjson.NewObject(
		"proof_id", d.row.ID,
		"integrity_verified", d.intact(),
		"chain_hash", valueOf(child(d.record, "hashes"), "chain"),
		"timestamp", valueOf(d.record, "timestamp"),
		"spec_version", valueOf(d.record, "spec_version"),
		"timestamp_authority", token,
		"transparency_log", canonjson.NewObject("status", logStatus),
		"batch_anchor", canonjson.NewObject("status", text(w.anchor, "status"), "batch_id", batch),
		"signature_present", text(d.record, "arkforge_signature") != "",
		"verification_url", proofURL(c.BaseURL, d.row.ID),
	), nil
}
