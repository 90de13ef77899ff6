package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const (
	// userAgent names us; a front that refuses nameless clients lets it pass (T§1).
	userAgent = "prova-agent/1"
	// inFlight bounds the requests of one client that are under way.
	inFlight = 8
	// attempts bounds how often one request is sent.
	attempts = 5
	// longestWait is the longest pause between two attempts. An answer that asks for
	// more, as a spent hourly limit does, is an error at once.
	longestWait = 10 * time.Second
	// requestTime bounds one request of the default client: the proxy itself waits
	// up to two minutes for its target (T§4.4).
	requestTime = 150 * time.Second
	// answerLimit bounds most answers, catalogueLimit a catalogue of 100 000 entities.
	answerLimit    = 16 << 20
	catalogueLimit = 128 << 20
)

// wire sends JSON requests to one service after another. It follows no redirect,
// because a redirect would carry the key to another host.
type wire struct {
	http  *http.Client
	slots chan struct{}
	sleep func(ctx context.Context, d time.Duration) error
}

func newWire(c *http.Client) *wire {
	own := http.Client{Timeout: requestTime}
	if c != nil {
		own = *c
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &wire{http: &own, slots: make(chan struct{}, inFlight), sleep: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request is one call. Secrets stand in header only.
type request struct {
	method, url string
	header      map[string]string
	body        []byte // JSON, or nil
	limit       int64  // of the answer; 0 means answerLimit
	// repeatable says that a second sending does no harm when it is not known
	// whether the first arrived.
	repeatable bool
}

// call sends a request until it is answered with something other than 429 or 503,
// or the attempts are spent. A status outside 200–299 is a [StatusError]; the
// value of the answer comes with it, for those who know how to read it.
func (w *wire) call(ctx context.Context, r request) (any, error) {
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pause := 100 * time.Millisecond
	for attempt := 1; ; attempt++ {
		value, wait, err := w.once(ctx, r)
		if err == nil || attempt == attempts || ctx.Err() != nil || !again(err, r.repeatable) {
			return value, err
		}
		if wait == 0 {
			wait, pause = pause, 2*pause
		}
		if wait > longestWait {
			return value, fmt.Errorf("%w (the service asks to wait %s)", err, wait)
		}
		if err := w.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// again reports whether another attempt may help.
func again(err error, repeatable bool) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable
	}
	var broken *answerError
	return repeatable && !errors.As(err, &broken)
}

// answerError is an answer that arrived and cannot be read; it would come again.
type answerError struct{ err error }

func (e *answerError) Error() string { return e.err.Error() }
func (e *answerError) Unwrap() error { return e.err }

func (w *wire) once(ctx context.Context, r request) (value any, wait time.Duration, err error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, 0, &answerError{fmt.Errorf("%s %s: %w", r.method, r.url, err)}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, v := range r.header {
		req.Header.Set(name, v)
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return nil, 0, err // It names method and URL.
	}
	defer resp.Body.Close()
	limit := r.limit
	if limit == 0 {
		limit = answerLimit
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s: reading the answer: %w", r.method, r.url, err)
	}
	if int64(len(data)) > limit {
		return nil, 0, &answerError{fmt.Errorf("%s %s: the answer is longer than %d bytes", r.method, r.url, limit)}
	}
	value, parseErr := canonjson.Parse(data)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return value, retryAfter(resp.Header), statusError(r, resp.StatusCode, value)
	}
	if parseErr != nil {
		return nil, 0, &answerError{fmt.Errorf("%s %s: the answer is not JSON: %w", r.method, r.url, parseErr)}
	}
	return value, 0, nil
}

// retryAfter reads the header in seconds; its other form, a date, needs a clock
// and is left to our own pauses.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, 1<<20)) * time.Second
}

// post is a request with a JSON body.
func post(url string, body any, header map[string]string) request {
	return request{method: http.MethodPost, url: url, header: header, body: canonjson.Compact(body)}
}

// get is a request without a body, which may always be repeated.
func get(url string, header map[string]string) request {
	return request{method: http.MethodGet, url: url, header: header, repeatable: true}
}
