// Package corpus makes, checks and serves the frozen world of a track: realistic
// fiction in French, registries and records whose every trap is placed on
// purpose (specification §2.5).
//
// [Build] makes a corpus from a secret seed and a composition; the same two give
// the same bytes on every machine. [Lint] proves what a composition promises: the
// published breakdown, traps that tempt, facts that an agent can assert, and no
// sign by which a task, a trap or an absent reference could be told apart.
// [NewServer] serves the files with the response contract of §2.5.
//
// Invariants:
//
//   - no value of a resource is a number, no body is {} or [], every body carries
//     its resource path;
//   - verdicts and facts of the key come from track/conformite applied to the
//     frozen values, never from the generator's intent; a difference is an error;
//   - order and numbering depend on content and on a stream of their own, never on
//     the order of generation;
//   - every person, company and place is made of the word lists of this package.
//     They are invented: any likeness to a real one is chance (§2.5, reason 3);
//   - the seed is as secret as the key: it is in no file of a corpus, no error and
//     no log. The built-in seed is public, so what it builds is a practice corpus,
//     marked as such.
//
// Only the compliance track is generated. Graphs (package track) and the server
// serve both tracks.
//
// Specification: prove-it §2.3–§2.5, §5.3–§5.7; design of the receipts challenge,
// section 2; bundle format §§2, 4, 5, 6.
package corpus
