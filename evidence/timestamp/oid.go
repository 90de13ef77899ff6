package timestamp

import (
	"crypto"
	_ "crypto/sha1"   // ESSCertID version 1 is a SHA-1 of the certificate (RFC 2634 §5.4).
	_ "crypto/sha256" // Imprints, and signatures with SHA-256.
	_ "crypto/sha512" // Signatures with SHA-384 and SHA-512.
	"crypto/x509"
	"encoding/hex"
)

// Object identifiers as the content octets of their DER encoding, so that
// comparing one is comparing strings and none can be changed at run time.
const (
	oidSignedData           = "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"         // 1.2.840.113549.1.7.2
	oidTSTInfo              = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x01\x04" // 1.2.840.113549.1.9.16.1.4
	oidContentType          = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03"         // 1.2.840.113549.1.9.3
	oidMessageDigest        = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04"         // 1.2.840.113549.1.9.4
	oidSigningCertificate   = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x02\x0c" // 1.2.840.113549.1.9.16.2.12
	oidSigningCertificateV2 = "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x02\x2f" // 1.2.840.113549.1.9.16.2.47

	oidSHA1   = "\x2b\x0e\x03\x02\x1a"                 // 1.3.14.3.2.26
	oidSHA256 = "\x60\x86\x48\x01\x65\x03\x04\x02\x01" // 2.16.840.1.101.3.4.2.1
	oidSHA384 = "\x60\x86\x48\x01\x65\x03\x04\x02\x02" // 2.16.840.1.101.3.4.2.2
	oidSHA512 = "\x60\x86\x48\x01\x65\x03\x04\x02\x03" // 2.16.840.1.101.3.4.2.3

	oidRSAEncryption = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01" // 1.2.840.113549.1.1.1
	oidSHA256WithRSA = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b" // 1.2.840.113549.1.1.11
	oidSHA384WithRSA = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c" // 1.2.840.113549.1.1.12
	oidSHA512WithRSA = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d" // 1.2.840.113549.1.1.13
	oidECDSASHA256   = "\x2a\x86\x48\xce\x3d\x04\x03\x02"     // 1.2.840.10045.4.3.2
	oidECDSASHA384   = "\x2a\x86\x48\xce\x3d\x04\x03\x03"     // 1.2.840.10045.4.3.3
	oidECDSASHA512   = "\x2a\x86\x48\xce\x3d\x04\x03\x04"     // 1.2.840.10045.4.3.4

	oidSubjectAltName = "2.5.29.17"
	oidExtKeyUsage    = "2.5.29.37"
)

// strongHash reads a digest algorithm that may stand under a signature. SHA-1
// and MD5 are not among them.
func strongHash(oid string) (crypto.Hash, bool) {
	switch oid {
	case oidSHA256:
		return crypto.SHA256, true
	case oidSHA384:
		return crypto.SHA384, true
	case oidSHA512:
		return crypto.SHA512, true
	}
	return 0, false
}

// hashOID is the inverse of strongHash; it is empty for any other algorithm.
func hashOID(h crypto.Hash) string {
	switch h {
	case crypto.SHA256:
		return oidSHA256
	case crypto.SHA384:
		return oidSHA384
	case crypto.SHA512:
		return oidSHA512
	}
	return ""
}

// keyFamily tells which kind of key a signature algorithm is for.
type keyFamily int

const (
	familyRSA keyFamily = iota + 1
	familyECDSA
)

// signatureAlgorithm reads SignerInfo.signatureAlgorithm. The hash is zero for
// rsaEncryption, which leaves it to SignerInfo.digestAlgorithm (RFC 3370 §3.2).
func signatureAlgorithm(oid string) (keyFamily, crypto.Hash, bool) {
	switch oid {
	case oidRSAEncryption:
		return familyRSA, 0, true
	case oidSHA256WithRSA:
		return familyRSA, crypto.SHA256, true
	case oidSHA384WithRSA:
		return familyRSA, crypto.SHA384, true
	case oidSHA512WithRSA:
		return familyRSA, crypto.SHA512, true
	case oidECDSASHA256:
		return familyECDSA, crypto.SHA256, true
	case oidECDSASHA384:
		return familyECDSA, crypto.SHA384, true
	case oidECDSASHA512:
		return familyECDSA, crypto.SHA512, true
	}
	return 0, 0, false
}

// dotted writes content octets as the usual dotted numbers, arcs of any size.
func dotted(content string) string {
	var o x509.OID
	if err := o.UnmarshalBinary([]byte(content)); err != nil {
		return "hex:" + hex.EncodeToString([]byte(content))
	}
	return o.String()
}
