package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/obs"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// The services of one configuration, by the words of "prova serve --only".
const (
	ServiceIssuer = "issuer" // keys, proxy, proofs
	ServiceCorpus = "corpus" // the frozen corpora, for the proxy alone
	ServiceSeason = "season" // enrolment and intake
	ServiceIndex  = "index"  // public pages
	ServiceWorker = "worker" // batches: closing, anchoring, retries

	// ServiceResearch is the control plane of the research challenge, on a listener
	// of its own (research.listen).
	ServiceResearch = "research"
)

// Services lists all of them in the order of starting.
func Services() []string {
	return []string{ServiceIssuer, ServiceCorpus, ServiceSeason, ServiceIndex, ServiceWorker, ServiceResearch}
}

const (
	// shutdownGrace is how long requests under way may take to end.
	shutdownGrace = 10 * time.Second
	// maxConcurrent is how many requests a public listener works on at once;
	// more are answered 503 at once instead of queueing.
	maxConcurrent = 1024
)

// Server is a running set of services.
type Server struct {
	// Public, Corpus and Internal are the addresses listened on, "" where the
	// service of that listener does not run here.
	Public, Corpus, Internal string
	// PublicURL is how this machine reaches the public listener.
	PublicURL string
	// Research is the control plane that runs beside them, nil where none does.
	Research *ControlPlane

	config  Config
	db      *store.DB
	issuer  *issuerParts
	season  *season.Service
	window  atomic.Pointer[window] // of the season announced, nil while there is none
	site    *site
	group   *errgroup.Group
	cancel  context.CancelCauseFunc
	running context.Context // ends when a service fails, an uncertain write included
	servers []*http.Server
	logger  *slog.Logger
	clock   func() time.Time
}

// Start builds the services named and serves until the
// context ends or Close. Without names it builds all of them, the control plane of
// the research challenge where its settings are there. Listeners are bound before anything is built, so that a
// port in use stops the start and port 0 can be told to the other services.
func Start(ctx context.Context, c Config, only []string, logger *slog.Logger) (_ *Server, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	runs, err := chosen(only, c.Research.configured())
	if err != nil {
		return nil, err
	}
	if runs[ServiceSeason] && !runs[ServiceIssuer] && c.Season.IssuerURL == "" {
		return nil, errors.New("season.issuer_url is missing: the issuer does not run in this process, so name where keys are asked about, and season.issuer_internal_url unless it is a foreign issuer")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	group, ctx := errgroup.WithContext(ctx)
	s := &Server{config: c, group: group, cancel: cancel, running: ctx, logger: logger, clock: time.Now}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	listeners, err := s.listen(ctx, runs)
	if err != nil {
		return nil, err
	}
	if s.db, err = store.Open(ctx, s.config.database(s.config.Store.URL)); err != nil {
		return nil, err
	}
	// An uncertain write ends the process: what was not acknowledged must not be
	// guessed about (rule 8 of the house).
	s.db.OnFatal = func(err error) {
		logger.Error("the outcome of a write is unknown, stopping", "error", err)
		cancel(err)
	}
	public, internal := http.NewServeMux(), http.NewServeMux()
	if err := s.build(ctx, runs, public, internal); err != nil {
		return nil, err
	}
	metrics := obs.NewMetrics()
	requests, err := obs.NewRequests(metrics, "public")
	if err != nil {
		return nil, err
	}
	if s.issuer != nil {
		if err := s.issuer.service.Register(metrics); err != nil {
			return nil, err
		}
	}
	internal.Handle("GET /metrics", obs.MetricsHandler(metrics))
	internal.HandleFunc("GET /health", s.health)
	s.serve(listeners.public, httpx.Chain(observe(requests, s.clock, public),
		httpx.Drain, httpx.RequestID(rand.Reader), httpx.AccessLog(logger, s.clock), httpx.Recover(logger),
		httpx.LimitConcurrency(maxConcurrent, time.Second)))
	s.serve(listeners.internal, httpx.Chain(internal, httpx.RequestID(rand.Reader), httpx.Recover(logger)))
	if listeners.proxied != nil {
		s.serve(listeners.proxied, httpx.Chain(s.season.Handler(),
			httpx.RequestID(rand.Reader), httpx.AccessLog(logger, s.clock), httpx.Recover(logger)))
	}
	if listeners.corpus != nil {
		secret, err := s.config.challengeSecret()
		if err != nil {
			return nil, err
		}
		served := newCorpora(s.freezesDir(s.config.Season.Number), s.freezesInForce, secret, s.clock, logger)
		server := httpx.Server(httpx.Chain(served, httpx.Recover(logger)), httpx.Limits{}, logger)
		server.DisableGeneralOptionsHandler = true // "OPTIONS *" is malformed like any other method (§2.5).
		s.run(corpus.FixedErrors(listeners.corpus, served.malformed), server)
	}
	if runs[ServiceWorker] && s.issuer != nil {
		group.Go(func() error { return s.issuer.service.Run(ctx) })
		group.Go(func() error { return s.forceBatches(ctx, s.season) })
	}
	if s.site != nil {
		group.Go(func() error { return s.site.follow(ctx) })
	}
	if runs[ServiceResearch] {
		if s.Research, err = StartResearch(ctx, c, logger); err != nil {
			return nil, err
		}
		group.Go(func() error { return s.Research.Wait(ctx) })
	}
	return s, nil
}

// chosen reads --only. The worker of a process works for its issuer. Without names
// the control plane runs only where it is configured.
func chosen(only []string, research bool) (map[string]bool, error) {
	if len(only) == 0 {
		only = slices.DeleteFunc(Services(), func(name string) bool { return name == ServiceResearch && !research })
	}
	runs := map[string]bool{}
	for _, name := range only {
		if !slices.Contains(Services(), name) {
			return nil, fmt.Errorf("--only: %q is no service: want %s", name, strings.Join(Services(), ", "))
		}
		runs[name] = true
	}
	if runs[ServiceIssuer] {
		runs[ServiceWorker] = true
	}
	return runs, nil
}

// listeners of one process. proxied is the season service as the issuer's own
// proxy reaches it: the routes of the season and no others. Through the public
// listener a caller could have the proxy sign up, read or fail to authenticate in
// its place, from this machine's address.
type listeners struct{ public, corpus, internal, proxied net.Listener }

// listen binds what the chosen services need and completes the configuration
// with what only the bound addresses tell: base URL and upstreams.
func (s *Server) listen(ctx context.Context, runs map[string]bool) (l listeners, err error) {
	var lc net.ListenConfig
	bind := func(name, addr string, dst *string) (net.Listener, error) {
		ln, err := lc.Listen(ctx, "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("listen.%s = %q: %w", name, addr, err)
		}
		*dst = ln.Addr().String()
		return ln, nil
	}
	if l.public, err = bind("public", s.config.Listen.Public, &s.Public); err != nil {
		return l, err
	}
	if l.internal, err = bind("internal", s.config.Listen.Internal, &s.Internal); err != nil {
		return l, err
	}
	corpusAddr := s.config.Listen.Corpus
	if runs[ServiceCorpus] {
		if l.corpus, err = bind("corpus", corpusAddr, &s.Corpus); err != nil {
			return l, err
		}
		corpusAddr = s.Corpus
	}
	s.PublicURL = "http://" + reachable(s.Public)
	c := &s.config
	seasonAddr := s.Public
	if runs[ServiceSeason] && c.Upstreams[hostOf(c.Season.Host)] == "" {
		if l.proxied, err = bind("proxied", "127.0.0.1:0", &seasonAddr); err != nil {
			return l, err
		}
	}
	if c.Issuer.BaseURL == "" {
		c.Issuer.BaseURL = s.PublicURL
	}
	if runs[ServiceIssuer] {
		// Without an internal URL an issuer elsewhere is a foreign one.
		if c.Season.IssuerURL == "" {
			c.Season.IssuerURL = s.PublicURL
		}
		if c.Season.IssuerInternalURL == "" {
			c.Season.IssuerInternalURL = "http://" + reachable(s.Internal)
		}
	}
	if runs[ServiceIssuer] && !runs[ServiceSeason] && c.Upstreams[hostOf(c.Season.Host)] == "" {
		s.logger.WarnContext(ctx, "the season service does not run here: name its loopback listener in upstreams, or no freeze can be proxied", "host", hostOf(c.Season.Host))
	}
	mapped := s.defaultUpstreams(seasonAddr, corpusAddr)
	for host, addr := range c.Upstreams {
		mapped[strings.ToLower(host)] = addr
	}
	c.Upstreams = mapped
	return l, nil
}

// defaultUpstreams sends the canonical hosts of one machine's season to its own
// listeners.
func (s *Server) defaultUpstreams(seasonAddr, corpusAddr string) map[string]string {
	out := map[string]string{hostOf(s.config.Season.Host): reachable(seasonAddr)}
	for _, host := range corpusHosts() {
		out[host] = reachable(corpusAddr)
	}
	return out
}

// reachable turns a listening address into one that this machine can dial.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// database resolves the file of an SQLite URL against the data directory.
func (c *Config) database(url string) string {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && !filepath.IsAbs(path) {
		return "sqlite:" + c.path(path)
	}
	return url
}

// serve runs one HTTP server until Close, which lets its requests end.
func (s *Server) serve(ln net.Listener, h http.Handler) {
	s.run(ln, httpx.Server(h, httpx.Limits{}, s.logger))
}

func (s *Server) run(ln net.Listener, server *http.Server) {
	s.servers = append(s.servers, server)
	s.group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// Wait blocks until the context ends or a service fails, then stops all of them:
// listeners that go on without their loops would take what nobody anchors.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.running.Done():
	}
	if ctx.Err() != nil {
		return s.Close()
	}
	cause := context.Cause(s.running)
	s.logger.ErrorContext(ctx, "a service failed, stopping", "error", cause)
	err := s.Close()
	if errors.Is(err, cause) {
		return err
	}
	return errors.Join(cause, err)
}

// Close stops listeners, loops, issuer, witnesses and database, in this order. The
// public listener goes first: its requests under way still need the others.
// What has not ended after the grace is cut off, unacknowledged.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	var errs []error
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			s.logger.WarnContext(ctx, "requests under way were cut off", "error", err)
			errs = append(errs, server.Close())
		}
	}
	s.cancel(context.Canceled)
	if err := s.group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		errs = append(errs, err)
	}
	if s.issuer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		errs = append(errs, s.issuer.service.Close(ctx), s.issuer.witnesses.close())
		s.issuer = nil
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
		s.db = nil
	}
	return errors.Join(errs...)
}

// health answers the internal listener: what runs here and what waits.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	state, status := map[string]any{"status": "ok"}, http.StatusOK
	if s.issuer != nil {
		pending, err := s.issuer.service.Pending(r.Context())
		if err != nil {
			state["status"], status = "unavailable", http.StatusServiceUnavailable
		} else {
			// Figures only: the batches one by one are at /internal/v1/.
			waits := map[string]any{"proofs": pending.Proofs, "oldest": nil, "closing_batches": len(pending.Closing)}
			if !pending.Oldest.IsZero() {
				waits["oldest"] = pending.Oldest.UTC().Format(time.RFC3339)
			}
			state["pending"] = waits
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(state); err != nil {
		s.logger.DebugContext(r.Context(), "health answer not written", "error", err)
	}
}

// statusWriter remembers the status for the metrics; Unwrap keeps deadlines and
// flushing reachable.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// observe counts requests by the pattern that the mux matched.
func observe(m *obs.Requests, clock func() time.Time, mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := clock()
		sw := &statusWriter{ResponseWriter: w}
		mux.ServeHTTP(sw, r)
		if sw.status == 0 {
			sw.status = http.StatusOK
		}
		m.Observe(r.Pattern, sw.status, clock().Sub(began))
	})
}
