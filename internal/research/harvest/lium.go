package harvest

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// DefaultLiumURL is where Lium answers when LIUM_API_BASE_URL is unset.
const DefaultLiumURL = "https://lium.io/api"

const (
	liumTimeout = 30 * time.Second
	liumMaxBody = 16 << 20
	liumTries   = 3 // of a call that may be repeated
)

// LiumOptions configure the client of Lium's HTTP API.
type LiumOptions struct {
	URL string // LIUM_API_BASE_URL; empty: DefaultLiumURL. https, or http to loopback.
	Key string // LIUM_API_KEY

	Timeout   time.Duration                                    // of one request; 0: 30 s
	Wait      func(ctx context.Context, d time.Duration) error // between attempts; nil: a timer
	Transport http.RoundTripper                                // nil: direct connections
}

// Lium is a [Provider] over Lium's HTTP API. It may be used by several goroutines at
// once and shows nothing of itself.
type Lium struct {
	base    *url.URL
	key     string
	timeout time.Duration
	wait    func(context.Context, time.Duration) error
	http    *http.Client
}

// NewLium returns a client. It makes no connection. The error names the variable to
// set and never its value.
func NewLium(o LiumOptions) (*Lium, error) {
	if o.URL == "" {
		o.URL = DefaultLiumURL
	}
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("LIUM_API_BASE_URL is not an address such as " + DefaultLiumURL)
	}
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback(base.Hostname())) {
		return nil, errors.New("LIUM_API_BASE_URL must be https; http is for loopback alone")
	}
	key := strings.TrimSpace(o.Key)
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("LIUM_API_KEY is missing or is not one line of printable ASCII")
	}
	l := &Lium{base: base, key: key, timeout: o.Timeout, wait: o.Wait}
	if l.timeout <= 0 {
		l.timeout = liumTimeout
	}
	if l.wait == nil {
		l.wait = wait
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			IdleConnTimeout:        time.Minute,
		}
	}
	l.http = &http.Client{Transport: o.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return l, nil
}

// Format keeps key and address out of every text that fmt writes.
func (l *Lium) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "lium client") }

// Close ends idle connections.
func (l *Lium) Close() { l.http.CloseIdleConnections() }

type liumTemplate struct {
	ID              string            `json:"id"`
	Name            string            `json:"name"`
	Image           string            `json:"docker_image"`
	Digest          string            `json:"docker_image_digest"`
	Status          string            `json:"status"`
	Entrypoint      string            `json:"entrypoint"`
	StartupCommands string            `json:"startup_commands"`
	Environment     map[string]string `json:"environment"`
}

func (t liumTemplate) template() Template {
	return Template{
		ID: t.ID, Name: t.Name, Image: t.Image, Digest: t.Digest,
		Altered: t.Entrypoint != "" || t.StartupCommands != "" || len(t.Environment) > 0,
		Ready:   t.Status == "VERIFY_SUCCESS",
		Failed:  t.Status == "VERIFY_FAILED",
	}
}

// Templates lists the templates that the account can rent with.
func (l *Lium) Templates(ctx context.Context) ([]Template, error) {
	var list []liumTemplate
	if err := l.get(ctx, "list templates", &list, "templates"); err != nil {
		return nil, err
	}
	out := make([]Template, 0, len(list))
	for _, t := range list {
		if token.MatchString(t.ID) {
			out = append(out, t.template())
		}
	}
	return out, nil
}

// CreateTemplate makes a private template that is bound to a digest.
func (l *Lium) CreateTemplate(ctx context.Context, name, image, digest string) (*Template, error) {
	const op = "create a template"
	var made liumTemplate
	err := l.post(ctx, op, &made, map[string]any{
		"name": name, "docker_image": image, "docker_image_digest": digest, "docker_image_tag": "",
		"category": "UBUNTU", "is_private": true, "container_start_immediately": true,
		"description": "", "readme": "", "entrypoint": "", "startup_commands": "",
		"environment": map[string]string{}, "internal_ports": []int{22}, "volumes": []string{"/workspace"},
	}, "templates")
	if err != nil {
		return nil, err
	}
	if !token.MatchString(made.ID) {
		return nil, &Fault{Op: op, Why: "the answer has no usable id"}
	}
	t := made.template()
	return &t, nil
}

// Machines lists what can be rented now.
func (l *Lium) Machines(ctx context.Context) ([]Machine, error) {
	var list []struct {
		ID           string  `json:"id"`
		Rented       bool    `json:"rented"`
		PricePerHour float64 `json:"price_per_hour"`
		Specs        struct {
			GPU struct {
				Count uint32 `json:"count"`
			} `json:"gpu"`
		} `json:"specs"`
	}
	if err := l.get(ctx, "list machines", &list, "executors"); err != nil {
		return nil, err
	}
	out := make([]Machine, 0, len(list))
	for _, m := range list {
		if token.MatchString(m.ID) && !m.Rented && m.PricePerHour > 0 && !math.IsInf(m.PricePerHour, 0) {
			out = append(out, Machine{ID: m.ID, GPUs: m.Specs.GPU.Count, USDPerHour: m.PricePerHour})
		}
	}
	return out, nil
}

// Rent rents a machine whole. It is sent once.
func (l *Lium) Rent(ctx context.Context, o Order) error {
	const op = "rent a pod"
	if !token.MatchString(o.MachineID) || !token.MatchString(o.TemplateID) {
		return &Fault{Op: op, Why: "machine or template has no usable id", Nothing: true}
	}
	return l.post(ctx, op, nil, map[string]any{
		"pod_name": o.PodName, "template_id": o.TemplateID, "user_public_key": []string{o.SSHKey},
	}, "executors", o.MachineID, "rent")
}

// Pods lists the pods of the account.
func (l *Lium) Pods(ctx context.Context) ([]Pod, error) {
	const op = "list pods"
	var list []struct {
		ID       string `json:"id"`
		Name     string `json:"pod_name"`
		Status   string `json:"status"`
		Connect  string `json:"ssh_connect_cmd"`
		Executor struct {
			Specs struct {
				GPU struct {
					Count uint32 `json:"count"`
				} `json:"gpu"`
			} `json:"specs"`
		} `json:"executor"`
	}
	if err := l.get(ctx, op, &list, "pods"); err != nil {
		return nil, err
	}
	out := make([]Pod, 0, len(list))
	for _, p := range list {
		if !token.MatchString(p.ID) {
			// A pod that cannot be named cannot be terminated: never pass over it.
			return nil, &Fault{Op: op, Why: "a pod has no usable id"}
		}
		pod := Pod{ID: p.ID, Name: p.Name, GPUs: p.Executor.Specs.GPU.Count, Running: p.Status == "RUNNING"}
		if endpoint, ok := parseConnect(p.Connect); ok {
			pod.SSH = endpoint
		}
		out = append(out, pod)
	}
	return out, nil
}

// Terminate ends a pod.
func (l *Lium) Terminate(ctx context.Context, podID string) error {
	const op = "terminate a pod"
	if !token.MatchString(podID) {
		return &Fault{Op: op, Why: "the pod has no usable id", Nothing: true}
	}
	return l.repeat(ctx, func() (bool, error) {
		status, again, err := l.do(ctx, op, http.MethodDelete, nil, nil, "pods", podID)
		if status == http.StatusNotFound {
			return false, nil
		}
		return again, err
	})
}

func (l *Lium) get(ctx context.Context, op string, into any, path ...string) error {
	return l.repeat(ctx, func() (bool, error) {
		_, again, err := l.do(ctx, op, http.MethodGet, nil, into, path...)
		return again, err
	})
}

func (l *Lium) post(ctx context.Context, op string, into, body any, path ...string) error {
	_, _, err := l.do(ctx, op, http.MethodPost, body, into, path...)
	return err
}

// repeat calls what changes nothing when it is done twice.
func (l *Lium) repeat(ctx context.Context, call func() (again bool, err error)) error {
	for try, pause := 1, time.Second; ; try, pause = try+1, 2*pause {
		again, err := call()
		if err == nil || !again || try == liumTries {
			return err
		}
		if l.wait(ctx, pause) != nil {
			return err
		}
	}
}

// do sends one request. again says that another attempt may fare better. Nothing of
// the answer but its status is ever part of an error.
func (l *Lium) do(ctx context.Context, op, method string, body, into any, path ...string) (status int, again bool, _ error) {
	fail := func(why string, nothing bool) error { return &Fault{Op: op, Why: why, Nothing: nothing} }
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body, json.Deterministic(true))
		if err != nil {
			return 0, false, fail("the request cannot be written", true)
		}
		sent = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, method, l.base.JoinPath(path...).String(), sent)
	if err != nil {
		return 0, false, fail("the request cannot be written", true)
	}
	req.Header.Set("X-API-Key", l.key)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := l.http.Do(req)
	if err != nil {
		if !connected.Load() {
			return 0, true, fail("cannot be reached", true)
		}
		return 0, true, fail("no answer", false)
	}
	defer res.Body.Close()
	status = res.StatusCode
	switch {
	case status >= 200 && status < 300:
	case status == http.StatusTooManyRequests:
		return status, true, fail("answered 429", true)
	case status >= 500:
		return status, true, fail("answered "+strconv.Itoa(status), false)
	case status >= 400:
		return status, false, fail("answered "+strconv.Itoa(status), true)
	default:
		return status, false, fail("answered "+strconv.Itoa(status)+", which is not followed", false)
	}
	if into == nil {
		return status, false, nil
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return status, false, fail("the answer is not application/json", false)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, liumMaxBody+1))
	switch {
	case len(data) > liumMaxBody:
		return status, false, fail("the answer is too long", false)
	case err != nil:
		return status, true, fail("the answer was cut off", false)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return status, false, fail("the answer is not of the expected form", false)
	}
	return status, false, nil
}

// token is an id that can stand in a path.
var token = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// connect is the form in which Lium says how to reach a pod.
var connect = regexp.MustCompile(`^ssh ([a-z_][a-z0-9_-]{0,31})@([A-Za-z0-9][A-Za-z0-9.-]{0,252}) -p ([0-9]{1,5})$`)

func parseConnect(command string) (Endpoint, bool) {
	m := connect.FindStringSubmatch(strings.TrimSpace(command))
	if m == nil {
		return Endpoint{}, false
	}
	port, err := strconv.ParseUint(m[3], 10, 16)
	if err != nil || port == 0 {
		return Endpoint{}, false
	}
	return Endpoint{User: m[1], Host: m[2], Port: uint16(port)}, true
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
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
