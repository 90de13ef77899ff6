package did

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mr-tron/base58"
)

// Errors of this package; test with errors.Is. The numbers are the statuses that
// an issuer answers a binding request with (reference §12.1, §12.3).
var (
	// ErrInvalid (400): the DID, its document or its key is not acceptable.
	ErrInvalid = errors.New("invalid DID")
	// ErrNotFound (404): the document's host answered with a status other than 200.
	ErrNotFound = errors.New("DID document not found")
	// ErrUnavailable (503): the document's host could not be asked.
	ErrUnavailable = errors.New("DID document unavailable")
)

const (
	keyPrefix = "did:key:"
	webPrefix = "did:web:"
	// maxDID is the longest DID that is read. A did:key has 56 characters, a domain
	// at most 253.
	maxDID = 2048
)

// ed25519Code is the multicodec prefix of an Ed25519 public key.
var ed25519Code = []byte{0xed, 0x01}

// ParseKey returns the Ed25519 key that a did:key names: "did:key:z" and the
// base58btc form of ed 01 and 32 bytes. Another spelling of the same bytes, another
// kind of key and a key of small order are refused. The error wraps ErrInvalid.
func ParseKey(did string) (ed25519.PublicKey, error) {
	text, ok := strings.CutPrefix(did, keyPrefix)
	if !ok {
		return nil, invalid(did, "want it to start with %q", keyPrefix)
	}
	raw, err := multibase(text)
	if err != nil {
		return nil, invalid(did, "%v", err)
	}
	key, ok := bytes.CutPrefix(raw, ed25519Code)
	if !ok {
		return nil, invalid(did, "the key is not Ed25519: want multicodec ed 01 in front of it")
	}
	if len(key) != ed25519.PublicKeySize {
		return nil, invalid(did, "the key has %d bytes, want 32", len(key))
	}
	if smallOrder(key) {
		return nil, invalid(did, "the key is of small order; anyone can sign for it")
	}
	if pub := ed25519.PublicKey(key); FormatKey(pub) == did {
		return pub, nil
	}
	return nil, invalid(did, "not the one base58btc form of its key")
}

// FormatKey returns the did:key of an Ed25519 key, or the empty string for a key
// that does not have 32 bytes.
func FormatKey(pub ed25519.PublicKey) string {
	if len(pub) != ed25519.PublicKeySize {
		return ""
	}
	return keyPrefix + "z" + base58.Encode(append(append(make([]byte, 0, 34), ed25519Code...), pub...))
}

// multibase decodes 'z' and base58btc. Decoding takes quadratic time, so that text
// longer than any key is refused first.
func multibase(text string) ([]byte, error) {
	const longest = 64
	digits, ok := strings.CutPrefix(text, "z")
	switch {
	case !ok:
		return nil, errors.New("the key is not base58btc: want multibase letter z")
	case digits == "":
		return nil, errors.New("the key is empty")
	case len(digits) > longest:
		return nil, fmt.Errorf("the key has %d characters, more than any key has", len(digits))
	}
	raw, err := base58.Decode(digits)
	if err != nil {
		return nil, errors.New("the key has a character that is not in the base58btc alphabet")
	}
	return raw, nil
}

// invalid wraps ErrInvalid with the DID, shortened to what fits a line.
func invalid(did, format string, args ...any) error {
	const most = 120
	shown := strconv.Quote(did[:min(len(did), most)])
	if len(did) > most {
		shown += "…"
	}
	return fmt.Errorf("%w %s: %s", ErrInvalid, shown, fmt.Sprintf(format, args...))
}

// smallOrder reports whether the key decodes to one of the eight points whose
// order divides 8. Listed are the y coordinates as encoded, not reduced ones
// included; the top bit, the sign of x, does not matter.
func smallOrder(key []byte) bool {
	y := [32]byte(key)
	y[31] &= 0x7f
	for _, low := range [...]string{
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", // 0, order 4
		"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", // 1, order 1
		"\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05", // order 8
		"\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a", // order 8
		"\xec\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // p−1, order 2
		"\xed\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // p ≡ 0
		"\xee\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", // p+1 ≡ 1
	} {
		if string(y[:]) == low {
			return true
		}
	}
	return false
}
