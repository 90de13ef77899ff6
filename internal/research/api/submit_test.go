package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/api/apitest"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
)

func TestSection113TheGateAnswersOverHTTPWithItsStatusAndText(t *testing.T) {
	p := open(t)
	with := func(name string, v any) func(map[string]any) { return func(f map[string]any) { f[name] = v } }
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		status int
		why    string
	}{
		"row 1: another content type":       {string(apitest.Submission(t, 1, 1)), map[string]string{"Content-Type": "text/plain"}, 415, "the body must be JSON"},
		"row 1: too long":                   {`{"claim":"` + strings.Repeat("x", intake.MaxBody) + `"}`, nil, 413, "the body is longer than 2097152 bytes"},
		"row 1: too long, another type":     {strings.Repeat("x", intake.MaxBody+1), map[string]string{"Content-Type": "text/plain"}, 415, "the body must be JSON"},
		"row 1: no JSON":                    {"{", nil, 400, ""},
		"row 1: a number for a string":      {`{"miner_hotkey":1}`, nil, 422, "miner_hotkey"},
		"row 1: a twin in the wrong case":   {string(apitest.Submission(t, 1, 1, with("Claim", "x"), with("hotkey_signature", "x"))), nil, 422, "Claim"},
		"row 2: hotkey":                     {`{"miner_hotkey":"x","artifact_digest":"y"}`, nil, 400, "invalid miner_hotkey"},
		"row 3: no topic":                   {string(apitest.Submission(t, 1, 1, with("topic_id", " "))), nil, 400, "topic_id is required"},
		"row 4: an unknown topic":           {string(apitest.Submission(t, 1, 1, with("topic_id", "nobody"))), nil, 400, "unknown topic"},
		"row 5: a draft":                    {string(apitest.Submission(t, 1, 1, with("topic_id", apitest.DraftID))), nil, 400, "topic is not open"},
		"row 6: over the budget":            {string(apitest.Submission(t, 1, 1, with("declared_flops", 2001))), nil, 400, "declared_flops exceeds the topic budget"},
		"row 7: no address":                 {string(apitest.Submission(t, 1, 1, with("artifact_uri", nil))), nil, 400, "artifact_uri is required"},
		"row 7b: unsigned":                  {string(apitest.Submission(t, 1, 1, with("hotkey_signature", nil), with("submit_nonce", nil))), nil, 401, "hotkey_signature required"},
		"row 7b: a signature of nothing":    {string(apitest.Submission(t, 1, 1, with("hotkey_signature", strings.Repeat("a", 128)))), nil, 401, "hotkey_signature invalid"},
		"row 1: the Lium header is ignored": {"{", map[string]string{"X-Lium-Api-Key": "sk-secret"}, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p.submit([]byte(c.body), c.header).refused(c.status, c.why)
		})
	}
	require.Empty(t, p.get("/v1/submissions").is(http.StatusOK)["items"], "R§11.4: only 201 persists")
	require.NotContains(t, p.Log.String(), "sk-secret")
}

func TestSection111AnAnswerOf201HasSixMembersAndALocation(t *testing.T) {
	p := open(t)
	p.Script(1, 0.3)
	a := p.submit(apitest.Submission(t, 1, 1), nil)
	got := a.is(http.StatusCreated)
	require.Equal(t, map[string]any{
		"id": "pf_0000000000000000", "submission_digest": apitest.Digest(t, 1, 1), "topic_id": apitest.OpenID,
		"state": "rejected", "eval_backend": "lium", "eligible": false,
	}, got)
	require.Equal(t, "/v1/submissions/pf_0000000000000000", a.Header().Get("Location"))
	require.Equal(t, "no-store", a.Header().Get("Cache-Control"))
}

func TestDecision6RespondAsyncIsAnsweredWith202AndWhereToAsk(t *testing.T) {
	p := open(t)
	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: 100 * time.Millisecond})
	for _, prefer := range []string{"respond-async", "wait=5, Respond-Async; x=1"} {
		a := p.submit(apitest.Submission(t, 1, 1), map[string]string{"Prefer": prefer})
		require.Equal(t, map[string]any{"submission_digest": apitest.Digest(t, 1, 1)}, a.is(http.StatusAccepted), "the second one rejoins the first")
		require.Equal(t, "respond-async", a.Header().Get("Preference-Applied"))
		require.Equal(t, "/v1/submissions/by-digest/"+apitest.Digest(t, 1, 1), a.Header().Get("Location"))
	}
	got := p.get("/v1/submissions/by-digest/" + apitest.Digest(t, 1, 1)).is(http.StatusOK)
	require.Contains(t, []any{"queued", "running"}, got["state"])
	p.submit(apitest.Submission(t, 1, 1, func(f map[string]any) { f["claim"] = "another" }), nil).refused(http.StatusConflict, "submit_nonce was used")
	require.Equal(t, "champion", p.submit(apitest.Submission(t, 1, 1), map[string]string{"Prefer": "respond-asynchronously"}).is(http.StatusCreated)["state"])
}

// serve runs a plane on a real server with these timeouts.
func serve(t *testing.T, p *plane, l httpx.Limits) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(p.handler)
	limits := httpx.Server(p.handler, l, p.Logger())
	srv.Config.ReadTimeout, srv.Config.WriteTimeout, srv.Config.ReadHeaderTimeout = limits.ReadTimeout, limits.WriteTimeout, limits.ReadHeaderTimeout
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// slow serves a plane with timeouts that are shorter than a run.
func slow(t *testing.T, p *plane) *httptest.Server {
	t.Helper()
	return serve(t, p, httpx.Limits{Read: 400 * time.Millisecond, Write: 700 * time.Millisecond})
}

func TestDecision6AWaitOutlivesTheTimeoutsOfTheServer(t *testing.T) {
	p := open(t)
	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: 1200 * time.Millisecond})
	srv := slow(t, p)
	for i, want := range []int{http.StatusCreated, http.StatusOK} { // the second meets the row, over the same connection
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/submissions", strings.NewReader(string(apitest.Submission(t, 1, 1))))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		resp, err := srv.Client().Do(r)
		require.NoError(t, err, "request %d", i)
		body := readAll(t, resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, "%s", body)
		require.Contains(t, string(body), `"state":"champion"`)
	}
}

func TestDecision6ARunSurvivesAClientThatHangsUp(t *testing.T) {
	p := open(t)
	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: time.Second})
	srv := slow(t, p)
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(srv.URL, "http://"))
	require.NoError(t, err)
	body := apitest.Submission(t, 1, 1)
	_, err = fmt.Fprintf(conn, "POST /v1/submissions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return p.get("/v1/submissions/by-digest/"+apitest.Digest(t, 1, 1)).Code == http.StatusOK
	}, 10*time.Second, 2*time.Millisecond)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool {
		return strings.Contains(p.get("/v1/submissions/by-digest/"+apitest.Digest(t, 1, 1)).Body.String(), `"champion"`)
	}, 10*time.Second, 5*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "status=499") }, 10*time.Second, 5*time.Millisecond, "the log says that the client has gone")
}

func TestAWaitThatTakesTooLongIsAnsweredAsIfItWereAsync(t *testing.T) {
	p := open(t, func(p *plane) { p.options.MaxWait = 50 * time.Millisecond })
	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: 300 * time.Millisecond})
	a := p.submit(apitest.Submission(t, 1, 1), nil)
	require.Equal(t, map[string]any{"submission_digest": apitest.Digest(t, 1, 1)}, a.is(http.StatusAccepted))
	require.Empty(t, a.Header().Get("Preference-Applied"))
	require.Equal(t, "/v1/submissions/by-digest/"+apitest.Digest(t, 1, 1), a.Header().Get("Location"))
}

func TestWhoWaitsHoldsNoPlaceAmongTheRequestsAndTheWaitersAreBounded(t *testing.T) {
	p := open(t, func(p *plane) { p.options.MaxRequests, p.options.MaxWaits = 1, 1 })
	primary := 0.5
	p.Boundary.Script(rlmtest.Digest(1), rlmtest.Script{Primary: &primary, Flops: 10, Delay: 200 * time.Millisecond})
	ended := make(chan int, 1)
	go func() {
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, call{method: http.MethodPost, path: "/v1/submissions", body: string(apitest.Submission(t, 1, 1))}.request())
		ended <- w.Code
	}()
	require.Eventually(t, func() bool { return p.get("/v1/submissions/by-digest/"+apitest.Digest(t, 1, 1)).Code == http.StatusOK }, 10*time.Second, time.Millisecond)
	a := p.submit(apitest.Submission(t, 1, 1), nil)
	a.refused(http.StatusServiceUnavailable, "Prefer: respond-async")
	require.Equal(t, "1", a.Header().Get("Retry-After"))
	p.submit(apitest.Submission(t, 1, 1), map[string]string{"Prefer": "respond-async"}).is(http.StatusAccepted)
	require.Equal(t, http.StatusCreated, <-ended)
}

func TestDecision7LimitsCountTheAddressThatTrustedProxiesName(t *testing.T) {
	p := openWith(t, func(w *apitest.World) { w.Options.Limits = host.Limits{Workers: 1, AddressPerMinute: 1} })
	send := func(peer string, forwarded ...string) answer {
		c := call{method: http.MethodPost, path: "/v1/submissions", body: "{", from: peer}
		r := c.request()
		for _, f := range forwarded {
			r.Header.Add("X-Forwarded-For", f)
		}
		w := httptest.NewRecorder()
		p.handler.ServeHTTP(w, r)
		p.saw(w.Body.Bytes(), w.Header())
		return answer{w, t, c}
	}
	send("192.0.2.1:1", "203.0.113.9").is(http.StatusBadRequest)
	limited := send("192.0.2.1:2", "203.0.113.10")
	limited.refused(http.StatusTooManyRequests, "too many requests from this address")
	require.NotEmpty(t, limited.Header().Get("Retry-After"))
	// Behind a trusted proxy each client counts by itself, whatever it wrote itself.
	send("10.0.0.5:1", "198.51.100.1, 203.0.113.1").is(http.StatusBadRequest)
	send("10.0.0.5:1", "198.51.100.2, 203.0.113.1").is(http.StatusTooManyRequests)
	send("10.0.0.5:1", "198.51.100.1", "203.0.113.2:4711, 10.0.0.9").is(http.StatusBadRequest)
	send("10.0.0.6:1", "203.0.113.2").is(http.StatusTooManyRequests)
	send("10.0.0.7:1", "unknown").is(http.StatusBadRequest)
	send("10.0.0.7:2", "also unknown").is(http.StatusTooManyRequests)
	// An IPv6 host has a whole /64 to send from.
	send("[2001:db8::1]:1").is(http.StatusBadRequest)
	send("[2001:db8::2]:1").is(http.StatusTooManyRequests)
	// Row 0 comes before the size and the type.
	p.do(call{method: http.MethodPost, path: "/v1/submissions", body: strings.Repeat("x", intake.MaxBody+1), from: "192.0.2.1:9"}).is(http.StatusTooManyRequests)
}

func TestABodyThatDoesNotArriveIs408AndOneThatIsTooLongIsReadAway(t *testing.T) {
	p := open(t)
	hasty, srv := slow(t, p), serve(t, p, httpx.Limits{})
	var dialer net.Dialer
	for sent, want := range map[string]string{
		"Content-Length: 100\r\n\r\n{":                                                "408",
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n":                                    "400",
		"Content-Length: 3000000\r\n\r\n" + strings.Repeat("x", 3000000):              "413",
		"Transfer-Encoding: chunked\r\n\r\n2dc6c0\r\n" + strings.Repeat("x", 3000000): "413",
	} {
		at := srv
		if want == "408" {
			at = hasty
		}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(at.URL, "http://"))
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "POST /v1/submissions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n%s", sent)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body := readAll(t, resp.Body)
		require.NoError(t, resp.Body.Close())
		require.Contains(t, resp.Status, want)
		require.Contains(t, string(body), `{"error":"`)
		require.NoError(t, conn.Close())
	}
}
