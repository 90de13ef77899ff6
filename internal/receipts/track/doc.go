// Package track holds what a track of the receipts challenge lays down as data:
// its set of verdicts and probative fields (rules/<track>.json), its tasks with
// their targets and bounds, and the task graph, the only part of the world that
// an assertion of a task may speak of.
//
// Everything here is a pure function over parsed JSON values. No file is opened
// and no request is made: a caller hands in the frozen values through [Corpus].
//
// Invariants:
//
//   - a [Rules], [Task] or [Graph] that exists is well formed; nothing inside is
//     checked a second time;
//   - verdicts, bounds and fields are read from the season's data, never from
//     code, so a third party can score a season of rules this program has not
//     seen (specification §5.7, bundle format §4);
//   - a graph depends on the target and on the frozen resources alone, and its
//     walk ends even on page chains that run in circles (bundle format §9.1).
//
// Specification: prove-it §5.2, §5.3, §5.7, §6; bundle format §§2, 4, 9.1 and
// decisions D3, D15, D18.
package track
