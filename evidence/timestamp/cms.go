package timestamp

import (
	"bytes"
	"crypto"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// signedData is the part of CMS SignedData (RFC 5652 §5) that a token uses.
type signedData struct {
	content      []byte   // DER TSTInfo, the octets that messageDigest covers.
	info         *tstInfo // The same, read.
	certificates [][]byte // DER certificates carried, in the order found.
	signer       signerInfo
}

// signerInfo is the one SignerInfo (RFC 5652 §5.3).
type signerInfo struct {
	issuer        []byte // DER Name, with serial; or keyID instead of both.
	serial        *big.Int
	keyID         []byte
	digest        crypto.Hash
	signed        []byte // signedAttrs as the DER SET that the signature covers.
	messageDigest []byte
	ess           []essAttribute // One or two, never none.
	family        keyFamily
	signature     []byte
}

// parseContentInfo reads the content of the ContentInfo in a response.
func parseContentInfo(s cryptobyte.String) (*signedData, error) {
	typ, err := oid(&s, "ContentInfo.contentType")
	if err != nil {
		return nil, err
	}
	if typ != oidSignedData {
		return nil, malformed("ContentInfo.contentType", "is %s, want id-signedData", dotted(typ))
	}
	explicit, err := element(&s, tag0, "ContentInfo.content")
	if err != nil {
		return nil, err
	}
	if err := end(s, "ContentInfo"); err != nil {
		return nil, err
	}
	sd, err := element(&explicit, asn1.SEQUENCE, "SignedData")
	if err != nil {
		return nil, err
	}
	if err := end(explicit, "ContentInfo.content"); err != nil {
		return nil, err
	}
	return parseSignedData(sd)
}

func parseSignedData(s cryptobyte.String) (*signedData, error) {
	version, err := smallInteger(&s, "SignedData.version")
	if err != nil {
		return nil, err
	}
	if version != 3 {
		return nil, malformed("SignedData.version", "is %d, want 3 for content of type id-ct-TSTInfo", version)
	}
	digests, err := element(&s, asn1.SET, "SignedData.digestAlgorithms")
	if err != nil {
		return nil, err
	}
	digest, err := algorithm(&digests, "SignedData.digestAlgorithms", true)
	if err != nil {
		return nil, err
	}
	if err := end(digests, "SignedData.digestAlgorithms"); err != nil {
		return nil, err
	}
	out := &signedData{}
	encap, err := element(&s, asn1.SEQUENCE, "SignedData.encapContentInfo")
	if err != nil {
		return nil, err
	}
	if out.content, err = parseEncapsulated(encap); err != nil {
		return nil, err
	}
	if out.info, err = parseTSTInfo(out.content); err != nil {
		return nil, err
	}
	if out.certificates, err = parseCertificates(&s); err != nil {
		return nil, err
	}
	if s.PeekASN1Tag(tag1) {
		return nil, malformed("SignedData.crls", "are refused: no signature covers them")
	}
	signers, err := element(&s, asn1.SET, "SignedData.signerInfos")
	if err != nil {
		return nil, err
	}
	if err := end(s, "SignedData"); err != nil {
		return nil, err
	}
	one, err := element(&signers, asn1.SEQUENCE, "SignedData.signerInfos")
	if err != nil {
		return nil, err
	}
	if !signers.Empty() {
		return nil, malformed("SignedData.signerInfos", "has more than the one signer of a token")
	}
	if err := parseSignerInfo(&out.signer, one); err != nil {
		return nil, err
	}
	if hashOID(out.signer.digest) != digest {
		return nil, malformed("SignedData.digestAlgorithms", "is %s, but the signer uses %v", dotted(digest), out.signer.digest)
	}
	return out, nil
}

// parseEncapsulated reads EncapsulatedContentInfo and returns the content
// octets.
func parseEncapsulated(s cryptobyte.String) ([]byte, error) {
	typ, err := oid(&s, "encapContentInfo.eContentType")
	if err != nil {
		return nil, err
	}
	if typ != oidTSTInfo {
		return nil, malformed("encapContentInfo.eContentType", "is %s, want id-ct-TSTInfo", dotted(typ))
	}
	explicit, err := element(&s, tag0, "encapContentInfo.eContent")
	if err != nil {
		return nil, err
	}
	if err := end(s, "encapContentInfo"); err != nil {
		return nil, err
	}
	content, err := element(&explicit, asn1.OCTET_STRING, "encapContentInfo.eContent")
	if err != nil {
		return nil, err
	}
	return content, end(explicit, "encapContentInfo.eContent")
}

// parseCertificates takes the optional CertificateSet off s. Only X.509
// certificates may be in it, no attribute certificates nor other kinds.
func parseCertificates(s *cryptobyte.String) ([][]byte, error) {
	set, ok, err := optional(s, tag0, "SignedData.certificates")
	if err != nil || !ok {
		return nil, err
	}
	var out [][]byte
	for !set.Empty() {
		der, err := rawElement(&set, asn1.SEQUENCE, "SignedData.certificates")
		if err != nil {
			return nil, err
		}
		out = append(out, der)
	}
	if len(out) == 0 {
		return nil, malformed("SignedData.certificates", "is an empty set")
	}
	return out, nil
}

func parseSignerInfo(out *signerInfo, s cryptobyte.String) error {
	version, err := smallInteger(&s, "SignerInfo.version")
	if err != nil {
		return err
	}
	if err := parseSignerID(out, &s, version); err != nil {
		return err
	}
	digest, err := algorithm(&s, "SignerInfo.digestAlgorithm", true)
	if err != nil {
		return err
	}
	var ok bool
	if out.digest, ok = strongHash(digest); !ok {
		return malformed("SignerInfo.digestAlgorithm", "is %s, want SHA-256, SHA-384 or SHA-512", dotted(digest))
	}
	attrs, err := element(&s, tag0, "SignerInfo.signedAttrs")
	if err != nil {
		return err
	}
	if err := parseSignedAttributes(out, attrs); err != nil {
		return err
	}
	// RSA identifiers carry NULL, ECDSA ones nothing (RFC 3370 §3.2, RFC 5754 §3.3).
	sigalg, err := algorithm(&s, "SignerInfo.signatureAlgorithm", !isECDSAIdentifier(s))
	if err != nil {
		return err
	}
	family, hash, ok := signatureAlgorithm(sigalg)
	if !ok {
		return malformed("SignerInfo.signatureAlgorithm", "is %s, want RSA PKCS #1 v1.5 or ECDSA with SHA-256, SHA-384 or SHA-512", dotted(sigalg))
	}
	if hash != 0 && hash != out.digest {
		return malformed("SignerInfo.signatureAlgorithm", "is with %v, but the digest algorithm is %v", hash, out.digest)
	}
	out.family = family
	sig, err := element(&s, asn1.OCTET_STRING, "SignerInfo.signature")
	if err != nil {
		return err
	}
	out.signature = sig
	if s.PeekASN1Tag(tag1) {
		return malformed("SignerInfo.unsignedAttrs", "are refused: no signature covers them")
	}
	return end(s, "SignerInfo")
}

// isECDSAIdentifier looks ahead whether the next AlgorithmIdentifier is one of
// ECDSA.
func isECDSAIdentifier(s cryptobyte.String) bool {
	seq, err := element(&s, asn1.SEQUENCE, "")
	if err != nil {
		return false
	}
	id, err := oid(&seq, "")
	if err != nil {
		return false
	}
	family, _, ok := signatureAlgorithm(id)
	return ok && family == familyECDSA
}

// parseSignerID reads the SignerIdentifier: issuer and serial number with
// version 1, subject key identifier with version 3 (RFC 5652 §5.3).
func parseSignerID(out *signerInfo, s *cryptobyte.String, version int64) error {
	switch version {
	case 1:
		id, err := element(s, asn1.SEQUENCE, "SignerInfo.sid")
		if err != nil {
			return err
		}
		issuer, err := rawElement(&id, asn1.SEQUENCE, "SignerInfo.sid.issuer")
		if err != nil {
			return err
		}
		out.issuer = issuer
		if out.serial, err = integer(&id, "SignerInfo.sid.serialNumber"); err != nil {
			return err
		}
		return end(id, "SignerInfo.sid")
	case 3:
		id, err := element(s, tagKeyID, "SignerInfo.sid")
		if err != nil {
			return err
		}
		if id.Empty() {
			return malformed("SignerInfo.sid", "is an empty key identifier")
		}
		out.keyID = id
		return nil
	}
	return malformed("SignerInfo.version", "is %d, want 1 or 3", version)
}

// parseSignedAttributes reads signedAttrs and keeps the octets that the
// signature covers: the same content under the tag of a SET. The attributes
// must stand in DER order and have each type once, so that there is one
// encoding to sign.
func parseSignedAttributes(out *signerInfo, s cryptobyte.String) error {
	const field = "SignerInfo.signedAttrs"
	var b cryptobyte.Builder
	b.AddASN1(asn1.SET, func(b *cryptobyte.Builder) { b.AddBytes(s) })
	signed, err := b.Bytes()
	if err != nil {
		return malformed(field, "%v", err)
	}
	out.signed = signed
	seen := map[string]bool{}
	var previous []byte
	for !s.Empty() {
		raw, err := rawElement(&s, asn1.SEQUENCE, field)
		if err != nil {
			return err
		}
		if previous != nil && bytes.Compare(previous, raw) >= 0 {
			return malformed(field, "are not in DER order")
		}
		previous = raw
		inner := raw
		attr, err := element(&inner, asn1.SEQUENCE, field)
		if err != nil {
			return err
		}
		typ, err := oid(&attr, field+".attrType")
		if err != nil {
			return err
		}
		if seen[typ] {
			return malformed(field, "has attribute %s twice", dotted(typ))
		}
		seen[typ] = true
		values, err := element(&attr, asn1.SET, field+".attrValues")
		if err != nil {
			return err
		}
		if err := end(attr, field); err != nil {
			return err
		}
		if err := parseSignedAttribute(out, typ, values); err != nil {
			return err
		}
	}
	if !seen[oidContentType] {
		return malformed(field, "lack contentType")
	}
	if !seen[oidMessageDigest] {
		return malformed(field, "lack messageDigest")
	}
	if len(out.ess) == 0 {
		return malformed(field, "lack signingCertificate and signingCertificateV2")
	}
	return nil
}

// parseSignedAttribute reads the values of the attributes that are checked;
// others are signed and ignored.
func parseSignedAttribute(out *signerInfo, typ string, values cryptobyte.String) error {
	var err error
	switch typ {
	case oidContentType:
		var content string
		if content, err = oid(&values, "signedAttrs.contentType"); err != nil {
			return err
		}
		if content != oidTSTInfo {
			return malformed("signedAttrs.contentType", "is %s, want id-ct-TSTInfo", dotted(content))
		}
		return end(values, "signedAttrs.contentType")
	case oidMessageDigest:
		var sum cryptobyte.String
		if sum, err = element(&values, asn1.OCTET_STRING, "signedAttrs.messageDigest"); err != nil {
			return err
		}
		out.messageDigest = sum
		return end(values, "signedAttrs.messageDigest")
	case oidSigningCertificate, oidSigningCertificateV2:
		a, err := parseESS(values, typ == oidSigningCertificateV2)
		if err != nil {
			return err
		}
		out.ess = append(out.ess, a)
		return nil
	}
	if values.Empty() {
		return malformed("signedAttrs", "attribute %s has no value", dotted(typ))
	}
	return nil
}
