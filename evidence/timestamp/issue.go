package timestamp

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"
	"slices"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// issue signs one token and wraps it into a granted response.
func (l *Local) issue(r *request, at time.Time, serial *big.Int) ([]byte, error) {
	content, err := l.tstInfo(r, at, serial)
	if err != nil {
		return nil, fmt.Errorf("timestamp: encoding TSTInfo: %w", err)
	}
	attrs, err := l.signedAttributes(content)
	if err != nil {
		return nil, fmt.Errorf("timestamp: encoding signed attributes: %w", err)
	}
	var set cryptobyte.Builder
	set.AddASN1(asn1.SET, func(b *cryptobyte.Builder) { b.AddBytes(attrs) })
	signed, err := set.Bytes()
	if err != nil {
		return nil, fmt.Errorf("timestamp: encoding signed attributes: %w", err)
	}
	sum := sha256.Sum256(signed)
	signature, err := l.key.Sign(l.random, sum[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("timestamp: signing a token: %w", err)
	}
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1Int64(0) })
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			addOID(b, oidSignedData)
			b.AddASN1(tag0, func(b *cryptobyte.Builder) {
				b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
					b.AddASN1Int64(3)
					b.AddASN1(asn1.SET, func(b *cryptobyte.Builder) { addAlgorithm(b, oidSHA256, true) })
					b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
						addOID(b, oidTSTInfo)
						b.AddASN1(tag0, func(b *cryptobyte.Builder) { b.AddASN1OctetString(content) })
					})
					if r.certReq {
						b.AddASN1(tag0, func(b *cryptobyte.Builder) { b.AddBytes(l.carried()) })
					}
					b.AddASN1(asn1.SET, func(b *cryptobyte.Builder) { l.addSignerInfo(b, attrs, signature) })
				})
			})
		})
	})
	out, err := b.Bytes()
	if err != nil {
		return nil, fmt.Errorf("timestamp: encoding a response: %w", err)
	}
	return out, nil
}

// tstInfo encodes the content of a token.
func (l *Local) tstInfo(r *request, at time.Time, serial *big.Int) ([]byte, error) {
	var b cryptobyte.Builder
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		addOID(b, l.policy)
		addImprint(b, r.hash, r.imprint)
		b.AddASN1BigInt(serial)
		b.AddASN1(asn1.GeneralizedTime, func(b *cryptobyte.Builder) {
			b.AddBytes([]byte(at.Format("20060102150405Z")))
		})
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddASN1Int64(int64(localAccuracy / time.Second)) })
		if r.nonce != nil {
			b.AddASN1BigInt(r.nonce)
		}
		b.AddASN1(tag0, func(b *cryptobyte.Builder) {
			b.AddASN1(tagDirectory, func(b *cryptobyte.Builder) { b.AddBytes(l.cert.RawSubject) })
		})
	})
	return b.Bytes()
}

// signedAttributes encodes contentType, messageDigest and
// signingCertificateV2 in DER order, without the tag of the set.
func (l *Local) signedAttributes(content []byte) ([]byte, error) {
	digest, certHash := sha256.Sum256(content), sha256.Sum256(l.cert.Raw)
	values := []struct {
		typ string
		add func(*cryptobyte.Builder)
	}{
		{oidContentType, func(b *cryptobyte.Builder) { addOID(b, oidTSTInfo) }},
		{oidMessageDigest, func(b *cryptobyte.Builder) { b.AddASN1OctetString(digest[:]) }},
		{oidSigningCertificateV2, func(b *cryptobyte.Builder) {
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) { addESSCertIDv2(b, certHash[:], l.cert) })
			})
		}},
	}
	var encoded [][]byte
	for _, v := range values {
		var b cryptobyte.Builder
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			addOID(b, v.typ)
			b.AddASN1(asn1.SET, v.add)
		})
		der, err := b.Bytes()
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, der)
	}
	slices.SortFunc(encoded, bytes.Compare)
	return slices.Concat(encoded...), nil
}

// addESSCertIDv2 writes the identifier of c with its SHA-256, which as the
// default algorithm is not spelled out.
func addESSCertIDv2(b *cryptobyte.Builder, sum []byte, c *x509.Certificate) {
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1OctetString(sum)
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1(tagDirectory, func(b *cryptobyte.Builder) { b.AddBytes(c.RawIssuer) })
			})
			b.AddASN1BigInt(c.SerialNumber)
		})
	})
}

func (l *Local) addSignerInfo(b *cryptobyte.Builder, attrs, signature []byte) {
	b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1Int64(1)
		b.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddBytes(l.cert.RawIssuer)
			b.AddASN1BigInt(l.cert.SerialNumber)
		})
		addAlgorithm(b, oidSHA256, true)
		b.AddASN1(tag0, func(b *cryptobyte.Builder) { b.AddBytes(attrs) })
		addAlgorithm(b, oidECDSASHA256, false)
		b.AddASN1OctetString(signature)
	})
}

// carried is the content of the certificate set: the signer and intermediates
// in DER order. The root stays out, a verifier has it or must not trust it.
func (l *Local) carried() []byte {
	certs := [][]byte{l.cert.Raw}
	for _, c := range l.chain[:len(l.chain)-1] {
		certs = append(certs, c.Raw)
	}
	slices.SortFunc(certs, bytes.Compare)
	return slices.Concat(certs...)
}
