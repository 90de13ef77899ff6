package issuer

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
)

const (
	corpusHost      = "corpus.arkforge.tech"
	otherHost       = "other.example.test"
	challengeSecret = "s3cret-of-the-challenge"
	internalSecret  = "s3cret-of-the-service"
)

// clock is a settable clock. It starts in the middle of a month and a day, so that
// no test depends on when it runs.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is an issuer with everything around it: an upstream, witnesses, a client.
type world struct {
	t         testing.TB
	svc       *Service
	db        *store.DB
	clock     *clock
	base      string
	public    http.Handler
	internal  http.Handler
	authority *timestamp.Local
	log       *tlog.Embedded
	history   *History
	upstream  *upstream
	logs      *bytes.Buffer
}

// upstream is the host that proxied calls reach.
type upstream struct {
	mu      sync.Mutex
	handler http.HandlerFunc
	last    *http.Request
	body    []byte
	calls   int
	addr    string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.last, u.body = r, body
	u.calls++
	h := u.handler
	u.mu.Unlock()
	h(w, r)
}

func (u *upstream) answer(status int, contentType, body string) {
	u.handle(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func (u *upstream) handle(h http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handler = h
}

func (u *upstream) seen() (*http.Request, []byte, int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last, u.body, u.calls
}

func newUpstream(t testing.TB) *upstream {
	u := &upstream{}
	u.answer(200, "application/json", `{"existe":true,"resource":"/entites/ENT-0001"}`)
	srv := httptest.NewServer(u)
	t.Cleanup(srv.Close)
	u.addr = strings.TrimPrefix(srv.URL, "http://")
	return u
}

// setup changes a world's configuration before it opens.
type setup struct {
	cfg  Config
	deps Deps
	url  string
}

func newWorld(t testing.TB, changes ...func(*setup)) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{t: t, clock: newClock(), logs: &bytes.Buffer{}, upstream: newUpstream(t)}
	proofKey, logKey, history, err := GenerateKeys(rand.Reader, "test", w.clock.now().Add(-time.Hour))
	require.NoError(t, err)
	w.history = history
	signer, err := NewSigner(proofKey, logKey, history, w.clock.now())
	require.NoError(t, err)
	w.authority = newAuthority(t, w.clock.now)
	w.log = newLog(t, &tlog.MemoryStore{}, w.clock.now)

	guard, err := httpx.NewGuard(httpx.GuardOptions{
		Upstreams: map[string]string{corpusHost: w.upstream.addr, otherHost: w.upstream.addr},
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			switch host {
			case "private.example.test":
				return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
			case "unreachable.example.test":
				return []netip.Addr{netip.MustParseAddr("198.51.100.1")}, nil
			}
			return nil, &notFoundError{}
		},
		Dial: dialUpstreamsOnly(w.upstream.addr),
	})
	require.NoError(t, err)

	cfg := DefaultConfig()
	cfg.BaseURL = "https://trust.example.test"
	cfg.Limits.CheckMX = false
	cfg.Internal = ServiceSecret{Value: internalSecret, Hosts: []string{otherHost}}
	cfg.Challenge = ChallengeGate{ServiceSecret: ServiceSecret{Value: challengeSecret, Hosts: []string{corpusHost}}, Open: true}
	cfg.Authorities = []timestamp.Authority{w.authority.Authority("local")}
	cfg.Logs = []tlog.Log{w.log.Log()}
	cfg.RetryMin, cfg.RetryMax = time.Millisecond, 10*time.Millisecond
	cfg.UpstreamTimeout = 2 * time.Second
	s := &setup{
		cfg: cfg,
		deps: Deps{
			Signer: signer, Stampers: timestamp.Pool{w.authority.Stamper("local")}, Log: w.log, Guard: guard,
			Clock: w.clock.now, Logger: slog.New(slog.NewTextHandler(w.logs, nil)),
		},
		url: "sqlite:" + filepath.Join(t.TempDir(), "issuer.db"),
	}
	for _, change := range changes {
		change(s)
	}
	w.db, err = store.Open(ctx, s.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.db.Close() })
	s.deps.DB = w.db
	w.svc, err = New(ctx, s.cfg, s.deps)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.svc.Close(ctx) })
	w.base = s.cfg.BaseURL
	w.public, w.internal = w.svc.Handler(), w.svc.InternalHandler()
	return w
}

type notFoundError struct{}

func (*notFoundError) Error() string { return "no such host" }

func newAuthority(t testing.TB, now func() time.Time) *timestamp.Local {
	t.Helper()
	id, err := timestamp.NewLocalIdentity(rand.Reader, now())
	require.NoError(t, err)
	a, err := id.Open(now)
	require.NoError(t, err)
	return a
}

func newLog(t testing.TB, st tlog.Store, now func() time.Time) *tlog.Embedded {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	l, err := tlog.OpenEmbedded(context.Background(), st, key, "log.example.test", 7, now)
	require.NoError(t, err)
	return l
}

// reply is an answer of the issuer.
type reply struct {
	t      testing.TB
	Status int
	Header http.Header
	Body   string
}

func (r *reply) object() *canonjson.Object {
	r.t.Helper()
	v, err := canonjson.ParseStrict([]byte(r.Body))
	require.NoError(r.t, err, r.Body)
	o, ok := v.(*canonjson.Object)
	require.True(r.t, ok, r.Body)
	return o
}

// at reads a value by JSON Pointer.
func (r *reply) at(pointer string) any {
	r.t.Helper()
	v, ok := canonjson.Resolve(r.object(), pointer)
	require.True(r.t, ok, "%s is missing in %s", pointer, r.Body)
	return v
}

type option func(*http.Request)

func withHeader(name, value string) option {
	return func(r *http.Request) { r.Header[http.CanonicalHeaderKey(name)] = []string{value} }
}

func withKey(key string) option { return withHeader("X-Api-Key", key) }

func fromIP(ip string) option { return func(r *http.Request) { r.RemoteAddr = ip + ":1234" } }

func (w *world) do(h http.Handler, method, path, body string, opts ...option) *reply {
	w.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, path, reader)
	for _, o := range opts {
		o(r)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	header := http.Header{}
	for name, values := range rec.Header() {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return &reply{t: w.t, Status: rec.Code, Header: header, Body: rec.Body.String()}
}

func (w *world) get(path string, opts ...option) *reply {
	w.t.Helper()
	return w.do(w.public, "GET", path, "", opts...)
}

func (w *world) post(path, body string, opts ...option) *reply {
	w.t.Helper()
	return w.do(w.public, "POST", path, body, opts...)
}

// key makes a key of a plan without a sign-up.
func (w *world) key(plan Plan) string {
	w.t.Helper()
	k, err := w.svc.IssueKey(context.Background(), plan, rand.Text()+"@agents.example")
	require.NoError(w.t, err)
	return k
}

const entity = `{"target":"https://` + corpusHost + `/entites/ENT-0001","method":"GET"}`

// call proxies body and returns the reply.
func (w *world) call(key, body string, opts ...option) *reply {
	w.t.Helper()
	return w.post("/v1/proxy", body, append([]option{withKey(key)}, opts...)...)
}

// issue makes a proof and returns its id.
func (w *world) issue(key string) string {
	w.t.Helper()
	r := w.call(key, entity)
	require.Equal(w.t, 200, r.Status, r.Body)
	return r.at("/proof/proof_id").(string)
}

// bind binds a fresh did:key to a key.
func (w *world) bind(key string) string {
	w.t.Helper()
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(w.t, err)
	name := did.FormatKey(pub)
	r := w.post("/v1/keys/bind-did", `{"did":"`+name+`"}`, withKey(key))
	require.Equal(w.t, 200, r.Status, r.Body)
	token := r.at("/challenge").(string)
	r = w.post("/v1/keys/bind-did/confirm", `{"challenge":"`+token+`","signature":"`+signText(private, token)+`"}`, withKey(key))
	require.Equal(w.t, 200, r.Status, r.Body)
	return name
}

// close anchors whatever is pending.
func (w *world) close() []Batch {
	w.t.Helper()
	b, err := w.svc.CloseBatch(context.Background(), ReasonAdmin)
	require.NoError(w.t, err)
	return b
}

// trust is what a verifier of this issuer believes.
func (w *world) trust() *receipt.Trust {
	w.t.Helper()
	t := &receipt.Trust{Authorities: w.svc.cfg.Authorities, Logs: w.svc.cfg.Logs}
	for _, k := range w.history.Keys {
		pub, ok := decodePublic(k.Public)
		require.True(w.t, ok)
		from, err := time.Parse(secondsLayout, k.ValidFrom)
		require.NoError(w.t, err)
		t.IssuerKeys = append(t.IssuerKeys, receipt.IssuerKey{Kid: k.Kid, Public: pub, ValidFrom: from})
	}
	for _, k := range w.history.LogKeys {
		pub, der, err := tlog.ParsePublicKeyPEM(k.Public)
		require.NoError(w.t, err)
		t.LogKeys = append(t.LogKeys, receipt.LogKey{Kid: k.Kid, Public: pub, DER: der})
	}
	return t
}
