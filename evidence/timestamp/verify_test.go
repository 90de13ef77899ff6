package timestamp

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte/asn1"
)

func TestT9RealTokensVerifyOverTheRawChainHash(t *testing.T) {
	for i, r := range realTokens {
		tsr, msg := realToken(t, i)
		tok, err := Verify(tsr, msg, freeTSA(t))
		if err != nil {
			t.Fatalf("%s: %v", r.file, err)
		}
		if got := tok.Time.Format(time.RFC3339Nano); got != r.time {
			t.Errorf("%s: time %s, want %s", r.file, got, r.time)
		}
		if got := hex.EncodeToString(tok.HashedMessage); got != r.imprint || tok.HashAlgorithm != crypto.SHA256 {
			t.Errorf("%s: imprint %v %s, want SHA-256 %s", r.file, tok.HashAlgorithm, got, r.imprint)
		}
		if tok.Policy != "1.2.3.4.1" || tok.Nonce != nil || tok.Signer == nil || tok.Time.Location() != time.UTC {
			t.Errorf("%s: token read as %+v", r.file, tok)
		}
		read, err := Parse(tsr)
		if err != nil {
			t.Fatal(err)
		}
		if read.Signer != nil || !read.Time.Equal(tok.Time) || read.Serial.Cmp(tok.Serial) != 0 {
			t.Errorf("%s: Parse gives %+v, Verify %+v", r.file, read, tok)
		}
	}
}

func TestT9RealTokensAreRefusedWithOtherTrustOrMessage(t *testing.T) {
	tsr, msg := realToken(t, 0)
	good := freeTSA(t)
	other := newRoot(t, "someone else")
	tests := []struct {
		name string
		msg  []byte
		a    Authority
		want string
	}{
		{"over the hex text of the hash", []byte(realTokens[0].chain), good, "the token is of something else"},
		{"over another hash", unhex(t, realTokens[1].chain), good, "the token is of something else"},
		{"root alone, as the token carries no certificate", msg, Authority{Roots: good.Roots}, "signer certificate not found among the 0"},
		{"no roots", msg, Authority{Provider: "freetsa.org", Certificates: good.Certificates}, "has no roots"},
		{"another root", msg, Authority{Roots: []*x509.Certificate{other.cert}, Certificates: good.Certificates}, "does not chain"},
		{"root only among the further certificates", msg, Authority{Roots: []*x509.Certificate{other.cert}, Certificates: append(good.Certificates, good.Roots...)}, "does not chain"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, tsr, tt.msg, tt.a, tt.want)
		})
	}
}

// wantError asks Verify to refuse with words of the reason.
func wantError(t *testing.T, tsr, msg []byte, a Authority, want string) {
	t.Helper()
	tok, err := Verify(tsr, msg, a)
	if err == nil {
		t.Fatalf("accepted as %+v, want an error with %q", tok, want)
	}
	if tok != nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %q, want one with %q", err, want)
	}
}

func TestSection10TokenOfTheExampleBundleReadsAsItsNameSays(t *testing.T) {
	tokens := exampleTokens(t)
	refused := map[string]string{
		"signer certificate nowhere":             "not found among the 0",
		"imprint SHA-512":                        "want SHA-256",
		"signer without time-stamping usage":     "extended key usage is not timeStamping alone",
		"token of another batch":                 "something else",
		"token over the hex text":                "something else",
		"status rejection":                       "PKIStatus is 2",
		"bytes after the token":                  "unexpected bytes",
		"byte of the signature":                  "does not verify",
		"signer expired at genTime":              "has expired or is not yet valid",
		"authority of the same name, other root": "unknown authority",
	}
	if len(tokens) < 15 {
		t.Fatalf("only %d tokens", len(tokens))
	}
	for _, tt := range tokens {
		t.Run(tt.name, func(t *testing.T) {
			if want, bad := refused[tt.name]; bad {
				wantError(t, tt.tsr, tt.root, tt.authority, want)
				return
			}
			tok, err := Verify(tt.tsr, tt.root, tt.authority)
			if err != nil {
				t.Fatal(err)
			}
			if frac := tok.Time.Nanosecond(); (frac != 0) != (tt.name == "fraction of a second") {
				t.Errorf("nanoseconds %d of %s", frac, tok.Time)
			}
		})
	}
}

func TestSection10TokenIsAcceptedInEveryAllowedForm(t *testing.T) {
	root := newRoot(t, "root.test")
	between := issueCert(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "between.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: pkiTime.AddDate(-1, 0, 0), NotAfter: pkiTime.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}, root, keys()["P-384"])
	direct := newSigner(t, root, keys()["P-256"], nil)
	deep := newSigner(t, between, keys()["P-256"], nil)
	bareAuthority := Authority{Provider: "bare", Roots: []*x509.Certificate{root.cert}}
	supplied := Authority{Provider: "supplied", Roots: []*x509.Certificate{root.cert}, Certificates: []*x509.Certificate{deep.cert, between.cert, direct.cert}}
	tests := []struct {
		name string
		p    party
		hash crypto.Hash
		a    Authority
		edit func(*forgery)
	}{
		{"ECDSA P-256 with SHA-256", direct, crypto.SHA256, bareAuthority, nil},
		{"ECDSA P-256 with SHA-512", direct, crypto.SHA512, bareAuthority, nil},
		{"ECDSA P-384 with SHA-384", newSigner(t, root, keys()["P-384"], nil), crypto.SHA384, bareAuthority, nil},
		{"ECDSA P-521 with SHA-512", newSigner(t, root, keys()["P-521"], nil), crypto.SHA512, bareAuthority, nil},
		{"RSA as rsaEncryption with SHA-256", newSigner(t, root, keys()["RSA"], nil), crypto.SHA256, bareAuthority, nil},
		{"RSA as sha384WithRSAEncryption", newSigner(t, root, keys()["RSA"], nil), crypto.SHA384, bareAuthority, func(f *forgery) { f.signatureAlgorithm = algo(oidSHA384WithRSA) }},
		{"RSA as sha512WithRSAEncryption", newSigner(t, root, keys()["RSA"], nil), crypto.SHA512, bareAuthority, func(f *forgery) { f.signatureAlgorithm = algo(oidSHA512WithRSA) }},
		{"RSA as sha256WithRSAEncryption without parameters", newSigner(t, root, keys()["RSA"], nil), crypto.SHA256, bareAuthority, func(f *forgery) { f.signatureAlgorithm = bare(oidSHA256WithRSA) }},
		{"digest algorithms without parameters", direct, crypto.SHA256, bareAuthority, func(f *forgery) { f.digests, f.digest = set(bare(oidSHA256)), bare(oidSHA256) }},
		{"signing certificate v1", direct, crypto.SHA256, bareAuthority, func(f *forgery) { f.ess = essV1(direct.cert) }},
		{"signing certificate v1 with issuerSerial", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.ess = essV1(direct.cert, issuerSerial(direct.cert.RawIssuer, direct.cert.SerialNumber))
		}},
		{"signing certificate v1 and v2", direct, crypto.SHA256, bareAuthority, func(f *forgery) { f.moreAttributes = [][]byte{essV1(direct.cert)} }},
		{"signing certificate v2 with SHA-512", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.ess = attribute(oidSigningCertificateV2, seq(seq(seq(algo(oidSHA512), octets(hashOf(crypto.SHA512, direct.cert.Raw))))))
		}},
		{"signing certificate v2 with SHA-256 spelled out", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.ess = attribute(oidSigningCertificateV2, seq(seq(seq(bare(oidSHA256), octets(hashOf(crypto.SHA256, direct.cert.Raw))))))
		}},
		{"signing certificate v2 with policies", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.ess = attribute(oidSigningCertificateV2, seq(seq(seq(octets(hashOf(crypto.SHA256, direct.cert.Raw)))), seq(seq(object("\x2a\x03")))))
		}},
		{"signing certificate v2 that lists the intermediate", deep, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.certificates = [][]byte{deep.cert.Raw, between.cert.Raw}
			f.ess = essV2(deep.cert, between.cert)
		}},
		{"intermediate in the token", deep, crypto.SHA256, bareAuthority, func(f *forgery) { f.certificates = [][]byte{between.cert.Raw, deep.cert.Raw} }},
		{"intermediate supplied, signer in the token", deep, crypto.SHA256, supplied, nil},
		{"signer and intermediate supplied, none in the token", deep, crypto.SHA256, supplied, func(f *forgery) { f.certificates = nil }},
		{"intermediate in the token, signer supplied", deep, crypto.SHA256,
			Authority{Provider: "signer", Roots: []*x509.Certificate{root.cert}, Certificates: []*x509.Certificate{deep.cert}},
			func(f *forgery) { f.certificates = [][]byte{between.cert.Raw} }},
		{"root in the token, signer supplied", direct, crypto.SHA256, supplied, func(f *forgery) { f.certificates = [][]byte{root.cert.Raw} }},
		{"signer named by key identifier", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.siVersion, f.sid = num(3), der(tagKeyID, direct.cert.SubjectKeyId)
		}},
		{"root in the token beside the signer", direct, crypto.SHA256, bareAuthority, func(f *forgery) { f.certificates = [][]byte{direct.cert.Raw, root.cert.Raw} }},
		{"granted with modifications and words", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.status = seq(num(1), seq(der(asn1.UTF8String, []byte("politique remplacée"))))
		}},
		{"everything optional in TSTInfo", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.tst.accuracy = seq(num(1), der(tagMillis, []byte{5}), der(tagMicros, []byte{6}))
			f.tst.ordering = der(asn1.BOOLEAN, []byte{0xff})
			f.tst.nonce = num(99)
			f.tst.tsa = der(tag0, der(tagDirectory, direct.cert.RawSubject))
			f.tst.extensions = der(tag1, seq(object("\x2a\x03"), octets([]byte("x"))))
		}},
		{"imprint algorithm without parameters", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			sum := sha256.Sum256([]byte(message))
			f.tst.imprint = seq(bare(oidSHA256), octets(sum[:]))
		}},
		{"other signed attributes", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			f.moreAttributes = [][]byte{attribute("\x2a\x86\x48\x86\xf7\x0d\x01\x09\x05", der(asn1.UTCTime, []byte("261103120000Z")))}
		}},
		{"tsa an alternative name of the signer", newSigner(t, root, keys()["P-256"], func(c *x509.Certificate) { c.DNSNames = []string{"tsa.test"} }), crypto.SHA256, bareAuthority, func(f *forgery) {
			f.tst.tsa = der(tag0, der(asn1.Tag(2).ContextSpecific(), []byte("tsa.test")))
		}},
		{"tsa the subject in other string types and case", direct, crypto.SHA256, bareAuthority, func(f *forgery) {
			name, err := pkixName("TEST", "TSA.test")
			if err != nil {
				panic(err)
			}
			f.tst.tsa = der(tag0, der(tagDirectory, name))
		}},
		{"no key usage", newSigner(t, root, keys()["P-256"], func(c *x509.Certificate) { c.KeyUsage = 0 }), crypto.SHA256, bareAuthority, nil},
		{"key usage nonRepudiation too", newSigner(t, root, keys()["P-256"], func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageContentCommitment }), crypto.SHA256, bareAuthority, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newForgery(tt.p, tt.hash)
			if tt.edit != nil {
				tt.edit(f)
			}
			tok, err := Verify(f.make(t), []byte(message), tt.a)
			if err != nil {
				t.Fatal(err)
			}
			if !tok.Time.Equal(pkiTime) || !tok.Signer.Equal(tt.p.cert) || tok.Serial.Int64() != 7 {
				t.Errorf("token read as %+v", tok)
			}
			if tt.name == "everything optional in TSTInfo" && (tok.Accuracy != time.Second+5*time.Millisecond+6*time.Microsecond || tok.Nonce.Int64() != 99) {
				t.Errorf("token read as %+v", tok)
			}
		})
	}
}

// pkixName encodes organization and common name as UTF8String.
func pkixName(o, cn string) ([]byte, error) {
	if o == "" || cn == "" {
		return nil, errors.New("empty name")
	}
	rdn := func(oid, v string) []byte { return set(seq(object(oid), der(asn1.UTF8String, []byte(v)))) }
	return seq(rdn("\x55\x04\x0a", o), rdn("\x55\x04\x03", cn)), nil
}

func TestSection10TokenIsRefusedForEachRule(t *testing.T) {
	root := newRoot(t, "root.test")
	p := newSigner(t, root, keys()["P-256"], nil)
	twin := newSigner(t, root, keys()["P-256"], func(c *x509.Certificate) { c.NotAfter = c.NotAfter.AddDate(0, 1, 0) })
	other := newSigner(t, root, keys()["P-384"], func(c *x509.Certificate) { c.SerialNumber = big.NewInt(77) })
	a := Authority{Provider: "test", Roots: []*x509.Certificate{root.cert}, Certificates: []*x509.Certificate{p.cert}}
	sum := sha256.Sum256([]byte(message))
	sha1Sum := hashOf(crypto.SHA1, []byte(message))
	critical := der(asn1.BOOLEAN, []byte{0xff})
	tests := []struct {
		name, want string
		edit       func(*forgery)
	}{
		{"status 2", "PKIStatus is 2", func(f *forgery) { f.status = seq(num(2)) }},
		{"status 3", "PKIStatus is 3", func(f *forgery) { f.status = seq(num(3)) }},
		{"status -1", "PKIStatus is -1", func(f *forgery) { f.status = seq(num(0xff)) }},
		{"status of a non-minimal INTEGER", "PKIStatusInfo.status", func(f *forgery) { f.status = seq(der(asn1.INTEGER, []byte{0, 0})) }},
		{"granted with failInfo", "failInfo: is present", func(f *forgery) { f.status = seq(num(0), der(asn1.BIT_STRING, []byte{5, 0x20})) }},
		{"status text not UTF-8", "is not UTF-8", func(f *forgery) { f.status = seq(num(0), seq(der(asn1.UTF8String, []byte{0xff}))) }},
		{"status text an empty list", "empty list", func(f *forgery) { f.status = seq(num(0), seq()) }},
		{"bytes in the status", "PKIStatusInfo: 2 unexpected bytes", func(f *forgery) { f.status = seq(num(0), []byte{5, 0}) }},
		{"content not signedData", "ContentInfo.contentType", func(f *forgery) { f.outerType = object("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01") }},
		{"SignedData version 1", "SignedData.version", func(f *forgery) { f.sdVersion = num(1) }},
		{"SignedData version 4", "SignedData.version", func(f *forgery) { f.sdVersion = num(4) }},
		{"digest algorithms of another digest", "SignedData.digestAlgorithms: is 2.16.840.1.101.3.4.2.3", func(f *forgery) { f.digests = set(algo(oidSHA512)) }},
		{"two digest algorithms", "SignedData.digestAlgorithms: 15 unexpected", func(f *forgery) { f.digests = set(algo(oidSHA256), algo(oidSHA512)) }},
		{"no digest algorithm", "SignedData.digestAlgorithms: missing", func(f *forgery) { f.digests = set() }},
		{"digest parameters not NULL", "digestAlgorithms.parameters", func(f *forgery) { f.digests = set(seq(object(oidSHA256), octets(nil))) }},
		{"eContentType id-data", "eContentType", func(f *forgery) { f.eContentType = object("\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01") }},
		{"bytes after TSTInfo", "TSTInfo: 2 unexpected", func(f *forgery) { f.afterTST = []byte{5, 0} }},
		{"bytes in TSTInfo", "TSTInfo: 2 unexpected", func(f *forgery) { f.tst.extra = []byte{5, 0} }},
		{"TSTInfo version 2", "TSTInfo.version", func(f *forgery) { f.tst.version = num(2) }},
		{"no policy", "TSTInfo.policy", func(f *forgery) { f.tst.policy = nil }},
		{"policy with a padded arc", "TSTInfo.policy: is not a canonical", func(f *forgery) { f.tst.policy = object("\x2a\x80\x03") }},
		{"imprint SHA-1", "is not SHA-256, SHA-384 or SHA-512", func(f *forgery) { f.tst.imprint = seq(algo(oidSHA1), octets(sha1Sum)) }},
		{"imprint SHA-512", "want SHA-256", func(f *forgery) {
			f.tst.imprint = seq(algo(oidSHA512), octets(hashOf(crypto.SHA512, []byte(message))))
		}},
		{"imprint too short for its algorithm", "has 31 bytes", func(f *forgery) { f.tst.imprint = seq(algo(oidSHA256), octets(sum[:31])) }},
		{"imprint of another message", "something else", func(f *forgery) { f.tst.imprint = imprintOf("other") }},
		{"genTime UTCTime", "TSTInfo.genTime", func(f *forgery) { f.tst.genTime = der(asn1.UTCTime, []byte("261103120000Z")) }},
		{"genTime with a zone", "does not end in Z", func(f *forgery) { f.tst.genTime = genTime("20261103120000+0000") }},
		{"accuracy negative", "accuracy.seconds", func(f *forgery) { f.tst.accuracy = seq(num(0xff)) }},
		{"accuracy of 1000 milliseconds", "accuracy.millis", func(f *forgery) { f.tst.accuracy = seq(der(tagMillis, []byte{3, 0xe8})) }},
		{"ordering FALSE spelled out", "TSTInfo.ordering", func(f *forgery) { f.tst.ordering = der(asn1.BOOLEAN, []byte{0}) }},
		{"ordering a BOOLEAN of 01", "TSTInfo.ordering", func(f *forgery) { f.tst.ordering = der(asn1.BOOLEAN, []byte{1}) }},
		{"extensions an empty list", "TSTInfo.extensions: is empty", func(f *forgery) { f.tst.extensions = der(tag1) }},
		{"extension with FALSE spelled out", "extensions.critical", func(f *forgery) {
			f.tst.extensions = der(tag1, seq(object("\x2a\x03"), der(asn1.BOOLEAN, []byte{0}), octets(nil)))
		}},
		{"extension without a value", "extnValue: missing", func(f *forgery) { f.tst.extensions = der(tag1, seq(object("\x2a\x03"))) }},
		{"extension with bytes behind its value", "extensions: 2 unexpected", func(f *forgery) { f.tst.extensions = der(tag1, seq(object("\x2a\x03"), octets(nil), []byte{5, 0})) }},
		{"tsa a name cut short", "is no name of the signer", func(f *forgery) { f.tst.tsa = der(tag0, der(tagDirectory, []byte{0x30})) }},
		{"tsa a name with fewer parts", "is no name of the signer", func(f *forgery) { f.tst.tsa = der(tag0, der(tagDirectory, seq())) }},
		{"refusal with an empty failInfo", "failInfo: is not a BIT STRING", func(f *forgery) { f.status = seq(num(2), der(asn1.BIT_STRING, []byte{0})) }},
		{"refusal with no failure set", "failInfo: has no bit set", func(f *forgery) { f.status = seq(num(2), der(asn1.BIT_STRING, []byte{0, 0})) }},
		{"critical extension", "is not understood", func(f *forgery) { f.tst.extensions = der(tag1, seq(object("\x2a\x03"), critical, octets(nil))) }},
		{"tsa of another name", "is no name of the signer", func(f *forgery) { f.tst.tsa = der(tag0, der(tagDirectory, root.cert.RawSubject)) }},
		{"tsa of two names", "is not one GeneralName", func(f *forgery) {
			f.tst.tsa = der(tag0, der(tagDirectory, p.cert.RawSubject), der(tagDirectory, p.cert.RawSubject))
		}},
		{"CRLs", "crls: are refused", func(f *forgery) { f.afterCertificates = der(tag1, seq()) }},
		{"empty certificate set", "empty set", func(f *forgery) { f.certificates = [][]byte{} }},
		{"attribute certificate", "SignedData.certificates", func(f *forgery) {
			f.certificates = append(f.certificates, der(asn1.Tag(2).ContextSpecific().Constructed()))
		}},
		{"a certificate that is none", "SignedData.certificates: number 2", func(f *forgery) { f.certificates = append(f.certificates, seq()) }},
		{"another signer's certificate in the token, the signer's supplied", "not found among the 1 carried", func(f *forgery) { f.certificates = [][]byte{other.cert.Raw} }},
		{"another signer's certificate and the issuer's in the token, the signer's supplied", "not found among the 2 carried", func(f *forgery) {
			f.certificates = [][]byte{root.cert.Raw, other.cert.Raw}
		}},
		{"two signers", "more than the one signer", func(f *forgery) { f.secondSigner = true }},
		{"SignerInfo version 3 with issuer and serial", "SignerInfo.sid", func(f *forgery) { f.siVersion = num(3) }},
		{"SignerInfo version 0", "SignerInfo.version", func(f *forgery) { f.siVersion = num(0) }},
		{"signer of another serial number", "not found", func(f *forgery) { f.sid = seq(p.cert.RawIssuer, num(9)) }},
		{"signer of another issuer", "not found", func(f *forgery) { f.sid = seq(p.cert.RawSubject, bigNum(p.cert.SerialNumber)) }},
		{"key identifier of nobody", "not found", func(f *forgery) { f.siVersion, f.sid = num(3), der(tagKeyID, []byte("x")) }},
		{"key identifier empty", "empty key identifier", func(f *forgery) { f.siVersion, f.sid = num(3), der(tagKeyID) }},
		{"digest SHA-1 for the signature", "SignerInfo.digestAlgorithm: is 1.3.14.3.2.26", func(f *forgery) { f.digest = algo(oidSHA1) }},
		{"digest MD5 for the signature", "SignerInfo.digestAlgorithm", func(f *forgery) { f.digest = algo("\x2a\x86\x48\x86\xf7\x0d\x02\x05") }},
		{"no contentType", "lack contentType", func(f *forgery) { f.contentType = nil }},
		{"contentType of another type", "signedAttrs.contentType", func(f *forgery) { f.contentType = attribute(oidContentType, object(oidSignedData)) }},
		{"contentType twice in one attribute", "signedAttrs.contentType", func(f *forgery) { f.contentType = attribute(oidContentType, object(oidTSTInfo), object(oidTSTInfo)) }},
		{"no messageDigest", "lack messageDigest", func(f *forgery) { f.messageDigest = nil }},
		{"messageDigest of something else", "is not the SHA-256 of the TSTInfo", func(f *forgery) { f.messageDigest = attribute(oidMessageDigest, octets(sum[:])) }},
		{"messageDigest with two values", "signedAttrs.messageDigest", func(f *forgery) { f.messageDigest = attribute(oidMessageDigest, octets(sum[:]), octets(sum[:])) }},
		{"content changed after signing", "is not the SHA-256 of the TSTInfo", func(f *forgery) { f.editContentAfterwards = func(b []byte) { b[len(b)-2] ^= 1 } }},
		{"no signing certificate", "lack signingCertificate and signingCertificateV2", func(f *forgery) { f.ess = nil }},
		{"signing certificate v1 of another certificate", "does not name the signer", func(f *forgery) { f.ess = essV1(other.cert) }},
		{"signing certificate v2 of another certificate", "does not name the signer", func(f *forgery) { f.ess = essV2(other.cert) }},
		{"signing certificate v2 that names the signer second", "does not name the signer", func(f *forgery) { f.ess = essV2(root.cert, p.cert) }},
		{"signing certificate v2 good, v1 of another", "does not name the signer", func(f *forgery) { f.moreAttributes = [][]byte{essV1(other.cert)} }},
		{"certificate of the same issuer, serial and key", "does not name the signer", func(f *forgery) { f.certificates = [][]byte{twin.cert.Raw} }},
		{"issuerSerial of another issuer", "does not name the signer", func(f *forgery) { f.ess = essV1(p.cert, issuerSerial(p.cert.RawSubject, p.cert.SerialNumber)) }},
		{"issuerSerial of another serial", "does not name the signer", func(f *forgery) { f.ess = essV1(p.cert, issuerSerial(p.cert.RawIssuer, big.NewInt(9))) }},
		{"issuerSerial without a directory name", "issuerSerial.issuer", func(f *forgery) { f.ess = essV1(p.cert, seq(seq(), num(1))) }},
		{"signing certificate v2 with SHA-1", "hashAlgorithm", func(f *forgery) {
			f.ess = attribute(oidSigningCertificateV2, seq(seq(seq(algo(oidSHA1), octets(hashOf(crypto.SHA1, p.cert.Raw))))))
		}},
		{"signing certificate hash of 20 bytes in v2", "certHash: has 20 bytes", func(f *forgery) {
			f.ess = attribute(oidSigningCertificateV2, seq(seq(seq(octets(hashOf(crypto.SHA1, p.cert.Raw))))))
		}},
		{"signing certificate of nothing", "certs: is empty", func(f *forgery) { f.ess = attribute(oidSigningCertificateV2, seq(seq())) }},
		{"an attribute twice", "twice", func(f *forgery) { f.moreAttributes = [][]byte{attribute(oidMessageDigest, octets(sum[:]))} }},
		{"an attribute without value", "has no value", func(f *forgery) { f.moreAttributes = [][]byte{attribute("\x2a\x03")} }},
		{"attributes out of DER order", "not in DER order", func(f *forgery) { f.unsorted = true }},
		{"signature over other octets", "does not verify", func(f *forgery) { f.signOther = true }},
		{"signature by another key", "does not verify", func(f *forgery) { f.key = keys()["root"] }},
		{"signature algorithm of RSA for an EC key", "is RSA, but the signer's key is ECDSA", func(f *forgery) { f.signatureAlgorithm = algo(oidRSAEncryption) }},
		{"signature algorithm with another digest", "but the digest algorithm is SHA-256", func(f *forgery) { f.signatureAlgorithm = bare(oidECDSASHA512) }},
		{"signature algorithm with SHA-1", "SignerInfo.signatureAlgorithm", func(f *forgery) { f.signatureAlgorithm = bare("\x2a\x86\x48\xce\x3d\x04\x01") }},
		{"signature algorithm with NULL for ECDSA", "signatureAlgorithm.parameters", func(f *forgery) { f.signatureAlgorithm = algo(oidECDSASHA256) }},
		{"unsigned attributes", "unsignedAttrs: are refused", func(f *forgery) { f.afterSignature = der(tag1, attribute("\x2a\x03", num(1))) }},
		{"bytes in SignerInfo", "SignerInfo: 2 unexpected", func(f *forgery) { f.afterSignature = []byte{5, 0} }},
		{"bytes in SignedData", "SignedData: 2 unexpected", func(f *forgery) { f.afterSigners = []byte{5, 0} }},
		{"bytes in TimeStampResp", "TimeStampResp: 2 unexpected", func(f *forgery) { f.afterToken = []byte{5, 0} }},
		{"a byte after TimeStampResp", "TimeStampResp: 1 unexpected", func(f *forgery) { f.afterAll = []byte{0} }},
		{"genTime before the signer certificate", "not yet valid", func(f *forgery) { f.tst.genTime = genTime("20260903120000Z") }},
		{"genTime after the signer certificate", "has expired", func(f *forgery) { f.tst.genTime = genTime("20261203120001Z") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newForgery(p, crypto.SHA256)
			tt.edit(f)
			wantError(t, f.make(t), []byte(message), a, tt.want)
		})
	}
}

func TestSection10TokenSignerMustBeFitForTimeStampingAlone(t *testing.T) {
	root := newRoot(t, "root.test")
	usage := func(critical bool, value string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 37}, Critical: critical, Value: []byte(value)}}
		}
	}
	tests := []struct {
		name, key, want string
		edit            func(*x509.Certificate)
	}{
		{"usage not critical", "P-256", "is not critical", usage(false, timestampingOnly)},
		{"no usage", "P-256", "timeStamping alone", func(c *x509.Certificate) { c.ExtraExtensions = nil }},
		{"usage for mail too", "P-256", "timeStamping alone", usage(true, "\x30\x14\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x08\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x04")},
		{"an unknown usage too", "P-256", "timeStamping alone", usage(true, "\x30\x0d\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x08\x06\x01\x2a")},
		{"any usage", "P-256", "timeStamping alone", usage(true, "\x30\x06\x06\x04\x55\x1d\x25\x00")},
		{"an authority", "P-256", "is a certificate authority", func(c *x509.Certificate) { c.IsCA = true }},
		{"key usage for key agreement", "P-256", "key usage", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }},
		{"key usage for certificates too", "P-256", "key usage", func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }},
		{"key on P-224", "P-224", "P-224", nil},
		{"RSA key of 1024 bits", "RSA-1024", "1024 bits", nil},
		{"an unknown critical extension", "P-256", "unhandled critical extension", func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: []int{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newSigner(t, root, keys()[tt.key], tt.edit)
			wantError(t, newForgery(p, crypto.SHA256).make(t), []byte(message), Authority{Roots: []*x509.Certificate{root.cert}}, tt.want)
		})
	}
}

func TestSection10TokenChainIsJudgedAtGenTime(t *testing.T) {
	root := newRoot(t, "root.test")
	p := newSigner(t, root, keys()["P-256"], nil)
	a := Authority{Roots: []*x509.Certificate{root.cert}}
	for _, tt := range []struct {
		at   time.Time
		fine bool
	}{
		{p.cert.NotBefore.Add(-time.Second), false},
		{p.cert.NotBefore, true},
		{p.cert.NotAfter, true},
		{p.cert.NotAfter.Add(time.Second), false},
	} {
		f := newForgery(p, crypto.SHA256)
		f.tst.genTime = genTime(tt.at.Format("20060102150405Z"))
		if _, err := Verify(f.make(t), []byte(message), a); (err == nil) != tt.fine {
			t.Errorf("genTime %s with a certificate of %s to %s: error %v", tt.at, p.cert.NotBefore, p.cert.NotAfter, err)
		}
	}
}

func TestRFC5035Section3OtherListedCertificatesLimitTheChain(t *testing.T) {
	root, stranger := newRoot(t, "root.test"), newRoot(t, "stranger.test")
	between := issueCert(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "between.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: pkiTime.AddDate(-1, 0, 0), NotAfter: pkiTime.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}, root, keys()["P-384"])
	p := newSigner(t, between, keys()["P-256"], nil)
	f := newForgery(p, crypto.SHA256)
	f.certificates = [][]byte{p.cert.Raw, between.cert.Raw}
	f.ess = essV2(p.cert, stranger.cert)
	wantError(t, f.make(t), []byte(message), Authority{Roots: []*x509.Certificate{root.cert}}, "lists other issuers")
}

func TestGenTimeIsReadInItsDERFormOnly(t *testing.T) {
	for in, want := range map[string]string{
		"20261103120000Z":             "2026-11-03T12:00:00Z",
		"20261103120000.5Z":           "2026-11-03T12:00:00.5Z",
		"20261103235959.999999999Z":   "2026-11-03T23:59:59.999999999Z",
		"20261103120000.000000001Z":   "2026-11-03T12:00:00.000000001Z",
		"20240229000000Z":             "2024-02-29T00:00:00Z",
		"20261103120000":              "",
		"20261103120000+0000":         "",
		"20261103120000z":             "",
		"202611031200Z":               "",
		"2026110312Z":                 "",
		"20261103120000.Z":            "",
		"20261103120000.50Z":          "",
		"20261103120000.0Z":           "",
		"20261103120000,5Z":           "",
		"20261103120000.5.5Z":         "",
		"20261103120000.1234567891Z":  "",
		"20261103120000.-5Z":          "",
		"20261103120060Z":             "",
		"20261103240000Z":             "",
		"20261131000000Z":             "",
		"20260229000000Z":             "",
		"20261301000000Z":             "",
		" 0261103120000Z":             "",
		"2026110312000\u0660Z":        "",
		"+0261103120000Z":             "",
		"Z":                           "",
		"":                            "",
		"20261103120000ZZ":            "",
		"20261103120000Z\x00":         "",
		strings.Repeat("2", 99) + "Z": "",
	} {
		got, err := parseGenTime(in)
		if want == "" {
			if err == nil {
				t.Errorf("%q accepted as %s", in, got)
			}
			continue
		}
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q read as %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestAWellFormedRefusalIsAStatusError(t *testing.T) {
	tsr := seq(seq(num(2), seq(der(asn1.UTF8String, []byte("no")), der(asn1.UTF8String, []byte("really"))), der(asn1.BIT_STRING, []byte{6, 0x24, 0x00, 0x40})))
	for _, read := range []func() error{
		func() error { _, err := Parse(tsr); return err },
		func() error { _, err := Verify(tsr, nil, Authority{}); return err },
	} {
		refusal, ok := errors.AsType[*StatusError](read())
		if !ok {
			t.Fatalf("not a *StatusError: %v", read())
		}
		if refusal.Status != 2 || refusal.Text != "no; really" || !slices.Equal(refusal.Failures, []FailureInfo{BadRequest, BadDataFormat, AddInfoNotAvailable}) {
			t.Errorf("read as %+v", refusal)
		}
		for _, word := range []string{"badRequest, badDataFormat, addInfoNotAvailable", `"no; really"`} {
			if !strings.Contains(refusal.Error(), word) {
				t.Errorf("message %q lacks %q", refusal.Error(), word)
			}
		}
	}
}

func TestFailuresHaveTheNamesOfTheRFC(t *testing.T) {
	for f, want := range map[FailureInfo]string{
		BadAlg: "badAlg", BadRequest: "badRequest", BadDataFormat: "badDataFormat", TimeNotAvailable: "timeNotAvailable",
		UnacceptedPolicy: "unacceptedPolicy", UnacceptedExtension: "unacceptedExtension", AddInfoNotAvailable: "addInfoNotAvailable",
		SystemFailure: "systemFailure", 31: "failure bit 31",
	} {
		if f.String() != want {
			t.Errorf("%d is called %q, want %q", int(f), f, want)
		}
	}
}

func TestAResponseTooLargeIsRefusedUnread(t *testing.T) {
	if _, err := Parse(bytes.Repeat([]byte{0x30}, MaxResponse+1)); err == nil || !strings.Contains(err.Error(), "at most 65536 are read") {
		t.Errorf("error %v", err)
	}
}
