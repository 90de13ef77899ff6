// Package artefact keeps what each scored row of a custom topic leaves behind
// (R§20): a zip of the submission as it was inspected, with checklist, report,
// logs and the baseline that it was scored against, and beside the zips of a topic
// two public files, best.json and events.jsonl.
//
// # Deterministic
//
// [Build] is a function of its contents: entries sorted, mode 0644, the time
// 1980-01-01, JSON with two spaces, and a compressor of this package whose output
// is the same in every version. So [Read] can hold a zip against what Build would
// write, byte for byte, and accept nothing else.
//
// # Crash order (design decision 9)
//
//	Stage     zip under a temporary name: content and folder on disk
//	          … one transaction writes row, artefact and promotion …
//	Publish   rename to its name, folder on disk
//	Append, SetBest
//
// A process that ends between any two of these leaves a file that [Root.Leftovers]
// names; the store says whether its row was written, and the caller publishes or
// discards it. best.json and events.jsonl are projections of the store, which
// [Root.Project] writes again whenever they differ.
//
// # Invariants
//
//   - No path is built from an id that is not a slug or a row id, no zip holds a
//     name that leaves its folder, and no file of a root is reached by a link.
//   - A published zip is never replaced by another.
//   - A reader of best.json sees the old or the new file, never a part of one.
package artefact
