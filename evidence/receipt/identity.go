package receipt

import (
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
)

// identityFields are the four fields that spec 3.1 commits and discloses (D17).
var identityFields = [...]string{"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}

// Identity is the identity that a proof anchors.
type Identity struct {
	// DID is the opened agent_identity, empty when it is no string.
	DID string
	// Consistent is the opened identity_consistent: true, false or nil.
	Consistent any
}

// Identity applies step 2 of bundle-format §10 to an admitted proof, all but
// the last row: whether the DID is the enrolled one is the caller's question.
func (c *Checker) Identity(p *Proof, e *Evidence) (Identity, *Refusal) {
	if !p.version.AtLeast(3, 1) {
		return Identity{}, refuse(DetailSpecVersionTooOld, "spec_version %s anchors no identity, 3.1 and later do", show(p.version.text))
	}
	block, ok := object(p.doc, "disclosed")
	if !ok {
		return Identity{}, refuse(DetailDisclosedMismatch, "disclosed is not an object")
	}
	var values [len(identityFields)]any
	found := 0
	for field, pair := range block.All() {
		value, ok := openPair(e.Commitments, field, pair)
		if !ok {
			return Identity{}, refuse(DetailDisclosedMismatch, "the disclosed %s does not open its commitment", show(field))
		}
		if i := slices.Index(identityFields[:], field); i >= 0 {
			values[i] = value
			found++
		}
	}
	if found < len(identityFields) {
		return Identity{}, refuse(DetailDisclosedMismatch, "disclosed has %d of the four identity fields", found)
	}
	did, verified, status, consistent := values[0], values[1], values[2], values[3]
	if verified != any(true) || status != any("bound") {
		return Identity{}, refuse(DetailIdentityUnverified, "the anchored identity is not a verified, bound DID")
	}
	id := Identity{Consistent: consistent}
	id.DID, _ = did.(string)
	return id, nil
}

// Opened returns the values of every disclosed entry that opens its commitment,
// by field, whatever becomes of the others. It is the base for FlatDivergences.
func Opened(p *Proof, e *Evidence) map[string]any {
	block, _ := object(p.doc, "disclosed")
	opened := make(map[string]any, block.Len()+2)
	for field, pair := range block.All() {
		if value, ok := openPair(e.Commitments, field, pair); ok {
			opened[field] = value
		}
	}
	return opened
}

// openPair opens one {nonce, value} against the commitment of field.
func openPair(commitments map[string][32]byte, field string, pair any) (any, bool) {
	o, ok := pair.(*canonjson.Object)
	if !ok {
		return nil, false
	}
	nonce, _ := text(o, "nonce")
	value, ok := o.Get("value")
	if !ok {
		return nil, false
	}
	commitment, ok := commitments[field]
	return value, ok && commit.Opens(commitment, field, nonce, value)
}

// flatMember is a member outside the commitments that repeats a committed value.
type flatMember struct {
	field string // the committed field
	hash  bool   // the member is written with the prefix "sha256:"
	path  []string
	name  string // the path as reports write it
}

// scoredFlat are the members that bundle-format §10 "Flat fields" compares.
var scoredFlat = []flatMember{
	{"request_hash", true, []string{"hashes", "request"}, "hashes.request"},
	{"response_hash", true, []string{"hashes", "response"}, "hashes.response"},
	{"agent_identity", false, []string{"agent_identity"}, "agent_identity"},
	{"agent_identity_verified", false, []string{"agent_identity_verified"}, "agent_identity_verified"},
	{"did_resolution_status", false, []string{"did_resolution_status"}, "did_resolution_status"},
	{"identity_consistent", false, []string{"identity_consistent"}, "identity_consistent"},
}

// shownFlat are further members that a report for a reader compares as well.
var shownFlat = []flatMember{
	{"timestamp", false, []string{"timestamp"}, "timestamp"},
	{"upstream_timestamp", false, []string{"upstream_timestamp"}, "upstream_timestamp"},
	{"seller", false, []string{"seller"}, "seller"},
	{"seller", false, []string{"parties", "seller"}, "parties.seller"},
	{"buyer_fingerprint", false, []string{"parties", "buyer_fingerprint"}, "parties.buyer_fingerprint"},
	{"transaction_id", false, []string{"certification_fee", "transaction_id"}, "certification_fee.transaction_id"},
	{"receipt_content_hash", true, []string{"provider_payment", "receipt_content_hash"}, "provider_payment.receipt_content_hash"},
}

// FlatDivergences returns the paths of the flat members that are present and
// differ from the opened values, by committed field; hash members are compared
// with "sha256:" and the opened value. A field that was not opened is not
// compared. Nothing is judged by a flat member, hence an incident and no more
// (bundle-format §10 "Flat fields").
func FlatDivergences(p *Proof, opened map[string]any) []string {
	return divergences(p, opened, scoredFlat)
}

func divergences(p *Proof, opened map[string]any, members []flatMember) []string {
	var paths []string
	for _, m := range members {
		value, ok := opened[m.field]
		if !ok {
			continue
		}
		flat, present := member(p.doc, m.path...)
		if !present {
			continue
		}
		if s, isString := value.(string); m.hash && isString {
			value = "sha256:" + s
		}
		if !canonjson.Equal(flat, value) {
			paths = append(paths, m.name)
		}
	}
	return paths
}
