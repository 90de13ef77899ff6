package timestamp

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/crypto/cryptobyte/asn1"
)

// statusAt is the offset of the PKIStatus octet in a TimeStampResp with a
// two-byte length and no words: 30 82 hh ll  30 03  02 01 SS.
const statusAt = 8

// changes are the values tried in place of b: each bit flipped, all flipped,
// and the last octets of other RSA identifiers, which are two bits apart.
func changes(b byte) []byte {
	out := []byte{^b, 0x01, 0x0b}
	for bit := range 8 {
		out = append(out, b^1<<bit)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(v byte) bool { return v == b })
}

// survivors changes every byte of a token, one at a time, and returns which
// changes Verify accepts, as "offset:value".
func survivors(tsr, msg []byte, a Authority) []string {
	var out []string
	for i := range tsr {
		for _, v := range changes(tsr[i]) {
			changed := bytes.Clone(tsr)
			changed[i] = v
			if _, err := Verify(changed, msg, a); err == nil {
				out = append(out, fmt.Sprintf("%d:%02x", i, v))
			}
		}
	}
	return out
}

func TestEveryChangedByteOfARealTokenIsRefused(t *testing.T) {
	a := freeTSA(t)
	for i, r := range realTokens {
		t.Run(r.file, func(t *testing.T) {
			t.Parallel()
			tsr, msg := realToken(t, i)
			if !bytes.Equal(tsr[4:9], []byte{0x30, 3, 2, 1, 0}) {
				t.Fatalf("PKIStatusInfo is % x, the offset below is wrong", tsr[4:9])
			}
			// TimeStampResp.status.status: outside the token and under no signature.
			// Granted (0) may become granted with modifications (1), which bundle-format
			// §10 accepts alike; it changes nothing that Verify returns.
			want := []string{fmt.Sprintf("%d:01", statusAt)}
			if got := survivors(tsr, msg, a); !slices.Equal(got, want) {
				t.Errorf("accepted changes %v, want only %v", got, want)
			}
		})
	}
}

func TestEveryChangedByteOfALocalTokenIsRefused(t *testing.T) {
	l := newLocal(t)
	for _, certReq := range []bool{false, true} {
		t.Run(fmt.Sprintf("certReq %t", certReq), func(t *testing.T) {
			query, err := NewRequest([]byte(message), RequestOptions{CertReq: certReq})
			if err != nil {
				t.Fatal(err)
			}
			tsr, err := l.Respond(query)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{fmt.Sprintf("%d:01", statusAt)}
			// The signer certificate inside is held by its hash, although the authority
			// supplies a good copy of it.
			if got := survivors(tsr, []byte(message), l.Authority("local")); !slices.Equal(got, want) {
				t.Errorf("accepted changes %v, want only %v", got, want)
			}
		})
	}
}

func TestChangedBytesOfAnRSATokenThatMeanTheSameAreTheOnlyOnesAccepted(t *testing.T) {
	root := newRoot(t, "root.test")
	p := newSigner(t, root, keys()["RSA"], nil)
	tsr := newForgery(p, crypto.SHA256).make(t)
	// SignerInfo.signatureAlgorithm is not under the signature. rsaEncryption
	// (…1.1.1) with digest SHA-256 and sha256WithRSAEncryption (…1.1.11) are two
	// names of the same operation (RFC 5754 §3.2), and differ in one octet.
	sigAlg := bytes.LastIndex(tsr, algo(oidRSAEncryption)) + 2 + 2 + len(oidRSAEncryption) - 1
	if tsr[sigAlg] != 0x01 {
		t.Fatalf("octet %d is %02x, not the last of rsaEncryption", sigAlg, tsr[sigAlg])
	}
	want := []string{fmt.Sprintf("%d:01", statusAt), fmt.Sprintf("%d:0b", sigAlg)}
	if got := survivors(tsr, []byte(message), Authority{Roots: []*x509.Certificate{root.cert}}); !slices.Equal(got, want) {
		t.Errorf("accepted changes %v, want only %v", got, want)
	}
}

func TestWordsOfTheStatusAreTheOnlyFreeText(t *testing.T) {
	root := newRoot(t, "root.test")
	f := newForgery(newSigner(t, root, keys()["P-256"], nil), crypto.SHA256)
	f.status = seq(num(1), seq(der(asn1.UTF8String, []byte("words"))))
	tsr := f.make(t)
	at := bytes.Index(tsr, []byte("words"))
	a := Authority{Roots: []*x509.Certificate{root.cert}}
	for i := range tsr {
		changed := bytes.Clone(tsr)
		changed[i] ^= 0x02
		_, err := Verify(changed, []byte(message), a)
		// PKIStatusInfo.statusString: what the authority wanted to tell a human.
		if inWords := i >= at && i < at+len("words"); (err == nil) != inWords {
			t.Errorf("byte %d changed (status text is %d to %d): error %v", i, at, at+len("words")-1, err)
		}
	}
}

func TestARealTokenCutOrGrownAnywhereIsRefused(t *testing.T) {
	a := freeTSA(t)
	tsr, msg := realToken(t, 1)
	for i := range tsr {
		for name, changed := range map[string][]byte{
			"cut off here":       tsr[:i],
			"this byte left out": slices.Delete(bytes.Clone(tsr), i, i+1),
			"00 put in here":     slices.Insert(bytes.Clone(tsr), i, 0x00),
			"this byte doubled":  slices.Insert(bytes.Clone(tsr), i, tsr[i]),
		} {
			if _, err := Verify(changed, msg, a); err == nil {
				t.Errorf("offset %d: %s: accepted", i, name)
			}
		}
	}
	if _, err := Verify(append(bytes.Clone(tsr), 0x00), msg, a); err == nil {
		t.Error("a byte after the response: accepted")
	}
}

func TestOtherEncodingsOfARealTokenAreRefused(t *testing.T) {
	a := freeTSA(t)
	tsr, msg := realToken(t, 1)
	body := tsr[4:]
	tests := []struct {
		name string
		tsr  []byte
	}{
		{"outer length in three bytes", slices.Concat([]byte{0x30, 0x83, 0x00}, tsr[2:4], body)},
		{"outer length indefinite", slices.Concat([]byte{0x30, 0x80}, body, []byte{0, 0})},
		{"token length indefinite", seq(tsr[4:9], slices.Concat([]byte{0x30, 0x80}, tsr[13:], []byte{0, 0}))},
		{"token alone, without the response around it", tsr[9:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tok, err := Verify(tt.tsr, msg, a); err == nil {
				t.Errorf("accepted as %+v", tok)
			}
		})
	}
}
