package issuer

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/did"
)

func TestT123DIDDocumentsAreFetchedThroughTheGuard(t *testing.T) {
	w := newWorld(t)
	f := NewDIDFetcher(w.svc.deps.Guard)
	pub, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	w.upstream.answer(200, "application/json", `{"verificationMethod":[{"type":"Ed25519VerificationKey2020","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"`+base64.RawURLEncoding.EncodeToString(pub)+`"}}]}`)
	key, err := did.Resolve(context.Background(), "did:web:"+corpusHost+":agents:one", f)
	require.NoError(t, err)
	require.Equal(t, pub, key)
	got, _, _ := w.upstream.seen()
	require.Equal(t, "/agents/one/did.json", got.RequestURI)
	require.Empty(t, got.Header.Get("X-Challenge-Secret"))

	for name, c := range map[string]struct {
		did     string
		handler http.HandlerFunc
		want    error
	}{
		"a private address":       {"did:web:private.example.test", nil, did.ErrInvalid},
		"a domain without one":    {"did:web:nowhere.example.test", nil, did.ErrInvalid},
		"an unreachable host":     {"did:web:unreachable.example.test", nil, did.ErrUnavailable},
		"a redirect":              {"did:web:" + corpusHost, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Location", "/x"); w.WriteHeader(302) }, did.ErrNotFound},
		"a connection that drops": {"did:web:" + corpusHost, cut, did.ErrUnavailable},
		"a document too large":    {"did:web:" + corpusHost, plain(200, `"`+strings.Repeat("x", maxDIDDocument)+`"`), did.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			if c.handler != nil {
				w.upstream.handle(c.handler)
			}
			_, err := did.Resolve(context.Background(), c.did, f)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestT31MXAnswers(t *testing.T) {
	trouble := &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	for name, c := range map[string]struct {
		records []*net.MX
		err     error
		takes   bool
		fault   error
	}{
		"a mail host":   {[]*net.MX{{Host: "mx.example."}}, nil, true, nil},
		"the null MX":   {[]*net.MX{{Host: "."}}, nil, false, nil},
		"no record":     {nil, &net.DNSError{IsNotFound: true}, false, nil},
		"trouble":       {nil, trouble, false, trouble},
		"some unusable": {[]*net.MX{{Host: "mx.example."}}, errors.New("one record dropped"), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			takes, err := mxAnswer(c.records, c.err)
			require.Equal(t, c.takes, takes)
			require.Equal(t, c.fault, err)
		})
	}
}
