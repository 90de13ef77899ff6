package commit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
	"pgregory.net/rapid"
)

type vector struct {
	Name        string                     `json:"name"`
	ChainData   map[string]json.RawMessage `json:"chain_data"`
	Nonces      map[string]string          `json:"nonces"`
	Commitments map[string]string          `json:"commitments"`
	ChainHash   string                     `json:"chain_hash"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/commitment-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Commitments []vector `json:"commitments"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Commitments) < 4 {
		t.Fatalf("only %d proofs in the vector file", len(file.Commitments))
	}
	return file.Commitments
}

// value reads a value of the chain data in the proof's own form.
func value(t testing.TB, raw []byte) any {
	t.Helper()
	v, err := canonjson.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestT61CommitmentVectorsComputedWithCPython(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			commitments := map[string][32]byte{}
			for name, raw := range v.ChainData {
				n, err := ParseNonce(v.Nonces[name])
				if err != nil {
					t.Fatal(err)
				}
				c := Field(name, n, value(t, raw))
				if got := hex.EncodeToString(c[:]); got != v.Commitments[name] {
					t.Errorf("commitment of %s is %s, want %s", name, got, v.Commitments[name])
				}
				if !Opens(c, name, v.Nonces[name], value(t, raw)) {
					t.Errorf("commitment of %s does not open", name)
				}
				commitments[name] = c
			}
			root, err := Root(commitments)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(root[:]); got != v.ChainHash {
				t.Errorf("chain hash %s, want %s", got, v.ChainHash)
			}
		})
	}
}

func TestT61CommitmentIsNameZeroNonceCanonicalValue(t *testing.T) {
	n := Nonce{31: 7}
	object := canonjson.NewObject("b", canonjson.Int("1"), "a", "é")
	want := sha256.Sum256([]byte("field\x00" + string(n[:]) + `{"a":"\u00e9","b":1}`))
	if got := Field("field", n, object); got != want {
		t.Errorf("commitment %x, want %x", got, want)
	}
	long := strings.Repeat("x", 5000)
	want = sha256.Sum256([]byte("field\x00" + string(n[:]) + `"` + long + `"`))
	if got := Field("field", n, long); got != want {
		t.Errorf("commitment of a long value %x, want %x", got, want)
	}
}

func TestT61RootOfAnEmptySetIsRefused(t *testing.T) {
	if _, err := Root(nil); !errors.Is(err, ErrEmpty) {
		t.Errorf("error %v, want ErrEmpty", err)
	}
}

func TestT61RootOfOneCommitmentIsItsLeaf(t *testing.T) {
	c := [32]byte{1, 2, 3}
	root, err := Root(map[string][32]byte{"only": c})
	if err != nil || root != merkle.LeafHash(c[:]) {
		t.Errorf("root %x, %v", root, err)
	}
}

func TestT61LeavesStandInTheOrderOfNamesByCodePoint(t *testing.T) {
	a, b, c := [32]byte{1}, [32]byte{2}, [32]byte{3}
	root, err := Root(map[string][32]byte{"é": c, "b": b, "B": a})
	if err != nil {
		t.Fatal(err)
	}
	want, err := merkle.Root([][32]byte{merkle.LeafHash(a[:]), merkle.LeafHash(b[:]), merkle.LeafHash(c[:])})
	if err != nil || root != want {
		t.Errorf("root %x, want %x, %v", root, want, err)
	}
}

func TestT14WhatDoesNotOpenACommitment(t *testing.T) {
	n := Nonce{0: 0xab, 31: 1}
	good := n.String()
	c := Field("amount", n, canonjson.Int("100"))
	for _, tc := range []struct {
		name, field, nonce string
		value              any
		want               bool
	}{
		{"the pair that was committed opens", "amount", good, canonjson.Int("100"), true},
		{"forged value", "amount", good, canonjson.Int("101"), false},
		{"a string in place of the integer", "amount", good, "100", false},
		{"a float in place of the integer", "amount", good, 100.0, false},
		{"pair moved to another field", "seller", good, canonjson.Int("100"), false},
		{"another nonce", "amount", Nonce{}.String(), canonjson.Int("100"), false},
		{"nonce in upper case", "amount", strings.ToUpper(good), canonjson.Int("100"), false},
		{"nonce one byte short", "amount", good[:62], canonjson.Int("100"), false},
		{"nonce one byte long", "amount", good + "00", canonjson.Int("100"), false},
		{"nonce with a space in front", "amount", " " + good[1:], canonjson.Int("100"), false},
		{"nonce that is no hexadecimal", "amount", "g" + good[1:], canonjson.Int("100"), false},
		{"nonce with a digit that is not ASCII", "amount", "٣" + good[2:], canonjson.Int("100"), false},
		{"no nonce", "amount", "", canonjson.Int("100"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Opens(c, tc.field, tc.nonce, tc.value); got != tc.want {
				t.Errorf("opens: %v, want %v", got, tc.want)
			}
		})
	}
	c[31] ^= 1
	if Opens(c, "amount", good, canonjson.Int("100")) {
		t.Error("an altered commitment opens")
	}
}

func TestParseNonceDoesNotRepeatTheTextInItsError(t *testing.T) {
	secret := strings.Repeat("a", 63) + "G"
	_, err := ParseNonce(secret)
	if err == nil || strings.Contains(err.Error(), secret[:8]) {
		t.Errorf("error %v", err)
	}
}

func TestNewNonceTakes32BytesAndReportsAShortSource(t *testing.T) {
	n, err := NewNonce(bytes.NewReader(bytes.Repeat([]byte{0xfe}, 33)))
	if err != nil || n.String() != strings.Repeat("fe", 32) {
		t.Errorf("nonce %s, %v", n, err)
	}
	if _, err := NewNonce(bytes.NewReader(make([]byte, 31))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error of a short source is %v", err)
	}
	broken := errors.New("no entropy")
	if _, err := NewNonce(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error of a broken source is %v", err)
	}
	a, errA := NewNonce(rand.Reader)
	b, errB := NewNonce(rand.Reader)
	if errA != nil || errB != nil || a == b {
		t.Errorf("two nonces %s and %s, %v, %v", a, b, errA, errB)
	}
}

func TestBundleFormatSection6SealIsSaltThenCanonicalKey(t *testing.T) {
	salt := [32]byte{5}
	key, err := canonjson.ParseStrict([]byte(`{ "track" : "conformite", "season" : 1 }`))
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256([]byte(string(salt[:]) + `{"season":1,"track":"conformite"}`))
	if got := Seal(salt, key); got != want {
		t.Errorf("seal %x, want %x", got, want)
	}
}

func TestPropertyACommitmentOpensOnlyWithItsOwnNameNonceAndValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (string, Nonce, string) {
			name := rapid.StringMatching(`[a-z_]{1,8}`).Draw(t, label+" name")
			raw := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label+" nonce")
			return name, Nonce(raw), rapid.String().Draw(t, label+" value")
		}
		name, n, v := draw("first")
		c := Field(name, n, v)
		if !Opens(c, name, n.String(), v) {
			t.Fatal("does not open")
		}
		otherName, otherNonce, otherValue := draw("second")
		same := otherName == name && otherNonce == n && otherValue == v
		if Opens(c, otherName, otherNonce.String(), otherValue) != same {
			t.Fatal("opens with another name, nonce or value")
		}
	})
}

func FuzzParseNonce(f *testing.F) {
	for _, seed := range []string{"", strings.Repeat("0", 64), strings.Repeat("aF", 32), strings.Repeat("0f", 33), "0x" + strings.Repeat("0", 62)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNonce(s)
		if err == nil && n.String() != s {
			t.Fatalf("%q reads as %s", s, n)
		}
		if err != nil && n != (Nonce{}) {
			t.Fatalf("refused %q and returned %s", s, n)
		}
	})
}

func BenchmarkField(b *testing.B) {
	b.ReportAllocs()
	n := Nonce{1}
	var v any = strings.Repeat("a", 64)
	for b.Loop() {
		Field("request_hash", n, v)
	}
}

func BenchmarkRootOfElevenFields(b *testing.B) {
	b.ReportAllocs()
	commitments := map[string][32]byte{}
	for i := range 11 {
		commitments[strings.Repeat("f", i+1)] = [32]byte{byte(i)}
	}
	for b.Loop() {
		if _, err := Root(commitments); err != nil {
			b.Fatal(err)
		}
	}
}
