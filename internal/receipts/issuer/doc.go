// Package issuer is a Trust Layer: it signs keys up, binds DIDs to them, makes
// HTTP calls for their holders and turns each call into a proof that strangers
// can check. It speaks the protocol of the public Trust Layer (spec 3.1), so that
// a client of that one works here unchanged; docs/issuer-differences.md lists what
// differs on purpose. Section numbers T§n in comments are those of the protocol
// reference; sections 2.2, 2.3 and 3 of the challenge's specification say what the
// challenge needs of it.
//
// # One proof's way
//
// proxy → commit → store (durable before the answer) → batch → witnesses →
// public view. Nothing reads backwards.
//
// # Invariants
//
//   - A proof is on disk before its caller sees it, in one transaction with the
//     usage it cost and the answer kept for its idempotency key.
//   - Proofs are numbered in the order of their commits; the pending batch is what
//     comes after the last closed one, and a batch is a range of that order. So a
//     proof is in exactly one batch, and storing a proof queues it.
//   - A closed batch's root never changes. Its witnesses are obtained one by one,
//     each verified and made durable before the next step; the batch, and with it
//     every view of its proofs, says "anchored" only when all required witnesses
//     are there. A witness that is down or answers garbage leaves it pending, and it
//     is tried again for as long as it takes.
//   - Closing can be interrupted at any point: the next process takes up what is
//     there. Signatures for the log are deterministic, so a repeated submission finds
//     the first entry.
//   - API keys and binding challenges are stored as SHA-256 only. No secret is
//     logged or answered; the challenge secret goes to listed hosts only and is
//     removed from what comes back.
//   - Calls to the outside go to addresses that were checked, and to no other.
//
// # Files
//
// request.go, target.go and response.go decide what a call is and what is hashed,
// in pure functions; record.go makes the proof; views.go what is shown of it;
// proxy.go and upstream.go act. batch.go and anchor.go close batches. keys.go,
// bind.go, meter.go and limits.go are about callers. http*.go is transport only,
// store_*.go all the SQL.
package issuer
