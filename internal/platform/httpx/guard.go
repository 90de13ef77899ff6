package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// blocked are the networks that no outgoing call may reach: those of Trust
// Layer reference §4.6 and, from the last two lines on, those its source misses.
var blocked = prefixes(
	"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "0.0.0.0/8",
	"::1/128", "fc00::/7", "fe80::/10", "::ffff:0:0/96", "2002::/16", "2001::/32",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "fec0::/10", "ff00::/8",
	"224.0.0.0/4", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

// Blocked reports whether an address must not be reached: private, local,
// reserved or multicast, or an IPv6 form that hides an IPv4 address. A zone
// does not help.
func Blocked(a netip.Addr) bool {
	a = a.WithZone("")
	for _, p := range blocked {
		if p.Contains(a) {
			return true
		}
	}
	return !a.IsValid()
}

var (
	// ErrTarget is wrapped by what CheckURL refuses by its form.
	ErrTarget = errors.New("the target is not allowed")
	// ErrResolve is wrapped when a host has no address.
	ErrResolve = errors.New("could not resolve hostname")
)

// Guard decides which addresses outgoing calls may reach (T§4.6) and makes
// them. Hosts of its upstreams map go to their loopback listener; every other
// host must resolve to public addresses only, and the address that was checked is
// the one dialled, so that a second look-up cannot change it.
type Guard struct {
	upstreams map[string]string
	lookup    func(ctx context.Context, host string) ([]netip.Addr, error)
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
}

// GuardOptions are what NewGuard takes; the zero value is a guard for the
// network as it is.
type GuardOptions struct {
	// Upstreams maps a host name (exactly as in URLs, lower case, no port) to
	// "IP:port" of a loopback listener that speaks plain HTTP.
	Upstreams map[string]string
	// Lookup and Dial stand in for the network in tests.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewGuard checks the map: an upstream that is not a loopback address would be
// a hole in the guard.
func NewGuard(o GuardOptions) (*Guard, error) {
	g := &Guard{upstreams: make(map[string]string, len(o.Upstreams)), lookup: o.Lookup, dial: o.Dial}
	if g.lookup == nil {
		g.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	if g.dial == nil {
		g.dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	for host, address := range o.Upstreams {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() || at.Port() == 0 {
			return nil, fmt.Errorf("upstreams: %q maps to %q: write a loopback listener, such as 127.0.0.1:8080", host, address)
		}
		if host == "" || host != strings.ToLower(host) || strings.ContainsAny(host, ":/@") {
			return nil, fmt.Errorf("upstreams: %q is no host name: lower case, without scheme and port", host)
		}
		g.upstreams[host] = at.String()
	}
	return g, nil
}

type pinKey struct{}

// pin is the address that CheckURL admitted for a host.
type pin struct {
	host string
	addr netip.Addr
}

// CheckURL applies the rules of T§4.6 to a target. The form comes first (https
// only, a host, not a local name or blocked literal; ErrTarget), then the
// look-up (ErrResolve), then each address found (ErrTarget). The context
// returned carries the checked address: a request made with it through
// Transport is dialled there.
func (g *Guard) CheckURL(ctx context.Context, target string) (context.Context, *url.URL, error) {
	u, err := url.Parse(target)
	if err != nil || u.Opaque != "" {
		return ctx, nil, fmt.Errorf("%w: it is no URL", ErrTarget)
	}
	if u.Scheme != "https" {
		return ctx, nil, fmt.Errorf("%w: only https URLs are", ErrTarget)
	}
	host := strings.ToLower(u.Hostname())
	switch strings.TrimSuffix(host, ".") {
	case "":
		return ctx, nil, fmt.Errorf("%w: it names no host", ErrTarget)
	case "localhost", "0.0.0.0":
		return ctx, nil, fmt.Errorf("%w: %s is this machine", ErrTarget, host)
	}
	if _, ok := g.upstreams[host]; ok {
		return ctx, u, nil
	}
	addr, err := g.resolve(ctx, host)
	if err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, pinKey{}, pin{host: host, addr: addr}), u, nil
}

// resolve returns the first address of host, if every one of them may be
// reached: a host with one private address is refused whole.
func (g *Guard) resolve(ctx context.Context, host string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		if Blocked(a) {
			return netip.Addr{}, fmt.Errorf("%w: %s is in a private or reserved range", ErrTarget, host)
		}
		return a, nil
	}
	found, err := g.lookup(ctx, host)
	if err != nil || len(found) == 0 {
		// The resolver's own words may name servers of ours.
		return netip.Addr{}, fmt.Errorf("%w '%s'", ErrResolve, host)
	}
	for i, a := range found {
		// The resolver gives IPv4 addresses in IPv6 form as well; these are not disguises.
		found[i] = a.Unmap()
		if Blocked(found[i]) {
			return netip.Addr{}, fmt.Errorf("%w: %s resolves to a private or reserved range", ErrTarget, host)
		}
	}
	return found[0], nil
}

// Transport makes the calls. It follows no proxy of the environment, verifies
// TLS, and checks hosts itself when a request comes without a pinned address.
func (g *Guard) Transport() http.RoundTripper {
	t := &http.Transport{
		Proxy:                  nil, // A proxy would resolve the host again, out of sight.
		DialContext:            g.dialChecked,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // What is hashed is what the upstream sent; decoding is the caller's decision.
		ForceAttemptHTTP2:      true,
	}
	return &roundTripper{guard: g, next: t}
}

type roundTripper struct {
	guard *Guard
	next  *http.Transport
}

// RoundTrip sends a request for a mapped host to its loopback listener, with
// the Host header of the canonical URL, and any other to its checked address.
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if at, ok := t.guard.upstreams[strings.ToLower(r.URL.Hostname())]; ok {
		r = r.Clone(r.Context())
		if r.Host == "" {
			r.Host = r.URL.Host
		}
		r.URL.Scheme, r.URL.Host = "http", at
		// Our own services believe this header to come from the front proxy.
		r.Header.Del("X-Real-IP")
		return t.next.RoundTrip(r.WithContext(context.WithValue(r.Context(), pinKey{}, mapped)))
	}
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%w: only https URLs are", ErrTarget)
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client's method of that name work.
func (t *roundTripper) CloseIdleConnections() { t.next.CloseIdleConnections() }

// mapped marks a dial to a loopback listener of the map.
var mapped = pin{host: "\x00mapped"}

func (g *Guard) dialChecked(ctx context.Context, network, address string) (net.Conn, error) {
	p, _ := ctx.Value(pinKey{}).(pin)
	if p == mapped {
		return g.dial(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	addr := p.addr
	if p.host != strings.ToLower(host) {
		if addr, err = g.resolve(ctx, host); err != nil {
			return nil, err
		}
	}
	return g.dial(ctx, network, net.JoinHostPort(addr.String(), port))
}
