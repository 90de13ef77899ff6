package tlog

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"
)

func TestPublicKeyPEMForms(t *testing.T) {
	key := &testKey(5).PublicKey
	text, err := FormatPublicKeyPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := keyDER(key)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	otherCurve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := x509.MarshalPKIXPublicKey(&otherCurve.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	ed, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(make([]byte, 32)).Public())
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	compressed := append([]byte{2 + point[64]%2}, point[1:33]...)
	header, err := hex.DecodeString("3039301306072a8648ce3d020106082a8648ce3d030107032200")
	if err != nil {
		t.Fatal(err)
	}
	offCurve := append([]byte(nil), der...)
	offCurve[len(offCurve)-1] ^= 1
	for name, tc := range map[string]struct{ text, fault string }{
		"as it should be":             {text, ""},
		"without its last newline":    {strings.TrimSpace(text), ""},
		"with white space around it":  {"\n \t" + text + "\n\n", ""},
		"with carriage returns":       {strings.ReplaceAll(text, "\n", "\r\n"), ""},
		"in one line":                 {"-----BEGIN PUBLIC KEY-----\n" + base64Of(der) + "\n-----END PUBLIC KEY-----", ""},
		"empty":                       {"", "found 0 blocks"},
		"no PEM":                      {"key", "found 0 blocks"},
		"two keys":                    {text + text, "found 2 blocks"},
		"words before it":             {"rekor\n" + text, "nothing around"},
		"words after it":              {text + "rekor", "after the PEM block"},
		"cut short":                   {text[:60], "damaged"},
		"of another type":             {block("EC PUBLIC KEY", der), "EC PUBLIC KEY"},
		"with headers":                {strings.Replace(text, "-----\n", "-----\na: b\n\n", 1), "without headers"},
		"on P-384":                    {block("PUBLIC KEY", p384), "P-384"},
		"Ed25519":                     {block("PUBLIC KEY", ed), "ed25519"},
		"of a point beside the curve": {block("PUBLIC KEY", offCurve), "SubjectPublicKeyInfo"},
		"of a compressed point":       {block("PUBLIC KEY", append(header, compressed...)), "SubjectPublicKeyInfo"},
		"with bytes after the DER":    {block("PUBLIC KEY", append(der[:len(der):len(der)], 0)), "SubjectPublicKeyInfo"},
		"empty DER":                   {"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "SubjectPublicKeyInfo"},
	} {
		t.Run(name, func(t *testing.T) {
			got, gotDER, err := ParsePublicKeyPEM(tc.text)
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Fatalf("got %v, want an error about %q", err, tc.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !got.Equal(key) || string(gotDER) != string(der) {
				t.Error("another key came out")
			}
		})
	}
}

func TestLogIDOfAKeyThatCannotBeOne(t *testing.T) {
	if _, err := (Log{Name: "x"}).ID(); err == nil {
		t.Error("no key has an id")
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Log{Key: &p384.PublicKey}).ID(); err == nil {
		t.Error("a P-384 key has an id")
	}
	if _, err := FormatPublicKeyPEM(nil); err == nil {
		t.Error("no key has a PEM form")
	}
}
