package rlm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// Provider is what receipts of custom rows say where the run was made.
const Provider = "vm"

// Receipt is stored with each custom row that ran (R§10, decision 20). A submission
// with a red checklist has none: nothing ran.
type Receipt struct {
	Provider    string `json:"provider"`
	PodID       string `json:"pod_id"`       // id of the sister guest
	ImageDigest string `json:"image_digest"` // of the sister guest

	SubmissionHash      string `json:"submission_hash"`
	MetricsHash         string `json:"metrics_hash"` // SHA-256 of the canonical harness object
	TerminationVerified bool   `json:"termination_verified"`
}

// NewReceipt returns the receipt of a run behind an attestation. It says that the
// guests' end was verified; without that there is no row and so no receipt.
func NewReceipt(submission string, a *wire.Attestation, h family.Harness) Receipt {
	sum := sha256.Sum256(h.AppendJSON(nil))
	return Receipt{
		Provider: Provider, PodID: a.SisterVMID, ImageDigest: a.ImageDigest,
		SubmissionHash: submission, MetricsHash: hex.EncodeToString(sum[:]), TerminationVerified: true,
	}
}

// JSON is the text that a row holds.
func (r Receipt) JSON() (string, error) {
	text, err := json.Marshal(r)
	return string(text), err
}
