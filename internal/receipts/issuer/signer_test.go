package issuer

import (
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestT11ASignerRefusesKeysThatAreNotInForce(t *testing.T) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	proof, log, h, err := GenerateKeys(rand.Reader, "n", now)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*History)
		at     time.Time
		fault  string
	}{
		"proof key not listed":     {func(h *History) { h.Keys[0].Public = "ed25519:ZLlGE0eN0eTNUE9vaK1tStf6AuoFUWqJBvqx7QgxfEY" }, now, "not in the published key history"},
		"log key not listed":       {func(h *History) { h.LogKeys = nil }, now, "not in the published key history"},
		"proof key retired":        {func(h *History) { h.Keys[0].RetiredAt = "2026-11-01T00:00:00Z" }, now, "retired"},
		"log key retired":          {func(h *History) { h.LogKeys[0].RetiredAt = "2026-10-01T00:00:00Z" }, now, "retired"},
		"proof key not valid yet":  {func(*History) {}, now.Add(-time.Second), "valid from"},
		"nothing is wrong with it": {func(h *History) { h.Keys[0].RetiredAt = "2026-11-01T00:00:01Z" }, now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			copied, err := ParseHistory(h.JSON())
			require.NoError(t, err)
			require.Equal(t, h, copied, "a history survives its file")
			c.change(copied)
			_, err = NewSigner(proof, log, copied, c.at)
			if c.fault == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.fault)
		})
	}
	for _, key := range []any{proof, log} {
		pemText, err := MarshalKey(key)
		require.NoError(t, err)
		back, err := ParseKey(pemText)
		require.NoError(t, err)
		require.Equal(t, key, back)
	}
	for _, bad := range []string{"", "{}", `{"keys":[],"rekor_keys":[]}`, `{"keys":[{"kid":"a","type":"RSA","public":"x"}],"rekor_keys":[]}`,
		`{"keys":[{"kid":"a","type":"Ed25519","public":"x","valid_from":"yesterday"}],"rekor_keys":[]}`, `{"keys":[{"kid":7}]}`} {
		_, err := ParseHistory([]byte(bad))
		require.Error(t, err, bad)
	}
	_, err = ParseKey([]byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"))
	require.ErrorContains(t, err, "no PKCS #8 key")
}

// otherKeys are PKCS #8 keys of the kinds that nothing here signs with.
func otherKeys(t testing.TB) map[string]any {
	t.Helper()
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(t, err)
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return map[string]any{"ECDSA on P-384": p384, "X25519": x25519, "RSA": long}
}

func TestT11AKeyFileHoldsAnEd25519OrAP256Key(t *testing.T) {
	for name, key := range otherKeys(t) {
		text, err := MarshalKey(key)
		require.NoError(t, err)
		got, err := ParseKey(text)
		require.EqualError(t, err, "private key: want an Ed25519 or an ECDSA P-256 key; put back the file that the first start wrote", name)
		require.Nil(t, got, name)
	}
}

func TestAConfigurationThatCouldNotServeIsRefused(t *testing.T) {
	good := newWorld(t)
	for name, change := range map[string]func(*Config, *Deps){
		"no base URL":         func(c *Config, _ *Deps) { c.BaseURL = "" },
		"a trailing slash":    func(c *Config, _ *Deps) { c.BaseURL += "/" },
		"no batch":            func(c *Config, _ *Deps) { c.BatchSize = 0 },
		"no signer":           func(_ *Config, d *Deps) { d.Signer = nil },
		"no authority":        func(_ *Config, d *Deps) { d.Stampers = nil },
		"unknown authority":   func(c *Config, _ *Deps) { c.Authorities = nil },
		"a log without a key": func(c *Config, _ *Deps) { c.Logs = nil },
		"no guard":            func(_ *Config, d *Deps) { d.Guard = nil },
		"no database":         func(_ *Config, d *Deps) { d.DB = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, d := good.svc.cfg, good.svc.deps
			change(&c, &d)
			_, err := New(context.Background(), c, d)
			require.Error(t, err)
		})
	}
}
