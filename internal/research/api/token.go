package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

// Token is an operator's bearer as it is kept: hashed.
type Token struct {
	Label  string // says in the audit which one it was
	SHA256 [sha256.Size]byte
}

const (
	maxTokens     = 256
	maxTokenBytes = 4 << 10
)

// ParseTokens reads PROOF_ADMIN_TOKENS_FILE (R§14.3): one token a line; blank lines
// and those that begin with # are passed over. The label of a token is its line,
// token-3. No error shows a token.
func ParseTokens(data []byte) ([]Token, error) {
	tokens := []Token{}
	seen := map[[sha256.Size]byte]string{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t := Token{"token-" + strconv.Itoa(n), sha256.Sum256([]byte(line))}
		switch {
		case len(line) > maxTokenBytes:
			return nil, fmt.Errorf("admin tokens, line %d: the token is longer than %d bytes", n, maxTokenBytes)
		case strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
			return nil, fmt.Errorf("admin tokens, line %d: a token is one word of printable ASCII", n)
		case seen[t.SHA256] != "":
			return nil, fmt.Errorf("admin tokens, line %d: the same token as %s", n, seen[t.SHA256])
		case len(tokens) == maxTokens:
			return nil, fmt.Errorf("admin tokens, line %d: more than %d tokens", n, maxTokens)
		}
		seen[t.SHA256] = t.Label
		tokens = append(tokens, t)
	}
	return tokens, nil
}

// The refusals of admin routes, in the words of R§14.3.
var (
	errUnconfigured = &httpx.StatusError{Status: http.StatusServiceUnavailable, Title: "auth_unconfigured"}
	errUnauthorized = &httpx.StatusError{Status: http.StatusUnauthorized, Title: "unauthorized"}
	errInTheClear   = &httpx.StatusError{Status: http.StatusForbidden, Title: "admin routes are served over TLS, on loopback and behind a trusted proxy"}
)

// bearer decides whether a request may use the admin routes, and returns the label of
// its token. It takes as long for every token (decision 18).
func (s *server) bearer(r *http.Request) (label string, err error) {
	if !s.private(r) {
		return "", errInTheClear
	}
	var tokens []Token
	if s.o.Tokens != nil {
		tokens = s.o.Tokens()
	}
	if len(tokens) == 0 {
		return "", errUnconfigured
	}
	from, now := s.client(r), s.o.Now()
	if wait := s.failures.wait(from, now); wait > 0 {
		return "", &httpx.StatusError{Status: http.StatusTooManyRequests, Title: "too many failed attempts from this address", RetryAfter: wait}
	}
	given := sha256.Sum256([]byte(token(r)))
	for _, t := range tokens {
		if subtle.ConstantTimeCompare(given[:], t.SHA256[:]) == 1 {
			label = t.Label
		}
	}
	if label == "" {
		s.failures.failed(from, now)
		s.o.Log.WarnContext(r.Context(), "an admin route was refused", "method", r.Method, "path", r.URL.Path, "from", from.String())
		return "", errUnauthorized
	}
	return label, nil
}

// token is what a request shows, with or without the scheme (R§14.3).
func token(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	const scheme = "Bearer "
	given := strings.TrimSpace(values[0])
	if len(given) > len(scheme) && strings.EqualFold(given[:len(scheme)], scheme) {
		given = given[len(scheme):]
	}
	return strings.TrimSpace(given)
}

const (
	// failures of one address within span close the admin routes to it until the span
	// is over.
	maxFailures = 10
	span        = time.Minute
	// most addresses are remembered. When all of them have failed within a span, who
	// is new counts as one that failed too often: made-up addresses must take neither
	// memory nor guesses.
	most = 4096
)

// throttle counts failed attempts by address.
type throttle struct {
	mu   sync.Mutex
	from map[netip.Prefix]*attempts
}

type attempts struct {
	n     int
	until time.Time
}

func newThrottle() *throttle { return &throttle{from: map[netip.Prefix]*attempts{}} }

// network is what an address counts as: an IPv6 host has a whole /64.
func network(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // no address: all of these are one
	}
	return p
}

// wait is how long an address has to wait, zero when it need not.
func (t *throttle) wait(from netip.Addr, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.from[network(from)]
	switch {
	case a == nil && len(t.from) >= most:
		if t.forget(now); len(t.from) >= most {
			return span
		}
	case a != nil && a.n >= maxFailures && now.Before(a.until):
		return a.until.Sub(now)
	}
	return 0
}

func (t *throttle) failed(from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := network(from)
	a := t.from[key]
	if a == nil || !now.Before(a.until) {
		a = &attempts{until: now.Add(span)}
		t.from[key] = a
	}
	a.n++
}

// forget drops the addresses whose span is over.
func (t *throttle) forget(now time.Time) {
	for key, a := range t.from {
		if !now.Before(a.until) {
			delete(t.from, key)
		}
	}
}

// isRefusedBearer reports whether an error is one of a missing or wrong bearer.
func isRefusedBearer(err error) bool { return errors.Is(err, errUnauthorized) }
