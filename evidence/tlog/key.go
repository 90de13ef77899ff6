package tlog

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Log is a transparency log that the caller trusts.
type Log struct {
	// Name is how the caller calls the log; it appears in reports only.
	Name string
	// Key is the log's P-256 key. It signs entry timestamps and checkpoints.
	Key *ecdsa.PublicKey
	// Origin is the first line that its checkpoints must have; "" accepts any.
	Origin string
	// Independent says whether the log counts as a third party. It is the caller's word and is only passed on.
	Independent bool
}

// ID returns the log's identifier, the SHA-256 of its DER SubjectPublicKeyInfo in lower-case hex, as entries name it
// in logID. The error says that the key is missing or not on P-256.
func (l Log) ID() (string, error) {
	sum, err := keySum(l.Key)
	if err != nil {
		return "", fmt.Errorf("log %q: %w", l.Name, err)
	}
	return hex.EncodeToString(sum[:]), nil
}

// publicKeyBlock is the PEM type of a SubjectPublicKeyInfo (RFC 7468 §13).
const publicKeyBlock = "PUBLIC KEY"

// ParsePublicKeyPEM reads a P-256 public key from a text that holds exactly one PEM block of type PUBLIC KEY, with
// nothing but white space around it. It returns the key and its DER SubjectPublicKeyInfo, by which keys are compared:
// two PEM texts of one key may break lines differently. The DER must be the one that the key encodes to.
func ParsePublicKeyPEM(text string) (*ecdsa.PublicKey, []byte, error) {
	trimmed := strings.TrimSpace(text)
	const begin = "-----BEGIN "
	// pem.Decode passes over text and broken blocks until it finds a good one; a key that is hidden behind something
	// else is not the key that a reader sees.
	if n := strings.Count(trimmed, begin); n != 1 || !strings.HasPrefix(trimmed, begin) {
		return nil, nil, fmt.Errorf("public key: want exactly one PEM block and nothing around it, found %d blocks in %d bytes", n, len(text))
	}
	block, rest := pem.Decode([]byte(trimmed))
	if block == nil {
		return nil, nil, errors.New("public key: the PEM block is damaged; copy it again from the log's publisher")
	}
	if len(bytes.TrimSpace(rest)) != 0 {
		return nil, nil, fmt.Errorf("public key: %d bytes after the PEM block; remove them", len(rest))
	}
	if block.Type != publicKeyBlock || len(block.Headers) != 0 {
		return nil, nil, fmt.Errorf("public key: PEM block %q, want %q without headers", block.Type, publicKeyBlock)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("public key: not a SubjectPublicKeyInfo: %w", err)
	}
	key, ok := parsed.(*ecdsa.PublicKey)
	if !ok {
		return nil, nil, fmt.Errorf("public key: %T, want ECDSA on P-256", parsed)
	}
	der, err := keyDER(key)
	if err != nil {
		return nil, nil, fmt.Errorf("public key: %w", err)
	}
	if !bytes.Equal(der, block.Bytes) {
		return nil, nil, errors.New("public key: the DER is not the canonical encoding of its key; export the key again")
	}
	return key, der, nil
}

// FormatPublicKeyPEM writes a P-256 public key as one PEM block that ends with a newline, the form that entries hold.
func FormatPublicKeyPEM(key *ecdsa.PublicKey) (string, error) {
	der, err := keyDER(key)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: publicKeyBlock, Bytes: der})), nil
}

func keyDER(key *ecdsa.PublicKey) ([]byte, error) {
	if key == nil || key.Curve == nil {
		return nil, errors.New("no key given, want ECDSA on P-256")
	}
	if key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("curve %s, want P-256", key.Curve.Params().Name)
	}
	return x509.MarshalPKIXPublicKey(key)
}

func keySum(key *ecdsa.PublicKey) ([sha256.Size]byte, error) {
	der, err := keyDER(key)
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(der), nil
}
