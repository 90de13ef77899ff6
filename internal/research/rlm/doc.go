// Package rlm is the engine of custom topics (specification "Dynamic agentic engine";
// reference §§16 to 18, R§n in this package; decisions 9 to 11, 14, 15, 20): the
// lifecycle of a topic, its versions of anti-cheat rules, the checklist that stands
// before every spend, the ceremony that measures a baseline, and the evaluation of one
// submission from the gate to its row. Nothing about any topic is compiled in.
//
// Pure are [Next] and [Implied] (the lifecycle), [VerifyChecklist], [Mint] (the spend
// token), [NewRequest], [BindReport] and [NewReceipt]. [Engine] puts them to work over
// a ledger, an artefact root and a [Boundary], which is the only way to a guest.
//
// # Invariants
//
//   - Miner code is run only by SpendToken.Job, and a token comes only from a green
//     checklist of the current rules, about this submission and artefact.
//   - Runs of one topic come one after the other, under a lease that is renewed while
//     they score. A crown is decided under the lease, against the best in the ledger,
//     and lands by compare-and-swap in the transaction of its row.
//   - A row never says champion for a crown that did not land, and the zip of a row
//     never says promoted for one.
//   - A run without a measured usage, without the host's attestation or without a
//     confirmed end of its guest has no row.
//   - Whatever ends the process, the ledger is whole: what is on disk beside it is
//     made good by [Engine.Recover], a phase that nobody is in by the next run.
//   - No key, origin or path is in a job, an error, a note of the lifecycle or a log
//     line. Faults of the store go to the log alone.
//
// # Order of an evaluation
//
//	lease → version → stale phase → submission_received
//	→ inspect → checklist stored → (red: no spend | green: token → evaluate)
//	→ VM ended → row number reserved → zip staged and on disk
//	→ one transaction: swap, row, artefact, promotion, moves, nonce, flight
//	→ zip renamed → events.jsonl, best.json → lease released
package rlm
