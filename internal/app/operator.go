package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/receipts/issuer"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// Operator walks a season's life: freeze, open, close, score, publish. It works
// beside a running issuer, as a client of its two listeners, and on the season's
// database. Every step can be repeated; each is durable before the next.
type Operator struct {
	config   *Config
	season   *season.Service
	number   int64
	bundle   string // folder of the bundle
	http     *http.Client
	clock    func() time.Time
	logger   *slog.Logger
	progress func(format string, args ...any)
}

// OpenOperator opens the operator's side of one configuration; the database is
// closed by the function returned. progress is told each step in words.
func OpenOperator(ctx context.Context, c *Config, logger *slog.Logger, progress func(string, ...any)) (*Operator, func() error, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	if c.Season.IssuerURL == "" {
		c.Season.IssuerURL = "http://" + reachable(c.Listen.Public)
	}
	if c.Season.IssuerInternalURL == "" {
		c.Season.IssuerInternalURL = "http://" + reachable(c.Listen.Internal)
	}
	if c.Issuer.BaseURL == "" {
		c.Issuer.BaseURL = c.Season.IssuerURL
	}
	s := &Server{config: *c}
	db, err := store.Open(ctx, s.config.database(s.config.Store.URL))
	if err != nil {
		return nil, nil, err
	}
	service, err := openLockedSeason(ctx, c, db, logger)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return newOperator(c, service, time.Now, logger, progress), db.Close, nil
}

func newOperator(c *Config, service *season.Service, clock func() time.Time, logger *slog.Logger, progress func(string, ...any)) *Operator {
	return &Operator{
		config: c, season: service, number: c.Season.Number,
		bundle: filepath.Join(c.seasonDir(c.Season.Number), "bundle"),
		http:   &http.Client{Timeout: 30 * time.Second}, clock: clock, logger: logger, progress: progress,
	}
}

// openLockedSeason is openSeason beside services that may be starting.
func openLockedSeason(ctx context.Context, c *Config, db *store.DB, logger *slog.Logger) (_ *season.Service, err error) {
	release, err := lockKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	secret, err := c.challengeSecret()
	if err != nil {
		return nil, err
	}
	return openSeason(ctx, c, db, secret, time.Now, logger)
}

// openSeason builds the season service, with its own key for receipts.
func openSeason(ctx context.Context, c *Config, db *store.DB, secret string, clock func() time.Time, logger *slog.Logger) (*season.Service, error) {
	pem, err := secretFile(c.path(filepath.Join("keys", "season.pem")), func() ([]byte, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		return issuer.MarshalKey(key)
	})
	if err != nil {
		return nil, err
	}
	parsed, err := issuer.ParseKey(pem)
	if err != nil {
		return nil, fmt.Errorf("keys/season.pem: %w", err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("keys/season.pem: want an Ed25519 key")
	}
	return season.New(ctx, season.Deps{
		DB: db,
		Issuer: season.HTTPIssuer{
			Public: c.Season.IssuerURL, Internal: c.Season.IssuerInternalURL,
			Client: &http.Client{Timeout: 15 * time.Second},
		},
		Key: key, ChallengeSecret: secret, Clock: clock, Rand: rand.Reader, Logger: logger,
	})
}

// Layout of the data directory below seasons/<n>.
func (c *Config) seasonDir(number int64) string {
	return c.path(filepath.Join("seasons", strconv.FormatInt(number, 10)))
}

func (s *Server) freezesDir(number int64) string {
	return filepath.Join(s.config.seasonDir(number), "freezes")
}

// lock keeps two steps of one season from running at once, until release.
func (o *Operator) lock() (release func() error, err error) {
	name := filepath.Join(o.config.seasonDir(o.number), "lock")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	held, err := tryLock(f)
	if err == nil && !held {
		err = fmt.Errorf("another step of season %d is running on this data directory: let it end, then repeat this one", o.number)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// Season is the season's state now.
func (o *Operator) Season(ctx context.Context) (season.Season, error) {
	return o.season.Season(ctx, o.number)
}

// Open writes the opening down once its time has come; before, it says when.
func (o *Operator) Open(ctx context.Context) (season.Season, error) {
	if _, err := o.season.Advance(ctx, o.number); err != nil {
		return season.Season{}, err
	}
	s, err := o.Season(ctx)
	if err != nil {
		return s, err
	}
	if !s.State.Reached(season.Frozen) {
		return s, fmt.Errorf("season %d is %s: freeze every track first ('prova season freeze')", o.number, s.State)
	}
	return s, nil
}

// trust gathers the keys and roots that go into the bundle as the publisher's
// proposal: what the issuer publishes, and the witnesses of this configuration.
func (o *Operator) trust(ctx context.Context) (*receipt.Trust, error) {
	document, err := o.get(ctx, o.config.Season.IssuerURL+"/v1/pubkey")
	if err != nil {
		return nil, err
	}
	trust, err := publishedKeys(document)
	if err != nil {
		return nil, err
	}
	outside, err := o.config.outsideTrust()
	if err != nil {
		return nil, err
	}
	for _, name := range o.config.Witnesses.Timestamp {
		if name != embeddedWitness {
			if a, ok := authorityNamed(outside, name); ok {
				trust.Authorities = append(trust.Authorities, a)
			}
			continue
		}
		local, err := openLocalAuthority(o.config.path(filepath.Join("keys", "timestamp")), o.clock, o.logger)
		if err != nil {
			return nil, err
		}
		trust.Authorities = append(trust.Authorities, local.Authority(localAuthority))
	}
	if o.config.Witnesses.Log != embeddedWitness {
		trust.Logs = outside.Logs
		return trust, nil
	}
	key, err := logKey(o.config)
	if err != nil {
		return nil, err
	}
	trust.Logs = []tlog.Log{{
		Name: localLog, Key: &key.PublicKey,
		Origin: localLog + " - " + strconv.Itoa(localLogTree),
	}}
	return trust, nil
}

// log reads entries of the transparency log over its API.
func (o *Operator) log() *tlog.Client {
	base := o.config.Witnesses.Log
	if base == embeddedWitness {
		base = o.config.Season.IssuerURL
	}
	return &tlog.Client{BaseURL: base, HTTP: o.http}
}

// source reads proofs from the issuer's internal listener, where the operator's
// own reading counts against nobody's limit.
func (o *Operator) source() season.HTTP {
	return season.HTTP{Issuer: o.config.Season.IssuerInternalURL + "/internal", Client: o.http, Log: o.log()}
}

// closeBatch makes the issuer close and anchor what is pending.
func (o *Operator) closeBatch(ctx context.Context) error {
	_, err := o.post(ctx, o.config.Season.IssuerInternalURL+"/internal/v1/batch/close", nil, nil)
	return err
}

// anchorWait is how long a step waits for witnesses before it gives up and says
// what it waits for; it can be repeated.
const anchorWait = 2 * time.Minute

// anchored waits until the view of a proof shows its witnesses.
func (o *Operator) anchored(ctx context.Context, id string) (*receipt.Proof, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, anchorWait)
	defer cancel()
	for {
		var view []byte
		err := o.source().Proofs(ctx, []string{id}, func(_ string, v []byte) error {
			view = bytes.Clone(v)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if view == nil {
			return nil, nil, fmt.Errorf("the issuer does not show proof %s", id)
		}
		proof, err := receipt.Parse(view)
		if err != nil {
			return nil, nil, err
		}
		if !receipt.Pending(proof) {
			return proof, view, nil
		}
		if err := o.closeBatch(ctx); err != nil {
			return nil, nil, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("proof %s still waits for its witnesses: see the issuer's log, then repeat this step: %w", id, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// get and post speak to the issuer; an answer other than 2xx is an error with
// its text.
func (o *Operator) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return o.do(req)
}

func (o *Operator) post(ctx context.Context, url string, body []byte, header map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return o.do(req)
}

// maxAnswer bounds what the operator reads of one answer.
const maxAnswer = 16 << 20

func (o *Operator) do(req *http.Request) ([]byte, error) {
	req.Header.Set("User-Agent", "prova-operator")
	resp, err := o.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("%s %s: %s: %s", req.Method, req.URL.Path, resp.Status, bytes.TrimSpace(body[:min(len(body), 300)]))
	}
	return body, nil
}

// challengeKey is the challenge's own API key, which the issuer's first start
// made.
func (o *Operator) challengeKey() (string, error) {
	path := o.config.path(challengeKeyFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is missing: start the issuer once on this data directory ('prova serve'), it makes the challenge's key", path)
	}
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(key)), checkSecretMode(path)
}

// disclosures reads the pairs of one own proof from the owner's full view (§4).
func (o *Operator) disclosures(ctx context.Context, proofID, key string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.config.Season.IssuerURL+"/v1/proof/"+proofID+"/full", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	body, err := o.do(req)
	if err != nil {
		return nil, err
	}
	var full struct {
		Nonces map[string]string `json:"commitment_nonces"`
		Data   map[string]any    `json:"chain_data"`
	}
	if err := json.Unmarshal(body, &full); err != nil {
		return nil, fmt.Errorf("full view of %s: %w", proofID, err)
	}
	out := canonjson.NewObject()
	for _, name := range []string{"request_hash", "response_hash"} {
		value, ok := full.Data[name].(string)
		if !ok || full.Nonces[name] == "" {
			return nil, fmt.Errorf("full view of %s has no %s", proofID, name)
		}
		out.Set(name, canonjson.NewObject("nonce", full.Nonces[name], "value", value))
	}
	return canonjson.Compact(out), nil
}

// newSalt is a fresh salt of the key commitment (§8, step 2).
func newSalt() ([32]byte, error) {
	var salt [32]byte
	_, err := rand.Read(salt[:])
	return salt, err
}

func parseSalt(text []byte) ([32]byte, error) {
	var salt [32]byte
	raw, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(raw) != len(salt) {
		return salt, errors.New("the salt file does not hold 64 hex digits")
	}
	copy(salt[:], raw)
	return salt, nil
}

// folders lists a directory's entries in name order; none when it is missing.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
