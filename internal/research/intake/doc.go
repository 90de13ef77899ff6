// Package intake decides whether a submission of the research challenge is taken
// (specification "HTTP", "Submit fields"; reference §11, "R§11" in comments).
//
// [Parse] reads the wire form. [Gate] is the ordered gate of R§11.3 as one table:
// each row has its number there, a name, a status, a text and a pure predicate
// over a [Facts] value, which is everything the host knows. A host walks it in two
// halves:
//
//	s, refusal := intake.Before(&facts)      // rows 0 to 8: nothing is asked of a store
//	facts.Miner = reserve(s)                 // nonce, runs in flight, places in the queue
//	outcome, refusal := intake.After(&facts, s)
//
// [Outcome.Persist] makes the row that a 201 stores (R§11.4) out of an outcome and
// what its run returned.
//
// # Invariants
//
//   - The first row of the table that fires is the answer. A refusal leaves nothing
//     behind: it has a status and a text, and no row can be made of it.
//   - What was frozen does not change: a [Submission] holds the offers, the topic and
//     the digests as they were when row 8 was reached, whatever rotates afterwards.
//   - A signature covers what R§11.5 lists. artifact_uri and architecture are outside
//     of it: whoever relays a submission may change them, so the bytes behind an
//     address count only as far as they hash to artifact_digest.
//   - No text shows an origin, a key, a path or a record of the holdout.
//
// Nothing here reads a clock, a file, the network or randomness.
package intake
