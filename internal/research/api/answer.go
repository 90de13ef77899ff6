package api

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/strict"
)

const (
	noRoute = "there is no such route"
	broken  = "something failed on our side; nothing was recorded unless a later read shows it"
	unsure  = "the store did not say whether this was recorded; ask again before you repeat it"
	// gone is what the log shows for a client that did not wait; nobody reads it.
	gone = 499
)

// text answers with a JSON text.
func text(w http.ResponseWriter, status int, body []byte) error {
	if h := w.Header(); h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	httpx.Bytes(w, status, "application/json", body)
	return nil
}

// value answers with v, members in the order of its type.
func value(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return text(w, status, body)
}

// refuse answers with the error form of R§14.
func refuse(w http.ResponseWriter, status int, why string) {
	body, err := json.Marshal(struct {
		Error string `json:"error"`
	}{strings.ToValidUTF8(why, "\uFFFD")})
	if err != nil {
		body = []byte(`{"error":"` + broken + `"}`)
	}
	_ = text(w, status, body)
}

// retry asks the client to wait, in whole seconds.
func retry(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
}

// fail answers with what an error is. The text of an error that is no refusal is for
// the log.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, why, known := meaning(err)
	switch {
	case known:
		var fault *httpx.StatusError
		if errors.As(err, &fault) {
			retry(w, fault.RetryAfter)
		}
	case r.Context().Err() != nil:
		w.WriteHeader(gone)
		return
	default:
		s.o.Log.ErrorContext(r.Context(), "a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	refuse(w, status, why)
}

// meaning is the status and the text of an error; known is false for one that is not
// the client's to read.
func meaning(err error) (status int, why string, known bool) {
	var refusal *host.Error
	if errors.As(err, &refusal) {
		return refusal.Status, refusal.Text, true
	}
	var fault *httpx.StatusError
	if errors.As(err, &fault) {
		return fault.Status, fault.Title, true
	}
	if errors.Is(err, store.ErrUncertain) {
		return http.StatusInternalServerError, unsure, false
	}
	return http.StatusInternalServerError, broken, false
}

// bad is a refusal of the request itself.
func bad(status int, format string, args ...any) error {
	return &httpx.StatusError{Status: status, Title: fmt.Sprintf(format, args...)}
}

// begun remembers whether an answer has begun.
type begun struct {
	http.ResponseWriter
	is bool
}

func (b *begun) WriteHeader(status int) {
	b.is = b.is || status >= http.StatusOK // what precedes the answer does not begin it
	b.ResponseWriter.WriteHeader(status)
}

func (b *begun) Write(p []byte) (int, error) {
	b.is = true
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// recovered turns a panic into 500 and a line of the log. An answer that had begun
// is cut off, so that no client takes a half for the whole.
func (s *server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &begun{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares the same way.
				panic(v) //nolint:forbidigo // net/http's own signal to cut the connection; it logs nothing.
			}
			s.o.Log.ErrorContext(r.Context(), "a handler panicked", "panic", fmt.Sprint(v), "method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
			if answer.is {
				panic(http.ErrAbortHandler) //nolint:forbidigo // The same signal.
			}
			refuse(answer, http.StatusInternalServerError, broken)
		}()
		next.ServeHTTP(answer, r)
	})
}

// patient lets a request wait for longer than the timeouts of the server, until the
// function that it returns is called before the answer.
func patient(w http.ResponseWriter, r *http.Request, now func() time.Time) (answering func()) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return func() {} // a writer without a network
	}
	control := http.NewResponseController(w)
	// The read deadline of the request is also that of the watch for a client that
	// goes away, which would end the request's context.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	return func() { extend(control, server, now(), 0) }
}

// slowest is the rate in bytes a second below which a download is given up.
const slowest = 64 << 10

// large gives a long answer the time that a slow line takes for it.
func large(w http.ResponseWriter, r *http.Request, now func() time.Time, size int) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		extend(http.NewResponseController(w), server, now(), time.Duration(size/slowest)*time.Second)
	}
}

// extend sets the end of an answer. A server without a timeout would not set it back
// for the next request of the connection.
func extend(control *http.ResponseController, server *http.Server, now time.Time, more time.Duration) {
	if server.WriteTimeout > 0 {
		_ = control.SetWriteDeadline(now.Add(server.WriteTimeout + more)) // not every writer has a deadline
	}
}

// unread is the refusal of a document that cannot be read: syntax 400, content 422
// (decision 8).
func unread(err error) error {
	var fault *strict.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fault) && !fault.Syntax:
		return bad(http.StatusUnprocessableEntity, "%s", err)
	}
	return bad(http.StatusBadRequest, "%s", err)
}
