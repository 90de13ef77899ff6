package httpx

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// bodyTimeout bounds the reading of a body where the server has no ReadTimeout
// of its own.
const bodyTimeout = 20 * time.Second

// Body reads the whole request body. Errors are *StatusError:
//
//	413  more than limit bytes; announced ones are refused before any is read
//	408  it did not arrive within the server's read timeout (20 s without one)
//	400  the connection broke, or the transfer coding is malformed
//
// After 413 and 408 the connection is closed, so that the rest is not kept.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge(limit)
	}
	control := http.NewResponseController(w)
	if srv, ok := r.Context().Value(http.ServerContextKey).(*http.Server); !ok || srv.ReadTimeout <= 0 {
		// Not every writer (a test's recorder) knows deadlines; there is no network then.
		if err := control.SetReadDeadline(time.Now().Add(bodyTimeout)); err == nil {
			defer func() { _ = control.SetReadDeadline(time.Time{}) }()
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return body, nil
	}
	w.Header().Set("Connection", "close")
	var over *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return nil, &StatusError{Status: http.StatusRequestTimeout, Title: "the body did not arrive in time; send it at once"}
	default:
		return nil, &StatusError{Status: http.StatusBadRequest, Title: "the body could not be read to its end"}
	}
}

func tooLarge(limit int64) error {
	return &StatusError{Status: http.StatusRequestEntityTooLarge, Title: fmt.Sprintf("the body is larger than %d bytes, the most this route takes", limit)}
}

// RequireJSON refuses a request whose body is not announced as JSON in UTF-8
// with a 415 *StatusError.
func RequireJSON(r *http.Request) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err == nil && kind == "application/json" && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return &StatusError{Status: http.StatusUnsupportedMediaType, Title: "send the body as JSON, with the header Content-Type: application/json"}
}

const (
	// drainLimit is how much of a refused body is thrown away, drainIdle how long
	// the next piece of it may take.
	drainLimit = 16 << 20
	drainIdle  = time.Second
)

// Drain lets a client read why its body was refused. Many send the whole body
// before they read, and a connection closed under them loses the answer. So the
// answer goes out first, then up to 16 MiB of what the handler left are read and
// thrown away, as long as they keep coming; then the connection is closed. It
// belongs outside LimitConcurrency: whoever drains holds no place.
func Drain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// net/http itself reads a small rest, and keeps the connection. With Expect:
		// 100-continue the client waits for a word before it sends.
		if small := r.ContentLength >= 0 && r.ContentLength <= 128<<10; small || r.Header.Get("Expect") != "" {
			next.ServeHTTP(w, r)
			return
		}
		body := &watchedBody{ReadCloser: r.Body}
		inner := *r
		inner.Body = body
		next.ServeHTTP(&drainedWriter{ResponseWriter: w, body: body}, &inner)
		if body.ended {
			return
		}
		control := http.NewResponseController(w)
		if control.Flush() != nil {
			return // A writer without a network.
		}
		for left := int64(drainLimit); left > 0; {
			if control.SetReadDeadline(time.Now().Add(drainIdle)) != nil {
				return
			}
			n, err := io.CopyN(io.Discard, r.Body, min(left, 64<<10))
			if left -= n; err != nil {
				return
			}
		}
	})
}

// watchedBody remembers whether a body was read to its end or failed.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || err != nil
	return n, err
}

// drainedWriter announces the close of a connection whose body was not read:
// otherwise net/http reads a part of it before the answer and closes unasked.
type drainedWriter struct {
	http.ResponseWriter
	body  *watchedBody
	wrote bool
}

func (w *drainedWriter) WriteHeader(status int) {
	if !w.wrote && status >= 200 {
		w.wrote = true
		if !w.body.ended {
			w.Header().Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *drainedWriter) Write(p []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *drainedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
