package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/receipts/issuer"
)

// openSigner reads the issuer's keys and its published history, and makes all
// three on the very first start. A key that is not in the history, or retired
// there, stops the start (T§11).
func openSigner(c *Config, now time.Time) (*issuer.Signer, *issuer.History, error) {
	dir := c.path("keys")
	historyPath := filepath.Join(dir, "published_keys.json")
	if _, err := os.Stat(historyPath); errors.Is(err, fs.ErrNotExist) {
		if err := createIssuerKeys(dir, historyPath, now); err != nil {
			return nil, nil, err
		}
	}
	data, err := os.ReadFile(historyPath)
	if err != nil {
		return nil, nil, fmt.Errorf("issuer key history: %w", err)
	}
	history, err := issuer.ParseHistory(data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", historyPath, err)
	}
	proofKey, err := readKey[ed25519.PrivateKey](filepath.Join(dir, "issuer.pem"))
	if err != nil {
		return nil, nil, err
	}
	entryKey, err := readKey[*ecdsa.PrivateKey](filepath.Join(dir, "issuer-log.pem"))
	if err != nil {
		return nil, nil, err
	}
	signer, err := issuer.NewSigner(proofKey, entryKey, history, now)
	return signer, history, err
}

// createIssuerKeys writes both keys before the history: a start that was cut
// off in between finds no history and makes a fresh set under the same names.
func createIssuerKeys(dir, historyPath string, now time.Time) error {
	proofKey, entryKey, history, err := issuer.GenerateKeys(rand.Reader, "local", now)
	if err != nil {
		return err
	}
	for name, key := range map[string]any{"issuer.pem": proofKey, "issuer-log.pem": entryKey} {
		pem, err := issuer.MarshalKey(key)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := writeOnce(path, pem, 0o600); err != nil {
			return err
		}
	}
	return writeOnce(historyPath, history.JSON(), 0o644)
}

func readKey[K any](path string) (K, error) {
	var none K
	data, err := os.ReadFile(path)
	if err != nil {
		return none, fmt.Errorf("issuer key: %w", err)
	}
	if err := checkSecretMode(path); err != nil {
		return none, err
	}
	key, err := issuer.ParseKey(data)
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	k, ok := key.(K)
	if !ok {
		return none, fmt.Errorf("%s: holds a %T, want a %T", path, key, none)
	}
	return k, nil
}

// issuerParts is everything that an issuer of one configuration is made of.
type issuerParts struct {
	service   *issuer.Service
	history   *issuer.History
	witnesses *witnesses
	secret    string
}

func openIssuer(ctx context.Context, c *Config, db *store.DB, clock func() time.Time, logger *slog.Logger, challengeHosts []string, during func() bool) (*issuerParts, error) {
	signer, history, err := openSigner(c, clock())
	if err != nil {
		return nil, err
	}
	secret, err := c.challengeSecret()
	if err != nil {
		return nil, err
	}
	internalSecret, err := secretFile(c.path(filepath.Join("keys", "internal.secret")), func() ([]byte, error) { return randomHex(32) })
	if err != nil {
		return nil, err
	}
	guard, err := httpx.NewGuard(httpx.GuardOptions{Upstreams: c.Upstreams})
	if err != nil {
		return nil, err
	}
	w, err := openWitnesses(ctx, c, clock, logger)
	if err != nil {
		return nil, err
	}
	if len(c.Challenge.Hosts) > 0 {
		challengeHosts = c.Challenge.Hosts
	}
	sellers := c.Issuer.BatchReadSellers
	if len(sellers) == 0 {
		sellers = challengeHosts
	}
	conf := issuer.DefaultConfig()
	conf.BaseURL, conf.Name = c.Issuer.BaseURL, c.Issuer.Name
	conf.Service = "prova-trust-layer"
	conf.TrustRealIP = c.Issuer.TrustRealIP
	conf.Limits.SignupsPerHour = c.Issuer.SignupsPerHour
	conf.Limits.BindsPerHour = c.Issuer.BindsPerHour
	conf.Limits.ReadsPerHour = c.Issuer.ReadsPerHour
	conf.Limits.CheckMX = c.Issuer.CheckMX
	conf.BatchSize, conf.BatchAge = c.Issuer.BatchSize, c.Issuer.BatchAge
	conf.Tick = min(conf.Tick, c.Issuer.BatchAge)
	conf.BatchReadSellers = sellers
	conf.Challenge = issuer.ChallengeGate{
		ServiceSecret: issuer.ServiceSecret{Value: secret, Hosts: challengeHosts},
		Open:          c.Challenge.Open,
		During:        during,
		Keys:          c.Challenge.Keys,
	}
	conf.Internal = issuer.ServiceSecret{Value: strings.TrimSpace(string(internalSecret))}
	conf.UpstreamTimeout = c.Issuer.UpstreamTimeout
	conf.Authorities, conf.Logs = w.authorities, w.logs
	conf.LogProvider, conf.LogURL, conf.LogSearchURL = w.logProvider, w.logURL, w.searchURL
	service, err := newIssuer(ctx, c, conf, issuer.Deps{
		DB: db, Signer: signer, Stampers: w.stampers, Log: w.log, Guard: guard,
		DIDs: issuer.NewDIDFetcher(guard), MX: issuer.LookupMX, Clock: clock, Rand: rand.Reader, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return &issuerParts{service: service, history: history, witnesses: w, secret: secret}, nil
}

var challengeKeyFile = filepath.Join("keys", "challenge.key")

// newIssuer opens the service with the challenge's own internal key admitted to
// the secret: the freeze is proxied with it before the gate opens for anyone
// else (§8, step 3). The very first start makes that key, then opens again.
func newIssuer(ctx context.Context, c *Config, conf issuer.Config, deps issuer.Deps) (*issuer.Service, error) {
	path := c.path(challengeKeyFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		service, err := issuer.New(ctx, conf, deps)
		if err != nil {
			return nil, err
		}
		_, err = secretFile(path, func() ([]byte, error) {
			key, err := service.IssueKey(ctx, issuer.PlanInternal, "challenge")
			return []byte(key), err
		})
		if err := errors.Join(err, service.Close(ctx)); err != nil {
			return nil, err
		}
	}
	key, err := secretFile(path, func() ([]byte, error) { return nil, fmt.Errorf("%s disappeared", path) })
	if err != nil {
		return nil, err
	}
	fingerprint := sha256.Sum256(bytes.TrimSpace(key))
	conf.Challenge.Keys = append(slices.Clone(conf.Challenge.Keys), hex.EncodeToString(fingerprint[:]))
	return issuer.New(ctx, conf, deps)
}

// challengeSecret is the shared secret of proxy, corpora and season service.
func (c *Config) challengeSecret() (string, error) {
	data, err := secretFile(c.path(c.Challenge.SecretFile), func() ([]byte, error) { return randomHex(32) })
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	if len(secret) < 16 {
		return "", fmt.Errorf("challenge.secret_file: %s holds fewer than 16 characters: a short secret could be guessed and is never redacted", c.Challenge.SecretFile)
	}
	return secret, nil
}

// publishedKeys reads the keys that an issuer publishes (GET /v1/pubkey, or its
// history file) as the issuer's part of a trust file; the entries have one form.
func publishedKeys(document []byte) (*receipt.Trust, error) {
	v, err := canonjson.ParseStrict(document)
	if err != nil {
		return nil, fmt.Errorf("published keys: %w", err)
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, errors.New("published keys: want a JSON object with keys and rekor_keys")
	}
	keys, _ := o.Get("keys")
	logKeys, _ := o.Get("rekor_keys")
	t, err := receipt.ParseTrust(canonjson.Marshal(canonjson.NewObject(
		"issuer", canonjson.NewObject("keys", keys, "log_keys", logKeys),
		"timestamp_authorities", []any{}, "logs", []any{})))
	if err != nil {
		return nil, fmt.Errorf("published keys: %w", err)
	}
	return t, nil
}

// hostOf is the host of a canonical "https://host" address.
func hostOf(canonical string) string {
	u, err := url.Parse(canonical)
	if err != nil {
		return canonical
	}
	return u.Hostname()
}
