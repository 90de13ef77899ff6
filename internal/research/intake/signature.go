package intake

import (
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/prova-dev/prova/evidence/sr25519"
)

// Domain is the signature domain of submissions (R§2.2).
const Domain = "base-proof-submit-v1"

// The refusals of a signature, in the words of R§11.5.
var (
	ErrSignatureRequired = errors.New("hotkey_signature required")
	ErrSignature         = errors.New("hotkey_signature invalid")
	ErrNonceRequired     = errors.New("submit_nonce required")
	ErrNonce             = errors.New("submit_nonce invalid")
)

// Signed is what a miner signs (R§11.5). Hotkey, artefact digest and topic are in
// their stored form, the rest stands as it is sent.
type Signed struct {
	Hotkey         string
	TopicID        string
	ArtifactDigest string
	DeclaredFLOPs  uint64
	Claim          string
	Manifest       Manifest
	Nonce          string // submit_nonce: 64 lower-case hex, used once
}

// Payload returns the signed bytes. Two values that differ in more than the order
// of a manifest's lists have different payloads, as long as all text is UTF-8.
func (p Signed) Payload() []byte {
	dst := append([]byte(p.Hotkey), sep...)
	dst = append(append(dst, p.TopicID...), sep...)
	dst = append(append(dst, p.ArtifactDigest...), sep...)
	dst = append(strconv.AppendUint(dst, p.DeclaredFLOPs, 10), sep...)
	dst = append(append(dst, p.Claim...), sep...)
	dst = append(append(dst, p.Manifest.Canonical()...), sep...)
	return append(dst, p.Nonce...)
}

// Verify checks a hotkey_signature over the payload under the hotkey:
// [ErrSignature] when it is not that, or no 128 lower-case hexadecimal digits;
// [ErrNonce] when the nonce is no 64 of them.
func (p Signed) Verify(signature string) error {
	if !lowerHex(signature, 128) {
		return ErrSignature
	}
	if !lowerHex(p.Nonce, 64) {
		return ErrNonce
	}
	raw, err := hex.DecodeString(signature)
	if err != nil {
		return ErrSignature
	}
	key, err := sr25519.ParsePublicKey(p.Hotkey)
	if err != nil {
		return ErrSignature
	}
	if err := key.Verify(Domain, p.Payload(), raw); err != nil {
		return ErrSignature
	}
	return nil
}

// lowerHex reports whether s is exactly so many lower-case hexadecimal digits,
// with nothing around them.
func lowerHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
