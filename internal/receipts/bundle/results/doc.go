// Package results is the form of results.json (bundle format §11 and §13; §n in
// this package means that page): its types and words, a strict reader, and the
// writer of its exact bytes. Whoever scores fills these types, whoever shows a
// season reads them.
//
// What it promises:
//
//   - [Writer] writes C(results) and one line feed, a participant at a time.
//   - [Parse] requires every member of §11 with its type and counts that can be
//     printed. A figure stays as it was published: whether it follows from a
//     bundle is the question of a replay.
//
// The package knows nothing of how a status, a state or a count comes about.
package results
