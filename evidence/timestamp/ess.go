package timestamp

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// essAttribute is SigningCertificate (RFC 2634 §5.4) or SigningCertificateV2
// (RFC 5035 §3): which certificate signed, told under the signature.
type essAttribute struct {
	field string
	ids   []essCertID
}

// essCertID is ESSCertID, whose hash is SHA-1, or ESSCertIDv2.
type essCertID struct {
	hash   crypto.Hash
	sum    []byte
	issuer []byte   // DER Name of issuerSerial, nil when absent.
	serial *big.Int // With issuer.
}

// parseESS reads the one value of a signing-certificate attribute.
func parseESS(values cryptobyte.String, v2 bool) (essAttribute, error) {
	out := essAttribute{field: "signedAttrs.signingCertificate"}
	if v2 {
		out.field = "signedAttrs.signingCertificateV2"
	}
	s, err := element(&values, asn1.SEQUENCE, out.field)
	if err != nil {
		return out, err
	}
	if err := end(values, out.field); err != nil {
		return out, err
	}
	certs, err := element(&s, asn1.SEQUENCE, out.field+".certs")
	if err != nil {
		return out, err
	}
	for !certs.Empty() {
		one, err := element(&certs, asn1.SEQUENCE, out.field+".certs")
		if err != nil {
			return out, err
		}
		id, err := parseESSCertID(one, v2, out.field)
		if err != nil {
			return out, err
		}
		out.ids = append(out.ids, id)
	}
	if len(out.ids) == 0 {
		return out, malformed(out.field+".certs", "is empty")
	}
	// Policies constrain a validation by policy, which is not done here.
	if _, _, err := optional(&s, asn1.SEQUENCE, out.field+".policies"); err != nil {
		return out, err
	}
	return out, end(s, out.field)
}

func parseESSCertID(s cryptobyte.String, v2 bool, field string) (essCertID, error) {
	id := essCertID{hash: crypto.SHA1}
	if v2 {
		id.hash = crypto.SHA256
		// DER omits the default SHA-256, yet authorities in use spell it out.
		// The octets are signed, so reading both forms opens nothing.
		if s.PeekASN1Tag(asn1.SEQUENCE) {
			alg, err := algorithm(&s, field+".hashAlgorithm", true)
			if err != nil {
				return id, err
			}
			var ok bool
			if id.hash, ok = strongHash(alg); !ok {
				return id, malformed(field+".hashAlgorithm", "is %s, want SHA-256, SHA-384 or SHA-512", dotted(alg))
			}
		}
	}
	sum, err := element(&s, asn1.OCTET_STRING, field+".certHash")
	if err != nil {
		return id, err
	}
	if len(sum) != id.hash.Size() {
		return id, malformed(field+".certHash", "has %d bytes, want the %d of %v", len(sum), id.hash.Size(), id.hash)
	}
	id.sum = sum
	is, ok, err := optional(&s, asn1.SEQUENCE, field+".issuerSerial")
	if err != nil {
		return id, err
	}
	if !ok {
		return id, end(s, field)
	}
	names, err := element(&is, asn1.SEQUENCE, field+".issuerSerial.issuer")
	if err != nil {
		return id, err
	}
	dir, err := element(&names, tagDirectory, field+".issuerSerial.issuer")
	if err != nil {
		return id, err
	}
	if err := end(names, field+".issuerSerial.issuer"); err != nil {
		return id, err
	}
	id.issuer = dir
	if id.serial, err = integer(&is, field+".issuerSerial.serialNumber"); err != nil {
		return id, err
	}
	if err := end(is, field+".issuerSerial"); err != nil {
		return id, err
	}
	return id, end(s, field)
}

// names reports whether the identifier is that of the certificate.
func (id essCertID) names(c *x509.Certificate) bool {
	h := id.hash.New()
	h.Write(c.Raw)
	if !bytes.Equal(h.Sum(nil), id.sum) {
		return false
	}
	return id.serial == nil || bytes.Equal(id.issuer, c.RawIssuer) && id.serial.Cmp(c.SerialNumber) == 0
}

// namesSigner reports whether the first identifier is that of the signer, as
// RFC 2634 §5.4 and RFC 5035 §3 demand.
func (a essAttribute) namesSigner(c *x509.Certificate) bool { return a.ids[0].names(c) }

// allowsChain reports whether the chain, signer first and trust anchor last,
// uses only certificates that the attribute lists. One identifier alone leaves
// the issuers free. The anchor is the caller's and needs no naming.
func (a essAttribute) allowsChain(chain []*x509.Certificate) bool {
	if len(a.ids) == 1 {
		return true
	}
	for i := 1; i < len(chain)-1; i++ {
		found := false
		for _, id := range a.ids[1:] {
			found = found || id.names(chain[i])
		}
		if !found {
			return false
		}
	}
	return true
}
