// Package baseline holds the sealed measurement that every submission of a topic
// is compared with: the document the operator keeps, the commitment that the
// topic is signed with, and the check that binds the two (specification "A
// baseline must be sealed"; reference §9, "R§9" in comments).
//
// # Invariants
//
//   - A measurement is recorded for a topic only through [Measurement.Bind], so a
//     number that is compared with is always the one its topic was signed with.
//   - The commitment covers figures and nothing else: the image, the topic and
//     the holdout are bound by comparison, not by hash.
//   - Every figure is a finite float; the document has no other kind of number.
//
// Nothing here reads a clock, a file, the network or randomness.
package baseline
