package httpx

import (
	"encoding/json/v2"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// FieldError is one fault of a request: where (a JSON Pointer, RFC 6901, into
// the body; empty for the whole of it) and what to do about it.
type FieldError struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// StatusError is an error that knows the HTTP status it deserves. Fail writes
// it as a problem.
type StatusError struct {
	Status     int           // 4xx or 5xx.
	Title      string        // What is wrong, for the caller to read.
	Errors     []FieldError  // Every fault, where there is more to say than Title.
	RetryAfter time.Duration // If positive: the Retry-After header, rounded up to seconds.
}

// Error is the title: the status and the faults are for the response.
func (e *StatusError) Error() string { return e.Title }

// problem is the body of RFC 9457. With type about:blank the title is the
// status phrase (§4.2.1); what happened goes to detail.
type problem struct {
	Type     string       `json:"type"`
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail,omitempty"`
	Instance string       `json:"instance,omitempty"`
	Errors   []FieldError `json:"errors,omitempty"`
}

// Problem answers with an RFC 9457 problem: title says what is wrong in one
// sentence, errs say where. The request id, when RequestID gave one, becomes the
// problem's instance, so that a report can be matched with the log.
func Problem(w http.ResponseWriter, status int, title string, errs ...FieldError) {
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: title, Errors: errs}
	if id := w.Header().Get(requestIDHeader); id != "" {
		p.Instance = "urn:prova:request:" + id
	}
	body, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		// Only invalid UTF-8 in a message can do this; say what remains.
		body, _ = json.Marshal(problem{Type: p.Type, Title: p.Title, Status: status})
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client is gone: nobody is left to tell.
}

// Fail answers with the problem that err is, and reports whether err was one: a
// StatusError is the caller's to read, any other error becomes a 500 that gives
// nothing away and that the handler should log.
func Fail(w http.ResponseWriter, err error) (known bool) {
	var s *StatusError
	if !errors.As(err, &s) {
		Problem(w, http.StatusInternalServerError, "something failed on our side; nothing was recorded unless a later read shows it")
		return false
	}
	if s.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(s.RetryAfter.Seconds()))))
	}
	Problem(w, s.Status, s.Title, s.Errors...)
	return true
}

// JSON answers with v as compact JSON. Member order is the struct's; maps are
// sorted.
func JSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		Problem(w, http.StatusInternalServerError, "the answer cannot be written as JSON")
		return
	}
	Bytes(w, status, "application/json", body)
}

// Bytes answers with body as it is.
func Bytes(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client is gone: nobody is left to tell.
}
