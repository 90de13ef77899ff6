package timestamp

import (
	"bytes"
	"crypto"
	"errors"
	"math/big"
	"testing"

	"golang.org/x/crypto/cryptobyte/asn1"
)

// FuzzVerify changes tokens whose issuers' keys are not here. Whatever is
// accepted must have the content, signed attributes and signature of a seed.
func FuzzVerify(f *testing.F) {
	type seed struct {
		tsr, msg []byte
		a        Authority
		read     *signedData
	}
	var seeds []seed
	for i := range realTokens {
		tsr, msg := realToken(f, i)
		seeds = append(seeds, seed{tsr: tsr, msg: msg, a: freeTSA(f)})
	}
	for _, e := range exampleTokens(f) {
		if _, err := Verify(e.tsr, e.root, e.authority); err == nil {
			seeds = append(seeds, seed{tsr: e.tsr, msg: e.root, a: e.authority})
		}
	}
	for i := range seeds {
		var err error
		if seeds[i].read, err = parseResponse(seeds[i].tsr); err != nil {
			f.Fatal(err)
		}
		f.Add(seeds[i].tsr, byte(i))
	}
	f.Add([]byte{}, byte(0))
	f.Add([]byte{0x30, 0x80, 0, 0}, byte(1))
	f.Add(bytes.Repeat([]byte{0x30, 0x82, 0xff, 0xff}, 64), byte(2))
	f.Fuzz(func(t *testing.T, tsr []byte, which byte) {
		s := seeds[int(which)%len(seeds)]
		tok, sd, err := verify(tsr, s.msg, s.a)
		if (tok == nil) == (err == nil) {
			t.Fatalf("token %v with error %v", tok, err)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(sd.content, s.read.content) || !bytes.Equal(sd.signer.signed, s.read.signer.signed) || !bytes.Equal(sd.signer.signature, s.read.signer.signature) {
			t.Fatalf("accepted a token that nobody issued: %x", tsr)
		}
	})
}

// FuzzParse reads anything. What is read must be one element to the last byte,
// read the same twice, and be refused with a byte behind it.
func FuzzParse(f *testing.F) {
	for i := range realTokens {
		tsr, _ := realToken(f, i)
		f.Add(tsr)
	}
	for _, e := range exampleTokens(f) {
		f.Add(e.tsr)
	}
	p := newSigner(f, newRoot(f, "root.test"), keys()["P-256"], nil)
	full := newForgery(p, crypto.SHA256)
	full.tst.genTime = genTime("20261103120000.25Z")
	full.tst.accuracy = seq(num(1), der(tagMillis, []byte{5}))
	full.tst.ordering = der(asn1.BOOLEAN, []byte{0xff})
	full.tst.nonce = num(9)
	full.tst.extensions = der(tag1, seq(object("\x2a\x03"), octets(nil)))
	f.Add(full.make(f))
	rejection, err := appendRejection(SystemFailure, "no")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(rejection)
	f.Add([]byte{})
	f.Add([]byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, tsr []byte) {
		tok, err := Parse(tsr)
		if err != nil {
			if tok != nil {
				t.Fatal("a token with an error")
			}
			if refusal, ok := errors.AsType[*StatusError](err); ok && (refusal.Status == 0 || refusal.Status == 1) {
				t.Fatalf("status %d called a refusal", refusal.Status)
			}
			return
		}
		if len(tok.HashedMessage) != tok.HashAlgorithm.Size() || tok.Serial == nil || tok.Policy == "" || tok.Signer != nil || tok.Time.Year() > 9999 {
			t.Fatalf("token read as %+v", tok)
		}
		if _, err := Parse(append(bytes.Clone(tsr), 0)); err == nil {
			t.Fatal("a byte after the response is accepted")
		}
	})
}

// FuzzLocalRespond sends anything to the embedded authority. It must answer
// with a rejection that has a failure and words, or with a token that verifies
// and answers the request.
func FuzzLocalRespond(f *testing.F) {
	l := newLocal(f)
	a := l.Authority("local")
	for _, o := range []RequestOptions{{}, {CertReq: true}, {Nonce: big.NewInt(-1)}, {Nonce: new(big.Int).Lsh(big.NewInt(1), 200), CertReq: true}} {
		q, err := NewRequest([]byte(message), o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(q)
	}
	f.Add(seq(num(1), seq(bare(oidSHA512), octets(make([]byte, 64))), object(defaultPolicy)))
	f.Add(seq(num(1), imprintOf(message), der(tag0, seq())))
	f.Add([]byte("POST / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, query []byte) {
		tsr, err := l.Respond(query)
		if err != nil {
			t.Fatalf("an error for a request: %v", err)
		}
		r, bad := parseRequest(query)
		tok, err := Parse(tsr)
		if bad != nil || r.policy != "" && r.policy != defaultPolicy {
			refusal, ok := errors.AsType[*StatusError](err)
			if !ok || refusal.Status != 2 || len(refusal.Failures) != 1 || refusal.Text == "" {
				t.Fatalf("answer to a bad request: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if tok.HashAlgorithm != r.hash || !bytes.Equal(tok.HashedMessage, r.imprint) || (tok.Nonce == nil) != (r.nonce == nil) || r.nonce != nil && tok.Nonce.Cmp(r.nonce) != 0 {
			t.Fatalf("token %+v for request %+v", tok, r)
		}
		sd, err := parseResponse(tsr)
		if err != nil {
			t.Fatal(err)
		}
		if err := sd.checkContent(); err != nil {
			t.Fatal(err)
		}
		if err := sd.checkSignature(a.Certificates[0]); err != nil {
			t.Fatal(err)
		}
		if (len(sd.certificates) > 0) != r.certReq {
			t.Fatalf("%d certificates with certReq %t", len(sd.certificates), r.certReq)
		}
	})
}
