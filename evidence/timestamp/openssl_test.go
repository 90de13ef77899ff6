package timestamp

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// openssl runs the program in dir and returns what it printed. The tests of
// this file need it: its ts command is the yardstick of the format.
func openssl(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("the openssl program is needed for this test (Debian package openssl): %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	// The program reads its own configuration and a random seed file otherwise.
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustOpenssl(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := openssl(t, dir, args...)
	if err != nil {
		t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func pemOf(certs ...*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return b.Bytes()
}

// openLocalNow is an authority whose clock is the machine's, because openssl
// judges certificates at its own time.
func openLocalNow(t *testing.T) (*Local, LocalIdentity) {
	t.Helper()
	id, err := NewLocalIdentity(nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := id.Open(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return l, id
}

func TestOpenSSLVerifiesLocalTokens(t *testing.T) {
	l, id := openLocalNow(t)
	for _, tt := range []struct {
		name string
		o    RequestOptions
	}{
		{"bare", RequestOptions{}},
		{"with certificates", RequestOptions{CertReq: true}},
		{"with a nonce", RequestOptions{Nonce: big.NewInt(0xfedc)}},
		{"with certificates and a nonce", RequestOptions{CertReq: true, Nonce: big.NewInt(1)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			query, err := NewRequest([]byte(message), tt.o)
			if err != nil {
				t.Fatal(err)
			}
			tsr, err := l.Respond(query)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "message", []byte(message))
			write(t, dir, "q.tsq", query)
			write(t, dir, "r.tsr", tsr)
			write(t, dir, "root.pem", []byte(id.RootPEM))
			write(t, dir, "cert.pem", []byte(id.CertPEM))
			against := []string{"-CAfile", "root.pem"}
			if !tt.o.CertReq {
				against = append(against, "-untrusted", "cert.pem")
			}
			for _, source := range [][]string{{"-data", "message"}, {"-queryfile", "q.tsq"}} {
				out := mustOpenssl(t, dir, append(append([]string{"ts", "-verify", "-in", "r.tsr"}, source...), against...)...)
				if !strings.Contains(out, "Verification: OK") {
					t.Errorf("openssl ts -verify %v says %q", source, out)
				}
			}
			write(t, dir, "other", []byte("another message"))
			if out, err := openssl(t, dir, append([]string{"ts", "-verify", "-in", "r.tsr", "-data", "other"}, against...)...); err == nil {
				t.Errorf("openssl accepts another message, so its answer above means nothing: %s", out)
			}
		})
	}
}

func TestOpenSSLReadsLocalTokensAsWeDo(t *testing.T) {
	l, _ := openLocalNow(t)
	dir := t.TempDir()
	query, err := NewRequest([]byte(message), RequestOptions{CertReq: true, Nonce: big.NewInt(0xabcdef)})
	if err != nil {
		t.Fatal(err)
	}
	tsr, err := l.Respond(query)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(tsr)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "r.tsr", tsr)
	out := mustOpenssl(t, dir, "ts", "-reply", "-in", "r.tsr", "-text")
	for _, want := range []string{
		"Status: Granted.", "Policy OID: 2.999.3161", "Hash Algorithm: sha256", "Nonce: 0xABCDEF",
		fmt.Sprintf("Serial number: 0x%X", tok.Serial), "Accuracy: 0x01 seconds",
		"Time stamp: " + tok.Time.Format("Jan _2 15:04:05 2006") + " GMT", "CN=Prova local timestamp signer",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("openssl ts -reply -text lacks %q:\n%s", want, out)
		}
	}
}

func TestOpenSSLReadsLocalRejections(t *testing.T) {
	l, _ := openLocalNow(t)
	dir := t.TempDir()
	for _, tt := range []struct {
		request []byte
		want    string
	}{
		{[]byte("GET / HTTP/1.1"), "the data submitted has the wrong format"},
		{seq(num(2), imprintOf(message)), "transaction not permitted or supported"},
		{seq(num(1), seq(algo(oidSHA1), octets(make([]byte, 20)))), "unrecognized or unsupported algorithm identifier"},
		{seq(num(1), imprintOf(message), object("\x2a\x03")), "the requested TSA policy is not supported by the TSA"},
		{seq(num(1), imprintOf(message), der(tag0, seq(object("\x2a\x03"), octets(nil)))), "the requested extension is not supported by the TSA"},
	} {
		tsr, err := l.Respond(tt.request)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "r.tsr", tsr)
		out := mustOpenssl(t, dir, "ts", "-reply", "-in", "r.tsr", "-text")
		if !strings.Contains(out, "Status: Rejected.") || !strings.Contains(out, "Failure info: "+tt.want) || !strings.Contains(out, "TST info:\nNot included.") {
			t.Errorf("request %x: openssl reads the rejection as\n%s\nwant the failure %q", tt.request, out, tt.want)
		}
	}
}

// tsaConfig is an openssl configuration of an authority.
const tsaConfig = `[tsa]
default_tsa = t
[t]
serial = serial
signer_cert = signer.pem
signer_key = key.pem
certs = chain.pem
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = %s
ess_cert_id_alg = %s
ess_cert_id_chain = %s
accuracy = secs:1, millisecs:500, microsecs:100
clock_precision_digits = %d
ordering = yes
tsa_name = yes
`

func TestTokensOfOpenSSLVerify(t *testing.T) {
	from := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	valid := func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, from.Add(48*time.Hour) }
	rootTemplate := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root.test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	valid(rootTemplate)
	root := issueCert(t, rootTemplate, party{rootTemplate, keys()["root"]}, keys()["root"])
	betweenKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	betweenTemplate := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "between.test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	valid(betweenTemplate)
	between := issueCert(t, betweenTemplate, root, betweenKey)

	for _, tt := range []struct {
		key, digest, ess, essChain string
		certs                      bool
		digits                     int
	}{
		{"RSA", "sha256", "sha1", "no", true, 0},
		{"RSA", "sha512", "sha256", "no", true, 0},
		{"RSA", "sha384", "sha512", "yes", true, 3},
		{"RSA", "sha256", "sha256", "no", false, 6},
		{"P-256", "sha256", "sha1", "no", true, 6},
		{"P-256", "sha256", "sha256", "yes", true, 0},
		{"P-384", "sha384", "sha384", "no", true, 3},
		{"P-384", "sha512", "sha1", "no", false, 0},
		{"P-521", "sha512", "sha512", "no", false, 6},
	} {
		t.Run(fmt.Sprintf("%s %s ess %s chain %s certs %t digits %d", tt.key, tt.digest, tt.ess, tt.essChain, tt.certs, tt.digits), func(t *testing.T) {
			p := newSigner(t, between, keys()[tt.key], valid)
			dir := t.TempDir()
			keyDER, err := x509.MarshalPKCS8PrivateKey(p.key)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
			write(t, dir, "signer.pem", pemOf(p.cert))
			write(t, dir, "chain.pem", pemOf(between.cert))
			write(t, dir, "serial", []byte("0A\n"))
			write(t, dir, "tsa.cnf", fmt.Appendf(nil, tsaConfig, tt.digest, tt.ess, tt.essChain, tt.digits))
			write(t, dir, "message", []byte(message))
			args := []string{"ts", "-query", "-data", "message", "-sha256", "-out", "q.tsq"}
			a := Authority{Provider: "openssl", Roots: []*x509.Certificate{root.cert}}
			if tt.certs {
				args = append(args, "-cert")
			} else {
				a.Certificates = []*x509.Certificate{between.cert, p.cert}
			}
			mustOpenssl(t, dir, args...)
			mustOpenssl(t, dir, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "q.tsq", "-out", "r.tsr")
			tsr, err := os.ReadFile(filepath.Join(dir, "r.tsr"))
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Verify(tsr, []byte(message), a)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(tok.Time); d < 0 || d > time.Minute {
				t.Errorf("time %s is not now", tok.Time)
			}
			if tt.digits == 0 && tok.Time.Nanosecond() != 0 {
				t.Errorf("time %s has a fraction", tok.Time)
			}
			if tok.Policy != "1.2.3.4.1" || tok.HashAlgorithm != crypto.SHA256 || tok.Accuracy != 1500100*time.Microsecond || tok.Nonce == nil || tok.Serial.Int64() != 11 {
				t.Errorf("token read as %+v", tok)
			}
			wantError(t, tsr, []byte("another message"), a, "something else")
		})
	}
}

func TestRequestsOfOpenSSLAreAnswered(t *testing.T) {
	l, id := openLocalNow(t)
	for _, args := range [][]string{{"-sha256"}, {"-sha384", "-cert"}, {"-sha512", "-no_nonce", "-cert"}, {"-sha256", "-cert", "-tspolicy", "2.999.3161"}} {
		dir := t.TempDir()
		write(t, dir, "message", []byte(message))
		write(t, dir, "root.pem", []byte(id.RootPEM))
		write(t, dir, "cert.pem", []byte(id.CertPEM))
		mustOpenssl(t, dir, append([]string{"ts", "-query", "-data", "message", "-out", "q.tsq"}, args...)...)
		query, err := os.ReadFile(filepath.Join(dir, "q.tsq"))
		if err != nil {
			t.Fatal(err)
		}
		tsr, err := l.Respond(query)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, "r.tsr", tsr)
		out := mustOpenssl(t, dir, "ts", "-verify", "-in", "r.tsr", "-queryfile", "q.tsq", "-CAfile", "root.pem", "-untrusted", "cert.pem")
		if !strings.Contains(out, "Verification: OK") {
			t.Errorf("query %v: %s", args, out)
		}
	}
}

func TestOpenSSLAgreesOnTheRealTokens(t *testing.T) {
	ca, err := filepath.Abs("testdata/freetsa-cacert.pem")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := filepath.Abs("testdata/freetsa-tsa.pem")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range realTokens {
		dir := t.TempDir()
		tsr, msg := realToken(t, i)
		write(t, dir, "r.tsr", tsr)
		write(t, dir, "message", msg)
		out := mustOpenssl(t, dir, "ts", "-verify", "-in", "r.tsr", "-data", "message", "-CAfile", ca, "-untrusted", signer)
		if !strings.Contains(out, "Verification: OK") {
			t.Errorf("%s: %s", r.file, out)
		}
	}
}
