// Package timestamp obtains, verifies and issues timestamp tokens: RFC 3161
// with RFC 5816, as proofs carry them (Trust Layer reference §9, bundle-format
// §10 "Token").
//
//   - [Verify] judges a token against a caller's [Authority]; [Parse] only
//     reads one.
//   - [Client] asks an authority over HTTP, [Pool] several in order.
//   - [Local] is an embedded authority that issues real tokens in this process
//     or over HTTP; [NewLocalIdentity] makes its key and certificates.
//
// # What a verified token says
//
// That somebody who held the key of an authority the caller trusts saw the
// SHA-256 of the message not later than Token.Time. For proofs the message is
// the 32 raw bytes of the batch root or chain hash, never their hex text.
//
// Verify depends on its arguments alone: no clock, no network, no system roots.
// Certificates are judged at the token's own time, so a token good today is
// good in ten years. Revocation is not looked at for the same reason: a list
// fetched later would let the answer change, and nobody signs one into a
// token. An authority that lost its key is handled by removing it from the
// trust file.
//
// # Why an own reader
//
// github.com/digitorus/timestamp and github.com/sigstore/timestamp-authority
// read tokens well, but leave bytes free that nothing protects. Of a real
// freetsa.org token of 943 bytes they accept a change in 28, each alone
// (measured with the versions in go.mod): the content type, the version, the
// digest list and some tags and lengths, because their CMS layer transcodes BER
// first. They do not look at the signing-certificate attribute, refuse status 1
// and refuse a genTime with a fraction. Making them strict takes a second
// parser beside theirs; the one here is cryptobyte, which knows one encoding
// only, and is all there is. Both libraries stay as test oracles, and openssl
// is the third: their tokens verify here, and ours there.
//
// # What is covered, byte by byte
//
// A changed byte is refused because it is signed (TSTInfo through
// messageDigest, the signed attributes), compared with something that is (signer
// identifier, digest algorithms, the signer certificate through its ESS hash),
// or has one allowed value (tags, minimal lengths, content types, versions).
// Four things remain that a holder of a token can alter without breaking it:
//
//   - PKIStatus 0 or 1 and the words of PKIStatusInfo: they stand outside the
//     token. They change nothing that Verify returns.
//   - SignerInfo.signatureAlgorithm of an RSA signature may say rsaEncryption
//     or the same operation by its longer name, and NULL parameters may be
//     left out of an algorithm identifier where both forms are allowed.
//   - The signer may be named by issuer and serial number or by key identifier.
//     Both must fit the certificate that the signed ESS hash names.
//   - Certificates carried beside the signer's are hints to build the chain
//     with, checked by it when used and ignored when not; they must still parse.
//     All of them, the signer's too, may be left out when the caller has them.
//
// An ECDSA signature (r, s) has the twin (r, n-s), as everywhere; it verifies
// over the same content. So the bytes of a token are not an identifier: use the
// serial number or the content.
//
// Refused, because nothing covers them: CRLs, unsigned attributes, certificates
// other than X.509, a failInfo in a granted response, any byte left over at any
// level. A token that carries more than certificates of authorities must carry the
// signer's (RFC 3161 §2.4.1): a spoiled copy inside is not made good by one
// outside. With issuers only, the signer's may be supplied like any other.
//
// # Policy on algorithms
//
// Imprints SHA-256. Signatures RSA PKCS #1 v1.5 from 2048 bits, or ECDSA on
// P-256, P-384 or P-521, with SHA-256, SHA-384 or SHA-512. SHA-1 only inside
// ESSCertID version 1, where freetsa.org uses it: there it selects among
// certificates that the chain has to vouch for anyway.
package timestamp
