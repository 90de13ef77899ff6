// Package holdout holds the sealed records against which submissions of the
// research challenge are scored: their commitment, their verification, the
// contamination check of a submission's manifest, and the ceremony that selects
// them (reference R§6, R§26).
//
// # Secrecy
//
// The records are the one thing a miner must never see (R§6.4). So a [Record]
// shows nothing of itself: not in %v, %+v, %#v or %s, not in JSON, not in a log
// line, and not as an unexported field of another struct, where fmt would pass
// over every method. Errors of this package name a record by its number and
// place and say which rule it breaks, never a value. What a record holds is had
// by asking for it: [Record.Reveal] in the ceremonies, and on a control plane
// [Set.Reveal], which wants the digest of a submission that is already frozen.
//
// # Invariants
//
//   - [Verify] is the only way to a [Set], so a Set always matches the commitment
//     that its topic was signed with.
//   - A commitment does not depend on the order of the records and covers each of
//     their fields.
//   - Nothing here reads a clock, a file, the network or randomness.
package holdout
