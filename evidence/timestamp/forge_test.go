package timestamp

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"math/big"
	"slices"
	"testing"

	"golang.org/x/crypto/cryptobyte/asn1"
)

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
