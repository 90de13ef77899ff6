// Package ledger keeps what the research challenge must not lose or change
// (specification "Store"; design decisions 1 to 10; reference §11.4 and §19): topic
// versions, rules, checklists, the lifecycle, rows and attempts, artefacts,
// promotions, closed epochs, and, for as long as it lasts, what is in flight.
//
// A submission's way through it:
//
//	Admit     the gate's second half and what it decided, in one transaction: a
//	          flight with its nonce reserved, or a row of a reject, or nothing
//	Claim     a worker takes the flight; Beat keeps it
//	Commit    row, attempt, artefact, promotion and lifecycle in one transaction,
//	          which also burns the nonce and ends the flight; or
//	Refuse    no row, the nonce is free again
//
// # Invariants
//
//   - The tables of history are append-only, enforced by the database; "current" is
//     the newest version, event or promotion.
//   - A row is whole or not there, whatever kills the process, and reads back byte
//     for byte. Its id was reserved for it and is never used again.
//   - A row says champion only if its promotion is in the same transaction: the
//     crown is swapped against the best that it was decided on, and must be strictly
//     better ([ErrLostSwap]).
//   - Whoever lost a lease or a flight writes nothing more under it ([ErrLease],
//     [ErrLost]): leases have a fencing number that only grows.
//   - A nonce of a hotkey leads to one row at most.
//   - Nothing is added to an epoch after its close, and an epoch does not close
//     while a submission of it, or of an earlier one, is in flight.
//
// One SQL text serves SQLite and PostgreSQL. Instants are UTC with microseconds.
// The service may connect as an account without rights over the tables
// ([store.AppRole]) once their owner has called [Open].
package ledger
