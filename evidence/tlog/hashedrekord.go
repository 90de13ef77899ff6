package tlog

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const (
	entryKind    = "hashedrekord"
	entryVersion = "0.0.1"
	entryHash    = "sha256"
)

// hashedRekord is what an entry's body says: this key signed something that has this SHA-256.
type hashedRekord struct {
	version   string
	hash      [32]byte
	signature []byte // DER
	key       *ecdsa.PublicKey
	keyDER    []byte
}

// parseHashedRekord reads the parts of an entry that verification needs; other members are of no concern to it.
func parseHashedRekord(v any) (*hashedRekord, error) {
	root, err := as[*canonjson.Object](v, "")
	if err != nil {
		return nil, err
	}
	kind, err := member[string](root, "", "kind")
	if err != nil {
		return nil, err
	}
	if kind != entryKind {
		return nil, fmt.Errorf("/kind: %s, want %q", excerpt(kind), entryKind)
	}
	spec, err := member[*canonjson.Object](root, "", "spec")
	if err != nil {
		return nil, err
	}
	h := new(hashedRekord)
	// The version has no part in what an entry proves: other versions of this shape verify, and only a log asks.
	h.version, _ = member[string](root, "", "apiVersion")
	if err := h.readData(spec); err != nil {
		return nil, err
	}
	if err := h.readSignature(spec); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *hashedRekord) readData(spec *canonjson.Object) error {
	data, err := member[*canonjson.Object](spec, "/spec", "data")
	if err != nil {
		return err
	}
	hash, err := member[*canonjson.Object](data, "/spec/data", "hash")
	if err != nil {
		return err
	}
	algorithm, err := member[string](hash, "/spec/data/hash", "algorithm")
	if err != nil {
		return err
	}
	if algorithm != entryHash {
		return fmt.Errorf("/spec/data/hash/algorithm: %s, want %q", excerpt(algorithm), entryHash)
	}
	value, err := member[string](hash, "/spec/data/hash", "value")
	if err != nil {
		return err
	}
	if h.hash, err = parseHash(value); err != nil {
		return fmt.Errorf("/spec/data/hash/value: %w", err)
	}
	return nil
}

func (h *hashedRekord) readSignature(spec *canonjson.Object) error {
	signature, err := member[*canonjson.Object](spec, "/spec", "signature")
	if err != nil {
		return err
	}
	content, err := member[string](signature, "/spec/signature", "content")
	if err != nil {
		return err
	}
	if h.signature, err = decodeBase64(content); err != nil {
		return fmt.Errorf("/spec/signature/content: %w", err)
	}
	holder, err := member[*canonjson.Object](signature, "/spec/signature", "publicKey")
	if err != nil {
		return err
	}
	encoded, err := member[string](holder, "/spec/signature/publicKey", "content")
	if err != nil {
		return err
	}
	text, err := decodeBase64(encoded)
	if err != nil {
		return fmt.Errorf("/spec/signature/publicKey/content: %w", err)
	}
	if h.key, h.keyDER, err = ParsePublicKeyPEM(string(text)); err != nil {
		return fmt.Errorf("/spec/signature/publicKey/content: %w", err)
	}
	return nil
}

// verify checks the entry's signature. It covers the artifact whose SHA-256 the entry names, so the hash is all that is
// needed. The encoding must be DER (crypto/ecdsa refuses BER forms).
func (h *hashedRekord) verify() error {
	if !ecdsa.VerifyASN1(h.key, h.hash[:], h.signature) {
		return errors.New("/spec/signature/content: not a DER ECDSA signature of the artifact by the entry's own public key")
	}
	return nil
}

// body returns the canonical JSON of the entry: the bytes that a log hashes into its tree.
func (h *hashedRekord) body() ([]byte, error) {
	text, err := FormatPublicKeyPEM(h.key)
	if err != nil {
		return nil, err
	}
	encode := base64.StdEncoding.EncodeToString
	return canonjson.Marshal(canonjson.NewObject(
		"apiVersion", entryVersion,
		"kind", entryKind,
		"spec", canonjson.NewObject(
			"data", canonjson.NewObject("hash", canonjson.NewObject("algorithm", entryHash, "value", hex.EncodeToString(h.hash[:]))),
			"signature", canonjson.NewObject("content", encode(h.signature), "publicKey", canonjson.NewObject("content", encode([]byte(text)))),
		),
	)), nil
}

// sign makes the entry for an anchored hash: signer signs its 64 hexadecimal characters.
func sign(anchoredHex string, signer crypto.Signer) (*hashedRekord, error) {
	if !isHex(anchoredHex, 64) {
		return nil, fmt.Errorf("anchored hash: %s is not 64 lower-case hex", excerpt(anchoredHex))
	}
	if signer == nil {
		return nil, errors.New("log entry: no signer given")
	}
	key, ok := signer.Public().(*ecdsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("log entry: signer has a %T, want ECDSA on P-256", signer.Public())
	}
	der, err := keyDER(key)
	if err != nil {
		return nil, fmt.Errorf("log entry: signer: %w", err)
	}
	h := &hashedRekord{version: entryVersion, hash: sha256.Sum256([]byte(anchoredHex)), key: key, keyDER: der}
	// No randomness: an RFC 6979 signature is the same each time, so a submission that is repeated after a crash or a
	// lost answer meets its own entry (409) and does not make a second one.
	if h.signature, err = signer.Sign(nil, h.hash[:], crypto.SHA256); err != nil {
		return nil, fmt.Errorf("log entry: sign: %w", err)
	}
	if err := h.verify(); err != nil {
		return nil, fmt.Errorf("log entry: the signer's signature does not verify with its own public key: %w", err)
	}
	return h, nil
}
