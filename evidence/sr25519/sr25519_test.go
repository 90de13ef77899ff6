package sr25519_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/sr25519"

	"github.com/prova-dev/prova/evidence/sr25519"
)

const seed = "4211111111111111111111111111111111111111111111111111111111111111"

// order is the order of the group, little endian, and order plus one: the first
// scalars that are not canonical.
const order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"

func TestR21SignaturesThatCannotBeOneAreRefused(t *testing.T) {
	t.Parallel()
	key := secret(t, seed)
	good, err := key.Sign(rand.Reader, "d", []byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(sig []byte)) []byte {
		sig := bytes.Clone(good[:])
		change(sig)
		return sig
	}
	for name, c := range map[string]struct {
		sig  []byte
		want error
	}{
		"none":             {nil, sr25519.ErrEncoding},
		"one byte short":   {good[:63], sr25519.ErrEncoding},
		"one byte long":    {append(bytes.Clone(good[:]), 0), sr25519.ErrEncoding},
		"without the mark": {with(func(s []byte) { s[63] &^= 0x80 }), sr25519.ErrEncoding},
		"scalar is the order of the group": {with(func(s []byte) {
			copy(s[32:], unhex(t, order))
			s[63] |= 0x80
		}), sr25519.ErrEncoding},
		"scalar of all ones":      {with(func(s []byte) { copy(s[32:], bytes.Repeat([]byte{0xff}, 32)) }), sr25519.ErrEncoding},
		"point is the identity":   {with(func(s []byte) { clear(s[:32]) }), sr25519.ErrEncoding},
		"point not canonical":     {with(func(s []byte) { copy(s[:32], bytes.Repeat([]byte{0xff}, 32)) }), sr25519.ErrInvalid},
		"point of negative field": {with(func(s []byte) { clear(s[:32]); s[0] = 1 }), sr25519.ErrInvalid},
		"zero scalar":             {with(func(s []byte) { clear(s[32:63]); s[63] = 0x80 }), sr25519.ErrInvalid},
	} {
		if err := key.Public().Verify("d", []byte("p"), c.sig); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := key.Public().Verify("d", []byte("p"), good[:]); err != nil {
		t.Error(err)
	}
}

func TestR21KeysThatCannotBeOneAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":                      "",
		"the identity":               strings.Repeat("0", 64),
		"a negative field element":   "01" + strings.Repeat("0", 62),
		"above the field":            strings.Repeat("f", 64),
		"the field's own order":      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"not a square":               "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
		"62 digits":                  strings.Repeat("1", 62),
		"66 digits":                  strings.Repeat("1", 66),
		"a prefix":                   "0x" + strings.Repeat("1", 62),
		"white space":                " " + strings.Repeat("1", 62) + " ",
		"letters beyond hexadecimal": strings.Repeat("g", 64),
	} {
		if key, err := sr25519.ParsePublicKey(text); !errors.Is(err, sr25519.ErrKey) {
			t.Errorf("%s: %v, %v", name, key, err)
		}
	}
	good := secret(t, seed).Public()
	upper, err := sr25519.ParsePublicKey(strings.ToUpper(good.String()))
	if err != nil || !upper.Equal(good) || upper.Bytes() != good.Bytes() {
		t.Errorf("upper case: %v, %v", upper, err)
	}
	if _, err := sr25519.NewPublicKey(make([]byte, 31)); !errors.Is(err, sr25519.ErrKey) {
		t.Errorf("31 bytes: %v", err)
	}
}

func TestSecretsAreRawBytesOrHexadecimal(t *testing.T) {
	t.Parallel()
	want := secret(t, seed).Public()
	for name, content := range map[string][]byte{
		"raw":                 unhex(t, seed),
		"hex":                 []byte(seed),
		"hex in upper case":   []byte(strings.ToUpper(seed)),
		"hex with line feed":  []byte(seed + "\n"),
		"hex with much space": []byte("  " + seed + "\r\n"),
	} {
		key, err := sr25519.ParseSecret(content)
		if err != nil || !key.Public().Equal(want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, content := range map[string]string{
		"empty": "", "31 bytes": strings.Repeat("k", 31), "33 bytes": strings.Repeat("k", 33), "a prefix": "0x" + seed,
		"64 letters": strings.Repeat("k", 64), "expanded, 64 raw bytes": strings.Repeat("\x01", 64), "128 digits": seed + seed,
	} {
		_, err := sr25519.ParseSecret([]byte(content))
		if !errors.Is(err, sr25519.ErrSecret) || content != "" && strings.Contains(err.Error(), content) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretFilesBelongToTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(seed+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := sr25519.ReadSecret(path); err != nil || !key.Public().Equal(secret(t, seed).Public()) {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o604, 0o640, 0o620, 0o610, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := sr25519.ReadSecret(path); !errors.Is(err, sr25519.ErrSecret) || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("%v: %v", mode, err)
		}
	}
	if _, err := sr25519.ReadSecret(filepath.Dir(path)); !errors.Is(err, sr25519.ErrSecret) {
		t.Errorf("folder: %v", err)
	}
	if _, err := sr25519.ReadSecret(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := errors.Join(os.WriteFile(path, []byte("no key here"), 0o600), os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := sr25519.ReadSecret(path); !errors.Is(err, sr25519.ErrSecret) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "no key here") {
		t.Errorf("content: %v", err)
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	key := secret(t, seed)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&out, verb+" ", key)
		fmt.Fprintf(&out, verb+" ", *key)
		fmt.Fprintf(&out, verb+" ", struct{ K *sr25519.SecretKey }{key})
		fmt.Fprintf(&out, verb+" ", []sr25519.SecretKey{*key})
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("key", "k", key, "v", *key)
	text, err := json.Marshal(map[string]any{"k": key, "v": *key})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	if s := out.String(); strings.Contains(s, "11111111") || strings.Contains(s, "17, 17, 17") || strings.Contains(s, "0x11, 0x11") || strings.Count(s, "hidden") < 30 {
		t.Error(s)
	}
}

func TestGeneratedSecretsSign(t *testing.T) {
	t.Parallel()
	mini, err := sr25519.GenerateSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := sr25519.NewSecretKey(mini)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := key.Sign(rand.Reader, "", nil)
	if err != nil || key.Public().Verify("", nil, sig[:]) != nil {
		t.Errorf("empty domain and payload: %v", err)
	}
	if _, err := sr25519.GenerateSecret(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a source that ends gives a secret")
	}
}

// FuzzVerify: no key, signature or message makes it panic, and a signature
// verifies only when it re-encodes to itself.
func FuzzVerify(f *testing.F) {
	key := secret(f, seed)
	good, err := key.Sign(rand.Reader, "domain", []byte("payload"))
	if err != nil {
		f.Fatal(err)
	}
	public := key.Public().Bytes()
	f.Add(public[:], "domain", []byte("payload"), good[:])
	f.Add(make([]byte, 32), "", []byte{}, make([]byte, 64))
	f.Add(unhex(f, order), "d", []byte("p"), append(unhex(f, order), unhex(f, order)...))
	f.Fuzz(func(t *testing.T, rawKey []byte, domain string, payload, signature []byte) {
		k, err := sr25519.NewPublicKey(rawKey)
		if err != nil {
			return
		}
		if again, err := sr25519.ParsePublicKey(k.String()); err != nil || !again.Equal(k) {
			t.Fatalf("%s does not read back: %v", k, err)
		}
		if k.Verify(domain, payload, signature) != nil {
			return
		}
		sig, err := voi.NewSignatureFromBytes(signature)
		if err != nil {
			t.Fatal(err)
		}
		if raw, err := sig.MarshalBinary(); err != nil || !bytes.Equal(raw, signature) {
			t.Fatalf("accepted %x, which is %x", signature, raw)
		}
	})
}

// FuzzParseSecret: no content panics, shows in an error, or gives a key that
// cannot sign.
func FuzzParseSecret(f *testing.F) {
	f.Add([]byte(seed))
	f.Add(unhex(f, seed))
	f.Add([]byte("0x" + seed + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		key, err := sr25519.ParseSecret(content)
		if err != nil {
			if !errors.Is(err, sr25519.ErrSecret) || len(content) >= 8 && bytes.Contains([]byte(err.Error()), content) {
				t.Fatal(err)
			}
			return
		}
		sig, err := key.Sign(rand.Reader, "d", content)
		if err != nil || key.Public().Verify("d", content, sig[:]) != nil {
			t.Fatalf("%v", err)
		}
	})
}

// The size of a signed topic.
const topicSize = 1700

func BenchmarkVerify(b *testing.B) {
	key := secret(b, seed)
	message := payload(topicSize)
	sig, err := key.Sign(rand.Reader, "base-proof-topic-v1", message)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := key.Public().Verify("base-proof-topic-v1", message, sig[:]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyBare is the library alone on the same message.
func BenchmarkVerifyBare(b *testing.B) {
	key := secret(b, seed)
	message := sr25519.Message("base-proof-topic-v1", payload(topicSize))
	sig, err := key.Sign(rand.Reader, "base-proof-topic-v1", payload(topicSize))
	if err != nil {
		b.Fatal(err)
	}
	raw := key.Public().Bytes()
	bareKey, err := voi.NewPublicKeyFromBytes(raw[:])
	if err != nil {
		b.Fatal(err)
	}
	bareSig, err := voi.NewSignatureFromBytes(sig[:])
	if err != nil {
		b.Fatal(err)
	}
	context := voi.NewSigningContext([]byte(sr25519.Context))
	for b.Loop() {
		if !bareKey.Verify(context.NewTranscriptBytes(message), bareSig) {
			b.Fatal("does not verify")
		}
	}
}

func BenchmarkSign(b *testing.B) {
	key := secret(b, seed)
	message := payload(topicSize)
	for b.Loop() {
		if _, err := key.Sign(rand.Reader, "base-proof-topic-v1", message); err != nil {
			b.Fatal(err)
		}
	}
}
