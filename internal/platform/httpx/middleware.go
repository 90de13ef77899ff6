package httpx

import (
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prova-dev/prova/internal/platform/obs"
)

const requestIDHeader = "X-Request-Id"

// RequestID gives each request an id of 16 hex digits from random, in the
// X-Request-Id header of the answer and in the context for logs. An id that a
// client sends is not taken over: it could forge lines of the log.
func RequestID(random io.Reader) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var raw [8]byte
			id := "0000000000000000" // Without randomness requests still go through.
			if _, err := io.ReadFull(random, raw[:]); err == nil {
				id = hex.EncodeToString(raw[:])
			}
			w.Header().Set(requestIDHeader, id)
			next.ServeHTTP(w, r.WithContext(obs.WithRequestID(r.Context(), id)))
		})
	}
}

// Recover turns a panic of the handler into a 500 problem and an error line with
// the stack. If the answer had begun, the connection is cut instead, so that the
// client does not take a half for the whole.
func Recover(log *slog.Logger) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec := record(w)
			defer func() {
				v := recover()
				if v == nil {
					return
				}
				if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares the same way.
					panic(v) //nolint:forbidigo // net/http's own signal to cut the connection; it logs nothing.
				}
				log.ErrorContext(r.Context(), "a handler panicked", "panic", fmt.Sprint(v), "method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
				if rec.status != 0 {
					panic(http.ErrAbortHandler) //nolint:forbidigo // The same signal.
				}
				Problem(rec, http.StatusInternalServerError, "something failed on our side; nothing was recorded unless a later read shows it")
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// SecurityHeaders sets what every answer carries: no sniffing, no framing, no
// referrer, and HTTPS from then on (Trust Layer reference §1 names the first
// three).
func SecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}

// AccessLog writes one line a request when it is over: method, path, status,
// bytes, duration. Neither query nor headers: they may hold a key.
func AccessLog(log *slog.Logger, now func() time.Time) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rec, began := record(w), now()
			defer func() {
				log.InfoContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path,
					"status", or(rec.status, http.StatusOK), "bytes", rec.bytes, "ms", now().Sub(began).Milliseconds())
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// LimitConcurrency lets n requests in at a time and answers the others with 503
// and Retry-After at once: waiting would only move the crowd into memory.
func LimitConcurrency(n int, retryAfter time.Duration) Middleware {
	places := make(chan struct{}, n)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				next.ServeHTTP(w, r)
			default:
				Fail(w, &StatusError{Status: http.StatusServiceUnavailable, RetryAfter: retryAfter, Title: "too many requests at this moment; try again shortly"})
			}
		})
	}
}

// recorder remembers how far an answer has come.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// record wraps w, or returns the recorder that it already is.
func record(w http.ResponseWriter) *recorder {
	if rec, ok := w.(*recorder); ok {
		return rec
	}
	return &recorder{ResponseWriter: w}
}

func (r *recorder) WriteHeader(status int) {
	// 1xx answers precede the real one.
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
