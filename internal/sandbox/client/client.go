package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// The settings that errors name.
const (
	URLVariable    = "PROOF_VM_ORCHESTRATOR_URL"
	TokenVariable  = "PROOF_VM_ORCHESTRATOR_TOKEN_FILE"
	CAVariable     = "PROOF_VM_ORCHESTRATOR_CA_FILE"
	DigestVariable = "PROOF_RLM_VM_IMAGE_DIGEST"
)

// ErrUnwired is wrapped by what New answers when no orchestrator is configured,
// or one that counts as none: a host then refuses every custom run (R§21.1).
var ErrUnwired = errors.New("topic-vm orchestrator not wired: no orchestrator configured (" + URLVariable + " / " + TokenVariable + ")")

// The sizes in bytes of what is read.
const (
	maxToken = 4 << 10
	maxCA    = 1 << 20
	maxSmall = 1 << 20 // every answer but that to a job
)

// Timeouts bound the calls; a zero is the default.
type Timeouts struct {
	Connect time.Duration // to a connection with TLS; 10 s
	Create  time.Duration // of a VM; 600 s
	Grace   time.Duration // beyond a paid job's own deadline; 60 s
	Job     time.Duration // of a job without a deadline; 3600 s
	Other   time.Duration // health, attach, teardown; 120 s
}

// Options are what New takes.
type Options struct {
	URL         string // of the agent: https, or http to a loopback host
	TokenFile   string // its bearer, read for every request
	CAFile      string // PEM; when set, only these authorities are trusted
	ImageDigest string // pin of the topic VM's image; without it the client is not ready

	// AllowStandin accepts evidence of a stand-in of the sandbox. For tests.
	AllowStandin bool
	// Remote refuses an agent on this machine, whatever name it goes by: each
	// connection is looked at when its address is known (decision 12).
	Remote   bool
	Timeouts Timeouts
	// Transport replaces the network, in tests.
	Transport http.RoundTripper
}

// Client speaks to one agent. It is safe for concurrent use.
type Client struct {
	base     string // without a trailing slash
	loopback bool
	o        Options
	http     *http.Client
}

// New checks the settings and makes no call. An address that is missing, or is
// neither https nor http to a loopback host, wraps [ErrUnwired]. No error repeats
// an address or a path.
func New(o Options) (*Client, error) {
	if strings.TrimSpace(o.URL) == "" {
		return nil, ErrUnwired
	}
	base, err := url.Parse(strings.TrimSpace(o.URL))
	if err != nil || base.Host == "" || base.Hostname() == "" || base.Opaque != "" {
		return nil, fmt.Errorf("%s is no address; want https://host:port: %w", URLVariable, ErrUnwired)
	}
	if base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "" {
		return nil, fmt.Errorf("%s has a user, query or fragment; want https://host:port: %w", URLVariable, ErrUnwired)
	}
	loopback := isLoopback(base.Hostname())
	if base.Scheme != "https" && (base.Scheme != "http" || !loopback) {
		return nil, fmt.Errorf("%s is neither https nor http to a loopback host: %w", URLVariable, ErrUnwired)
	}
	if strings.TrimSpace(o.TokenFile) == "" {
		return nil, fmt.Errorf("%s is set and %s is not; the orchestrator takes no call without a bearer", URLVariable, TokenVariable)
	}
	o.Timeouts = o.Timeouts.orDefault()
	c := &Client{base: strings.TrimRight(base.String(), "/"), loopback: loopback, o: o}
	c.http = &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if o.Transport == nil {
		roots, err := authorities(o.CAFile)
		if err != nil {
			return nil, err
		}
		c.http.Transport = transport(o.Timeouts.Connect, roots, control(base.Scheme == "http", o.Remote))
	}
	return c, nil
}

func (t Timeouts) orDefault() Timeouts {
	for _, d := range []struct {
		of  *time.Duration
		def time.Duration
	}{{&t.Connect, 10 * time.Second}, {&t.Create, 600 * time.Second}, {&t.Grace, 60 * time.Second}, {&t.Job, time.Hour}, {&t.Other, 120 * time.Second}} {
		if *d.of <= 0 {
			*d.of = d.def
		}
	}
	return t
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// control has the last word on the address of each connection, after the look-up of
// its name: plain HTTP goes to loopback only, whatever localhost resolves to, and a
// remote agent is not on this machine.
func control(plain, remote bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		switch a := at.Addr().Unmap(); {
		case plain && (err != nil || !a.IsLoopback()):
			return errNotLoopback
		case remote && (err != nil || own(a)):
			return errNotRemote
		}
		return nil
	}
}

// own reports whether an address is one of this machine; one that cannot be told is.
func own(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() { // a connection to 0.0.0.0 goes to loopback
		return true
	}
	local, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(local, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Addr().Unmap() == a.WithZone("")
	})
}

func transport(connect time.Duration, roots *x509.CertPool, control func(network, address string, _ syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, Control: control}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    connect,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // a small answer must not become a large one
	}
}

var (
	errNotLoopback = errors.New("the address is not loopback")
	errNotRemote   = errors.New("the address is of this machine")
)

// authorities reads the file of the agent's certificate authorities; nil stands
// for those of the system.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := readFile(file, maxCA)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CAVariable, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no PEM certificate", CAVariable)
	}
	return roots, nil
}

// readFile reads a small file. Its errors name no path.
func readFile(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, errors.New("the file does not exist")
		}
		return nil, errors.New("the file cannot be opened")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, errors.New("the file cannot be read")
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the file is larger than %d bytes", limit)
	}
	return data, nil
}

// token reads the bearer.
func (c *Client) token() (string, error) {
	text, err := readFile(c.o.TokenFile, maxToken)
	if err != nil {
		return "", fmt.Errorf("%s: %w", TokenVariable, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("%s: the file is empty", TokenVariable)
	}
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", fmt.Errorf("%s: the file holds more than one line of printable ASCII without spaces", TokenVariable)
		}
	}
	return token, nil
}

// Ready reports what keeps this host from using its agent, every missing thing by
// the variable it comes from. It reads the token file and asks nothing over the
// network (R§15.4).
func (c *Client) Ready(context.Context) error {
	var missing []string
	if _, err := c.token(); err != nil {
		missing = append(missing, err.Error())
	}
	if err := c.pinned(); err != nil {
		missing = append(missing, err.Error())
	}
	if missing == nil {
		return nil
	}
	return &Fault{Text: "topic-vm orchestrator not ready: " + strings.Join(missing, "; ")}
}

func (c *Client) pinned() error {
	if !wire.ImageDigest(c.o.ImageDigest) {
		return errors.New("the RLM VM image is not pinned; set " + DigestVariable + " to sha256: and 64 hex digits")
	}
	return nil
}

// Loopback reports whether the agent runs on this machine, which no production
// host accepts.
func (c *Client) Loopback() bool { return c.loopback }

// Close drops idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }
