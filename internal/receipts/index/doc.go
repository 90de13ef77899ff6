// Package index shows seasons of the receipts challenge to readers: the public
// Index with its two tables a track, the report of each participant, the
// receipts behind it, and what the measure does not prove (specification §7, §10;
// design "receipts challenge" §5).
//
// It reads published bundles (package bundle and their results.json) and knows
// nothing of how a score comes about: every figure, state, status and cause on a
// page is one that the bundle publishes. The witnesses on a proof's page are
// verified by package receipt with the bundle's own trust, and the page says so.
//
// Invariants:
//
//   - A page of a season that has no published bundle shows its window, state and
//     freeze, never a score nor who took part.
//   - The two tables of a track are never merged, the two tracks never share a
//     page, the two rates are never combined: rows are ordered by one column at a
//     time, by the overclaim rate only within equal success (§5.7, §7).
//   - Text that a participant wrote is escaped, shown with its direction and
//     control characters made visible, and never enters a title, a heading or a
//     cause. The declared stack stands in its column only (§7.3).
//   - Every page exists in French and English and has a JSON twin, the same data
//     under the same path with .json; no page needs a script.
//   - Links are relative, so a served site and an exported one are the same files.
//
// Every sentence lives in the catalogues (fr*.go, en*.go) under one key in both
// languages; vocabulary.go lists the words of the bundle format that must have one.
package index
