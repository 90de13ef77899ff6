package judge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// call posts a body and returns the object that came back, within the time of one
// call. The rule for sending twice is that of the package's documentation.
func (c *Client) call(parent context.Context, path string, body []byte) (*canonjson.Object, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(parent, c.o.Timeout)
	defer cancel()
	pause := firstWait
	for attempt := 0; ; attempt++ {
		data, after, again, err := c.attempt(ctx, path, key, body)
		if err == nil {
			return read(data, key)
		}
		err = ended(parent, ctx, err)
		if !again || attempt >= c.o.Retries || ctx.Err() != nil {
			return nil, err
		}
		if after > 0 {
			pause = after
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return nil, err // the wait would outlast the call
		}
		if waited := c.o.Wait(ctx, pause); waited != nil {
			return nil, ended(parent, ctx, err)
		}
		pause *= 2
	}
}

// attempt sends the request once. again says that it cannot have been served, after
// how long the backend asked to wait.
func (c *Client) attempt(ctx context.Context, path, key string, body []byte) (data []byte, after time.Duration, again bool, _ error) {
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, 0, false, fault(BadConfig, "the origin is not an http(s) address")
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "prova-judge")
	res, err := c.http.Do(req)
	if err != nil {
		// The error itself names the origin.
		if !connected.Load() {
			return nil, 0, true, fault(Unreachable, "the backend cannot be reached")
		}
		return nil, 0, false, fault(CutOff, "the backend ended the connection without an answer")
	}
	defer res.Body.Close()
	switch status := res.StatusCode; {
	case status == http.StatusOK:
	case status >= 300 && status < 400:
		return nil, 0, false, &Error{Kind: Redirect, Status: status, why: "the backend redirects, which is not followed"}
	default:
		after := c.retryAfter(res.Header.Get("Retry-After"))
		return nil, after, repeatable(status), &Error{Kind: BadStatus, Status: status, why: "the backend refused the call"}
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, 0, false, fault(NotJSON, "the answer is not application/json")
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, c.o.MaxReply+1))
	if int64(len(data)) > c.o.MaxReply {
		return nil, 0, false, fault(TooBig, "the answer is longer than "+strconv.FormatInt(c.o.MaxReply, 10)+" bytes")
	}
	if err != nil {
		return nil, 0, false, fault(CutOff, "the connection ended inside the answer")
	}
	return data, 0, false, nil
}

// repeatable reports whether a status says that the call was not served. A gateway's
// 502 or 504 does not, whatever its Retry-After: the call behind it may have been
// served and paid for.
func repeatable(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// retryAfter reads the header (RFC 9110 §10.2.3): seconds, or a date. One that is
// neither asks for no time.
func (c *Client) retryAfter(value string) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(c.o.Now()))
	}
	return 0
}

// ended turns the fault of a call whose context ended into that end.
func ended(parent, ctx context.Context, err error) error {
	var e *Error
	if ctx.Err() == nil || errors.As(err, &e) && (e.Kind == TooBig || e.Kind == Redirect || e.Kind == BadStatus) {
		return err
	}
	if errors.Is(parent.Err(), context.Canceled) {
		return &Error{Kind: Canceled, why: "the call was canceled", cause: context.Canceled}
	}
	return &Error{Kind: Timeout, why: "the backend did not answer in time", cause: context.DeadlineExceeded}
}

// read takes an answer for one JSON object that does not repeat the key.
func read(data []byte, key string) (*canonjson.Object, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, fault(NotJSON, "the answer is not a JSON text")
	}
	object, ok := v.(*canonjson.Object)
	if !ok {
		return nil, fault(NotJSON, "the answer is not a JSON object")
	}
	// Escapes are undone by the parser: look at the text of its values.
	if holds(string(canonjson.Compact(v)), key) {
		return nil, fault(Secret, "the answer repeats the key")
	}
	return object, nil
}

// holds reports whether a text has the key in it, plain, in hex or in base64.
func holds(text, key string) bool {
	for _, form := range []string{
		strings.Trim(string(canonjson.Compact(key)), `"`),
		base64.RawStdEncoding.EncodeToString([]byte(key)),
		base64.RawURLEncoding.EncodeToString([]byte(key)),
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(key)))
}
