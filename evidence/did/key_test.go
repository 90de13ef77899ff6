package did

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"pgregory.net/rapid"
)

// rfc8032Key is the public key of the first test of RFC 8032 §7.1.
const (
	rfc8032Key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
	rfc8032DID = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
)

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// keyOf encodes any bytes as the identifier of a did:key.
func keyOf(raw ...byte) string { return keyPrefix + "z" + base58.Encode(raw) }

func TestT123DidKeyOfRFC8032(t *testing.T) {
	key, err := ParseKey(rfc8032DID)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(key); got != rfc8032Key {
		t.Errorf("key %s, want %s", got, rfc8032Key)
	}
	if got := FormatKey(key); got != rfc8032DID {
		t.Errorf("DID %s, want %s", got, rfc8032DID)
	}
}

func TestT123DidKeysThatAreRefused(t *testing.T) {
	key := fromHex(t, rfc8032Key)
	with := func(prefix ...byte) string { return keyOf(append(prefix, key...)...) }
	body := strings.TrimPrefix(rfc8032DID, keyPrefix)
	for name, did := range map[string]string{
		"nothing":                              "",
		"only the method":                      "did:key:",
		"only the multibase letter":            "did:key:z",
		"another method":                       "did:web:" + body,
		"method in upper case":                 "did:KEY:" + body,
		"no multibase letter":                  keyPrefix + body[1:],
		"multibase letter of base64url":        keyPrefix + "u" + body[1:],
		"multibase letter in upper case":       keyPrefix + "Z" + body[1:],
		"digit zero, not in the alphabet":      rfc8032DID[:20] + "0" + rfc8032DID[21:],
		"letter O, not in the alphabet":        rfc8032DID[:20] + "O" + rfc8032DID[21:],
		"letter l, not in the alphabet":        rfc8032DID[:20] + "l" + rfc8032DID[21:],
		"a character that is not ASCII":        rfc8032DID[:20] + "é" + rfc8032DID[21:],
		"secp256k1 key":                        with(0xe7, 0x01),
		"X25519 key":                           with(0xec, 0x01),
		"P-256 key":                            with(0x80, 0x24),
		"no multicodec":                        keyOf(key...),
		"a zero byte in front":                 with(0, 0xed, 0x01),
		"31 bytes":                             keyOf(append([]byte{0xed, 0x01}, key[:31]...)...),
		"33 bytes":                             keyOf(append([]byte{0xed, 0x01, 0}, key...)...),
		"fragment behind":                      rfc8032DID + "#" + body,
		"space in front":                       " " + rfc8032DID,
		"line feed behind":                     rfc8032DID + "\n",
		"a megabyte of digits":                 keyPrefix + "z" + strings.Repeat("6", 1<<20),
		"a leading one, which is a zero byte":  keyPrefix + "z1" + body[1:],
		"percent escape for the first letter":  keyPrefix + "%7a" + body[1:],
		"multicodec as a longer varint":        with(0xed, 0x81, 0x00),
		"two keys":                             with(append([]byte{0xed, 0x01}, key...)...),
		"the neutral element as the whole key": keyOf(append([]byte{0xed, 0x01, 1}, make([]byte, 31)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ParseKey(did)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("key %x, error %v, want ErrInvalid", key, err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestCCTVKeysOfSmallOrderAreRefusedAndNoOthers(t *testing.T) {
	data, err := os.ReadFile("testdata/cctv-keys.json")
	if err != nil {
		t.Fatal(err)
	}
	var keys []struct {
		Key      string `json:"key"`
		LowOrder bool   `json:"low_order"`
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	low := 0
	for _, k := range keys {
		pub := ed25519.PublicKey(fromHex(t, k.Key))
		_, err := ParseKey(FormatKey(pub))
		if (err != nil) != k.LowOrder {
			t.Errorf("key %s of small order %v: error %v", k.Key, k.LowOrder, err)
		}
		if k.LowOrder {
			low++
			if !strings.Contains(err.Error(), "small order") {
				t.Errorf("key %s: error %v does not say why", k.Key, err)
			}
		}
	}
	if low != 14 || len(keys) != 22 {
		t.Fatalf("%d of %d keys are of small order, want 14 of 22", low, len(keys))
	}
}

// TestAForgedSignatureShowsWhySmallOrderIsRefused keeps the reason true: the
// standard library accepts this signature for any message.
func TestAForgedSignatureShowsWhySmallOrderIsRefused(t *testing.T) {
	neutral := append([]byte{1}, make([]byte, 31)...)
	signature := append(append([]byte(nil), neutral...), make([]byte, 32)...)
	if !ed25519.Verify(neutral, []byte("any message"), signature) {
		t.Error("the standard library now refuses it; the rule could go")
	}
	if !smallOrder(neutral) {
		t.Error("the neutral element is not refused")
	}
}

func TestFormatKeyOfAWrongLengthIsEmpty(t *testing.T) {
	if got := FormatKey(make([]byte, 31)); got != "" {
		t.Errorf("DID %q", got)
	}
}

func TestPropertyEachKeyHasOneDidAndReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")
		did := FormatKey(raw)
		key, err := ParseKey(did)
		if smallOrder(raw) {
			if err == nil {
				t.Fatal("small order accepted")
			}
			return
		}
		if err != nil || !bytes.Equal(key, raw) {
			t.Fatalf("%s reads as %x, %v", did, key, err)
		}
		if !IsDID(did) {
			t.Fatalf("%s is no DID", did)
		}
	})
}

func TestPropertyAChangedCharacterNeverGivesTheSameKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(rfc8032DID)-1).Draw(t, "place")
		c := rapid.Byte().Draw(t, "byte")
		changed := rfc8032DID[:at] + string([]byte{c}) + rfc8032DID[at+1:]
		key, err := ParseKey(changed)
		if err == nil && changed != rfc8032DID && hex.EncodeToString(key) == rfc8032Key {
			t.Fatalf("%q is a second spelling", changed)
		}
	})
}
