package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
)

// plane is a world with its routes, which remembers every answer that was given.
type plane struct {
	*apitest.World
	t       testing.TB
	handler http.Handler
	options api.Options

	mu    sync.Mutex
	shown []string
}

func open(tb testing.TB, edits ...func(*plane)) *plane {
	tb.Helper()
	return routes(tb, apitest.New(tb), edits...)
}

// openWith opens a plane over a world that is edited first.
func openWith(tb testing.TB, edits ...func(*apitest.World)) *plane {
	tb.Helper()
	return routes(tb, apitest.New(tb, edits...))
}

func routes(tb testing.TB, w *apitest.World, edits ...func(*plane)) *plane {
	tb.Helper()
	p := &plane{World: w, t: tb}
	tokens, err := api.ParseTokens([]byte("# of the operator\n\n" + apitest.Token + "\n"))
	require.NoError(tb, err)
	p.options = api.Options{Host: p.Host, Tokens: func() []api.Token { return tokens }, Log: p.Logger(), Now: p.Clock.Now, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, edit := range edits {
		edit(p)
	}
	p.handler, err = api.New(p.options)
	require.NoError(tb, err)
	tb.Cleanup(p.secrets)
	return p
}

// call is a request that a test sends.
type call struct {
	method, path string
	body         string
	header       map[string]string
	from         string // address and port of the peer
	admin        bool
}

func (c call) request() *http.Request {
	if c.method == "" {
		c.method = http.MethodGet
	}
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	r.RemoteAddr = "127.0.0.1:40000"
	if c.from != "" {
		r.RemoteAddr = c.from
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.admin {
		r.Header.Set("Authorization", "Bearer "+apitest.Token)
	}
	for name, v := range c.header {
		r.Header.Set(name, v)
	}
	return r
}

// answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	t    testing.TB
	call call
}

func (p *plane) do(c call) answer {
	p.t.Helper()
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, c.request())
	p.saw(w.Body.Bytes(), w.Header())
	return answer{w, p.t, c}
}

func (p *plane) get(path string) answer { return p.do(call{path: path}) }

func (p *plane) submit(body []byte, header map[string]string) answer {
	return p.do(call{method: http.MethodPost, path: "/v1/submissions", body: string(body), header: header})
}

// is checks the status and returns the JSON object of the body.
func (a answer) is(status int) map[string]any {
	a.t.Helper()
	require.Equal(a.t, status, a.Code, "%s %s: %s", a.call.method, a.call.path, a.Body)
	require.Equal(a.t, "application/json", a.Header().Get("Content-Type"))
	var got map[string]any
	require.NoError(a.t, json.Unmarshal(a.Body.Bytes(), &got), "%s", a.Body)
	return got
}

// refused checks that the answer is {"error": text} and nothing else.
func (a answer) refused(status int, why string) {
	a.t.Helper()
	got := a.is(status)
	require.Equal(a.t, map[string]any{"error": got["error"]}, got)
	require.Contains(a.t, got["error"], why)
}

func (p *plane) saw(body []byte, h http.Header) {
	var b bytes.Buffer
	b.Write(body)
	_ = h.Write(&b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = append(p.shown, b.String())
}

// secrets searches every answer and everything that was logged.
func (p *plane) secrets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	logged := p.Log.String()
	for _, secret := range apitest.Planted() {
		if i := strings.Index(logged, secret); i >= 0 {
			p.t.Errorf("the log shows %q: %.300s", secret, logged[max(0, i-200):])
		}
		for _, shown := range p.shown {
			if strings.Contains(shown, secret) {
				p.t.Errorf("an answer shows %q: %s", secret, shown)
			}
		}
	}
}

func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}
