package issuer

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// dialUpstreamsOnly refuses every address but the test's own listener, so that no
// test leaves the machine.
func dialUpstreamsOnly(allowed string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != allowed {
			return nil, fmt.Errorf("dial %s: connection refused", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

func signText(key ed25519.PrivateKey, text string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text)))
}

func decodePublic(s string) (ed25519.PublicKey, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, "ed25519:"))
	return raw, err == nil && len(raw) == ed25519.PublicKeySize
}

type ed25519Key = ed25519.PrivateKey

func compact(o *canonjson.Object) []byte { return canonjson.Compact(o) }
