// Package scoring computes the results of a season from its bundle and nothing
// else: no clock, network, randomness or floating point, and the same bytes on
// every machine (bundle format §§9–11 and 13; §n in this package means that page).
//
// What it promises:
//
//   - Nothing is scored before the freeze of every track holds; a
//     [*bundle.Refusal] says which check failed.
//   - Participants are scored one at a time in the order of their DIDs and
//     handed on as they come, so memory does not grow with their number. A few
//     workers look ahead; the order is kept.
//   - An assertion's status follows the order of §10: pending, the proof, the
//     identity, the resource, instrument faults, the value. Each step is applied
//     to all cited proofs before the next (D10).
//   - The two rates are counts, printed with one decimal, never combined
//     (specification §5.7).
package scoring
