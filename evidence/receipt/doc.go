// Package receipt reads and verifies the proofs (receipts) of a Trust Layer
// issuer: documents that say what an agent asked and was answered, under a chain
// hash that the issuer signs and that outside witnesses attest.
//
// Two readers use it. A scorer asks [Checker.Admit] and [Checker.Identity], which
// apply the checks of the season bundle's section 10 in its order and words and
// say the first that fails. A person or a program that holds one proof of any
// spec version asks [Checker.Verify], which reports every witness: identity,
// chain, disclosure, signature, batch, timestamp and log.
//
// # What is trusted
//
// Keys and roots come from the caller as a [Trust], never from a proof
// (bundle-format D4): [ParseTrust] reads a trust.json, [BuiltinTrust] holds the
// public one.
//
// # Invariants
//
//   - A Proof is immutable and keeps members it does not know.
//   - The package has no clock, no network and no randomness: the same inputs
//     give the same findings. Log entries come through a function of the caller.
//   - Three witnesses, two encodings (T§15.1): the signature and the log entry
//     cover the 64 hex characters of a hash, the timestamp token its 32 bytes.
//   - Hex is lower case, prefixes and nonces have one form, JSON booleans are no
//     integers: where the issuer's own verifier is lenient (T§13), this is not.
//   - A flat member never decides anything. Where it differs from what was
//     opened, that is an [Incident].
//   - A redacted preimage or a batch that has not closed is never a failure.
//
// T§n means the section n of the Trust Layer protocol, D1… the decisions of the
// bundle format.
package receipt
