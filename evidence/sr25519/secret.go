package sr25519

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"

	voi "github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
)

// ErrSecret is wrapped by every refusal of a secret. Its text holds nothing of
// what was read.
var ErrSecret = errors.New("sr25519: bad secret")

// hidden stands wherever a secret would be printed.
const hidden = "sr25519 secret (hidden)"

// SecretKey signs. It never prints, in whatever way it is formatted.
type SecretKey struct {
	pair   *voi.KeyPair
	public *PublicKey
}

// NewSecretKey expands a 32-byte mini secret in the way of Substrate.
func NewSecretKey(mini []byte) (*SecretKey, error) {
	if len(mini) != SecretSize {
		return nil, fmt.Errorf("%w: %d bytes, want a mini secret of %d", ErrSecret, len(mini), SecretSize)
	}
	seed, err := voi.NewMiniSecretKeyFromBytes(mini)
	if err != nil {
		return nil, fmt.Errorf("%w: no mini secret", ErrSecret)
	}
	pair := seed.ExpandEd25519().KeyPair()
	raw, err := pair.PublicKey().MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("%w: no public key comes of it", ErrSecret)
	}
	public, err := NewPublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: no public key comes of it", ErrSecret)
	}
	return &SecretKey{pair, public}, nil
}

// ParseSecret reads the content of a secret file: 32 raw bytes, or their 64
// hexadecimal digits with white space around them at most. Content of exactly 32
// bytes is always raw.
func ParseSecret(content []byte) (*SecretKey, error) {
	if len(content) == SecretSize {
		return NewSecretKey(content)
	}
	digits := bytes.TrimSpace(content)
	if len(digits) != 2*SecretSize {
		return nil, fmt.Errorf("%w: %d bytes, want %d raw bytes or %d hexadecimal digits", ErrSecret, len(content), SecretSize, 2*SecretSize)
	}
	mini := make([]byte, SecretSize)
	if _, err := hex.Decode(mini, digits); err != nil {
		return nil, fmt.Errorf("%w: not %d hexadecimal digits", ErrSecret, 2*SecretSize)
	}
	return NewSecretKey(mini)
}

// ReadSecret reads a secret file. One that others than its owner may read or
// write is refused.
func ReadSecret(path string) (*SecretKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	at, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !at.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", ErrSecret, path)
	}
	if open := at.Mode().Perm() & 0o077; open != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o, and others than its owner may use it; run chmod 600 on it", ErrSecret, path, at.Mode().Perm())
	}
	const most = 1024
	content, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, err
	}
	key, err := ParseSecret(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// GenerateSecret draws a mini secret from rand.
func GenerateSecret(rand io.Reader) ([]byte, error) {
	mini := make([]byte, SecretSize)
	if _, err := io.ReadFull(rand, mini); err != nil {
		return nil, fmt.Errorf("sr25519: draw a secret: %w", err)
	}
	return mini, nil
}

// Public returns the key that the secret's signatures verify under.
func (k *SecretKey) Public() *PublicKey { return k.public }

// Sign signs a domain and a payload. What rand gives is mixed with the secret, so
// that a weak source alone does not give the secret away; nil is crypto/rand.
func (k *SecretKey) Sign(rand io.Reader, domain string, payload []byte) ([SignatureSize]byte, error) {
	var out [SignatureSize]byte
	m := Message(domain, payload)
	if uint64(len(m)) > math.MaxUint32 {
		return out, fmt.Errorf("sr25519: a message of %d bytes cannot be signed", len(m))
	}
	sig, err := k.pair.Sign(rand, signingContext.NewTranscriptBytes(m))
	if err != nil {
		return out, fmt.Errorf("sr25519: sign: %w", err)
	}
	raw, err := sig.MarshalBinary()
	if err != nil {
		return out, fmt.Errorf("sr25519: sign: %w", err)
	}
	copy(out[:], raw)
	return out, nil
}

// String returns a placeholder.
func (SecretKey) String() string { return hidden }

// Format writes a placeholder, whatever the verb.
func (SecretKey) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue logs a placeholder.
func (SecretKey) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText gives a placeholder, which no reader takes for a secret.
func (SecretKey) MarshalText() ([]byte, error) { return []byte(hidden), nil }
