package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/receipts/issuer"
)

const (
	// embeddedWitness is the word of the configuration for a witness in this process.
	embeddedWitness = "embedded"
	// localAuthority and localLog are the names under which embedded witnesses
	// stand in proofs and trust files; they say what they are.
	localAuthority = "prova-local"
	localLog       = "log.prova.test"
	localLogTree   = 1
)

// publicAuthorities are the pool of T§9 by name. certReq makes the tokens of the
// second and third carry their signer's certificate.
var publicAuthorities = map[string]struct {
	url     string
	certReq bool
}{
	"freetsa.org":  {"https://freetsa.org/tsr", false},
	"digicert.com": {"http://timestamp.digicert.com", true},
	"sectigo.com":  {"http://timestamp.sectigo.com", true},
}

// witnesses are the authority pool and the log of one configuration, with what a
// verifier must trust to believe them.
type witnesses struct {
	stampers    timestamp.Pool
	log         tlog.Appender
	authorities []timestamp.Authority
	logs        []tlog.Log
	logProvider string
	logURL      string
	searchURL   string
	// embedded is the log in this process, nil with an outside one; the public
	// listener serves its API so that anyone can fetch entries.
	embedded *tlog.Embedded
	close    func() error
}

func openWitnesses(ctx context.Context, c *Config, clock func() time.Time, logger *slog.Logger) (*witnesses, error) {
	w := &witnesses{close: func() error { return nil }}
	trust, err := c.outsideTrust()
	if err != nil {
		return nil, err
	}
	for _, name := range c.Witnesses.Timestamp {
		if name == embeddedWitness {
			local, err := openLocalAuthority(c.path(filepath.Join("keys", "timestamp")), clock, logger)
			if err != nil {
				return nil, err
			}
			w.stampers = append(w.stampers, local.Stamper(localAuthority))
			w.authorities = append(w.authorities, local.Authority(localAuthority))
			continue
		}
		public, ok := publicAuthorities[name]
		if !ok {
			return nil, fmt.Errorf("witnesses.timestamp: %q is unknown: want embedded, freetsa.org, digicert.com or sectigo.com", name)
		}
		authority, ok := authorityNamed(trust, name)
		if !ok {
			return nil, fmt.Errorf("witnesses.timestamp: %q has no roots to verify its tokens against: name a trust file with them in witnesses.trust", name)
		}
		client := &timestamp.Client{HTTP: &http.Client{}}
		w.stampers = append(w.stampers, client.Stamper(timestamp.Provider{
			Name: name, URL: public.url, Authority: authority, CertReq: public.certReq,
		}))
		w.authorities = append(w.authorities, authority)
	}
	if c.Witnesses.Log != embeddedWitness {
		w.logs = trust.Logs
		w.logProvider, w.logURL = "sigstore-rekor", strings.TrimSuffix(c.Witnesses.Log, "/")
		w.searchURL = "https://search.sigstore.dev/?logIndex=%d"
		w.log = &tlog.Client{BaseURL: w.logURL, HTTP: &http.Client{Timeout: 20 * time.Second}, Logs: trust.Logs}
		return w, nil
	}
	return w, w.openEmbeddedLog(ctx, c, clock)
}

func (w *witnesses) openEmbeddedLog(ctx context.Context, c *Config, clock func() time.Time) error {
	key, err := logKey(c)
	if err != nil {
		return err
	}
	files, err := tlog.OpenFileStore(c.path("log"))
	if err != nil {
		return fmt.Errorf("embedded log: %w", err)
	}
	embedded, err := tlog.OpenEmbedded(ctx, files, key, localLog, localLogTree, clock)
	if err != nil {
		return errors.Join(fmt.Errorf("embedded log: %w", err), files.Close())
	}
	w.embedded, w.log, w.close = embedded, embedded, files.Close
	w.logs = []tlog.Log{embedded.Log()}
	w.logProvider = localLog
	w.logURL = c.Issuer.BaseURL
	w.searchURL = c.Issuer.BaseURL + "/api/v1/log/entries?logIndex=%d"
	return nil
}

// logKey is the embedded log's own key, apart from the issuer's.
func logKey(c *Config) (*ecdsa.PrivateKey, error) {
	data, err := secretFile(c.path(filepath.Join("keys", "log.pem")), func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return issuer.MarshalKey(key)
	})
	if err != nil {
		return nil, err
	}
	key, err := issuer.ParseKey(data)
	if err != nil {
		return nil, fmt.Errorf("keys/log.pem: %w", err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("keys/log.pem: want a P-256 key")
	}
	return ec, nil
}

func openLocalAuthority(dir string, clock func() time.Time, logger *slog.Logger) (*timestamp.Local, error) {
	id, err := timestamp.LoadLocalIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if id, err = timestamp.NewLocalIdentity(rand.Reader, clock()); err == nil {
			err = id.SaveTo(dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("embedded timestamp authority: %w", err)
	}
	return id.Open(clock, timestamp.WithLogger(logger))
}

// outsideTrust is what outside witnesses are verified against.
func (c *Config) outsideTrust() (*receipt.Trust, error) {
	if c.Witnesses.Trust == "" {
		return receipt.BuiltinTrust(), nil
	}
	data, err := os.ReadFile(c.path(c.Witnesses.Trust))
	if err != nil {
		return nil, fmt.Errorf("witnesses.trust: %w", err)
	}
	trust, err := receipt.ParseTrust(data)
	if err != nil {
		return nil, fmt.Errorf("witnesses.trust: %s: %w", c.Witnesses.Trust, err)
	}
	return trust, nil
}

func authorityNamed(t *receipt.Trust, name string) (timestamp.Authority, bool) {
	for _, a := range t.Authorities {
		if a.Provider == name {
			return a, true
		}
	}
	return timestamp.Authority{}, false
}
