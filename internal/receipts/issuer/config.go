package issuer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
)

// Config is what an operator decides. DefaultConfig has the figures of the
// reference; only BaseURL has no default.
type Config struct {
	// BaseURL is how the public reaches this issuer, without a trailing slash. It
	// stands in proofs and makes the issuer's did:web.
	BaseURL string
	// Name is how pages call the issuer.
	Name string
	// Version, Environment and Service are shown by GET /v1/health.
	Version, Environment, Service string
	// TrustRealIP takes the caller's address from X-Real-IP. Set it only behind a
	// front proxy that overwrites the header.
	TrustRealIP bool
	// ReadOnly answers writes with 503 (T§1) while reads keep working: for a
	// standby node, or while an operator moves the database.
	ReadOnly bool
	Limits   Limits
	// Quotas replace the figures of T§2 for the plans they name.
	Quotas map[Plan]Quota

	// BatchSize and BatchAge close a batch (T§8); Tick is how often age is looked
	// at, and how often a batch whose witnesses failed may be tried again.
	BatchSize int
	BatchAge  time.Duration
	Tick      time.Duration
	// ForcedCloses are instants at which whatever is pending is closed: a
	// season's end. One that passed while no process ran is made up for.
	ForcedCloses []time.Time
	// RetryMin and RetryMax bound the pause between two attempts to anchor a
	// batch; it doubles from one to the other.
	RetryMin, RetryMax time.Duration
	// WitnessTimeout bounds one attempt for one witness.
	WitnessTimeout time.Duration

	// BatchReadSellers are the hosts whose proofs POST /v1/proofs serves (T§3.7).
	BatchReadSellers []string
	// Internal and Challenge are the service secrets (T§4.7). Internal's value also
	// guards POST /v1/admin/batch/close.
	Internal  ServiceSecret
	Challenge ChallengeGate

	// UpstreamTimeout bounds a proxied call, MaxRequestBody the body of a request
	// to the issuer, MaxResponseBody an upstream's body after decoding.
	UpstreamTimeout time.Duration
	MaxRequestBody  int64
	MaxResponseBody int64
	// DisposableDomains are refused at sign-up, subdomains included.
	DisposableDomains []string

	// Authorities and Logs are what tokens and log entries are verified against,
	// by provider name. LogProvider, LogURL and LogSearchURL describe the log in
	// proofs; %d in LogSearchURL is the log index.
	Authorities          []timestamp.Authority
	Logs                 []tlog.Log
	LogProvider          string
	LogURL, LogSearchURL string
	AuthorityCAHint      string // file name of the authority's roots in the page's openssl line
}

// Limits bound callers. 0 switches a limit off.
type Limits struct {
	// SignupsPerHour by address, BindsPerHour by key: that many pass.
	SignupsPerHour, BindsPerHour int
	// ReadsPerHour by address: one more than this passes in a window (T§15.12).
	ReadsPerHour int
	// AuthFailures by address within AuthWindow.
	AuthFailures int
	AuthWindow   time.Duration
	// CheckMX refuses sign-ups from domains that take no mail.
	CheckMX bool
}

// DefaultConfig has the figures of the reference.
func DefaultConfig() Config {
	return Config{
		Name:        "Prova",
		Version:     "dev",
		Environment: "production",
		Service:     "arkforge-trust-layer",
		Limits: Limits{
			SignupsPerHour: 5, BindsPerHour: 5, ReadsPerHour: 100,
			AuthFailures: 10, AuthWindow: 5 * time.Minute, CheckMX: true,
		},
		BatchSize:         100,
		BatchAge:          600 * time.Second,
		Tick:              30 * time.Second,
		RetryMin:          2 * time.Second,
		RetryMax:          5 * time.Minute,
		WitnessTimeout:    45 * time.Second,
		BatchReadSellers:  []string{"corpus.arkforge.tech", "proveit.arkforge.tech"},
		UpstreamTimeout:   120 * time.Second,
		MaxRequestBody:    1 << 20,
		MaxResponseBody:   16 << 20,
		DisposableDomains: disposableDomains(),
		LogProvider:       "sigstore-rekor",
		LogURL:            "https://rekor.sigstore.dev",
		LogSearchURL:      "https://search.sigstore.dev/?logIndex=%d",
		AuthorityCAHint:   "cacert.pem",
	}
}

// Deps are what the service is given from outside.
type Deps struct {
	DB     *store.DB
	Signer *Signer
	// Stampers are asked in order for a token; the first that verifies counts.
	Stampers timestamp.Pool
	// Log takes the batch roots; nil means that proofs get a token only, and say
	// so ("disabled").
	Log tlog.Appender
	// Guard checks and pins the addresses of proxied calls; Transport makes them
	// (nil: the guard's own).
	Guard     *httpx.Guard
	Transport http.RoundTripper
	// DIDs fetches did:web documents; nil refuses did:web as not resolvable.
	DIDs did.Fetcher
	// MX reports whether a domain takes mail; an error lets the sign-up pass.
	MX     func(ctx context.Context, domain string) (bool, error)
	Clock  func() time.Time
	Rand   io.Reader
	Logger *slog.Logger
}

// check refuses a configuration that could not serve; each error names the field.
func (c *Config) check() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme == "" || u.Host == "" || strings.HasSuffix(c.BaseURL, "/") || u.RawQuery != "" {
		return fmt.Errorf("issuer: BaseURL %q: want a URL such as https://trust.example.org, without a trailing slash", c.BaseURL)
	}
	for name, bad := range map[string]bool{
		"BatchSize":       c.BatchSize < 1,
		"BatchAge":        c.BatchAge <= 0,
		"Tick":            c.Tick <= 0,
		"RetryMin":        c.RetryMin <= 0,
		"RetryMax":        c.RetryMax < c.RetryMin,
		"WitnessTimeout":  c.WitnessTimeout <= 0,
		"UpstreamTimeout": c.UpstreamTimeout <= 0,
		"MaxRequestBody":  c.MaxRequestBody <= 0,
		"MaxResponseBody": c.MaxResponseBody <= 0,
	} {
		if bad {
			return fmt.Errorf("issuer: %s is too small", name)
		}
	}
	return nil
}

func (c *Config) authority(provider string) (timestamp.Authority, bool) {
	for _, a := range c.Authorities {
		if a.Provider == provider {
			return a, true
		}
	}
	return timestamp.Authority{}, false
}

// complete fills what has a default and refuses what has none.
func (d *Deps) complete(c *Config) error {
	switch {
	case d.DB == nil:
		return errors.New("issuer: no database")
	case d.Signer == nil:
		return errors.New("issuer: no signer")
	case len(d.Stampers) == 0:
		return errors.New("issuer: no timestamp authority: a token carries the time of a proof and cannot be left out")
	case d.Guard == nil:
		return errors.New("issuer: no address guard")
	}
	for _, s := range d.Stampers {
		if _, ok := c.authority(s.Name()); !ok {
			return fmt.Errorf("issuer: no authority configured for the stamper %q: its tokens could not be verified", s.Name())
		}
	}
	if d.Log != nil && len(c.Logs) == 0 {
		return errors.New("issuer: a log without its key: its entries could not be verified")
	}
	if d.Transport == nil {
		d.Transport = d.Guard.Transport()
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Rand == nil {
		d.Rand = rand.Reader
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
