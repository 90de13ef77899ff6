package receipt

import (
	"crypto/sha256"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// ChainValues are the values that the chain hash of a proof before 3.0 covers,
// hashes as bare hex. UpstreamTimestamp and ReceiptContentHash are optional;
// empty means absent (T§6: present means non-null and non-empty).
type ChainValues struct {
	RequestHash        string
	ResponseHash       string
	TransactionID      string
	Timestamp          string
	BuyerFingerprint   string
	Seller             string
	UpstreamTimestamp  string
	ReceiptContentHash string
}

// ValueChain computes the chain hash of a version before 3.0 (T§6): SHA-256 of
// the plain concatenation for an absent version, 1.0, 1.1 and 2.0, of the
// canonical JSON object for 1.2, 2.1 and any version not listed.
func ValueChain(v Version, c ChainValues) [32]byte {
	if v.concatenates() {
		return sha256.Sum256([]byte(c.RequestHash + c.ResponseHash + c.TransactionID + c.Timestamp +
			c.BuyerFingerprint + c.Seller + c.UpstreamTimestamp + c.ReceiptContentHash))
	}
	o := canonjson.NewObject(
		"request_hash", c.RequestHash,
		"response_hash", c.ResponseHash,
		"transaction_id", c.TransactionID,
		"timestamp", c.Timestamp,
		"buyer_fingerprint", c.BuyerFingerprint,
		"seller", c.Seller,
	)
	if c.UpstreamTimestamp != "" {
		o.Set("upstream_timestamp", c.UpstreamTimestamp)
	}
	if c.ReceiptContentHash != "" {
		o.Set("receipt_content_hash", c.ReceiptContentHash)
	}
	return canonjson.Sum(o)
}

// preimage collects the chain values that a document still carries. missing
// names those a public view redacts: without them nothing can be recomputed,
// which is no mismatch. malformed names a value of a wrong type or form.
func (p *Proof) preimage() (c ChainValues, missing []string, malformed string) {
	read := func(dst *string, required, isHash bool, paths ...string) {
		for _, path := range paths {
			value, _ := member(p.doc, strings.Split(path, ".")...)
			if value == nil {
				continue
			}
			s, ok := value.(string)
			if ok && isHash {
				if _, ok = parseHash(s); ok {
					s = s[len("sha256:"):]
				}
			}
			if !ok && malformed == "" {
				malformed = path
			}
			*dst = s
			return
		}
		if required {
			missing = append(missing, paths[0])
		}
	}
	read(&c.RequestHash, true, true, "hashes.request")
	read(&c.ResponseHash, true, true, "hashes.response")
	// The specification's texts say "payment" where the service says "certification_fee".
	read(&c.TransactionID, true, false, "certification_fee.transaction_id", "payment.transaction_id")
	read(&c.Timestamp, true, false, "timestamp")
	read(&c.BuyerFingerprint, true, false, "parties.buyer_fingerprint")
	read(&c.Seller, true, false, "parties.seller", "seller")
	read(&c.UpstreamTimestamp, false, false, "upstream_timestamp")
	read(&c.ReceiptContentHash, false, true, "provider_payment.receipt_content_hash")
	return c, missing, malformed
}
