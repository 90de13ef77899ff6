package remote_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/remote/remotetest"
)

func newClient(t testing.TB, o remote.Options) *remote.Client {
	t.Helper()
	c, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func file(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// admin is a client of a plane with its bearer.
func admin(t testing.TB, p *remotetest.Plane) *remote.Client {
	t.Helper()
	return newClient(t, remote.Options{
		URL: p.URL, TokenFile: file(t, "# of the operator\n\n"+remotetest.Token+"\n"),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
}

func TestAServerIsNamedByItsOrigin(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"proof.example", "ftp://proof.example", "http://", "https:proof", "http://user:secret@proof.example", "http://proof.example/?key=1", "http://proof.example/#a", "http://\x7f"} {
		if _, err := remote.New(remote.Options{URL: url}); err == nil {
			t.Errorf("%q was taken", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}
	for url, want := range map[string]string{"": remote.DefaultURL, " https://proof.example/ ": "https://proof.example", "http://h:1/base/": "http://h:1/base"} {
		if got := newClient(t, remote.Options{URL: url}).URL(); got != want {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
	}
}

func TestTheBearerGoesToAdminRoutesAloneAndNeverInTheClear(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	var seen atomic.Value
	p.Tamper = func(_ http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		seen.Store(r.Header.Get("Authorization"))
		return status, body
	}
	c := admin(t, p)
	if _, err := c.Status(t.Context()); err != nil || seen.Load() != "" {
		t.Errorf("status: %v, bearer %q", err, seen.Load())
	}
	if _, err := c.Lifecycle(t.Context(), remotetest.DraftID); err != nil || seen.Load() != "Bearer "+remotetest.Token {
		t.Errorf("lifecycle: %v, bearer %q", err, seen.Load())
	}
	for name, o := range map[string]remote.Options{
		"without a token file":      {URL: p.URL},
		"with a missing token file": {URL: p.URL, TokenFile: "/nowhere/token"},
		"with an empty token file":  {URL: p.URL, TokenFile: file(t, "\n# nothing\n")},
		"with a token of two words": {URL: p.URL, TokenFile: file(t, "a secret-word\n")},
		"with a huge token file":    {URL: p.URL, TokenFile: file(t, strings.Repeat("x", 5000))},
		"over plain http":           {URL: "http://proof.example", TokenFile: file(t, "secret-word")},
	} {
		seen.Store("none")
		_, err := newClient(t, o).Lifecycle(t.Context(), remotetest.DraftID)
		if err == nil || strings.Contains(err.Error(), "secret-word") || seen.Load() != "none" {
			t.Errorf("%s: %v; the server saw %q", name, err, seen.Load())
		}
	}
	if _, err := newClient(t, remote.Options{URL: p.URL, TokenFile: file(t, "another-token")}).Lifecycle(t.Context(), remotetest.DraftID); !remote.IsStatus(err, 401) {
		t.Errorf("a wrong bearer: %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var visited atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited.Store(true) }))
	defer other.Close()
	p := remotetest.New(t)
	p.Tamper = func(w http.ResponseWriter, _ *http.Request, _ int, _ []byte) (int, []byte) {
		w.Header().Set("Location", other.URL+"/v1/status?token=secret-word")
		return http.StatusTemporaryRedirect, nil
	}
	c := admin(t, p)
	_, statusErr := c.Status(t.Context())
	_, adminErr := c.Lifecycle(t.Context(), remotetest.DraftID)
	_, submitErr := c.Submit(t.Context(), []byte(`{}`))
	for _, err := range []error{statusErr, adminErr, submitErr} {
		if err == nil || !strings.Contains(err.Error(), "redirects to "+other.URL) || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%v", err)
		}
	}
	if visited.Load() {
		t.Error("the other host was asked")
	}
}

func TestAnAnswerIsBoundedInBytesAndTime(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Tamper = func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte) {
		switch r.URL.Path {
		case "/v1/status":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // says that it begins, and then nothing
			return 0, nil
		case "/v1/proof/epochs":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusOK)
			block := []byte(strings.Repeat(" ", 1<<20))
			for range 64 {
				if _, err := w.Write(block); err != nil {
					return 0, nil
				}
			}
			return 0, nil
		case "/v1/proof/executor":
			return http.StatusServiceUnavailable, []byte(`{"error":"` + strings.Repeat("x", 1<<20) + `"}`)
		}
		return status, body
	}
	c := newClient(t, remote.Options{URL: p.URL, Timeout: 5 * time.Second})
	if _, err := c.Epochs(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a flood: %v", err)
	}
	if _, err := c.Executor(t.Context()); !remote.IsStatus(err, 503) || len(err.Error()) > 4096 {
		t.Errorf("a flood of an error: %d bytes", len(err.Error()))
	}
	slow := newClient(t, remote.Options{URL: p.URL, Timeout: 50 * time.Millisecond})
	if _, err := slow.Status(t.Context()); !errors.Is(err, remote.ErrUnreachable) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("silence: %v", err)
	}
}

func TestARefusalIsShownInTheServersWordsAndFitForATerminal(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	body, retry := "", ""
	p.Tamper = func(w http.ResponseWriter, _ *http.Request, _ int, _ []byte) (int, []byte) {
		w.Header().Set("Retry-After", retry)
		return http.StatusTooManyRequests, []byte(body)
	}
	c := admin(t, p)
	for _, c2 := range []struct{ body, retry, want string }{
		{`{"error":"too many submissions of this hotkey"}`, "7", "too many submissions of this hotkey (status 429)"},
		{`{"type":"about:blank","title":"slow down","status":429}`, "", "slow down (status 429)"},
		{`{"error":"a\u001b[2Jb\u202ec\nd"}`, "-1", "a\uFFFD[2Jb\uFFFDc d (status 429)"},
		{`<html>`, "soon", "the server says Too Many Requests and gives no reason (status 429)"},
		{`{"error":""}`, "99999999", "the server says Too Many Requests and gives no reason (status 429)"},
	} {
		p.Change(func() { body, retry = c2.body, c2.retry })
		_, err := c.Status(t.Context())
		var refusal *remote.Refusal
		if !errors.As(err, &refusal) || err.Error() != c2.want || !refusal.Temporary() {
			t.Errorf("%s: %v", c2.body, err)
			continue
		}
		if refusal.RetryAfter < 0 || refusal.RetryAfter > time.Hour || c2.retry == "7" && refusal.RetryAfter != 7*time.Second {
			t.Errorf("%s: retry after %s", c2.retry, refusal.RetryAfter)
		}
	}
}

func TestAnAnswerThatIsNoJSONIsNotRead(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Tamper = func(w http.ResponseWriter, _ *http.Request, status int, body []byte) (int, []byte) {
		w.Header().Set("Content-Type", "text/html")
		return status, body
	}
	if _, err := admin(t, p).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "is it a control plane") {
		t.Errorf("%v", err)
	}
}

func TestAServerIsTrustedUnderTheAuthorityThatIsNamed(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"challenge_id":"proof"}`))
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	defer s.Close()
	ca := file(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if _, err := newClient(t, remote.Options{URL: s.URL, CAFile: ca}).Status(t.Context()); err != nil {
		t.Errorf("under its authority: %v", err)
	}
	if _, err := newClient(t, remote.Options{URL: s.URL}).Status(t.Context()); !errors.Is(err, remote.ErrUnreachable) {
		t.Errorf("under the system's: %v", err)
	}
	if _, err := remote.New(remote.Options{URL: s.URL, CAFile: file(t, "no pem")}); err == nil {
		t.Error("a file without a certificate was taken")
	}
}

func TestTheAnswerOfAnotherChallengeIsRefused(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	p.Tamper = func(_ http.ResponseWriter, _ *http.Request, status int, _ []byte) (int, []byte) {
		return status, []byte(`{"challenge_id":"bounty"}`)
	}
	if _, err := admin(t, p).Status(t.Context()); err == nil || !strings.Contains(err.Error(), `"bounty"`) {
		t.Errorf("%v", err)
	}
}

func TestSection14Status(t *testing.T) {
	t.Parallel()
	p := remotetest.New(t)
	s, err := admin(t, p).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !s.CanScore || !s.Scorable(remotetest.OpenID) || s.Scorable(remotetest.DraftID) || s.Epoch != remotetest.Epoch || s.Driver() != "fake" ||
		s.InferenceOffer == nil || s.EvalExecutor == nil || s.EpochClosesAt == nil || s.SignatureRequired == nil || !*s.SignatureRequired {
		t.Errorf("%+v", s)
	}
	if strings.Contains(string(s.JSON), "judge-origin") {
		t.Error("the stand-in shows the judge's origin")
	}
	e, err := admin(t, p).Executor(t.Context())
	if err != nil || !e.Ready || e.Offer == nil || e.Reason != nil {
		t.Errorf("executor: %+v, %v", e, err)
	}
}
