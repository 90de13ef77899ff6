package timestamp

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"testing"

	digitorus "github.com/digitorus/timestamp"
	"github.com/sigstore/timestamp-authority/v2/pkg/verification"
)

func TestTokensOfAnotherGoImplementationVerify(t *testing.T) {
	root := newRoot(t, "root.test")
	for _, tt := range []struct {
		key  string
		hash crypto.Hash
	}{{"P-256", crypto.SHA256}, {"P-384", crypto.SHA384}, {"P-521", crypto.SHA512}, {"RSA", crypto.SHA256}, {"RSA", crypto.SHA512}} {
		t.Run(tt.key+" "+tt.hash.String(), func(t *testing.T) {
			p := newSigner(t, root, keys()[tt.key], nil)
			ts := digitorus.Timestamp{
				HashAlgorithm: crypto.SHA256, HashedMessage: hashOf(crypto.SHA256, []byte(message)), Time: pkiTime,
				Policy: asn1.ObjectIdentifier{1, 2, 3}, Nonce: big.NewInt(5), AddTSACertificate: true, Ordering: true,
			}
			tsr, err := ts.CreateResponseWithOpts(p.cert, p.key, tt.hash)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Verify(tsr, []byte(message), Authority{Roots: []*x509.Certificate{root.cert}})
			if err != nil {
				t.Fatal(err)
			}
			if !tok.Time.Equal(pkiTime) || tok.Policy != "1.2.3" || tok.Nonce.Int64() != 5 {
				t.Errorf("token read as %+v", tok)
			}
		})
	}
}

func TestAnotherGoVerifierAcceptsLocalTokens(t *testing.T) {
	l := newLocal(t)
	query, err := NewRequest([]byte(message), RequestOptions{CertReq: true, Nonce: big.NewInt(1 << 40)})
	if err != nil {
		t.Fatal(err)
	}
	tsr, err := l.Respond(query)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := verification.VerifyTimestampResponse(tsr, bytes.NewReader([]byte(message)), verification.VerifyOpts{
		Roots: l.Authority("local").Roots, Nonce: big.NewInt(1 << 40), OID: asn1.ObjectIdentifier{2, 999, 3161},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !ts.Time.Equal(pkiTime) || ts.Accuracy != localAccuracy {
		t.Errorf("read as %+v", ts)
	}
}

func TestRequestsOfAnotherGoImplementationAreTheSameBytes(t *testing.T) {
	for _, o := range []RequestOptions{{}, {CertReq: true}, {CertReq: true, Nonce: big.NewInt(0x8000)}} {
		mine, err := NewRequest([]byte(message), o)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := digitorus.CreateRequest(bytes.NewReader([]byte(message)), &digitorus.RequestOptions{Hash: crypto.SHA256, Certificates: o.CertReq, Nonce: o.Nonce})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mine, theirs) {
			t.Errorf("options %+v:\nmine   %x\ntheirs %x", o, mine, theirs)
		}
	}
}
