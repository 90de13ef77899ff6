package timestamp

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte/asn1"
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

// der writes one element by hand, so that tests may write wrong ones.
func der(tag asn1.Tag, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	n := len(content)
	switch {
	case n < 0x80:
		return slices.Concat([]byte{byte(tag), byte(n)}, content)
	case n < 0x100:
		return slices.Concat([]byte{byte(tag), 0x81, byte(n)}, content)
	default:
		return slices.Concat([]byte{byte(tag), 0x82, byte(n >> 8), byte(n)}, content)
	}
}

func seq(parts ...[]byte) []byte { return der(asn1.SEQUENCE, parts...) }
func set(parts ...[]byte) []byte { return der(asn1.SET, parts...) }
func num(n byte) []byte          { return der(asn1.INTEGER, []byte{n}) }
func object(oid string) []byte   { return der(asn1.OBJECT_IDENTIFIER, []byte(oid)) }
func octets(b []byte) []byte     { return der(asn1.OCTET_STRING, b) }
func algo(oid string) []byte     { return seq(object(oid), []byte{5, 0}) }
func bare(oid string) []byte     { return seq(object(oid)) }
func bigNum(n *big.Int) []byte {
	b := n.Bytes()
	if len(b) == 0 || b[0] >= 0x80 {
		b = append([]byte{0}, b...)
	}
	return der(asn1.INTEGER, b)
}

// tstFields are the members of TSTInfo as DER, nil for absent.
type tstFields struct {
	version, policy, imprint, serial, genTime, accuracy, ordering, nonce, tsa, extensions, extra []byte
}

// forgery is a token in pieces; every piece can be put wrong before it is
// signed, so that only the named rule can refuse the result.
type forgery struct {
	party
	hash                  crypto.Hash
	status                []byte // PKIStatusInfo.
	outerType             []byte
	sdVersion             []byte
	digests               []byte
	eContentType          []byte
	tst                   tstFields
	afterTST              []byte // Inside eContent, after TSTInfo.
	certificates          [][]byte
	afterCertificates     []byte
	siVersion, sid        []byte
	digest                []byte
	contentType           []byte // Whole attribute, nil leaves it out. The next too.
	messageDigest         []byte
	ess                   []byte
	moreAttributes        [][]byte
	unsorted              bool
	signatureAlgorithm    []byte
	afterSignature        []byte // In SignerInfo.
	secondSigner          bool
	afterSigners          []byte // In SignedData.
	afterToken, afterAll  []byte
	signOther             bool // Signs other octets.
	editContentAfterwards func([]byte)
}

func genTime(s string) []byte { return der(asn1.GeneralizedTime, []byte(s)) }

func imprintOf(msg string) []byte {
	sum := sha256.Sum256([]byte(msg))
	return seq(algo(oidSHA256), octets(sum[:]))
}

func attribute(oid string, values ...[]byte) []byte { return seq(object(oid), set(values...)) }

func hashOf(h crypto.Hash, b []byte) []byte {
	w := h.New()
	w.Write(b)
	return w.Sum(nil)
}

// essV2 is a signingCertificateV2 attribute with the default algorithm.
func essV2(certs ...*x509.Certificate) []byte {
	var ids []byte
	for _, c := range certs {
		ids = append(ids, seq(octets(hashOf(crypto.SHA256, c.Raw)))...)
	}
	return attribute(oidSigningCertificateV2, seq(seq(ids)))
}

// essV1 is a signingCertificate attribute, with issuerSerial on demand.
func essV1(c *x509.Certificate, issuerSerial ...[]byte) []byte {
	return attribute(oidSigningCertificate, seq(seq(seq(append([][]byte{octets(hashOf(crypto.SHA1, c.Raw))}, issuerSerial...)...))))
}

func issuerSerial(issuer []byte, serial *big.Int) []byte {
	return seq(seq(der(tagDirectory, issuer)), bigNum(serial))
}

// newForgery is a good token of p over message, with p's certificate in it.
func newForgery(p party, h crypto.Hash) *forgery {
	f := &forgery{
		party: p, hash: h,
		status: seq(num(0)), outerType: object(oidSignedData), sdVersion: num(3), digests: set(algo(hashOID(h))), eContentType: object(oidTSTInfo),
		tst: tstFields{
			version: num(1), policy: object("\x2a\x03\x04\x01"), imprint: imprintOf(message), serial: num(7),
			genTime: genTime(pkiTime.Format("20060102150405Z")),
		},
		certificates: [][]byte{p.cert.Raw},
		siVersion:    num(1), sid: seq(p.cert.RawIssuer, bigNum(p.cert.SerialNumber)), digest: algo(hashOID(h)),
		contentType: attribute(oidContentType, object(oidTSTInfo)),
		ess:         essV2(p.cert),
	}
	_, isRSA := p.key.(*rsa.PrivateKey)
	switch {
	case isRSA:
		f.signatureAlgorithm = algo(oidRSAEncryption)
	case h == crypto.SHA256:
		f.signatureAlgorithm = bare(oidECDSASHA256)
	case h == crypto.SHA384:
		f.signatureAlgorithm = bare(oidECDSASHA384)
	default:
		f.signatureAlgorithm = bare(oidECDSASHA512)
	}
	f.messageDigest = []byte{} // Computed by make unless nil or set.
	return f
}

// make signs the pieces and puts them together.
func (f *forgery) make(t testing.TB) []byte {
	t.Helper()
	m := f.tst
	content := slices.Concat(seq(m.version, m.policy, m.imprint, m.serial, m.genTime, m.accuracy, m.ordering, m.nonce, m.tsa, m.extensions, m.extra), f.afterTST)
	md := f.messageDigest
	if md != nil && len(md) == 0 {
		md = attribute(oidMessageDigest, octets(hashOf(f.hash, content)))
	}
	attrs := append([][]byte{f.contentType, md, f.ess}, f.moreAttributes...)
	attrs = slices.DeleteFunc(attrs, func(a []byte) bool { return a == nil })
	slices.SortFunc(attrs, bytes.Compare)
	if f.unsorted {
		slices.Reverse(attrs)
	}
	signed := set(attrs...)
	if f.signOther {
		signed = set(attrs[0])
	}
	signature, err := f.key.Sign(rand.Reader, hashOf(f.hash, signed), f.hash)
	if err != nil {
		t.Fatal(err)
	}
	if f.editContentAfterwards != nil {
		f.editContentAfterwards(content)
	}
	si := seq(f.siVersion, f.sid, f.digest, der(tag0, attrs...), f.signatureAlgorithm, octets(signature), f.afterSignature)
	signers := si
	if f.secondSigner {
		signers = slices.Concat(si, si)
	}
	var certs []byte
	if f.certificates != nil {
		certs = der(tag0, f.certificates...)
	}
	sd := seq(f.sdVersion, f.digests, seq(f.eContentType, der(tag0, octets(content))), certs, f.afterCertificates, set(signers), f.afterSigners)
	return slices.Concat(seq(f.status, seq(f.outerType, der(tag0, sd)), f.afterToken), f.afterAll)
}
