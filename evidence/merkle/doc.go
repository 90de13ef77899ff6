// Package merkle builds and checks RFC 6962 hash trees over leaf hashes: the
// batches of a Trust Layer issuer (reference §8), the commitments of one proof
// (§6.1) and the inclusion proofs of transparency logs (§10).
//
// A leaf hash is SHA-256(0x00 ‖ data), an inner node SHA-256(0x01 ‖ left ‖
// right). A tree splits at the largest power of two below its size, which is the
// same as pairing each level from the left and promoting an odd last node.
// Audit paths are listed bottom-up.
//
// Invariant: [Verify] accepts a path only when it has exactly the length that
// index and size require (reference §8, "Expected path length"), so that no path
// can be padded, cut, or used with a size of another shape. The length does not
// pin the size fully: several sizes can share the shape of one leaf's path.
package merkle
