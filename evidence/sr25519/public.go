package sr25519

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
)

const (
	// Context is the signing context of every signature here (R§2.1).
	Context = "base-sr25519-v1"

	// PublicKeySize, SecretSize and SignatureSize are in bytes.
	PublicKeySize = 32
	SecretSize    = 32
	SignatureSize = 64
)

var (
	// ErrKey is wrapped by every refusal of a public key.
	ErrKey = errors.New("sr25519: bad public key")
	// ErrEncoding is wrapped when a signature cannot be one, whoever signed what.
	ErrEncoding = errors.New("sr25519: bad signature encoding")
	// ErrInvalid says that a well-formed signature is not by this key over this
	// domain and payload.
	ErrInvalid = errors.New("sr25519: signature does not verify")
)

// signingContext is only ever cloned.
var signingContext = voi.NewSigningContext([]byte(Context))

// PublicKey is a key that signatures are checked under. It is immutable and safe
// for concurrent use.
type PublicKey struct {
	key *voi.PublicKey
	raw [PublicKeySize]byte
}

// NewPublicKey reads the 32 bytes of a key. The identity and encodings that are
// not canonical are refused.
func NewPublicKey(raw []byte) (*PublicKey, error) {
	if len(raw) != PublicKeySize {
		return nil, fmt.Errorf("%w: %d bytes, want %d", ErrKey, len(raw), PublicKeySize)
	}
	if identity(raw) {
		return nil, fmt.Errorf("%w: the identity, under which anyone can sign", ErrKey)
	}
	key, err := voi.NewPublicKeyFromBytes(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: no canonical encoding of a ristretto point", ErrKey)
	}
	return &PublicKey{key, [PublicKeySize]byte(raw)}, nil
}

// ParsePublicKey reads the 64 hexadecimal digits of a key, in either case.
func ParsePublicKey(text string) (*PublicKey, error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != PublicKeySize {
		return nil, fmt.Errorf("%w: want %d hexadecimal digits", ErrKey, 2*PublicKeySize)
	}
	return NewPublicKey(raw)
}

// String returns the key as 64 lower-case hexadecimal digits.
func (k *PublicKey) String() string { return hex.EncodeToString(k.raw[:]) }

// Bytes returns the 32 bytes of the key.
func (k *PublicKey) Bytes() [PublicKeySize]byte { return k.raw }

// Equal reports whether two keys are the same.
func (k *PublicKey) Equal(other *PublicKey) bool { return k.raw == other.raw }

// Verify returns nil when the signature is by this key over the domain and the
// payload. Otherwise the error wraps ErrEncoding or is ErrInvalid.
func (k *PublicKey) Verify(domain string, payload, signature []byte) error {
	sig, err := parseSignature(signature)
	if err != nil {
		return err
	}
	m := Message(domain, payload)
	if uint64(len(m)) > math.MaxUint32 || !k.key.Verify(signingContext.NewTranscriptBytes(m), sig) {
		return ErrInvalid
	}
	return nil
}

func parseSignature(raw []byte) (*voi.Signature, error) {
	switch {
	case len(raw) != SignatureSize:
		return nil, fmt.Errorf("%w: %d bytes, want %d", ErrEncoding, len(raw), SignatureSize)
	case raw[SignatureSize-1]&0x80 == 0:
		return nil, fmt.Errorf("%w: the schnorrkel mark is missing", ErrEncoding)
	case identity(raw[:32]):
		return nil, fmt.Errorf("%w: its point is the identity", ErrEncoding)
	}
	sig, err := voi.NewSignatureFromBytes(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: its scalar is not canonical", ErrEncoding)
	}
	return sig, nil
}

// identity reports whether an encoding is that of ristretto's identity, of which
// zeros are the only canonical one.
func identity(raw []byte) bool {
	var all byte
	for _, b := range raw {
		all |= b
	}
	return all == 0
}
