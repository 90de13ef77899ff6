package receipt

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
)

// Trust is everything that a verifier believes beforehand: the issuer's keys,
// the timestamp authorities and the logs (bundle-format §3). It never comes
// from a proof (D4). Whether a witness is independent is its holder's word too.
type Trust struct {
	IssuerKeys  []IssuerKey
	LogKeys     []LogKey
	Authorities []timestamp.Authority
	Logs        []tlog.Log
}

// IssuerKey is a key that signs chain hashes. A zero ValidFrom or RetiredAt
// means that the key has no such bound; RetiredAt itself is outside.
type IssuerKey struct {
	Kid                  string
	Public               ed25519.PublicKey
	ValidFrom, RetiredAt time.Time
}

// LogKey is a key that the issuer signs log entries with. The bounds are as for
// IssuerKey. DER is the key's SubjectPublicKeyInfo.
type LogKey struct {
	Kid                  string
	Public               *ecdsa.PublicKey
	DER                  []byte
	ValidFrom, RetiredAt time.Time
}

const (
	instantLayout = "2006-01-02T15:04:05Z"
	issuerKeyType = "Ed25519"
	logKeyType    = "ECDSA-P256-SHA256"
)

// JSON returns the trust as a trust.json document in canonical form, which
// ParseTrust reads back.
func (t *Trust) JSON() []byte {
	keys, logKeys, authorities, logs := []any{}, []any{}, []any{}, []any{}
	for _, k := range t.IssuerKeys {
		keys = append(keys, canonjson.NewObject("kid", k.Kid, "type", issuerKeyType,
			"public", formatEd25519(k.Public), "valid_from", instant(k.ValidFrom), "retired_at", instant(k.RetiredAt)))
	}
	for _, k := range t.LogKeys {
		logKeys = append(logKeys, canonjson.NewObject("kid", k.Kid, "type", logKeyType,
			"public_pem", pemText("PUBLIC KEY", k.DER), "valid_from", instant(k.ValidFrom), "retired_at", instant(k.RetiredAt)))
	}
	for _, a := range t.Authorities {
		authorities = append(authorities, canonjson.NewObject("provider", a.Provider, "independent", a.Independent,
			"roots", certificateTexts(a.Roots), "certificates", certificateTexts(a.Certificates)))
	}
	for _, l := range t.Logs {
		var origin any
		if l.Origin != "" {
			origin = l.Origin
		}
		// A P-256 key that was parsed always encodes; a caller's broken one
		// becomes an empty block, which ParseTrust refuses.
		der, _ := x509.MarshalPKIXPublicKey(l.Key)
		logs = append(logs, canonjson.NewObject("name", l.Name, "public_pem", pemText("PUBLIC KEY", der),
			"origin", origin, "independent", l.Independent))
	}
	return canonjson.Marshal(canonjson.NewObject(
		"issuer", canonjson.NewObject("keys", keys, "log_keys", logKeys),
		"timestamp_authorities", authorities,
		"logs", logs,
	))
}

func certificateTexts(certificates []*x509.Certificate) []any {
	texts := []any{}
	for _, c := range certificates {
		texts = append(texts, pemText("CERTIFICATE", c.Raw))
	}
	return texts
}

func pemText(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(instantLayout)
}

// strictURL refuses non-zero trailing bits, so that one key or signature has one
// text.
var strictURL = base64.RawURLEncoding.Strict()

// parseEd25519 reads "ed25519:" and canonical unpadded base64url into dst, which
// it must fill.
func parseEd25519(dst []byte, s string) bool {
	encoded, found := strings.CutPrefix(s, "ed25519:")
	var room [86]byte // of a signature; a key has 43
	if !found || len(encoded) > len(room) || len(encoded) != strictURL.EncodedLen(len(dst)) {
		return false
	}
	// A line break, which the decoder would skip, leaves too few bytes.
	n, err := strictURL.Decode(dst, room[:copy(room[:], encoded)])
	return err == nil && n == len(dst)
}

func formatEd25519(b []byte) string {
	return "ed25519:" + base64.RawURLEncoding.EncodeToString(b)
}

// clip keeps a foreign value short enough for one line of an error.
func clip(s string) string { return clipAt(s, 60) }

func clipAt(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
