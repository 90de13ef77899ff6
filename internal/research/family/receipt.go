package family

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
)

// Receipt says where a run was made and that nothing of it is left running (R§10).
// It is stored with the row.
type Receipt struct {
	Provider            string `json:"provider"`
	PodID               string `json:"pod_id"`
	ImageDigest         string `json:"image_digest"`
	SubmissionHash      string `json:"submission_hash"`
	MetricsHash         string `json:"metrics_hash"` // SHA-256 of the canonical harness object
	TerminationVerified bool   `json:"termination_verified"`
}

// NewReceipt returns the receipt of a run whose end was verified; without that there
// is no row and so no receipt.
func NewReceipt(provider, pod, image, submission string, h Harness) Receipt {
	sum := sha256.Sum256(h.AppendJSON(nil))
	return Receipt{provider, pod, image, submission, hex.EncodeToString(sum[:]), true}
}

// JSON is the text that a row holds.
func (r Receipt) JSON() (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}
