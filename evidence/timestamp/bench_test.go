package timestamp

import (
	"crypto"
	"crypto/x509"
	"testing"
)

func BenchmarkVerify(b *testing.B) {
	root := newRoot(b, "root.test")
	run := func(name string, tsr, msg []byte, a Authority) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Verify(tsr, msg, a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	tsr, msg := realToken(b, 0)
	run("freetsa P-384 under RSA-4096", tsr, msg, freeTSA(b))
	for _, key := range []string{"P-256", "RSA"} {
		p := newSigner(b, root, keys()[key], nil)
		run("local "+key, newForgery(p, crypto.SHA256).make(b), []byte(message), Authority{Roots: []*x509.Certificate{root.cert}})
	}
}

func BenchmarkParse(b *testing.B) {
	tsr, _ := realToken(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(tsr); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRespond(b *testing.B) {
	l := newLocal(b)
	query, err := NewRequest([]byte(message), RequestOptions{CertReq: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Respond(query); err != nil {
			b.Fatal(err)
		}
	}
}
