package httpx_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/obs"
)

func TestMain(m *testing.M) {
	// net/http waits half a second before it cuts a connection it refused.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func TestRFC9457ProblemNamesEachFaultByPointer(t *testing.T) {
	w := httptest.NewRecorder()
	httpx.Problem(w, 422, "the submission has faults", httpx.FieldError{Pointer: "/assertions/0/id", Message: "is missing"})
	require.Equal(t, 422, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.JSONEq(t, `{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"the submission has faults",
		"errors":[{"pointer":"/assertions/0/id","message":"is missing"}]}`, w.Body.String())
}

func TestProblemSurvivesATextThatIsNoUTF8(t *testing.T) {
	w := httptest.NewRecorder()
	httpx.Problem(w, 400, "bad \xff")
	require.JSONEq(t, `{"type":"about:blank","title":"Bad Request","status":400}`, w.Body.String())
}

func TestFailHidesWhatIsNotTheCallersToRead(t *testing.T) {
	w := httptest.NewRecorder()
	require.False(t, httpx.Fail(w, errors.New("password=hunter2")))
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "hunter2")

	w = httptest.NewRecorder()
	require.True(t, httpx.Fail(w, fmt.Errorf("wrapped: %w", &httpx.StatusError{Status: 503, Title: "busy", RetryAfter: 1500 * time.Millisecond})))
	require.Equal(t, 503, w.Code)
	require.Equal(t, "2", w.Header().Get("Retry-After"))
}

// serve runs h as a real server would and returns its address.
func serve(t *testing.T, h http.Handler, l httpx.Limits) string {
	t.Helper()
	s := httpx.Server(h, l, slog.New(slog.DiscardHandler))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return listener.Addr().String()
}

// exchange writes raw bytes and reads the answer to its end.
func exchange(t *testing.T, address, request string) (string, time.Duration) {
	t.Helper()
	began := time.Now()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	answer, err := io.ReadAll(c)
	if err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatalf("no end of the answer after %v: %v", time.Since(began), err)
	}
	return string(answer), time.Since(began)
}

func reader(limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := httpx.Body(w, r, limit)
		if err != nil {
			httpx.Fail(w, err)
			return
		}
		httpx.JSON(w, 200, map[string]int{"length": len(body)})
	})
}

func TestBodyTakesWhatFitsAndRefusesTheRest(t *testing.T) {
	at := serve(t, reader(1000), httpx.Limits{})
	post := func(body io.Reader) (int, string) {
		t.Helper()
		resp, err := http.Post("http://"+at, "application/json", body)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	defer http.DefaultClient.CloseIdleConnections()
	status, text := post(strings.NewReader(strings.Repeat("x", 1000)))
	require.Equal(t, 200, status)
	require.JSONEq(t, `{"length":1000}`, text)
	status, text = post(io.MultiReader(strings.NewReader(strings.Repeat("x", 1001)))) // Chunked: no length announced.
	require.Equal(t, 413, status)
	require.Contains(t, text, "1000 bytes")
}

// A client that sends all before it reads, as most do, still gets the answer.
func TestARefusedBodyOfTenMegabytesDoesNotCostTheAnswer(t *testing.T) {
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { httpx.Problem(w, 401, "no key") })
	for name, tc := range map[string]struct {
		handler http.Handler
		want    string
	}{
		"413 by its announced length": {reader(1 << 20), "413 Request Entity Too Large"},
		"401 without a look at it":    {refuses, "401 Unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			at := serve(t, httpx.Drain(tc.handler), httpx.Limits{})
			body := strings.Repeat("x", 10<<20)
			for _, request := range []string{
				"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n" + body,
				"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na00000\r\n" + body + "\r\n0\r\n\r\n",
			} {
				conn, err := net.Dial("tcp", at)
				require.NoError(t, err)
				_, err = io.WriteString(conn, request)
				require.NoError(t, err)
				line, err := bufio.NewReader(conn).ReadString('\n')
				require.NoError(t, errors.Join(err, conn.Close()))
				require.Contains(t, line, tc.want)
			}
			answer, took := exchange(t, at, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n")
			require.Contains(t, answer, tc.want)
			require.Less(t, took, 4*time.Second, "a body that does not come is not waited for")
		})
	}
}

func TestTenMegabytesAreRefusedBeforeTheyAreSent(t *testing.T) {
	at := serve(t, reader(1<<20), httpx.Limits{})
	answer, took := exchange(t, at, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10485760\r\n\r\n")
	require.Contains(t, answer, "413 Request Entity Too Large")
	require.Less(t, took, 2*time.Second)
}

func TestASlowBodyIsAnswered408AndASlowHeaderIsCut(t *testing.T) {
	at := serve(t, reader(1<<20), httpx.Limits{ReadHeader: 200 * time.Millisecond, Read: 300 * time.Millisecond})
	answer, took := exchange(t, at, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nonly this")
	require.Contains(t, answer, "408 Request Timeout")
	require.Less(t, took, 3*time.Second)
	answer, took = exchange(t, at, "POST / HTTP/1.1\r\nHost: x\r\nX-Slow:")
	require.NotContains(t, answer, "200")
	require.Less(t, took, 3*time.Second)
}

func TestABodyThatBreaksOffIsA400(t *testing.T) {
	r := httptest.NewRequest("POST", "/", iotestErr{})
	w := httptest.NewRecorder()
	_, err := httpx.Body(w, r, 100)
	var s *httpx.StatusError
	require.ErrorAs(t, err, &s)
	require.Equal(t, 400, s.Status)
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestHugeHeadersAreRefused(t *testing.T) {
	at := serve(t, reader(1<<20), httpx.Limits{})
	answer, _ := exchange(t, at, "GET / HTTP/1.1\r\nHost: x\r\nX-Big: "+strings.Repeat("a", 100<<10)+"\r\n\r\n")
	require.Contains(t, answer, "431")
}

func TestRequireJSONTakesOnlyJSONInUTF8(t *testing.T) {
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=UTF-8": true, "Application/JSON": true,
		"": false, "text/plain": false, "application/json; charset=latin1": false, "application/jsonp": false, "application/json;;": false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Content-Type", kind)
		require.Equal(t, ok, httpx.RequireJSON(r) == nil, kind)
	}
}

func TestRecoverTurnsAPanicIntoA500AndALogLine(t *testing.T) {
	var log bytes.Buffer
	logger, err := obs.NewLogger(&log, "info", "json")
	require.NoError(t, err)
	panics := httpx.Chain(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh") }),
		httpx.RequestID(rand.Reader), httpx.AccessLog(logger, time.Now), httpx.Recover(logger), httpx.SecurityHeaders)
	w := httptest.NewRecorder()
	panics.ServeHTTP(w, httptest.NewRequest("GET", "/x?key=hush", nil))
	require.Equal(t, 500, w.Code)
	id := w.Header().Get("X-Request-Id")
	require.Len(t, id, 16)
	require.Contains(t, w.Body.String(), "urn:prova:request:"+id)
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 2)
	for i, want := range []string{"a handler panicked", "request"} {
		var line map[string]any
		require.NoError(t, json.Unmarshal([]byte(lines[i]), &line))
		require.Equal(t, want, line["msg"])
		require.Equal(t, id, line["request_id"])
	}
	require.Contains(t, lines[1], `"status":500`)
	require.NotContains(t, log.String(), "hush", "queries may hold keys")
}

func TestAPanicAfterTheFirstByteCutsTheConnection(t *testing.T) {
	at := serve(t, httpx.Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 10000))
		panic("half-way")
	}), httpx.Recover(slog.New(slog.DiscardHandler))), httpx.Limits{})
	c, err := net.Dial("tcp", at)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
	}
	require.Error(t, err, "a client must not take half an answer for a whole one")
}

func TestLimitConcurrencyAnswers503WithRetryAfterAtOnce(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	h := httpx.LimitConcurrency(1, 3*time.Second)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		inside <- struct{}{}
		<-leave
	}))
	done := make(chan struct{})
	go func() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		close(done)
	}()
	<-inside
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 503, w.Code)
	require.Equal(t, "3", w.Header().Get("Retry-After"))
	close(leave)
	<-done
	go func() { <-inside }()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 200, w.Code, "a place that is left is free again")
}

func TestDeadlinesReachTheConnectionThroughTheMiddleware(t *testing.T) {
	h := httpx.Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			httpx.Problem(w, 500, err.Error())
		}
	}), httpx.AccessLog(slog.New(slog.DiscardHandler), time.Now), httpx.Recover(slog.New(slog.DiscardHandler)))
	at := serve(t, h, httpx.Limits{})
	req, err := http.NewRequestWithContext(context.Background(), "GET", "http://"+at, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}
