package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// DefaultURL is where a control plane of the same machine listens (R§1).
const DefaultURL = "http://127.0.0.1:8100"

const (
	maxAnswer = 32 << 20 // bytes of an answer; a page of rows with their manifests is the largest
	maxError  = 64 << 10 // bytes of a refusal
	maxToken  = 4 << 10
	maxText   = 2048 // bytes of a refusal's text that are shown
)

// Options say which control plane is meant and how to reach it.
type Options struct {
	URL       string // http(s) origin; empty is DefaultURL
	TokenFile string // file of the operator's bearer; empty: admin routes are not called
	CAFile    string // PEM of the authorities to trust instead of the system's

	// Timeout bounds one answer from its request to its last byte: 60 s when zero.
	// A submission that waits for its run is bounded by its context alone.
	Timeout time.Duration

	// Transport stands in for the network in tests; nil is the network.
	Transport http.RoundTripper
	// Sleep pauses between two looks at a submission; nil sleeps until the context ends.
	Sleep func(context.Context, time.Duration) error
}

// Client calls one control plane. It is safe for concurrent use.
type Client struct {
	base      *url.URL
	tokenFile string
	timeout   time.Duration
	http      *http.Client
	sleep     func(context.Context, time.Duration) error
}

// New checks the options. It makes no request and reads no token.
func New(o Options) (*Client, error) {
	text := strings.TrimSpace(o.URL)
	if text == "" {
		text = DefaultURL
	}
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.Opaque != "":
		return nil, fmt.Errorf("the server must be named by its origin, such as https://proof.example or %s", DefaultURL)
	case base.User != nil:
		return nil, errors.New("the server's address holds a user name; leave it out, the bearer comes from its file")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the server's address holds a query or a fragment; name its origin alone")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	transport := o.Transport
	if transport == nil {
		if transport, err = network(o.CAFile); err != nil {
			return nil, err
		}
	}
	c := &Client{base: base, tokenFile: o.TokenFile, timeout: o.Timeout, sleep: o.Sleep}
	if c.timeout <= 0 {
		c.timeout = time.Minute
	}
	if c.sleep == nil {
		c.sleep = pause
	}
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

func network(caFile string) (http.RoundTripper, error) {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2:      true,
	}
	if caFile == "" {
		return t, nil
	}
	data, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", caFile)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// URL returns the origin of the control plane.
func (c *Client) URL() string { return c.base.String() }

// Refusal is an answer that says no: an error of a route, in the server's words.
type Refusal struct {
	Status     int
	Text       string        // fit for a terminal; never empty
	RetryAfter time.Duration // what the server asked to wait; 0 when it did not

	ended bool // the refusal is the end of a run, not of a request
}

// Error is the text with its status.
func (r *Refusal) Error() string { return fmt.Sprintf("%s (status %d)", r.Text, r.Status) }

// Temporary reports whether the same request may be answered otherwise later,
// without a change to it.
func (r *Refusal) Temporary() bool {
	return r.Status == http.StatusRequestTimeout || r.Status == http.StatusTooManyRequests || r.Status >= http.StatusInternalServerError
}

// IsStatus reports whether an error is a refusal with a status.
func IsStatus(err error, status int) bool {
	var refusal *Refusal
	return errors.As(err, &refusal) && refusal.Status == status
}

// ErrUnreachable is wrapped when there was no whole answer: whether the server has
// seen the request is not known.
var ErrUnreachable = errors.New("no answer from the control plane")

// call is one request.
type call struct {
	method, path string
	query        url.Values
	body         []byte // JSON
	admin        bool
	patient      bool // bounded by the context alone
	header       http.Header
	limit        int64
}

// post sends a value to an admin route.
func (c *Client) post(ctx context.Context, path string, v any) (answer, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return answer{}, err
	}
	return c.do(ctx, call{method: http.MethodPost, path: path, body: body, admin: true})
}

// answer is what came back with a status of success.
type answer struct {
	status int
	body   []byte
}

func (c *Client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	a, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query})
	return a.body, err
}

func (c *Client) do(ctx context.Context, k call) (answer, error) {
	if !k.patient {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	at := *c.base
	at.Path += k.path
	at.RawQuery = k.query.Encode()
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	r, err := http.NewRequestWithContext(ctx, k.method, at.String(), body)
	if err != nil {
		return answer{}, fmt.Errorf("request to the control plane: %w", err)
	}
	for name, values := range k.header {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json")
	if k.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if k.admin {
		token, err := c.token()
		if err != nil {
			return answer{}, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	return c.read(ctx, k, resp)
}

func (c *Client) read(ctx context.Context, k call, resp *http.Response) (answer, error) {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		to := "another address"
		if at, err := resp.Location(); err == nil && at.Host != "" {
			to = at.Scheme + "://" + at.Host
		}
		return answer{}, fmt.Errorf("%s redirects to %s, which is not followed; name the server's own address", c.URL(), Printable(to))
	}
	limit := k.limit
	if limit == 0 {
		limit = maxAnswer
	}
	failed := resp.StatusCode >= 400
	if failed {
		limit = maxError
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return answer{}, c.unreachable(ctx, err)
	}
	if failed {
		return answer{}, refusal(resp, data[:min(int64(len(data)), limit)])
	}
	if int64(len(data)) > limit {
		return answer{}, fmt.Errorf("%s answered %s with more than %d bytes", c.URL(), k.path, limit)
	}
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return answer{}, fmt.Errorf("%s answered %s with %q instead of JSON; is it a control plane of the research challenge?",
			c.URL(), k.path, Printable(cut(resp.Header.Get("Content-Type"), 80)))
	}
	return answer{resp.StatusCode, data}, nil
}

// unreachable says what kept an answer away, without the address of the request:
// only the origin is the caller's to read.
func (c *Client) unreachable(ctx context.Context, err error) error {
	var dial *url.Error
	if errors.As(err, &dial) {
		err = dial.Err
	}
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return fmt.Errorf("%w at %s within %s", ErrUnreachable, c.URL(), c.timeout)
		}
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, c.URL(), cause)
	}
	return fmt.Errorf("%w at %s: %s", ErrUnreachable, c.URL(), Printable(cut(err.Error(), maxText)))
}

// token reads the bearer.
func (c *Client) token() (string, error) {
	if c.tokenFile == "" {
		return "", errors.New("this needs the operator's bearer; name the file that holds it")
	}
	if c.base.Scheme != "https" && !loopback(c.base.Hostname()) {
		return "", fmt.Errorf("the bearer does not go to %s in the clear; use https, or the loopback address of the host itself", c.URL())
	}
	f, err := os.Open(c.tokenFile)
	if err != nil {
		return "", fmt.Errorf("bearer: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("bearer: %w", err)
	}
	// The file of the host itself serves too: the first token of its lines (R§14.3).
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(data) > maxToken || strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }) {
			break
		}
		return line, nil
	}
	return "", fmt.Errorf("%s holds no bearer: one line of printable characters without spaces", c.tokenFile)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// refusal reads the body of an error: {"error": text} of the specification's
// routes, or the title of an RFC 9457 problem of what stands before them.
func refusal(resp *http.Response, body []byte) *Refusal {
	var said struct {
		Error string `json:"error"`
		Title string `json:"title"`
	}
	r := &Refusal{Status: resp.StatusCode, ended: ended(body)}
	if json.Unmarshal(body, &said) == nil {
		r.Text = said.Error
		if r.Text == "" {
			r.Text = said.Title
		}
	}
	r.Text = Printable(cut(strings.TrimSpace(r.Text), maxText))
	if r.Text == "" {
		r.Text = "the server gives no reason"
		if name := http.StatusText(resp.StatusCode); name != "" {
			r.Text = "the server says " + name + " and gives no reason"
		}
	}
	const longest = 3600
	if s, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32); err == nil {
		r.RetryAfter = time.Duration(min(s, longest)) * time.Second
	}
	return r
}
