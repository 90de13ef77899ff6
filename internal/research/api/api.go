package api

import (
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/board"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
)

// Options are what the routes are made of.
type Options struct {
	Host *host.Host
	// Tokens returns those of ParseTokens that hold now, so that one can be revoked while
	// the control plane runs; without any, admin routes answer 503.
	Tokens func() []Token
	// TrustedProxies are the peers whose X-Forwarded-For and X-Forwarded-Proto are
	// believed.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger     // nil: nothing is logged
	Now            func() time.Time // nil: the clock
	Rand           io.Reader        // of request ids; nil: the system's

	// MaxRequests are served at once, 256 when zero; MaxWaits submissions wait for
	// their run at once beside them, 1024 when zero.
	MaxRequests, MaxWaits int
	// MaxWait is how long one submission waits for its run, three hours when zero: the
	// longest run takes 7200 s. After it the answer is the one of respond-async.
	MaxWait time.Duration
}

const (
	defaultRequests = 256
	defaultWaits    = 1024
	defaultWait     = 3 * time.Hour
	maxBodies       = 64 // submissions that are read at once, of up to 2 MB each
)

func (o *Options) fill() error {
	if o.Host == nil {
		return errors.New("research api: a host is required")
	}
	for _, p := range o.TrustedProxies {
		if !p.IsValid() {
			return errors.New("research api: a trusted proxy is no prefix of addresses, such as 10.0.0.0/8")
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = defaultRequests
	}
	if o.MaxWaits <= 0 {
		o.MaxWaits = defaultWaits
	}
	if o.MaxWait <= 0 {
		o.MaxWait = defaultWait
	}
	return nil
}

// server is one control plane's routes.
type server struct {
	o             Options
	host          *host.Host
	places, waits chan struct{}
	bodies        chan struct{} // of submissions: slow ones must not keep readers out
	senders       senders       // and one address must not take all of their places
	failures      *throttle
	payouts       *payouts
	oversize      []byte // stands for a body that is too long to be read; never written to
}

// handle serves one route; an error is answered by fail.
type handle func(w http.ResponseWriter, r *http.Request) error

// route is one row of the table of R§14.
type route struct {
	method, path string
	serve        handle
}

// New returns the routes of a control plane and, at all other paths, the pages of
// package board. The error is an option that is missing
// or makes no sense.
func New(o Options) (http.Handler, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s := &server{
		o: o, host: o.Host, places: make(chan struct{}, o.MaxRequests), waits: make(chan struct{}, o.MaxWaits), bodies: make(chan struct{}, maxBodies),
		failures: newThrottle(), payouts: newPayouts(o.Host.Payout), oversize: make([]byte, intake.MaxBody+1),
	}
	pages, err := board.New(board.Options{Host: o.Host, Payout: s.payouts.of, Log: o.Log})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	methods := map[string]map[string]handle{}
	for _, r := range append(s.public(), s.admin()...) {
		if methods[r.path] == nil {
			methods[r.path] = map[string]handle{}
		}
		methods[r.path][r.method] = r.serve
	}
	for at, byMethod := range methods {
		mux.Handle(at, s.dispatch(byMethod))
	}
	mux.Handle("/v1", s.dispatch(nil))
	mux.Handle("/v1/", s.dispatch(nil))
	mux.Handle("/", s.readable(pages))
	return httpx.Chain(s.clean(mux),
		httpx.RequestID(o.Rand), httpx.SecurityHeaders, httpx.AccessLog(o.Log, o.Now), s.recovered, httpx.Drain), nil
}

// dispatch serves one path.
func (s *server) dispatch(byMethod map[string]handle) http.Handler {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		if byMethod[m] != nil {
			allowed = append(allowed, m)
		}
	}
	if byMethod[http.MethodGet] != nil {
		allowed = append(allowed, http.MethodHead)
	}
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		serve := byMethod[method]
		switch {
		case byMethod == nil:
			refuse(w, http.StatusNotFound, noRoute)
		case serve == nil:
			w.Header().Set("Allow", allow)
			refuse(w, http.StatusMethodNotAllowed, "this route takes "+allow)
		default:
			if err := serve(w, r); err != nil {
				s.fail(w, r, err)
			}
		}
	})
}

// placed serves a route while it holds a place among the requests.
func (s *server) placed(serve handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		leave, err := enter(s.places)
		if err != nil {
			return err
		}
		defer leave()
		return serve(w, r)
	}
}

// enter takes a place, or says at once that there is none: waiting would only move
// the crowd into memory.
func enter(places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, &httpx.StatusError{Status: http.StatusServiceUnavailable, Title: "too many requests at this moment; try again shortly", RetryAfter: time.Second}
	}
}

// senders counts the bodies that are being read of each address. Loopback is not
// counted: behind a proxy of this machine that nobody trusted, everybody is loopback.
type senders struct {
	mu   sync.Mutex
	held map[netip.Addr]int
}

// maxOfOne is the share of one address in the bodies that are read at once.
const maxOfOne = maxBodies / 4

func (s *senders) enter(from netip.Addr) (leave func(), err error) {
	if !from.IsValid() || from.IsLoopback() {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[from] >= maxOfOne {
		return nil, &httpx.StatusError{Status: http.StatusTooManyRequests, Title: "too many bodies of this address are under way", RetryAfter: time.Second}
	}
	if s.held == nil {
		s.held = map[netip.Addr]int{}
	}
	s.held[from]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[from]--; s.held[from] == 0 {
			delete(s.held, from)
		}
	}, nil
}

// readable serves the pages for readers within the same places as the routes.
func (s *server) readable(pages http.Handler) http.Handler {
	placed := s.placed(func(w http.ResponseWriter, r *http.Request) error {
		pages.ServeHTTP(w, r)
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := placed(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// clean answers paths that the mux would answer with a page that redirects.
func (s *server) clean(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Path
		if tidy := path.Clean(at); at == "" || at[0] != '/' || at != tidy && (tidy == "/" || at != tidy+"/") {
			refuse(w, http.StatusNotFound, noRoute)
			return
		}
		next.ServeHTTP(w, r)
	})
}
