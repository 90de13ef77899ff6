package issuer

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
)

const (
	challengeLife   = 300 * time.Second
	methodChallenge = "challenge_response"
	didFetchTimeout = 5 * time.Second
)

// objectOrEmpty reads a body as T§12 does: what is not a JSON object counts as an
// empty one.
func objectOrEmpty(body []byte) *canonjson.Object {
	v, err := canonjson.Parse(body)
	if err != nil {
		return canonjson.NewObject()
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return canonjson.NewObject()
	}
	return o
}

// startBinding is POST /v1/keys/bind-did after authentication (T§12.1). The
// start is counted by the caller, before the body is read.
func (s *Service) startBinding(ctx context.Context, c *caller, body []byte) (*canonjson.Object, error) {
	o := objectOrEmpty(body)
	name := text(o, "did")
	if !strings.HasPrefix(name, "did:web:") && !strings.HasPrefix(name, "did:key:") {
		return nil, refuse(http.StatusBadRequest, "invalid_did", "A valid did:web or did:key is required")
	}
	key, err := s.resolveDID(ctx, name)
	if err != nil {
		return nil, err
	}
	if v, _ := o.Get("oatr_issuer_id"); !falsy(v) {
		return nil, refuse(http.StatusBadRequest, "oatr_delegation_failed",
			"OATR delegation is not offered by this issuer: leave oatr_issuer_id out and sign the challenge")
	}
	token, err := randomHex(s.deps.Rand, 32)
	if err != nil {
		return nil, fmt.Errorf("issuer: make a challenge: %w", err)
	}
	now := s.now()
	err = s.store.addChallenge(ctx, sha256Hex([]byte(token)), challenge{
		Fingerprint: c.Fingerprint, DID: name,
		PublicKey: hex.EncodeToString(key), ExpiresAt: now.Add(challengeLife).Unix(),
	}, now)
	if err != nil {
		return nil, err
	}
	return canonjson.NewObject("challenge", token, "expires_in", number(int(challengeLife/time.Second))), nil
}

// resolveDID is T§12.3: 400 for what is wrong with the DID or its document, 404
// for a document that is not there, 503 for a network failure.
func (s *Service) resolveDID(ctx context.Context, name string) (ed25519.PublicKey, error) {
	const code = "did_resolution_failed"
	if strings.HasPrefix(name, "did:web:") && s.deps.DIDs == nil {
		return nil, refuse(http.StatusBadRequest, code, "did:web is not resolved by this issuer: bind a did:key")
	}
	ctx, cancel := context.WithTimeout(ctx, didFetchTimeout)
	defer cancel()
	key, err := did.Resolve(ctx, name, s.deps.DIDs)
	switch {
	case err == nil:
		return key, nil
	case errors.Is(err, did.ErrInvalid):
		return nil, refuse(http.StatusBadRequest, code, "The DID does not resolve to an Ed25519 key: "+shorten(err.Error()))
	case errors.Is(err, did.ErrNotFound):
		return nil, refuse(http.StatusNotFound, code, "The DID document was not found")
	default:
		// The reason may name addresses of our network.
		return nil, refuse(http.StatusServiceUnavailable, code, "The DID document could not be fetched; try again later")
	}
}

func shorten(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// confirmBinding is POST /v1/keys/bind-did/confirm after authentication
// (T§12.2). The challenge is consumed before it is judged, so a wrong signature
// burns it.
func (s *Service) confirmBinding(ctx context.Context, c *caller, body []byte) (*canonjson.Object, error) {
	o := objectOrEmpty(body)
	token, signature := text(o, "challenge"), text(o, "signature")
	if token == "" || signature == "" {
		return nil, refuse(http.StatusBadRequest, "missing_fields", "'challenge' and 'signature' are required strings")
	}
	gone := refuse(http.StatusGone, "challenge_expired", "Challenge not found or expired")
	started, err := s.store.takeChallenge(ctx, sha256Hex([]byte(token)))
	if errors.Is(err, errNoRow) {
		return nil, gone
	}
	if err != nil {
		return nil, fmt.Errorf("issuer: take a challenge: %w", err)
	}
	now := s.now()
	if now.Unix() >= started.ExpiresAt {
		return nil, gone
	}
	if started.Fingerprint != c.Fingerprint {
		return nil, refuse(http.StatusBadRequest, "key_mismatch", "The challenge was issued to another API key")
	}
	wrong := refuse(http.StatusBadRequest, "invalid_signature", "The signature does not verify over the challenge's ASCII bytes with the DID's key")
	sig, ok := decodeSignature(signature)
	if !ok {
		return nil, wrong
	}
	key, err := hex.DecodeString(started.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("issuer: a stored challenge has no public key")
	}
	if !ed25519.Verify(key, []byte(token), sig) {
		return nil, wrong
	}
	boundAt := isoFormat(now)
	if err := s.store.bind(ctx, c.Fingerprint, started.DID, methodChallenge, boundAt); err != nil {
		return nil, err
	}
	s.keys.forget(c.Fingerprint)
	return canonjson.NewObject("verified_did", started.DID, "bound_at", boundAt, "method", methodChallenge), nil
}

// decodeSignature reads 64 bytes of base64url, padding optional; the standard
// alphabet is tolerated as in the source.
func decodeSignature(s string) ([]byte, bool) {
	s = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(s, "="))
	sig, err := base64.RawURLEncoding.DecodeString(s)
	return sig, err == nil && len(sig) == ed25519.SignatureSize
}
