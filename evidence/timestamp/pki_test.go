package timestamp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"sync"
	"testing"
	"time"
)

// pkiTime is inside the validity of every certificate made here.
var pkiTime = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

const (
	timestampingOnly = "\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x08"
	message          = "thirty-two bytes of a batch root"
)

// keys are made once, because RSA ones take long.
var keys = sync.OnceValue(func() map[string]crypto.Signer {
	out := map[string]crypto.Signer{}
	for name, c := range map[string]elliptic.Curve{"root": elliptic.P256(), "P-224": elliptic.P224(), "P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()} {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			panic(err)
		}
		out[name] = k
	}
	for name, bits := range map[string]int{"RSA": 2048, "RSA-1024": 1024} {
		k, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			panic(err)
		}
		out[name] = k
	}
	return out
})

// party is a certificate with its key.
type party struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// newRoot makes a self-signed authority.
func newRoot(t testing.TB, name string) party {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: pkiTime.AddDate(-1, 0, 0), NotAfter: pkiTime.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	return issueCert(t, c, party{c, keys()["root"]}, keys()["root"])
}

// newSigner makes a certificate for time-stamping under issuer; edit may spoil
// the template.
func newSigner(t testing.TB, issuer party, key crypto.Signer, edit func(*x509.Certificate)) party {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(0x0102030405), Subject: pkix.Name{Organization: []string{"Test"}, CommonName: "tsa.test"},
		NotBefore: pkiTime.AddDate(0, -1, 0), NotAfter: pkiTime.AddDate(0, 1, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true, SubjectKeyId: []byte("key of tsa.test"),
		ExtraExtensions: []pkix.Extension{{Id: []int{2, 5, 29, 37}, Critical: true, Value: []byte(timestampingOnly)}},
	}
	if edit != nil {
		edit(c)
	}
	return issueCert(t, c, issuer, key)
}

func issueCert(t testing.TB, c *x509.Certificate, issuer party, key crypto.Signer) party {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, issuer.cert, key.Public(), issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return party{cert, key}
}

// newLocal is an embedded authority with a new identity and a standing clock.
func newLocal(t testing.TB, opts ...LocalOption) *Local {
	t.Helper()
	id, err := NewLocalIdentity(nil, pkiTime)
	if err != nil {
		t.Fatal(err)
	}
	l, err := id.Open(func() time.Time { return pkiTime }, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// freeTSA is the authority of the real tokens.
func freeTSA(t testing.TB) Authority {
	t.Helper()
	read := func(name string) []*x509.Certificate {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ParseCertificatePEM(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return []*x509.Certificate{c}
	}
	return Authority{Provider: "freetsa.org", Independent: true, Roots: read("freetsa-cacert.pem"), Certificates: read("freetsa-tsa.pem")}
}

// realTokens are the responses of freetsa.org and what they are over.
var realTokens = []struct {
	file, chain, time, imprint string
}{
	{"freetsa-2026-03.tsr", "242d07519cf9d8346cb93c696d60ef050e3a76f9ea16674902d58e628966dc2b", "2026-03-03T16:18:55Z", "1b383fd109f26bbed01efc7d9a87da8d5dfb4f5812f6e37e73ee104dc1952c70"},
	{"freetsa-2026-07.tsr", "3f9f344d45f3ab1444a7d4d268e917a8f8c93e5c0b218820a948f1b1743d28fc", "2026-07-23T05:57:36Z", "9c5c0dc12a8702fd8b5cb24deb3e23c24b2ea67d9c83908c3e609aad69307699"},
}

// realToken reads one of them.
func realToken(t testing.TB, i int) (tsr, msg []byte) {
	t.Helper()
	tsr, err := os.ReadFile("testdata/" + realTokens[i].file)
	if err != nil {
		t.Fatal(err)
	}
	return tsr, unhex(t, realTokens[i].chain)
}

// exampleToken is one of testdata/example-bundle.json; its name says what it is.
type exampleToken struct {
	name      string
	tsr, root []byte
	authority Authority
}

func exampleTokens(t testing.TB) []exampleToken {
	t.Helper()
	var data struct {
		Authorities []struct {
			Provider            string
			Roots, Certificates []string
		}
		Tokens []struct{ Name, Provider, Root, TSR string }
	}
	readJSON(t, "testdata/example-bundle.json", &data)
	parse := func(texts []string) (out []*x509.Certificate) {
		for _, text := range texts {
			c, err := ParseCertificatePEM(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, c)
		}
		return out
	}
	authorities := map[string]Authority{}
	for _, a := range data.Authorities {
		authorities[a.Provider] = Authority{Provider: a.Provider, Roots: parse(a.Roots), Certificates: parse(a.Certificates)}
	}
	var out []exampleToken
	for _, tok := range data.Tokens {
		tsr, err := base64.StdEncoding.DecodeString(tok.TSR)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, exampleToken{tok.Name, tsr, unhex(t, tok.Root), authorities[tok.Provider]})
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}
