// Package bundle reads, checks and writes season bundles: the folder (or its
// tar.zst) from which a stranger scores a season again, with no clock, network
// or account (bundle format; §n in this package means that page).
//
// What it promises:
//
//   - [Open] reads every file that decides whether a bundle can be used at all
//     (season, trust, rules, manifests, keys, enrolments, corrections, the names
//     of folders and files of submissions) strictly, and answers
//     [*UnreadableError] with one path and one fault otherwise. Submissions,
//     proofs and log entries are read later, one at a time; nothing in them
//     makes a bundle unreadable.
//   - [Bundle.CheckFreeze] recomputes what was committed before the season (§7)
//     in the order of the page; the first difference is a [*Refusal].
//   - [ParseSubmission] is the one implementation of rules a–h (§9): intake and
//     scorer share it, so what one records the other accepts.
//   - [Writer] makes a bundle folder appear whole or not at all, and [Pack]
//     makes the same archive from the same folder, byte for byte.
//
// The package knows nothing of who scores a bundle or how.
package bundle
