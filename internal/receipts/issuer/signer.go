package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const (
	keyTypeProof = "Ed25519"
	keyTypeLog   = "ECDSA-P256-SHA256"
)

// HistoryKey is one published key (T§11). Public is "ed25519:…" for a key that
// signs proofs and one PEM block for a key that signs log entries. ValidFrom is
// an instant of second precision; RetiredAt is empty while the key is in use.
type HistoryKey struct {
	Kid, Public, Node, ValidFrom, RetiredAt string
}

// History is the published key history: append only, the same on every node, a
// retired key stays listed (T§11).
type History struct {
	Keys    []HistoryKey
	LogKeys []HistoryKey
}

// ParseHistory reads a key history file (published_keys.json): strict JSON with
// the arrays "keys" and "rekor_keys". Errors name the entry and the fault.
func ParseHistory(data []byte) (*History, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fmt.Errorf("key history: %w", err)
	}
	root, ok := v.(*canonjson.Object)
	if !ok {
		return nil, errors.New("key history: want a JSON object with keys and rekor_keys")
	}
	h := &History{}
	if h.Keys, err = historyKeys(root, "keys", keyTypeProof, "public"); err != nil {
		return nil, err
	}
	if h.LogKeys, err = historyKeys(root, "rekor_keys", keyTypeLog, "public_pem"); err != nil {
		return nil, err
	}
	return h, nil
}

func historyKeys(root *canonjson.Object, list, kind, public string) ([]HistoryKey, error) {
	v, _ := root.Get(list)
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return nil, fmt.Errorf("key history: /%s: want a non-empty array", list)
	}
	seen := map[string]bool{}
	out := make([]HistoryKey, 0, len(items))
	for i, item := range items {
		o, ok := item.(*canonjson.Object)
		if !ok {
			return nil, fmt.Errorf("key history: /%s/%d: want an object", list, i)
		}
		k := HistoryKey{}
		for name, dst := range map[string]*string{"kid": &k.Kid, public: &k.Public, "node": &k.Node, "valid_from": &k.ValidFrom, "retired_at": &k.RetiredAt} {
			switch v, _ := o.Get(name); x := v.(type) {
			case string:
				*dst = x
			case nil:
			default:
				return nil, fmt.Errorf("key history: /%s/%d/%s: want a string or null", list, i, name)
			}
		}
		if t, _ := o.Get("type"); t != any(kind) {
			return nil, fmt.Errorf("key history: /%s/%d/type: want %q", list, i, kind)
		}
		if k.Kid == "" || k.Public == "" || seen[k.Kid] {
			return nil, fmt.Errorf("key history: /%s/%d: want a kid of its own and a key", list, i)
		}
		for name, at := range map[string]string{"valid_from": k.ValidFrom, "retired_at": k.RetiredAt} {
			if at == "" {
				continue
			}
			if _, err := time.Parse(secondsLayout, at); err != nil {
				return nil, fmt.Errorf("key history: /%s/%d/%s: %q is not an instant like 2026-10-03T10:00:00Z", list, i, name, at)
			}
		}
		seen[k.Kid] = true
		out = append(out, k)
	}
	return out, nil
}

// JSON is the history as a file that ParseHistory reads.
func (h *History) JSON() []byte {
	return append(canonjson.Compact(canonjson.NewObject(
		"_doc", "Published key history. Public keys only. A key is valid for proofs dated before retired_at. Append only: a retired key stays listed.",
		"keys", h.list(h.Keys, keyTypeProof, "public"),
		"rekor_keys", h.list(h.LogKeys, keyTypeLog, "public_pem"))), '\n')
}

func (h *History) list(keys []HistoryKey, kind, public string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = canonjson.NewObject("kid", k.Kid, "type", kind, public, k.Public,
			"node", k.Node, "valid_from", orNull(k.ValidFrom), "retired_at", orNull(k.RetiredAt))
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Signer holds the two keys of a node: Ed25519 for chain hashes, P-256 for log
// entries (T§10, T§11). It is safe for concurrent use.
type Signer struct {
	proof   crypto.Signer
	log     *ecdsa.PrivateKey
	entry   HistoryKey
	logKey  HistoryKey
	history *History
}

// NewSigner checks both keys against the published history: a node whose key is
// not listed, not valid yet, or retired does not start (T§11). now is UTC.
func NewSigner(proof crypto.Signer, log *ecdsa.PrivateKey, h *History, now time.Time) (*Signer, error) {
	pub, ok := proof.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("signer: the proof key is a %T, want Ed25519", proof.Public())
	}
	if log.Curve != elliptic.P256() {
		return nil, errors.New("signer: the log key is not on P-256")
	}
	logPEM, err := publicPEM(&log.PublicKey)
	if err != nil {
		return nil, err
	}
	s := &Signer{proof: proof, log: log, history: h}
	if s.entry, err = inHistory(h.Keys, "proof", func(k HistoryKey) bool { return k.Public == encodeKey(pub) }, now); err != nil {
		return nil, err
	}
	same := func(k HistoryKey) bool { return stripSpace(k.Public) == stripSpace(logPEM) }
	if s.logKey, err = inHistory(h.LogKeys, "log", same, now); err != nil {
		return nil, err
	}
	return s, nil
}

func stripSpace(s string) string { return strings.Join(strings.Fields(s), "") }

func inHistory(keys []HistoryKey, what string, same func(HistoryKey) bool, now time.Time) (HistoryKey, error) {
	at := now.UTC().Format(secondsLayout)
	for _, k := range keys {
		switch {
		case !same(k):
			continue
		case k.RetiredAt != "" && at >= k.RetiredAt:
			return k, fmt.Errorf("signer: the %s key %s was retired at %s: configure its successor", what, k.Kid, k.RetiredAt)
		case k.ValidFrom != "" && at < k.ValidFrom:
			return k, fmt.Errorf("signer: the %s key %s is valid from %s only: its proofs would be refused before", what, k.Kid, k.ValidFrom)
		}
		return k, nil
	}
	return HistoryKey{}, fmt.Errorf("signer: the %s key is not in the published key history: append it there first", what)
}

// Ready reports whether proofs can be signed at this time; T§4.2 asks it before
// anything is counted. A key that retires while the node runs stops it.
func (s *Signer) Ready(now time.Time) error {
	if at := now.UTC().Format(secondsLayout); s.entry.RetiredAt != "" && at >= s.entry.RetiredAt {
		return fmt.Errorf("signer: the proof key %s is retired", s.entry.Kid)
	}
	return nil
}

// sign signs the 64 ASCII characters of a chain hash (T§11) and returns the
// member arkforge_signature.
func (s *Signer) sign(chainHex string) (string, error) {
	if !validHash(chainHex) {
		return "", errors.New("signer: a chain hash is 64 lower-case hex digits")
	}
	// Ed25519 uses no randomness of the caller's.
	sig, err := s.proof.Sign(rand.Reader, []byte(chainHex), crypto.Hash(0))
	if err != nil {
		return "", fmt.Errorf("signer: %w", err)
	}
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(sig), nil
}

// selfTestHash is SHA-256 of "tl-signer self-test" (T§3.15).
const selfTestHash = "0c81932a6a92f6612e9b61f221c1af652d972f23736b6b5f8f63b233ed710234"

func (s *Signer) selfTest(now time.Time) error {
	if err := s.Ready(now); err != nil {
		return err
	}
	sig, err := s.sign(selfTestHash)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(sig, "ed25519:"))
	if err != nil {
		return err
	}
	if !ed25519.Verify(s.proof.Public().(ed25519.PublicKey), []byte(selfTestHash), raw) {
		return errors.New("signer: a signature does not verify")
	}
	return nil
}

// GenerateKeys makes the keys of a new node and the history that lists them,
// valid from now.
func GenerateKeys(r io.Reader, node string, now time.Time) (ed25519.PrivateKey, *ecdsa.PrivateKey, *History, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(r, seed); err != nil {
		return nil, nil, nil, fmt.Errorf("generate the proof key: %w", err)
	}
	proof := ed25519.NewKeyFromSeed(seed)
	log, err := ecdsa.GenerateKey(elliptic.P256(), r)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("generate the log key: %w", err)
	}
	pemText, err := publicPEM(&log.PublicKey)
	if err != nil {
		return nil, nil, nil, err
	}
	from := now.UTC().Format(secondsLayout)
	return proof, log, &History{
		Keys:    []HistoryKey{{Kid: "key-1", Public: encodeKey(proof.Public().(ed25519.PublicKey)), Node: node, ValidFrom: from}},
		LogKeys: []HistoryKey{{Kid: "rekor-1", Public: pemText, Node: node, ValidFrom: from}},
	}, nil
}

// MarshalKey writes a private key of either kind as one PKCS #8 PEM block.
func MarshalKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("marshal a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// ParseKey reads a key that MarshalKey wrote: an ed25519.PrivateKey or a
// *ecdsa.PrivateKey on P-256; a key of any other kind is refused. Errors never show
// the bytes.
func ParseKey(data []byte) (any, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" || len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("private key: want exactly one PEM block PRIVATE KEY")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("private key: the PEM block is no PKCS #8 key")
	}
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return k, nil
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return k, nil
		}
	}
	return nil, errors.New("private key: want an Ed25519 or an ECDSA P-256 key; put back the file that the first start wrote")
}

func encodeKey(pub ed25519.PublicKey) string {
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(pub)
}

func publicPEM(pub *ecdsa.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return "", fmt.Errorf("marshal the log key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}
