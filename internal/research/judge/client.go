package judge

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/research/offer"
)

// Defaults of [Options].
const (
	DefaultTimeout  = 2 * time.Minute
	DefaultMaxReply = 8 << 20
	DefaultRetries  = 2
)

const (
	maxKey      = 4096     // bytes of a key file
	maxHeader   = 64 << 10 // bytes of the head of an answer
	firstWait   = 500 * time.Millisecond
	dialTimeout = 10 * time.Second
)

// Options configure a client.
type Options struct {
	Judge   offer.Judge // resolved for the run; see offer.Inference.Resolve
	KeyFile string      // holds the key and nothing else, white space aside

	// Sampling of the offer; nil leaves it to the backend.
	Temperature, TopP *float64

	Timeout  time.Duration // of one call with its repetitions and waits; 0: DefaultTimeout
	Retries  int           // repetitions of one call; 0: DefaultRetries, negative: none
	MaxReply int64         // bytes of one answer; 0: DefaultMaxReply

	// AlsoModels are further names under which the model may answer, for a backend
	// that answers with a dated one. Without them the name must be the one asked for.
	AlsoModels []string

	// Tokens counts the tokens of a text; nil counts its bytes. No tokenizer that
	// covers every byte makes more tokens than bytes, so that count never lets a
	// prompt through that is over the cap.
	Tokens func(text string) int

	Now       func() time.Time                                 // for Retry-After dates; nil: time.Now
	Wait      func(ctx context.Context, d time.Duration) error // nil: a timer
	Transport http.RoundTripper                                // nil: direct connections, no proxy, no compression
}

// For returns the options of a run: the resolved judge with the sampling and the
// time of the live offer, which may be nil.
func For(j offer.Judge, i *offer.Inference, keyFile string) Options {
	o := Options{Judge: j, KeyFile: keyFile}
	if i == nil {
		return o
	}
	o.Temperature, o.TopP = i.Temperature, i.TopP
	if i.TimeoutMS != nil {
		const most = uint64(time.Hour / time.Millisecond)
		o.Timeout = time.Duration(min(*i.TimeoutMS, most)) * time.Millisecond
	}
	return o
}

// Client calls one judge. It may be used by several goroutines at once, and shows
// nothing of itself.
type Client struct {
	o    Options
	base *url.URL
	http *http.Client
}

// New checks the configuration and returns its client. It reads no file and makes
// no connection.
func New(o Options) (*Client, error) {
	if o.Judge.Ready() != nil {
		return nil, fault(BadConfig, offer.ErrInferenceIncomplete.Error())
	}
	base, err := url.Parse(strings.TrimSpace(string(o.Judge.Origin)))
	if err != nil || base.Host == "" || base.Fragment != "" {
		// The error of url.Parse quotes the origin.
		return nil, fault(BadConfig, "the origin is not an http(s) address")
	}
	if o.KeyFile == "" {
		return nil, fault(NoKey, offer.ErrInferenceKey.Error())
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxReply <= 0 {
		o.MaxReply = DefaultMaxReply
	}
	switch {
	case o.Retries == 0:
		o.Retries = DefaultRetries
	case o.Retries < 0:
		o.Retries = 0
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Tokens == nil {
		o.Tokens = func(text string) int { return len(text) }
	}
	if o.Transport == nil {
		o.Transport = direct()
	}
	o.Judge.Model = strings.TrimSpace(o.Judge.Model)
	o.AlsoModels = slices.Clone(o.AlsoModels)
	return &Client{o: o, base: base, http: &http.Client{
		Transport: o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}, nil
}

// Format keeps origin and key file out of every text that fmt writes.
func (c *Client) Format(f fmt.State, _ rune) { io.WriteString(f, "judge client") } //nolint:errcheck // fmt has no use for it

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// direct is a transport that talks to the origin and to nobody else: a proxy of the
// environment would be shown the prompt, and over plain HTTP the key.
func direct() http.RoundTripper {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true, // what is counted is what is read
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        time.Minute,
	}
}

// key reads the key. Errors say nothing of the file or what it holds.
func (c *Client) key() (string, error) {
	f, err := os.Open(c.o.KeyFile)
	if err != nil {
		return "", fault(NoKey, offer.ErrInferenceKey.Error())
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fault(NoKey, offer.ErrInferenceKey.Error())
	}
	key := strings.TrimSpace(string(data))
	if offer.RequireKey(key) != nil {
		return "", fault(NoKey, offer.ErrInferenceKey.Error())
	}
	if len(data) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fault(NoKey, "the key file must hold one key: printable ASCII, no space, at most 4096 bytes")
	}
	return key, nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
