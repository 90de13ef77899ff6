// Package commit makes and opens the commitments of a proof (reference §6.1) and
// the sealed commitment of a season's key (bundle format §6).
//
// The commitment of a field is
//
//	SHA-256( UTF-8(name) ‖ 0x00 ‖ nonce (32 bytes) ‖ canonical JSON of the value )
//
// The nonce hides values that could be guessed; the name keeps a pair of nonce
// and value from being moved to another field; the canonical text keeps 100 and
// "100" apart. The root over the commitments of one proof is an RFC 6962 tree
// whose leaves are the raw 32 bytes of each commitment, in the order of the
// field names.
//
// Invariant: a nonce is exactly 32 bytes, in text exactly 64 lower-case
// hexadecimal digits; [Opens] refuses any other spelling, where other verifiers
// are lenient (reference §13).
package commit
