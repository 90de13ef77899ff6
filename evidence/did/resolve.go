package did

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Fetcher gets the document of a did:web with one GET request that follows no
// redirects. The caller's Fetcher bounds time and size and refuses addresses that
// must not be reached; such a refusal wraps ErrInvalid, any other failure to ask
// counts as ErrUnavailable.
type Fetcher interface {
	Fetch(ctx context.Context, url string) (body []byte, status int, err error)
}

// Resolve returns the Ed25519 key of a did:key or did:web (reference §12.3). Only
// did:web uses the Fetcher. Of a document it takes the first verification method
// of type Ed25519VerificationKey2020 or Ed25519VerificationKey2018 that gives a
// key, from publicKeyMultibase before publicKeyJwk; the document's id is not
// compared. The error wraps ErrInvalid, ErrNotFound or ErrUnavailable.
func Resolve(ctx context.Context, did string, f Fetcher) (ed25519.PublicKey, error) {
	switch {
	case strings.HasPrefix(did, keyPrefix):
		return ParseKey(did)
	case !strings.HasPrefix(did, webPrefix):
		return nil, invalid(did, "want did:key or did:web")
	}
	url, err := WebURL(did)
	if err != nil {
		return nil, err
	}
	body, status, err := f.Fetch(ctx, url)
	switch {
	case errors.Is(err, ErrInvalid):
		return nil, fmt.Errorf("fetch %s: %w", url, err)
	case err != nil:
		return nil, fmt.Errorf("%w: fetch %s: %w", ErrUnavailable, url, err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("%w: %s answered with status %d, want 200", ErrNotFound, url, status)
	}
	// The issuer reads the document with Python's rules, and so do we.
	document, err := canonjson.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("%w: document %s: %w", ErrInvalid, url, err)
	}
	key := documentKey(document)
	if key == nil {
		return nil, fmt.Errorf("%w: document %s has no verificationMethod of type Ed25519VerificationKey2020 or 2018 with a usable key", ErrInvalid, url)
	}
	return key, nil
}

// documentKey returns the first usable key of a DID document, or nil.
func documentKey(document any) ed25519.PublicKey {
	listed, _ := canonjson.Resolve(document, "/verificationMethod")
	methods, _ := listed.([]any)
	for _, entry := range methods {
		method, ok := entry.(*canonjson.Object)
		if !ok {
			continue
		}
		switch text(method, "type") {
		case "Ed25519VerificationKey2020", "Ed25519VerificationKey2018":
		default:
			continue
		}
		key := multibaseKey(text(method, "publicKeyMultibase"))
		if key == nil {
			jwk, _ := method.Get("publicKeyJwk")
			key = jwkKey(jwk)
		}
		if key != nil && !smallOrder(key) {
			return key
		}
	}
	return nil
}

// text returns a member that is a string, else the empty string.
func text(o *canonjson.Object, name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

// multibaseKey reads publicKeyMultibase: ed 01 and 32 bytes, or 1 to 32 bytes that
// are padded with zeros on the left, because some encoders drop leading zeros.
func multibaseKey(s string) ed25519.PublicKey {
	raw, err := multibase(s)
	if err != nil {
		return nil
	}
	if key, ok := bytes.CutPrefix(raw, ed25519Code); ok && len(key) == ed25519.PublicKeySize {
		return key
	}
	if len(raw) == 0 || len(raw) > ed25519.PublicKeySize {
		return nil
	}
	key := make(ed25519.PublicKey, ed25519.PublicKeySize)
	copy(key[len(key)-len(raw):], raw)
	return key
}

// jwkKey reads a publicKeyJwk (RFC 8037): kty OKP, crv Ed25519, x of 32 bytes.
func jwkKey(v any) ed25519.PublicKey {
	jwk, ok := v.(*canonjson.Object)
	if !ok || text(jwk, "kty") != "OKP" || text(jwk, "crv") != "Ed25519" {
		return nil
	}
	x := strings.TrimRight(text(jwk, "x"), "=")
	if strings.ContainsAny(x, "\r\n") { // which the decoder would skip
		return nil
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(x)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil
	}
	return key
}
