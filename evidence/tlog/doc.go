// Package tlog obtains, verifies and operates transparency-log entries in the form of the Rekor v1 API.
//
// An entry says that a key signed an anchored hash (a chain hash, or the root of a batch of proofs) no later than the
// log integrated it, and that everybody who reads the log sees the same list. The package has three parts:
//
//   - [VerifyEntry] checks one fetched entry offline against logs that the caller trusts. It applies every rule of the
//     bundle format's section 10, "Log entry", except the attribution of the submitter, which belongs to the caller.
//   - [Client] submits a hash to a log over HTTP and fetches entries from it.
//   - [Embedded] is an append-only log of its own that speaks the same API, so that one [Client] serves both, and that
//     can be called in process as well. [FileStore] keeps it in a folder; another [Store] may keep it in a database.
//
// # Invariants
//
//   - What is signed and hashed is the text of the anchored hash: its 64 lower-case hexadecimal characters, not the 32
//     bytes that they denote. (A timestamp authority gets the bytes; mixing the two up is the classical mistake.)
//   - Keys come from the caller, never from the document that is verified. The key inside an entry proves only that its
//     holder made the entry; [Entry.SubmitterDER] lets the caller decide whose key it is.
//   - An entry must prove inclusion in a tree whose size and root stand in a checkpoint signed by the log. The signed
//     entry timestamp alone is a promise, not a proof.
//   - A checkpoint may carry signatures of witnesses beside the log's own; they are neither needed nor an obstacle.
//   - [Embedded] acknowledges an entry only when its [Store] has made it durable, never twice the same one, and signs a
//     checkpoint of the current tree for each entry that it hands out. Its signatures are deterministic (RFC 6979), so
//     asking twice gives the same bytes while the tree has not grown.
//
// The wire formats are those of Rekor v1 (hashedrekord 0.0.1), RFC 6962 for trees, and the C2SP signed note and
// tlog-checkpoint formats for checkpoints.
package tlog
