package corpus

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// SecretHeader carries the challenge secret from the proxy (§2.3).
const SecretHeader = "X-Challenge-Secret"

// Server answers for a frozen corpus with the response contract of §2.5. Every
// answer is one of the frozen files, the body of an absent reference, or one of
// the fixed /_systeme bodies, each with its own status; nothing in it depends on
// time, caller or earlier calls. It is safe for concurrent use.
type Server struct {
	bodies  map[string][]byte // by resource path
	system  map[int][]byte    // by status
	secret  [sha256.Size]byte
	given   bool // a secret was configured; without one nobody gets in
	form    *regexp.Regexp
	logger  *slog.Logger
	down    atomic.Bool
	flight  atomic.Int64
	ceiling atomic.Int64
}

// defaultCeiling is how many requests are answered at once; a request beyond it
// gets the 503 body. Answers come from memory, so it is reached only when clients
// read slowly.
const defaultCeiling = 1024

// NewServer returns a handler that serves the corpus to callers with the challenge
// secret. The secret is compared in constant time and kept as a hash; it is never
// logged. An empty secret lets nobody in. The corpus must not be changed
// afterwards; the error says what its manifest lacks.
func NewServer(c *Corpus, secret string, logger *slog.Logger) (*Server, error) {
	view, err := c.View()
	if err != nil {
		return nil, err
	}
	s := &Server{
		bodies: make(map[string][]byte, len(view.files)), system: map[int][]byte{},
		secret: sha256.Sum256([]byte(secret)), given: secret != "",
		form: collectionForm(c.Track), logger: logger,
	}
	s.ceiling.Store(defaultCeiling)
	for _, status := range []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable} {
		path := systemPrefix + strconv.Itoa(status)
		body, ok := view.files[path]
		if !ok {
			return nil, fmt.Errorf("manifest.json: %s is missing: the server answers with its body; build the corpus again", path)
		}
		s.system[status] = body
	}
	for resource, body := range view.files {
		if !strings.HasPrefix(resource, systemPrefix) {
			s.bodies[resource] = body
		}
	}
	return s, nil
}

// SetMaintenance makes the server answer every authorised call with the 503 body,
// until it is told otherwise.
func (s *Server) SetMaintenance(on bool) { s.down.Store(on) }

// Limit sets how many requests are answered at once; one beyond them gets the 503
// body. n must be positive.
func (s *Server) Limit(n int) { s.ceiling.Store(int64(n)) }

// ServeHTTP answers one call; it never fails, and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := s.answer(r)
	defer s.flight.Add(-1)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// A caller that has gone has no use for the error.
		_, _ = w.Write(body)
	}
	s.record(r, status)
}

// answer decides, in this order: the secret, so that nothing shows without it;
// then whether the service answers at all; then the request's form; then the path.
func (s *Server) answer(r *http.Request) (int, []byte) {
	flight := s.flight.Add(1)
	switch {
	case !s.admits(r.Header.Values(SecretHeader)):
		return http.StatusForbidden, s.system[http.StatusForbidden]
	case s.down.Load() || flight > s.ceiling.Load():
		return http.StatusServiceUnavailable, s.system[http.StatusServiceUnavailable]
	case malformed(r):
		return http.StatusBadRequest, s.system[http.StatusBadRequest]
	}
	// The path as it came: an escaped character makes another URL than the
	// canonical one, so it is not decoded to match (§2.4).
	path := r.URL.EscapedPath()
	if body, ok := s.bodies[path]; ok {
		return http.StatusOK, body
	}
	if s.form.MatchString(path) {
		return http.StatusOK, absentBody(path)
	}
	return http.StatusNotFound, s.system[http.StatusNotFound]
}

func (s *Server) admits(values []string) bool {
	if !s.given || len(values) != 1 {
		return false
	}
	got := sha256.Sum256([]byte(values[0]))
	return subtle.ConstantTimeCompare(got[:], s.secret[:]) == 1
}

// malformed reports a request that is no plain GET of a path: another method, a
// query (an empty one too), a body.
func malformed(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	if r.URL.RawQuery != "" || r.URL.ForceQuery || r.URL.Host != "" || r.URL.Opaque != "" {
		return true
	}
	if r.ContentLength > 0 {
		return true
	}
	if r.ContentLength < 0 && r.Body != nil {
		// A chunked body without a byte is none; one byte is enough to know.
		n, _ := io.ReadFull(r.Body, make([]byte, 1))
		return n > 0
	}
	return false
}

// maxLogged bounds the part of a path that is logged.
const maxLogged = 256

// record logs the call: a control instrument, never a source of score (§2.5). The
// path is cut; no header is logged.
func (s *Server) record(r *http.Request, status int) {
	path := r.URL.EscapedPath()
	if len(path) > maxLogged {
		path = path[:maxLogged]
	}
	s.logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "corpus call",
		slog.String("method", r.Method), slog.String("path", path), slog.Int("status", status))
}

// Forms of the collections of a track: <collection>/<ref> or
// <collection>/<ref>/<page>, with references as numbering makes them.
const (
	formConformite = `/(entites/ENT<ref>|agrements/AGR<ref>|attestations/ATT<ref>|avenants/AVN<ref>|listes/agrees<name><page>|beneficiaires/ENT<ref><page>|mesures-restrictives<page>)`
	formGenerique  = `/(catalogue<name><page>|produits/PRD<ref>|fournisseurs/FRN<ref>|annexes-livraison/ANX<ref>)`
)

func collectionForm(trackName string) *regexp.Regexp {
	form := formConformite
	if trackName == track.Generique {
		form = formGenerique
	}
	form = strings.NewReplacer("<ref>", "-[0-9]{4,9}", "<name>", "/[a-z][a-z0-9-]{0,39}", "<page>", "/[1-9][0-9]{0,5}").Replace(form)
	return regexp.MustCompile("^" + form + "$")
}
