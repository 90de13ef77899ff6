package issuer

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
)

const (
	corsHeaders = "Authorization, X-Api-Key, X-Idempotency-Key, X-Agent-Identity, X-Agent-Version, Content-Type"
	corsMethods = "GET, POST, OPTIONS"
	retryRead   = 3600

	// Written as the source writes it, not in Go's canonical form.
	proofIDHeader = "X-ArkForge-Proof-ID"
)

// endpoint answers one route. An *apiError becomes its envelope, any other error
// a 500 that tells nothing.
type endpoint func(w http.ResponseWriter, r *http.Request) error

// route is one line of the table of T§3.
type route struct {
	method, path string
	serve        endpoint
}

func (s *Service) routes() []route {
	return []route{
		{"POST", "/v1/keys/free-signup", s.writing(s.postSignup)},
		{"POST", "/v1/keys/bind-did", s.writing(s.postBind)},
		{"POST", "/v1/keys/bind-did/confirm", s.writing(s.postConfirm)},
		{"GET", "/v1/keys/identity", s.keyed(s.identityDocument)},
		{"GET", "/v1/usage", s.keyed(s.usageDocument)},
		{"POST", "/v1/proxy", s.writing(s.postProxy)},
		{"GET", "/v1/proof/{id}", s.getProof},
		{"GET", "/v1/proof/{id}/full", s.getFull},
		{"GET", "/v1/proof/{id}/verify", s.getVerify},
		{"GET", "/v1/proof/{id}/tsr", s.getToken},
		{"GET", "/v/{id}", s.getShort},
		{"POST", "/v1/proofs", s.postProofs},
		{"GET", "/v1/pubkey", s.getKeys},
		{"GET", "/.well-known/did.json", s.getDIDDocument},
		{"GET", "/v1/health", s.getHealth},
		{"GET", "/health", s.getHealth},
		{"GET", "/v1/pricing", s.getPricing},
		{"POST", "/v1/admin/batch/close", s.postClose},
	}
}

// Handler serves the public routes of T§3 under their own paths.
func (s *Service) Handler() http.Handler { return s.mux(s.routes()) }

// mux builds a handler from routes; unknown paths and methods get the envelope
// too.
func (s *Service) mux(routes []route) http.Handler {
	byPath := map[string]map[string]endpoint{}
	var order []string
	for _, r := range routes {
		if byPath[r.path] == nil {
			byPath[r.path] = map[string]endpoint{}
			order = append(order, r.path)
		}
		byPath[r.path][r.method] = r.serve
	}
	m := http.NewServeMux()
	for _, path := range order {
		m.Handle(path, s.methods(byPath[path]))
	}
	m.Handle("/", s.serve(func(http.ResponseWriter, *http.Request) error {
		return refuse(http.StatusNotFound, "not_found", "No such route")
	}))
	return m
}

func (s *Service) methods(table map[string]endpoint) http.Handler {
	allowed := []string{http.MethodOptions}
	for m := range table {
		allowed = append(allowed, m)
		if m == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return s.serve(func(w http.ResponseWriter, r *http.Request) error {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // net/http leaves the body out
		}
		if serve := table[method]; serve != nil {
			return serve(w, r)
		}
		w.Header().Set("Allow", allow)
		if method == http.MethodOptions {
			w.WriteHeader(http.StatusOK)
			return nil
		}
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "Use one of: "+allow)
	})
}

// serve sets the headers of T§1 and turns an error into an answer.
func (s *Service) serve(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Access-Control-Allow-Origin", "*")
		if r.Method == http.MethodOptions {
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
		}
		if err := e(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers an error. What is not the caller's to know goes to the log.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refused *apiError
	var status *httpx.StatusError
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &status):
		refused = &apiError{Status: status.Status, Code: codeOf(status.Status), Message: status.Title}
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // the caller has gone
	case errors.Is(err, store.ErrUncertain), errors.Is(err, store.ErrClosed):
		s.deps.Logger.ErrorContext(r.Context(), "write not acknowledged", "path", r.URL.Path, "error", err)
		refused = refuse(http.StatusServiceUnavailable, "storage_unavailable", "The write could not be confirmed on disk; it is not acknowledged")
	default:
		s.deps.Logger.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "error", err)
		refused = refuse(http.StatusInternalServerError, "internal_error", "Something failed on our side; nothing is acknowledged")
	}
	if refused.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(refused.RetryAfter))
	}
	writeJSON(w, refused.Status, canonjson.Compact(refused.object()))
}

func codeOf(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "payload_too_large"
	case http.StatusRequestTimeout:
		return "request_timeout"
	}
	return "invalid_request"
}

// writeJSON writes a compact body without a trailing newline (T§1).
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // A caller that has gone needs no answer.
}

func ok(w http.ResponseWriter, o *canonjson.Object) error {
	writeJSON(w, http.StatusOK, canonjson.Compact(o))
	return nil
}

func (s *Service) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return httpx.Body(w, r, s.cfg.MaxRequestBody)
}

func (s *Service) ip(r *http.Request) string { return clientIP(r, s.cfg.TrustRealIP) }

// keyed is a GET that needs a key.
func (s *Service) keyed(document func(context.Context, *caller) (*canonjson.Object, error)) endpoint {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := s.authenticate(r.Context(), r.Header)
		if err != nil {
			return err
		}
		o, err := document(r.Context(), c)
		if err != nil {
			return err
		}
		return ok(w, o)
	}
}

func (s *Service) postSignup(w http.ResponseWriter, r *http.Request) error {
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	o, err := s.signup(r.Context(), body, s.ip(r))
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store") // the answer holds a key
	return ok(w, o)
}

func (s *Service) postBind(w http.ResponseWriter, r *http.Request) error {
	c, err := s.authenticate(r.Context(), r.Header)
	if err != nil {
		return err
	}
	if !s.binds.take(c.Fingerprint, s.now()) {
		return rateLimited("Too many DID bind attempts. Try again later.")
	}
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	o, err := s.startBinding(r.Context(), c, body)
	if err != nil {
		return err
	}
	return ok(w, o)
}

func (s *Service) postConfirm(w http.ResponseWriter, r *http.Request) error {
	c, err := s.authenticate(r.Context(), r.Header)
	if err != nil {
		return err
	}
	body, err := s.body(w, r)
	if err != nil {
		return err
	}
	o, err := s.confirmBinding(r.Context(), c, body)
	if err != nil {
		return err
	}
	return ok(w, o)
}

// writing refuses while the node is blocked for writes (T§1).
func (s *Service) writing(e endpoint) endpoint {
	if !s.cfg.ReadOnly {
		return e
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		o := refuse(http.StatusServiceUnavailable, "service_degraded", "This node is read-only for now; reading proofs keeps working").object()
		child(o, "error").Set("failover_mode", true)
		writeJSON(w, http.StatusServiceUnavailable, canonjson.Compact(o))
		return nil
	}
}

// postProxy is T§4.2, steps 1 to 7; the rest is proxy.
func (s *Service) postProxy(w http.ResponseWriter, r *http.Request) error {
	ip := s.ip(r)
	if s.auths.full(ip, s.now()) {
		return rateLimited("Too many failed authentication attempts. Try again in 5 minutes.")
	}
	c, err := s.authenticate(r.Context(), r.Header)
	if err != nil {
		if refused := (*apiError)(nil); errors.As(err, &refused) {
			s.auths.add(ip, s.now())
		}
		return err
	}
	a, err := s.proxyBody(w, r, c)
	if err != nil {
		s.metrics.refusals.Add(1)
		return err
	}
	s.writeAnswer(w, a)
	return nil
}

func (s *Service) proxyBody(w http.ResponseWriter, r *http.Request, c *caller) (*answer, error) {
	body, err := s.body(w, r)
	if err != nil {
		return nil, err
	}
	req, refused := parseProxyRequest(body, r.Header)
	if refused != nil {
		return nil, refused
	}
	return s.proxy(r.Context(), c, req, r.Header.Get("X-Idempotency-Key"))
}

// writeAnswer writes an answer with its ghost stamp (T§4.10).
func (s *Service) writeAnswer(w http.ResponseWriter, a *answer) {
	h := w.Header()
	h["X-ArkForge-Proof"] = []string{proofURL(s.cfg.BaseURL, a.ProofID)}
	h["X-ArkForge-Verified"] = []string{strconv.FormatBool(a.Verified)}
	h[proofIDHeader] = []string{a.ProofID}
	h["X-ArkForge-Trust-Link"] = []string{s.cfg.BaseURL + "/v/" + a.ProofID}
	writeJSON(w, a.Status, a.Body)
}

// postClose is POST /v1/admin/batch/close (T§3.16).
func (s *Service) postClose(w http.ResponseWriter, r *http.Request) error {
	secret, given := s.cfg.Internal.Value, r.Header.Get(internalHeader)
	if secret == "" || subtle.ConstantTimeCompare([]byte(secret), []byte(given)) != 1 {
		writeJSON(w, http.StatusForbidden, []byte(`{"error":"forbidden"}`))
		return nil
	}
	return s.closeNow(w, r)
}

func (s *Service) closeNow(w http.ResponseWriter, r *http.Request) error {
	// A caller that hangs up must not leave a batch half-way: closing goes on.
	closed, err := s.CloseBatch(context.WithoutCancel(r.Context()), ReasonAdmin)
	if err != nil {
		return err
	}
	if len(closed) == 0 {
		return ok(w, canonjson.NewObject("anchored", false, "reason", "no pending batch"))
	}
	b := closed[len(closed)-1]
	token, entry := "pending", "pending"
	if b.Provider != "" {
		token = "verified"
	}
	switch {
	case b.LogUUID != "":
		entry = "verified"
	case s.deps.Log == nil:
		entry = "disabled"
	}
	return ok(w, canonjson.NewObject(
		"anchored", b.Anchored,
		"batch_id", b.ID,
		"tree_size", number(b.Size),
		"root", hashPrefix+b.Root,
		"timestamp_authority", token,
		"transparency_log", entry))
}
