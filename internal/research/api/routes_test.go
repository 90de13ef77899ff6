package api_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/api"
	"github.com/prova-dev/prova/internal/research/api/apitest"
)

func TestNewRefusesOptionsThatMakeNoSense(t *testing.T) {
	_, err := api.New(api.Options{})
	require.ErrorContains(t, err, "a host is required")
	p := open(t)
	_, err = api.New(api.Options{Host: p.Host, TrustedProxies: []netip.Prefix{{}}})
	require.ErrorContains(t, err, "trusted proxy")
}

func TestSection14UnknownRoutesAndMethodsAreErrorsInTheirForm(t *testing.T) {
	p := open(t)
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/proof", "/v1/proof/topics/", "/v1/proof/topics/a/b", "/v1/admin", "/v1//status", "/v1/./status", "/v1/proof/../status", "//"} {
		p.get(path).refused(http.StatusNotFound, "no such route")
	}
	for path, allow := range map[string]string{
		"/v1/submissions": "GET, POST, HEAD", "/v1/status": "GET, HEAD", "/v1/admin/proof/topics": "POST", "/health": "GET, HEAD",
	} {
		a := p.do(call{method: http.MethodDelete, path: path})
		a.refused(http.StatusMethodNotAllowed, allow)
		require.Equal(t, allow, a.Header().Get("Allow"))
	}
	p.do(call{method: http.MethodOptions, path: "/v1/status"}).is(http.StatusMethodNotAllowed)
	head := p.do(call{method: http.MethodHead, path: "/v1/status"})
	require.Equal(t, http.StatusOK, head.Code)
}

func TestEveryAnswerHasARequestIDAndSecurityHeaders(t *testing.T) {
	p := open(t, func(p *plane) { p.options.Rand = bytes.NewReader(bytes.Repeat([]byte{0xab}, 1024)) })
	for _, path := range []string{"/health", "/v1/nothing", "/en/", "/v1/admin/proof/audit"} {
		h := p.get(path).Header()
		require.Equal(t, "abababababababab", h.Get("X-Request-Id"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "DENY", h.Get("X-Frame-Options"))
	}
	require.Contains(t, p.Log.String(), "path=/health status=200")
}

func TestAPanicIsA500InTheFormOfAnErrorAndALineOfTheLog(t *testing.T) {
	p := open(t)
	w := &explosive{ResponseRecorder: httptest.NewRecorder()}
	p.handler.ServeHTTP(w, call{path: "/v1/status"}.request())
	answer{w.ResponseRecorder, t, call{path: "/v1/status"}}.refused(http.StatusInternalServerError, "something failed on our side")
	require.Contains(t, p.Log.String(), "a handler panicked")
	late := &explosive{ResponseRecorder: httptest.NewRecorder(), late: true}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { p.handler.ServeHTTP(late, call{path: "/v1/status"}.request()) }, "half an answer is cut off")
}

// explosive is a writer whose first header, or first byte, blows up.
type explosive struct {
	*httptest.ResponseRecorder
	late, once bool
}

func (e *explosive) Header() http.Header {
	if !e.late && !e.once && e.ResponseRecorder.Header().Get("Cache-Control") != "" { // the handler has begun, the answer has not
		e.once = true
		panic("planted panic") //nolint:forbidigo // what is tested
	}
	return e.ResponseRecorder.Header()
}

func (e *explosive) Write(p []byte) (int, error) {
	if e.late {
		panic("planted panic") //nolint:forbidigo // what is tested
	}
	return e.ResponseRecorder.Write(p)
}

func TestABusyHostIs503WithRetryAfterAndStaysAlive(t *testing.T) {
	p := open(t, func(p *plane) { p.options.MaxRequests = 1 })
	release, inside := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stuck := &stuckWriter{ResponseRecorder: httptest.NewRecorder(), stop: func() { once.Do(func() { close(inside); <-release }) }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.handler.ServeHTTP(stuck, call{path: "/v1/proof/executor"}.request())
	}()
	<-inside
	for _, path := range []string{"/v1/status", "/en/"} {
		a := p.get(path)
		a.refused(http.StatusServiceUnavailable, "too many requests at this moment")
		require.Equal(t, "1", a.Header().Get("Retry-After"))
	}
	p.get("/health").is(http.StatusOK)
	close(release)
	<-done
	p.get("/v1/status").is(http.StatusOK)
}

// stuckWriter is a client that reads slowly.
type stuckWriter struct {
	*httptest.ResponseRecorder
	stop func()
}

func (s *stuckWriter) Write(p []byte) (int, error) {
	s.stop()
	return s.ResponseRecorder.Write(p)
}

// TestSection14NoRouteLeaks asks every route, in good order and in bad, before and
// after a close; the fixture searches each answer and each line of the log for what
// was planted.
func TestSection14NoRouteLeaks(t *testing.T) {
	p := open(t)
	p.Script(1, 0.5)
	digest := p.submit(apitest.Submission(t, 1, 1), nil).is(http.StatusCreated)["submission_digest"].(string)
	p.submit(apitest.Submission(t, 2, 2, func(f map[string]any) {
		f["manifest"] = map[string]any{"train_dataset_ids": []string{"mine"}, "train_content_hashes": []string{apitest.Hash("not a shard")}}
	}), nil).is(http.StatusCreated)
	ask := func() {
		for _, path := range []string{
			"/health", "/v1/status", "/v1/proof/topics?status=all", "/v1/proof/topics/" + apitest.OpenID, "/v1/proof/topics/" + apitest.OpenID + "/rules",
			"/v1/proof/topics/" + apitest.OpenID + "/promotions", "/v1/proof/topics/" + apitest.OpenID + "/readiness", "/v1/proof/topics/" + apitest.DraftID + "/readiness",
			"/v1/proof/executor", "/v1/proof/epochs", "/v1/proof/epochs/0/snapshot", "/v1/proof/epochs/0/payout", "/v1/submissions",
			"/v1/submissions/pf_0000000000000000", "/v1/submissions/pf_0000000000000000/artefact", "/v1/submissions/by-digest/" + digest,
			"/en/", "/fr/", "/en/topics/" + apitest.OpenID, "/fr/topics/" + apitest.DraftID, "/en/rows", "/fr/rows/pf_0000000000000000", "/en/epochs", "/fr/epochs/0", "/en/limits", "/nothing",
		} {
			p.get(path)
		}
		for _, c := range adminRoutes() {
			p.do(c)
			p.Clock.Advance(7 * time.Second)
			c.admin = true
			p.do(c)
		}
	}
	ask()
	p.CloseEpoch()
	ask()
	// With files that cannot be read, every one of their faults is asked for.
	for _, name := range []string{"topics.json", "holdout.json", "baseline.json", "inference.json"} {
		p.Write(name, []byte(`{"wrong":["`+apitest.Dataset+`","`+apitest.Origin+`"]}`))
	}
	p.Write("judge.key", []byte("\n"))
	p.do(call{method: http.MethodPost, path: "/v1/admin/proof/reload", admin: true}).is(http.StatusOK)
	ask()
	refused := p.submit(apitest.Submission(t, 3, 3), nil)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code, "%s", refused.Body)
	require.Greater(t, len(p.shown), 100)
}

func TestAStoreThatDoesNotAnswerIsA500ThatGivesNothingAway(t *testing.T) {
	p := open(t)
	require.NoError(t, p.DB.Close())
	p.get("/v1/submissions").refused(http.StatusInternalServerError, "something failed on our side")
	p.submit(apitest.Submission(t, 1, 1), nil).refused(http.StatusInternalServerError, "something failed on our side")
	p.do(call{method: http.MethodPost, path: "/v1/admin/proof/reload", admin: true}).refused(http.StatusInternalServerError, "something failed on our side")
	require.Contains(t, p.Log.String(), "the audit was not written")
	page := p.get("/fr/rows")
	require.Equal(t, http.StatusInternalServerError, page.Code)
	require.Contains(t, page.Body.String(), "Cette page ne peut pas être faite maintenant")
}

func TestAClientThatHasGoneIsNoErrorOfOurs(t *testing.T) {
	p := open(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	r := call{path: "/v1/submissions"}.request().WithContext(ctx)
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	require.Equal(t, 499, w.Code, "nobody is left to tell")
	require.Empty(t, w.Body.String())
	require.False(t, strings.Contains(p.Log.String(), "level=ERROR"))
}
