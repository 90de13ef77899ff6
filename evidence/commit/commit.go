package commit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/merkle"
)

// ErrEmpty is returned by Root for a proof without commitments.
var ErrEmpty = merkle.ErrEmpty

// Nonce is the random part of a commitment. It opens the commitment together with
// the value, so it is a secret until the field is disclosed: String is for proofs
// and disclosures, never for logs.
type Nonce [32]byte

// ParseNonce reads exactly 64 lower-case hexadecimal digits. The error does not
// repeat the text, which may be a secret.
func ParseNonce(s string) (Nonce, error) {
	var n Nonce
	if len(s) != 2*len(n) {
		return Nonce{}, fmt.Errorf("nonce of %d characters, want 64 lower-case hexadecimal digits", len(s))
	}
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return Nonce{}, fmt.Errorf("nonce has a character at position %d that is no lower-case hexadecimal digit", i)
		}
	}
	if _, err := hex.Decode(n[:], []byte(s)); err != nil {
		return Nonce{}, fmt.Errorf("nonce: %w", err)
	}
	return n, nil
}

// NewNonce reads a fresh nonce from a source of randomness, crypto/rand.Reader
// outside of tests. A source that fails or ends early is an error.
func NewNonce(r io.Reader) (Nonce, error) {
	var n Nonce
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return Nonce{}, fmt.Errorf("read a nonce: %w", err)
	}
	return n, nil
}

// String returns 64 lower-case hexadecimal digits.
func (n Nonce) String() string { return hex.EncodeToString(n[:]) }

// Field returns the commitment of a field (reference §6.1). The value is one of
// canonjson's model.
func Field(name string, n Nonce, value any) [32]byte {
	// Room for a name, a nonce and the values of a proof; it is moved to the heap,
	// so it is no larger than what a field needs.
	var room [224]byte
	text := append(room[:0], name...)
	text = append(text, 0)
	text = append(text, n[:]...)
	return sha256.Sum256(canonjson.Append(text, value))
}

// Root returns the root over the commitments of one proof, leaves in the order of
// their names by code point; its hex is the chain hash of specifications 3.0 and
// 3.1. Without commitments it returns ErrEmpty.
func Root(commitments map[string][32]byte) ([32]byte, error) {
	leaves := make([][32]byte, 0, len(commitments))
	for _, name := range slices.Sorted(maps.Keys(commitments)) {
		c := commitments[name]
		leaves = append(leaves, merkle.LeafHash(c[:]))
	}
	return merkle.Root(leaves)
}

// Opens reports whether a nonce, as text, and a value open the commitment of a
// field. A nonce in any other form than ParseNonce's opens nothing.
func Opens(commitment [32]byte, name, nonceHex string, value any) bool {
	n, err := ParseNonce(nonceHex)
	return err == nil && Field(name, n, value) == commitment
}

// Seal returns SHA-256(salt ‖ canonical JSON of key), the commitment that fixes a
// season's key before the season opens (bundle format §6).
func Seal(salt [32]byte, key any) [32]byte {
	return sha256.Sum256(canonjson.Append(append([]byte(nil), salt[:]...), key))
}
