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
// After 413 and 408 the connection is closed, so that the rest is not read.
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
