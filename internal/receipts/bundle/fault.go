package bundle

import (
	"fmt"

	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// UnreadableError says why a bundle cannot be used at all: one file and what is
// wrong with it. Its text is one line.
type UnreadableError struct {
	// Path is the file inside the bundle, or the bundle itself.
	Path string
	// Fault says what is wrong there and what was expected.
	Fault string
}

// Error is "<path>: <fault>".
func (e *UnreadableError) Error() string { return e.Path + ": " + e.Fault }

// Refusal is the answer to a readable bundle whose freeze does not hold (§7):
// nothing of it is scored.
type Refusal struct {
	Track  string // the first track, in name order, that fails
	Reason string // a word of the table of §7
	Why    string // the same for a reader, one line
}

// The reasons of a refusal, in the order of the checks of §7.
const (
	ReasonFreezeMissing   = "freeze_proof_missing"
	ReasonFreezePending   = "freeze_proof_pending"
	ReasonFreezeInvalid   = "freeze_proof_invalid"
	ReasonFreezeLate      = "freeze_proof_late"
	ReasonFreezeStatement = "freeze_statement_mismatch"
	ReasonRules           = "rules_mismatch"
	ReasonManifest        = "manifest_mismatch"
	ReasonKey             = "key_mismatch"
	ReasonCorpus          = "corpus_mismatch"
)

// Error names the track, the reason and the difference found.
func (r *Refusal) Error() string {
	return fmt.Sprintf("track %s: %s: %s", r.Track, r.Reason, r.Why)
}

// document is a file being read; its first fault makes the bundle unreadable.
type document struct {
	*strict.Document
	path string
}

func parseDocument(path string, data []byte) (document, any) {
	d, v := strict.Parse(data)
	return document{Document: d, path: path}, v
}

// result is the fault found as an error, nil when there is none.
func (d document) result() error {
	if !d.Failed() {
		return nil
	}
	return &UnreadableError{Path: d.path, Fault: d.Fault()}
}
