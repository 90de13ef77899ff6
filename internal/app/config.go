package app

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Config is the whole configuration and its manual. It is read from a TOML
// file, above it from the environment (PROVA_<SECTION>__<KEY>) and above both
// from flags. "prova config print" shows the values in force; secrets are files
// named here, never values, so nothing printed can leak one.
type Config struct {
	// Dir is the data directory: database, keys, corpora, bundles. Everything in
	// it that is secret is created with mode 0600.
	Dir string `koanf:"dir"`

	Listen    ListenConfig    `koanf:"listen"`
	Store     StoreConfig     `koanf:"store"`
	Challenge ChallengeConfig `koanf:"challenge"`
	Issuer    IssuerConfig    `koanf:"issuer"`
	Witnesses WitnessConfig   `koanf:"witnesses"`
	Season    SeasonConfig    `koanf:"season"`
	Index     IndexConfig     `koanf:"index"`
	Research  ResearchConfig  `koanf:"research"`
	Log       LogConfig       `koanf:"log"`

	// Upstreams maps canonical hosts to the loopback listeners that serve them, as
	// host = "address:port". Such a host is reached over plain HTTP at that
	// address; every other host passes the address guard. The season's own hosts
	// are mapped to this process unless they are named here.
	Upstreams map[string]string `koanf:"upstreams"`
}

// ListenConfig says where the services listen, as host:port. Port 0 takes a free
// one.
type ListenConfig struct {
	// Public serves issuer, season service and Index to everybody.
	Public string `koanf:"public"`
	// Corpus serves the frozen corpora; only the issuer's proxy needs to reach it.
	Corpus string `koanf:"corpus"`
	// Internal serves metrics, health and the routes between services. It must
	// never be reachable from outside.
	Internal string `koanf:"internal"`
}

// StoreConfig names the database.
type StoreConfig struct {
	// URL is "sqlite:PATH" (relative to dir) or "postgres://…".
	URL string `koanf:"url" secret:"url"`
}

// ChallengeConfig is the gate of the challenge secret (§2.3).
type ChallengeConfig struct {
	// SecretFile holds the secret that the proxy forwards to the hosts below and
	// that corpora and the season service demand; created when missing.
	SecretFile string `koanf:"secret_file"`
	// Open forwards the secret for every caller, from the opening of the announced
	// season to its close. It is open during a season, so that no key of a
	// participant can collect refusals of the corpus.
	Open bool `koanf:"open"`
	// Keys lists SHA-256 fingerprints of API keys for which the secret is
	// forwarded while the gate is closed.
	Keys []string `koanf:"keys"`
	// Hosts are the only hosts that ever receive the secret; empty means the
	// canonical hosts of the season and of its corpora.
	Hosts []string `koanf:"hosts"`
}

// IssuerConfig configures the Trust Layer.
type IssuerConfig struct {
	// BaseURL is how the public reaches the issuer; it appears in proofs.
	BaseURL string `koanf:"base_url"`
	// Name is how the Index names the issuer in the sentence on DID bindings (§10).
	Name string `koanf:"name"`
	// BatchSize and BatchAge close a batch: by number of proofs, by age.
	BatchSize int           `koanf:"batch_size"`
	BatchAge  time.Duration `koanf:"batch_age"`
	// BatchReadSellers are the hosts whose proofs POST /v1/proofs serves; empty
	// means the challenge's hosts.
	BatchReadSellers []string `koanf:"batch_read_sellers"`
	// SignupsPerHour, ReadsPerHour and BindsPerHour limit an address or a key.
	SignupsPerHour int `koanf:"signups_per_hour"`
	ReadsPerHour   int `koanf:"reads_per_hour"`
	BindsPerHour   int `koanf:"binds_per_hour"`
	// CheckMX asks the DNS whether an e-mail's domain takes mail at sign-up.
	CheckMX bool `koanf:"check_mx"`
	// TrustRealIP believes X-Real-IP; set it only behind a proxy that sets it.
	TrustRealIP bool `koanf:"trust_real_ip"`
	// UpstreamTimeout bounds one proxied call.
	UpstreamTimeout time.Duration `koanf:"upstream_timeout"`
}

// WitnessConfig says who timestamps and logs the batches.
type WitnessConfig struct {
	// Timestamp lists authorities in the order of asking: "embedded" (local, not
	// independent), "freetsa.org", "digicert.com", "sectigo.com".
	Timestamp []string `koanf:"timestamp"`
	// Log is "embedded" (local, not independent) or the base URL of a Rekor v1 log.
	Log string `koanf:"log"`
	// Trust is a trust file with the keys and roots of outside witnesses, in the
	// bundle's trust.json form; empty means the built-in public trust.
	Trust string `koanf:"trust"`
}

// SeasonConfig configures the season service.
type SeasonConfig struct {
	// Number is the season served.
	Number int64 `koanf:"number"`
	// Host is the canonical host of the season service; it enters the freeze.
	Host string `koanf:"host"`
	// IssuerURL and IssuerInternalURL reach the issuer. Both may be empty where it
	// runs in the same process; elsewhere no internal URL means a foreign issuer, of
	// which the Index says that only links seen at enrolment are known.
	IssuerURL         string `koanf:"issuer_url"`
	IssuerInternalURL string `koanf:"issuer_internal_url"`
	// RequireLog demands a log entry beside the token for every proof (§4.1).
	RequireLog bool `koanf:"require_log"`
	// AllowLocal counts witnesses that are local, not independent.
	AllowLocal bool `koanf:"allow_local"`
}

// IndexConfig configures the public pages.
type IndexConfig struct {
	// Contact is the address of the participation terms for disputes (§9.2).
	Contact string `koanf:"contact"`
}

// LogConfig configures the log on standard error.
type LogConfig struct {
	// Level is debug, info, warn or error.
	Level string `koanf:"level"`
	// Format is text or json.
	Format string `koanf:"format"`
}

// Defaults of one machine; each is a documented starting point.
const (
	defaultSeasonHost = "https://season.prova.test"
	defaultBatchSize  = 100              // T§8
	defaultBatchAge   = 10 * time.Minute // T§8, §2.1
	defaultSignups    = 5                // §3
	defaultReads      = 100              // §10
	defaultBinds      = 5                // T§12.1
)

// DefaultConfig is a single machine with embedded witnesses on loopback.
func DefaultConfig() Config {
	return Config{
		Dir: "prova-data",
		Listen: ListenConfig{
			Public:   "127.0.0.1:8080",
			Corpus:   "127.0.0.1:8081",
			Internal: "127.0.0.1:8082",
		},
		Store:     StoreConfig{URL: "sqlite:prova.db"},
		Challenge: ChallengeConfig{SecretFile: filepath.Join("keys", "challenge.secret")},
		Issuer: IssuerConfig{
			Name:            "Prova",
			BatchSize:       defaultBatchSize,
			BatchAge:        defaultBatchAge,
			SignupsPerHour:  defaultSignups,
			ReadsPerHour:    defaultReads,
			BindsPerHour:    defaultBinds,
			CheckMX:         true,
			UpstreamTimeout: 2 * time.Minute, // T§4.4
		},
		Witnesses: WitnessConfig{Timestamp: []string{"embedded"}, Log: "embedded"},
		Season:    SeasonConfig{Number: 1, Host: defaultSeasonHost, RequireLog: true, AllowLocal: true},
		Index:     IndexConfig{Contact: "disputes@prova.test"},
		Research:  defaultResearch(),
		Log:       LogConfig{Level: "info", Format: "text"},
	}
}

// Validate refuses a combination that could not serve, one precise line each.
func (c *Config) Validate() error {
	for name, addr := range map[string]string{
		"listen.public": c.Listen.Public, "listen.corpus": c.Listen.Corpus, "listen.internal": c.Listen.Internal,
	} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("%s = %q: want host:port, for example 127.0.0.1:8080", name, addr)
		}
	}
	if !strings.HasPrefix(c.Store.URL, "sqlite:") && !strings.HasPrefix(c.Store.URL, "postgres://") {
		return fmt.Errorf("store.url = %q: want sqlite:PATH or postgres://…", c.Store.URL)
	}
	if c.Issuer.BaseURL != "" {
		if u, err := url.Parse(c.Issuer.BaseURL); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			return fmt.Errorf("issuer.base_url = %q: want https://host without a path", c.Issuer.BaseURL)
		}
	}
	if c.Issuer.BatchSize < 1 || c.Issuer.BatchSize > 100_000 {
		return fmt.Errorf("issuer.batch_size = %d: want 1 to 100000", c.Issuer.BatchSize)
	}
	if c.Issuer.BatchAge < time.Second {
		return fmt.Errorf("issuer.batch_age = %s: want at least 1s", c.Issuer.BatchAge)
	}
	if len(c.Witnesses.Timestamp) == 0 {
		return fmt.Errorf("witnesses.timestamp is empty: the token carries the time of a proof and cannot be left out; name \"embedded\" or a public authority")
	}
	if u, err := url.Parse(c.Season.Host); err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" {
		return fmt.Errorf("season.host = %q: want https://host without a trailing slash", c.Season.Host)
	}
	if c.Season.Number < 1 {
		return fmt.Errorf("season.number = %d: want 1 or more", c.Season.Number)
	}
	for host, addr := range c.Upstreams {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("upstreams: %q = %q: want address:port of a loopback listener", host, addr)
		}
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		return fmt.Errorf("log.level = %q: want debug, info, warn or error", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		return fmt.Errorf("log.format = %q: want text or json", c.Log.Format)
	}
	return c.Research.validate()
}

// path resolves a path of the configuration against the data directory.
func (c *Config) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Dir, p)
}
