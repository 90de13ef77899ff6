package receipt

import (
	"errors"
	"strconv"
	"strings"
)

// Note is the machine-readable form of a Witness's Detail, for a reader who shows
// it in another language. It decides nothing, and a Detail may have none: then
// Code is empty and the English Detail is all there is.
type Note struct {
	// Code is one of the Note… constants. A later version may add codes.
	Code string
	// Args are the values that the sentence names, as many as NoteArgs says. They
	// may come from the proof: at most 200 bytes each, neither quoted nor escaped.
	Args []string
}

// The codes of a Note, each with its Args in brackets.
const (
	// Several witnesses.
	NoteChainMalformed = "chain_malformed" // hashes.chain has not its form
	NoteBatchWaiting   = "batch_waiting"   // the batch is not closed yet
	NoteBatchFailed    = "batch_failed"    // not checked, for the batch did not verify
	NoteSpecUnknown    = "spec_unknown"    // not checked, for the spec_version is not known

	// Identity.
	NoteIdentityBound        = "identity_bound"         // [DID] verified, and bound when the proof was made
	NoteIdentityUnbound      = "identity_unbound"       // [DID] verified but not bound
	NoteIdentitySelfDeclared = "identity_self_declared" // [identity] no verified DID
	NoteIdentityNone         = "identity_none"          // anchored that none was declared
	NoteIdentityUnanchored   = "identity_unanchored"    // [identity] claimed, in a version that anchors none
	NoteIdentityUnclaimed    = "identity_unclaimed"     // none claimed, in a version that anchors none
	NoteIdentityUncommitted  = "identity_uncommitted"   // [field] is not committed
	NoteIdentityUndisclosed  = "identity_undisclosed"   // [field] is not disclosed
	NoteIdentityUnopened     = "identity_unopened"      // [field] does not open its commitment

	// Chain hash.
	NoteChainCommitted  = "chain_committed"  // [number of commitments] lead to it
	NoteChainRecomputed = "chain_recomputed" // from the values of the proof
	NoteChainOther      = "chain_other"      // [number of commitments] lead to another hash
	NoteChainRedacted   = "chain_redacted"   // this view lacks part of the preimage

	// Disclosures.
	NoteDisclosed       = "disclosed"         // [number of pairs] all open
	NoteDisclosedNone   = "disclosed_none"    // nothing is disclosed
	NoteDisclosedWrong  = "disclosed_wrong"   // [field] does not open its commitment
	NoteDisclosedLoose  = "disclosed_loose"   // the commitments are not those of the chain hash
	NoteNothingToCommit = "nothing_to_commit" // this version has no commitments

	// Signature.
	NoteIssuerKey        = "issuer_key"          // [kid] signed
	NoteIssuerKeyRetired = "issuer_key_retired"  // [kid] signed, is retired since, and no verified time shows when
	NoteIssuerKeyTooLate = "issuer_key_too_late" // [kid] was retired when the proof was witnessed
	NoteIssuerKeyUnknown = "issuer_key_unknown"  // [kid or key] is not among the published ones
	NoteIssuerKeyOutside = "issuer_key_outside"  // [kid, timestamp] the timestamp is outside the key's life
	NoteSignatureMissing = "signature_missing"
	NoteSignatureWrong   = "signature_wrong" // [kid] is not that key's over this chain hash

	// Batch.
	NoteBatchLeaf         = "batch_leaf"          // [index, size, root in hex]
	NoteBatchNone         = "batch_none"          // the witnesses attest the chain hash itself
	NoteBatchPathLength   = "batch_path_length"   // the audit path has the wrong length
	NoteBatchPathMismatch = "batch_path_mismatch" // the audit path leads to another root

	// Timestamp token.
	NoteToken            = "token" // [provider]
	NoteTokenMissing     = "token_missing"
	NoteTokenReported    = "token_reported"    // [status] missing, and what the issuer reports
	NoteAuthorityUnknown = "authority_unknown" // [provider] is not in the trust

	// Log entry.
	NoteEntry            = "entry"              // [index, log]
	NoteEntryUnnamed     = "entry_unnamed"      // the proof names none
	NoteEntryReported    = "entry_reported"     // [status] names none, and what the issuer reports
	NoteEntryMalformed   = "entry_malformed"    // transparency_log.uuid has not its form
	NoteEntryNotSupplied = "entry_not_supplied" // [uuid] the caller has no entries
	NoteEntryDenied      = "entry_denied"       // [uuid] the log has no such entry
	NoteEntryUnavailable = "entry_unavailable"  // [uuid] could not be had
	NoteEntryForeign     = "entry_foreign"      // not signed by a published log key of the issuer
)

// NoteArgs returns every code with the number of its Args.
func NoteArgs() map[string]int {
	return map[string]int{
		NoteChainMalformed: 0, NoteBatchWaiting: 0, NoteBatchFailed: 0, NoteSpecUnknown: 0,
		NoteIdentityBound: 1, NoteIdentityUnbound: 1, NoteIdentitySelfDeclared: 1, NoteIdentityNone: 0, NoteIdentityUnanchored: 1,
		NoteIdentityUnclaimed: 0, NoteIdentityUncommitted: 1, NoteIdentityUndisclosed: 1, NoteIdentityUnopened: 1,
		NoteChainCommitted: 1, NoteChainRecomputed: 0, NoteChainOther: 1, NoteChainRedacted: 0,
		NoteDisclosed: 1, NoteDisclosedNone: 0, NoteDisclosedWrong: 1, NoteDisclosedLoose: 0, NoteNothingToCommit: 0,
		NoteIssuerKey: 1, NoteIssuerKeyRetired: 1, NoteIssuerKeyTooLate: 1, NoteIssuerKeyUnknown: 1, NoteIssuerKeyOutside: 2,
		NoteSignatureMissing: 0, NoteSignatureWrong: 1,
		NoteBatchLeaf: 3, NoteBatchNone: 0, NoteBatchPathLength: 0, NoteBatchPathMismatch: 0,
		NoteToken: 1, NoteTokenMissing: 0, NoteTokenReported: 1, NoteAuthorityUnknown: 1,
		NoteEntry: 2, NoteEntryUnnamed: 0, NoteEntryReported: 1, NoteEntryMalformed: 0,
		NoteEntryNotSupplied: 1, NoteEntryDenied: 1, NoteEntryUnavailable: 1, NoteEntryForeign: 0,
	}
}

// maxNoteArg bounds a Note's Args, which may repeat a proof's text of any length.
const maxNoteArg = 200

// noted gives a witness its Note.
func (w Witness) noted(code string, args ...string) Witness {
	w.Note = newNote(code, args)
	return w
}

// newNote copies the Args: they are parts of a whole proof, which a cache of
// findings shall not keep.
func newNote(code string, args []string) Note {
	n := Note{Code: code, Args: make([]string, len(args))}
	for i, a := range args {
		n.Args[i] = strings.Clone(clipAt(a, maxNoteArg))
	}
	return n
}

// notedError is an error that a witness can repeat as a Note.
type notedError struct {
	error
	note Note
}

func withNote(err error, code string, args ...string) error {
	return &notedError{err, newNote(code, args)}
}

func (e *notedError) Unwrap() error { return e.error }

// failed is the failed witness of an error, with the error's Note if it has one.
func failed(err error) Witness {
	w := fail("%v", err)
	if e, ok := errors.AsType[*notedError](err); ok {
		w.Note = e.note
	}
	return w
}

// named is the Arg of a foreign value: a string as it is, anything else as JSON.
func named(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return show(v)
}

func decimal(n int) string { return strconv.Itoa(n) }
