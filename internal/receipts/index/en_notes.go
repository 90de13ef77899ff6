package index

// englishNotes say what a witness's check found (receipt.Note).
func englishNotes() map[string]string {
	return map[string]string{
		"note.chain_malformed": "The chain hash of the proof is malformed.",
		"note.batch_waiting":   "The batch is not closed yet.",
		"note.batch_failed":    "The place in the batch does not hold, so there is nothing to check here.",
		"note.spec_unknown":    "The version of the proof format is not known.",

		"note.identity_bound":         "Verified DID %s, bound when the proof was made.",
		"note.identity_unbound":       "DID %s, verified but not bound.",
		"note.identity_self_declared": "%s is self-declared, not a verified DID.",
		"note.identity_none":          "The proof anchors that no identity was declared.",
		"note.identity_unanchored":    "%s is claimed; no version before 3.1 anchors an identity, so this is no evidence.",
		"note.identity_unclaimed":     "No identity is claimed.",
		"note.identity_uncommitted":   "%s is not committed; version 3.1 commits all four identity fields.",
		"note.identity_undisclosed":   "%s is not disclosed; version 3.1 discloses all four identity fields.",
		"note.identity_unopened":      "The disclosed %s does not open its commitment.",

		"note.chain_committed":  "Commitments that lead to the chain hash: %s.",
		"note.chain_recomputed": "Recomputed from the values of the proof.",
		"note.chain_other":      "The %s commitments lead to another hash.",
		"note.chain_redacted":   "The public view leaves out part of what the chain hash covers, so it cannot be computed again.",

		"note.disclosed":         "Pairs that open their commitments: %s.",
		"note.disclosed_none":    "Nothing is disclosed.",
		"note.disclosed_wrong":   "The pair of %s does not open its commitment.",
		"note.disclosed_loose":   "The commitments are not those of the chain hash.",
		"note.nothing_to_commit": "This version of the proof format has no commitments.",

		"note.issuer_key":          "Issuer’s key %s.",
		"note.issuer_key_retired":  "Issuer’s key %s, retired since; no verified time shows yet that it signed before.",
		"note.issuer_key_too_late": "The proof was witnessed too long after the key %s was retired.",
		"note.issuer_key_unknown":  "%s is none of the issuer’s published keys.",
		"note.issuer_key_outside":  "The key %s was not in service at the time that the proof states, %s.",
		"note.signature_missing":   "The proof has no signature.",
		"note.signature_wrong":     "The signature is not the one of the key %s over this chain hash.",

		"note.batch_leaf":          "Leaf %s of %s under the root %s",
		"note.batch_none":          "The proof is in no batch; the witnesses attest its chain hash itself.",
		"note.batch_path_length":   "The path does not have the length that this place in the batch requires.",
		"note.batch_path_mismatch": "The path leads to another root.",

		"note.token":             "Token of %s.",
		"note.token_missing":     "The proof has no token.",
		"note.token_reported":    "The proof has no token; the issuer reports “%s”.",
		"note.authority_unknown": "The keys and roots of the season name no authority “%s”.",

		"note.entry":              "Entry %s of %s.",
		"note.entry_unnamed":      "The proof names no log entry.",
		"note.entry_reported":     "The proof names no log entry; the issuer reports “%s”.",
		"note.entry_malformed":    "The identifier of the log entry is malformed.",
		"note.entry_not_supplied": "The entry %s was not at hand.",
		"note.entry_denied":       "The log has no entry %s.",
		"note.entry_unavailable":  "The bundle does not hold the entry %s.",
		"note.entry_foreign":      "The key that signed the entry is none of the issuer’s published log keys.",
	}
}
