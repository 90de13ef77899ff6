package timestamp

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// Authority is what a caller trusts of one provider. Nothing of it comes from
// a token.
type Authority struct {
	// Provider is the name that proofs call it by.
	Provider string
	// Independent tells that somebody else than the issuer runs it. Verify does
	// not look at it; it is the caller's word (bundle-format D4).
	Independent bool
	// Roots are the trust anchors, at least one.
	Roots []*x509.Certificate
	// Certificates are further ones that tokens may lack: the signer's for a
	// token that carries none, and intermediates. They are not trusted by
	// themselves.
	Certificates []*x509.Certificate
}

// Token is what a timestamp token says.
type Token struct {
	Time          time.Time         // genTime, UTC, fraction of a second kept.
	Accuracy      time.Duration     // Deviation that the authority admits, 0 when it names none.
	Serial        *big.Int          // Unique for the authority.
	Policy        string            // Dotted object identifier.
	HashAlgorithm crypto.Hash       // Of the message imprint.
	HashedMessage []byte            // The message imprint.
	Nonce         *big.Int          // Nil when the token has none.
	Signer        *x509.Certificate // The certificate that signed; nil from Parse.
}

// Parse reads a TimeStampResp without verifying anything, for display. It asks
// for the same encoding as Verify, and returns a *StatusError when the authority
// refused. The signer is not looked for.
func Parse(tsr []byte) (*Token, error) {
	sd, err := parseResponse(tsr)
	if err != nil {
		return nil, err
	}
	return sd.info.token(nil), nil
}

func (t *tstInfo) token(signer *x509.Certificate) *Token {
	return &Token{
		Time:          t.time,
		Accuracy:      t.accuracy,
		Serial:        t.serial,
		Policy:        t.policy,
		HashAlgorithm: t.hash,
		HashedMessage: t.imprint,
		Nonce:         t.nonce,
		Signer:        signer,
	}
}

// Verify accepts one DER TimeStampResp, without a byte after it, that proves
// message to the authority: granted, content TSTInfo, imprint the SHA-256 of
// message, signed attributes complete, signing-certificate attribute naming the
// signer, signature good, signer fit for time-stamping alone and chained to one
// of the roots at the token's own time. It looks at no clock, no network and no
// revocation list, so the answer never changes (see the package documentation).
// The result's Signer is set.
func Verify(tsr, message []byte, a Authority) (*Token, error) {
	tok, _, err := verify(tsr, message, a)
	return tok, err
}

// verify also returns what was read, for the client's own conditions.
func verify(tsr, message []byte, a Authority) (*Token, *signedData, error) {
	sd, err := parseResponse(tsr)
	if err != nil {
		return nil, nil, err
	}
	if err := sd.checkImprint(message); err != nil {
		return nil, nil, err
	}
	if err := sd.checkContent(); err != nil {
		return nil, nil, err
	}
	carried, err := sd.parseCertificates()
	if err != nil {
		return nil, nil, err
	}
	signer, err := sd.findSigner(carried, a.Certificates)
	if err != nil {
		return nil, nil, err
	}
	if err := checkPurpose(signer); err != nil {
		return nil, nil, err
	}
	if sd.info.name != nil && !namedBy(signer, sd.info.name) {
		return nil, nil, malformed("TSTInfo.tsa", "is no name of the signer %q", signer.Subject)
	}
	if err := sd.checkSignature(signer); err != nil {
		return nil, nil, err
	}
	if err := sd.checkChain(signer, carried, a); err != nil {
		return nil, nil, err
	}
	return sd.info.token(signer), sd, nil
}

// checkImprint compares the imprint with the message.
func (sd *signedData) checkImprint(message []byte) error {
	if sd.info.hash != crypto.SHA256 {
		return malformed("TSTInfo.messageImprint", "is a %v, want SHA-256", sd.info.hash)
	}
	sum := sha256.Sum256(message)
	if !bytes.Equal(sum[:], sd.info.imprint) {
		return malformed("TSTInfo.messageImprint", "is %x, want %x, the SHA-256 of the message: the token is of something else", sd.info.imprint, sum)
	}
	return nil
}

// checkContent compares the content with the messageDigest attribute.
func (sd *signedData) checkContent() error {
	h := sd.signer.digest.New()
	h.Write(sd.content)
	if !bytes.Equal(h.Sum(nil), sd.signer.messageDigest) {
		return malformed("signedAttrs.messageDigest", "is not the %v of the TSTInfo", sd.signer.digest)
	}
	return nil
}

// parseCertificates reads the certificates that the token carries.
func (sd *signedData) parseCertificates() ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for i, der := range sd.certificates {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, malformed("SignedData.certificates", "number %d: %v", i+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// findSigner looks for the certificate that the signer identifier and the
// signing-certificate attributes name: in the token, or, when the token carries
// issuers only or nothing, among the caller's (bundle format §10 "Token"). A
// token that carries a certificate of somebody who may sign must carry the
// signer's (RFC 3161 §2.4.1), so that a changed byte in it cannot be made good by
// the caller's copy.
func (sd *signedData) findSigner(carried, supplied []*x509.Certificate) (*x509.Certificate, error) {
	pool, where := carried, "carried by the token"
	if !slices.ContainsFunc(carried, func(c *x509.Certificate) bool { return !c.IsCA || sd.signer.identifies(c) }) {
		pool, where = supplied, "supplied by the caller (the token carries none of a signer)"
	}
	matched := false
	for _, c := range pool {
		if !sd.signer.identifies(c) {
			continue
		}
		matched = true
		named := true
		for _, a := range sd.signer.ess {
			named = named && a.namesSigner(c)
		}
		if named {
			return c, nil
		}
	}
	if matched {
		return nil, malformed(sd.signer.ess[0].field, "does not name the signer certificate")
	}
	return nil, fmt.Errorf("timestamp: signer certificate not found among the %d %s", len(pool), where)
}

// identifies compares the SignerIdentifier with a certificate.
func (si *signerInfo) identifies(c *x509.Certificate) bool {
	if si.keyID != nil {
		return bytes.Equal(si.keyID, c.SubjectKeyId)
	}
	return bytes.Equal(si.issuer, c.RawIssuer) && si.serial.Cmp(c.SerialNumber) == 0
}

// checkPurpose asks for a certificate made for time-stamping and nothing else:
// extended key usage critical with timeStamping alone (RFC 3161 §2.3), key
// usage for signatures only, no authority of its own.
func checkPurpose(c *x509.Certificate) error {
	const field = "signer certificate"
	critical := false
	for _, e := range c.Extensions {
		if e.Id.String() == oidExtKeyUsage {
			critical = e.Critical
		}
	}
	if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageTimeStamping || len(c.UnknownExtKeyUsage) > 0 {
		return malformed(field, "its extended key usage is not timeStamping alone")
	}
	if !critical {
		return malformed(field, "its extended key usage is not critical")
	}
	if c.IsCA {
		return malformed(field, "is a certificate authority, which may not sign tokens")
	}
	const signing = x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment
	if c.KeyUsage != 0 && (c.KeyUsage&signing == 0 || c.KeyUsage&^signing != 0) {
		return malformed(field, "its key usage is not digitalSignature and nonRepudiation alone")
	}
	return nil
}

// checkSignature verifies the signature over the signed attributes.
func (sd *signedData) checkSignature(c *x509.Certificate) error {
	const field = "SignerInfo.signature"
	si := &sd.signer
	h := si.digest.New()
	h.Write(si.signed)
	sum := h.Sum(nil)
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if si.family != familyRSA {
			return malformed("SignerInfo.signatureAlgorithm", "is ECDSA, but the signer's key is RSA")
		}
		if key.N.BitLen() < 2048 {
			return malformed("signer certificate", "its RSA key has %d bits, want at least 2048", key.N.BitLen())
		}
		if err := rsa.VerifyPKCS1v15(key, si.digest, sum, si.signature); err != nil {
			return malformed(field, "does not verify with the signer's RSA key")
		}
		return nil
	case *ecdsa.PublicKey:
		if si.family != familyECDSA {
			return malformed("SignerInfo.signatureAlgorithm", "is RSA, but the signer's key is ECDSA")
		}
		if key.Curve == elliptic.P224() {
			return malformed("signer certificate", "its key is on P-224, want P-256, P-384 or P-521")
		}
		if !ecdsa.VerifyASN1(key, sum, si.signature) {
			return malformed(field, "does not verify with the signer's ECDSA key")
		}
		return nil
	}
	return malformed("signer certificate", "its key is a %v, want RSA or ECDSA", c.PublicKeyAlgorithm)
}

// checkChain builds a path from the signer to one of the roots, valid at the
// token's own time, with the certificates of the token and of the caller.
func (sd *signedData) checkChain(signer *x509.Certificate, carried []*x509.Certificate, a Authority) error {
	if len(a.Roots) == 0 {
		return fmt.Errorf("timestamp: authority %q has no roots: nothing of it can be verified", a.Provider)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range a.Roots {
		roots.AddCert(c)
	}
	for _, list := range [][]*x509.Certificate{carried, a.Certificates} {
		for _, c := range list {
			between.AddCert(c)
		}
	}
	chains, err := signer.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: between,
		CurrentTime:   sd.info.time,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	if err != nil {
		return fmt.Errorf("timestamp: signer certificate does not chain to the roots of %q at %s: %w",
			a.Provider, sd.info.time.Format(time.RFC3339Nano), err)
	}
	for _, chain := range chains {
		ok := true
		for _, attr := range sd.signer.ess {
			ok = ok && attr.allowsChain(chain)
		}
		if ok {
			return nil
		}
	}
	return errors.New("timestamp: the signing-certificate attribute lists other issuers than the signer's chain")
}
