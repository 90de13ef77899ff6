// Package sr25519 signs and verifies as the research challenge does: schnorrkel
// under the signing context "base-sr25519-v1", over a domain and a payload, each
// framed as a SCALE byte vector (R§2.1). A signature under another context, such
// as the "substrate" of wallets, or under another domain does not verify.
//
// A secret is a 32-byte mini secret, expanded as Substrate does (Ed25519 style).
// A [SecretKey] never prints: every way of formatting it gives a placeholder.
//
// Refused, each with its own error: keys and signatures of a wrong length,
// encodings of points and scalars that are not canonical, the identity as a key
// or as a signature's point, and a signature without the schnorrkel mark, the
// top bit of its last byte.
//
// Signing is randomised: two signatures of one message differ, and both verify.
package sr25519
