package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/harvest"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/sandbox/client"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// patience is how long a host agent may be away, to be restarted or upgraded, before
// it costs the submissions that are in the queue.
const patience = 2 * time.Minute

// ControlPlane is a running control plane of the research challenge.
type ControlPlane struct {
	// Addr is the address listened on and URL how this machine reaches it.
	Addr, URL string

	config  ResearchConfig
	db      *store.DB
	host    *host.Host
	server  *http.Server
	group   *errgroup.Group
	running context.Context
	cancel  context.CancelCauseFunc
	logger  *slog.Logger

	tokens     atomic.Pointer[[]api.Token] // of the admin routes
	readTokens func(ctx context.Context)
}

// StartResearch serves the control plane until the context ends or Close. Only a
// bad pin, a database that cannot be reached and settings that production refuses
// stop the start; every other bad file is a warning, and later a 503 that names it
// (R§25).
func StartResearch(ctx context.Context, c Config, logger *slog.Logger) (_ *ControlPlane, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	group, ctx := errgroup.WithContext(ctx)
	p := &ControlPlane{config: c.Research, group: group, running: ctx, cancel: cancel, logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", p.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("research.listen = %q: %w", p.config.Listen, err)
	}
	p.Addr = ln.Addr().String()
	defer func() {
		if err != nil {
			err = errors.Join(err, ln.Close())
		}
	}()
	handler, err := p.build(ctx, &c)
	if err != nil {
		return nil, err
	}
	scheme := "http"
	p.server = httpx.Server(handler, httpx.Limits{}, logger)
	if p.config.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(c.path(p.config.TLSCert), c.path(p.config.TLSKey))
		if err != nil {
			return nil, fmt.Errorf("research.tls_cert, research.tls_key: %w", err)
		}
		scheme = "https"
		ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	}
	p.URL = scheme + "://" + reachable(p.Addr)
	group.Go(func() error { return p.host.Run(ctx) })
	// Asked for before anything is served: until then a SIGHUP ends the process.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	group.Go(func() error { return p.followReloads(ctx, hup) })
	server := p.server
	group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return p, nil
}

// MigrateResearch makes or updates the tables of the control plane and, on
// PostgreSQL, grants the role base_app what the service needs, when that role is
// there. It is run as the owner of the database, before a service that is not.
func MigrateResearch(ctx context.Context, c Config) (err error) {
	if err := c.Validate(); err != nil {
		return err
	}
	url, err := c.researchDatabase()
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = ledger.Open(ctx, db, ledger.Options{Now: time.Now})
	return err
}

// build opens store, engine, harvest and host, and returns the routes.
func (p *ControlPlane) build(ctx context.Context, c *Config) (http.Handler, error) {
	url, err := c.researchDatabase()
	if err != nil {
		return nil, err
	}
	if p.db, err = store.Open(ctx, url); err != nil {
		return nil, err
	}
	p.db.OnFatal = func(err error) {
		p.logger.Error("the outcome of a write is unknown, stopping", "error", err)
		p.cancel(err)
	}
	rules, err := p.pin(ctx, c)
	if err != nil {
		return nil, err
	}
	book, err := ledger.Open(ctx, p.db, ledger.Options{Now: time.Now})
	if err != nil {
		return nil, err
	}
	artefacts, err := artefact.OpenRoot(c.path(p.config.ArtefactRoot))
	if err != nil {
		return nil, fmt.Errorf("research.artefact_root: %w", err)
	}
	holder := rand.Text()
	engine, err := p.engine(ctx, c, book, artefacts, rules, holder)
	if err != nil {
		return nil, err
	}
	o := host.Options{
		Ledger: book, Engine: engine, Artefacts: artefacts, Pin: rules, Files: c.researchFiles(),
		SecretOrigin: p.config.InferenceBaseURL, Lookup: p.config.override,
		ForceSim: bool(p.config.ForceSim), Production: bool(p.config.Production),
		UnsignedOK: p.config.UnsignedSubmissions, Standin: p.config.AllowStandin,
		Limits: host.Limits{
			QueueCap: p.config.Queue, Workers: p.config.Workers,
			AddressPerMinute: p.config.AddressPerMinute, HotkeyPerHour: p.config.HotkeyPerHour,
		},
		Store: p.db.Dialect(), LeafKey: p.leafKey(ctx, c), Holder: holder,
		Now: time.Now, Rand: rand.Reader, Log: p.logger, Patience: patience,
	}
	if o.Epochs, err = p.config.epochs(); err != nil {
		return nil, err
	}
	// A nil *harvest.Harvest in the interface would be a harvest that is there.
	if h := p.harvest(ctx, c, rules); h != nil {
		o.Harvest = h
	}
	if p.host, err = host.Open(ctx, o); err != nil {
		return nil, err
	}
	trusted, err := p.config.proxies()
	if err != nil {
		return nil, err
	}
	p.readTokens = func(ctx context.Context) {
		tokens := p.adminTokens(ctx, c)
		p.tokens.Store(&tokens)
	}
	p.readTokens(ctx)
	return api.New(api.Options{
		Host: p.host, Tokens: func() []api.Token { return *p.tokens.Load() }, TrustedProxies: trusted, Log: p.logger, Now: time.Now,
	})
}

// researchDatabase is the URL of the control plane's database (decision 1).
func (c *Config) researchDatabase() (string, error) {
	url := c.Research.DatabaseURL
	if name := c.Research.DatabaseURLFile; name != "" {
		text, err := os.ReadFile(c.path(name))
		if err != nil {
			return "", fmt.Errorf("research.database_url_file (BASE_DATABASE_URL_FILE): %w", err)
		}
		if url = strings.TrimSpace(string(text)); url == "" {
			return "", errors.New("research.database_url_file (BASE_DATABASE_URL_FILE) is empty: write the URL into it, or leave it unset")
		}
	}
	if url == "" {
		url = c.Store.URL
	}
	return c.database(url), nil
}

func (c *Config) researchFiles() host.Files {
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return c.path(name)
	}
	r := &c.Research
	return host.Files{
		Topics: at(r.TopicsFile), Holdout: at(r.HoldoutFile), Baseline: at(r.BaselineFile),
		InferenceOffer: at(r.InferenceOfferFile), InferenceKey: at(r.InferenceAPIKeyFile),
		InferenceBaseURL: at(r.InferenceBaseURLFile), ExecutorOffer: at(r.ExecutorOfferFile),
	}
}

// override answers the three names of R§8.1 out of the configuration.
func (r *ResearchConfig) override(name string) string {
	return map[string]string{
		"PROOF_HARVEST_TEMPLATE_ID":   r.HarvestTemplateID,
		"PROOF_HARVEST_GPU_COUNT":     r.HarvestGPUCount,
		"PROOF_HARVEST_DEADLINE_SECS": r.HarvestDeadlineSecs,
	}[name]
}

func (r *ResearchConfig) epochs() (payout.Epochs, error) {
	if r.EpochGenesis == "" {
		return payout.FixedEpoch(r.Epoch), nil
	}
	genesis, err := time.Parse(time.RFC3339, r.EpochGenesis)
	if err != nil {
		return payout.Epochs{}, fmt.Errorf("research.epoch_genesis = %q: %w", r.EpochGenesis, err)
	}
	return payout.EpochsFrom(genesis, r.EpochLengthS)
}

// pin reads the floors. A bad pin stops the start; without a file the built-in one
// holds, which has no topic key and so verifies no topic (R§4).
func (p *ControlPlane) pin(ctx context.Context, c *Config) (*pin.Pin, error) {
	if p.config.PinFile == "" {
		p.logger.WarnContext(ctx, "no pin is set (research.pin_file, PROOF_PIN_FILE): the built-in one has no topic key, so no topic can be verified")
		return pin.Default(), nil
	}
	text, err := os.ReadFile(c.path(p.config.PinFile))
	if errors.Is(err, fs.ErrNotExist) {
		p.logger.WarnContext(ctx, "the pin file does not exist (research.pin_file, PROOF_PIN_FILE): the built-in pin holds, which verifies no topic")
		return pin.Default(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("research.pin_file (PROOF_PIN_FILE): %w", err)
	}
	rules, err := pin.Load(text)
	if err != nil {
		return nil, fmt.Errorf("research.pin_file (PROOF_PIN_FILE): %w", err)
	}
	return rules, nil
}

// engine builds the scorer of custom topics. Without a live orchestrator there is
// none: ids that are listed over an unwired one register nothing (R§15.4).
func (p *ControlPlane) engine(ctx context.Context, c *Config, book *ledger.Ledger, artefacts *artefact.Root, rules *pin.Pin, holder string) (*rlm.Engine, error) {
	r := &p.config
	if r.OrchestratorURL == "" && r.OrchestratorTokenFile == "" {
		return nil, nil
	}
	ca := r.OrchestratorCAFile
	if ca != "" {
		ca = c.path(ca)
	}
	token := r.OrchestratorTokenFile
	if token != "" {
		token = c.path(token)
	}
	boundary, err := client.New(client.Options{
		URL: r.OrchestratorURL, TokenFile: token, CAFile: ca, ImageDigest: r.RLMImageDigest, AllowStandin: r.AllowStandin,
		Remote: bool(r.Production),
	})
	if err != nil {
		// Fail closed, as for any bad setting of the operator: no custom scorer.
		p.logger.WarnContext(ctx, "custom topics cannot be scored here", "error", err)
		return nil, nil
	}
	if bool(r.Production) && boundary.Loopback() {
		return nil, errors.New("research.vm_orchestrator_url (PROOF_VM_ORCHESTRATOR_URL) is on loopback: refused under PROVA_PRODUCTION=1; the agent runs on a host of its own")
	}
	owner := r.OwnerKeyFile
	if owner != "" {
		owner = c.path(owner)
	}
	return rlm.New(rlm.Options{
		Ledger: book, Boundary: boundary, Artefacts: artefacts, Pin: rules, Now: time.Now, Holder: holder,
		Template:  wire.Template{ImageDigest: r.RLMImageDigest, VCPUs: r.RLMVCPUs, MemMiB: r.RLMMemMiB},
		CustomIDs: r.RunnerCustomIDs, Retain: wire.Retain(r.Retain), ReuseVM: bool(r.RLMReuseVM),
		OwnerKeyFile: owner, SpendCapUSD: r.SpendCapUSD, AllowStandin: r.AllowStandin, Log: p.logger,
	})
}

// harvest builds the scorer of nll and throughput; nil without a key of Lium.
func (p *ControlPlane) harvest(ctx context.Context, c *Config, rules *pin.Pin) *harvest.Harvest {
	r := &p.config
	if r.LiumAPIKey == "" {
		return nil
	}
	provider, err := harvest.NewLium(harvest.LiumOptions{URL: r.LiumAPIBaseURL, Key: r.LiumAPIKey})
	if err != nil {
		p.logger.WarnContext(ctx, "nll and throughput topics cannot be scored here", "error", err)
		return nil
	}
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return c.path(name)
	}
	h, err := harvest.New(harvest.Options{
		Provider: provider, Pin: rules, WeightsDir: at(r.ProxyModelDir), HoldoutStore: at(r.HoldoutStore),
		JudgeKeyFile: at(r.InferenceAPIKeyFile), SSHPublicKeyFile: at(r.LiumSSHPublicKeyFile), SSHKeyFile: at(r.LiumSSHPrivateKeyFile),
		EvalTimeoutS: r.EvalTimeoutSecs, Now: time.Now, Log: p.logger,
	})
	if err != nil {
		p.logger.WarnContext(ctx, "nll and throughput topics cannot be scored here", "error", err)
		return nil
	}
	if n, err := h.Sweep(ctx); err != nil {
		p.logger.WarnContext(ctx, "pods of an earlier process could not be looked for", "error", err)
	} else if n > 0 {
		p.logger.WarnContext(ctx, "pods of an earlier process were terminated", "pods", n)
	}
	return h
}

// leafKey reads the key of payout leaves; a missing one only warns (R§25).
func (p *ControlPlane) leafKey(ctx context.Context, c *Config) *sr25519.SecretKey {
	if p.config.LeafKeyFile == "" {
		return nil
	}
	key, err := sr25519.ReadSecret(c.path(p.config.LeafKeyFile))
	if err != nil {
		p.logger.WarnContext(ctx, "payout leaves are not signed here: research.leaf_key_file (BASE_CHALLENGE_SK_FILE) cannot be used")
		return nil
	}
	return key
}

// adminTokens reads the hashes of the admin tokens. Without any the admin routes
// answer that they are not configured.
func (p *ControlPlane) adminTokens(ctx context.Context, c *Config) []api.Token {
	if p.config.AdminTokensFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.path(p.config.AdminTokensFile))
	var tokens []api.Token
	if err == nil {
		tokens, err = api.ParseTokens(text)
	}
	if err != nil {
		p.logger.WarnContext(ctx, "admin routes are closed: research.admin_tokens_file (PROOF_ADMIN_TOKENS_FILE) cannot be used")
		return nil
	}
	return tokens
}

// followReloads reads the operator's files again at each SIGHUP (decision 11).
func (p *ControlPlane) followReloads(ctx context.Context, hup chan os.Signal) error {
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
			p.readTokens(ctx) // one that is gone from the file is revoked
			if err := p.host.Reload(ctx); err != nil {
				p.logger.ErrorContext(ctx, "files not read again", "error", err)
			}
		}
	}
}

// Wait blocks until the context ends or a part fails, then stops all of it.
func (p *ControlPlane) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return p.Close()
	case <-p.running.Done():
	}
	if ctx.Err() != nil {
		return p.Close()
	}
	cause := context.Cause(p.running)
	p.logger.ErrorContext(ctx, "the control plane failed, stopping", "error", cause)
	return errors.Join(cause, p.Close())
}

// Close stops taking requests, lets those under way end within a grace, leaves runs
// in flight to the next start and closes the database.
func (p *ControlPlane) Close() error {
	p.cancel(context.Canceled) // waiting submitters are told that theirs was taken
	var errs []error
	if p.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if err := p.server.Shutdown(ctx); err != nil {
			errs = append(errs, p.server.Close())
		}
	}
	if err := p.group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		errs = append(errs, err)
	}
	if p.db != nil {
		errs = append(errs, p.db.Close())
		p.db = nil
	}
	return errors.Join(errs...)
}
