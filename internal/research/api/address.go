package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// peer is who holds the other end of the connection; the zero address when that has
// none, as on a Unix socket.
func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

func (s *server) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(s.o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// client is the address that a request comes from (decision 7): the peer, or, behind
// trusted proxies, the last address of X-Forwarded-For that none of them has. What
// stands before it was written by the client itself, as was all of the header where
// the peer is no trusted proxy.
func (s *server) client(r *http.Request) netip.Addr {
	at := peer(r)
	if !s.trusted(at) {
		return at
	}
	for _, header := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for rest := header; ; {
			i := strings.LastIndexByte(rest, ',')
			from, ok := forwarded(rest[i+1:])
			if !ok {
				return at // a proxy that writes no addresses; it is the last one known
			}
			if at = from; !s.trusted(at) {
				return at
			}
			if i < 0 {
				break
			}
			rest = rest[:i]
		}
	}
	return at
}

// forwarded reads one entry of X-Forwarded-For; some proxies write the port too.
func forwarded(entry string) (netip.Addr, bool) {
	entry = strings.TrimSpace(entry)
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]"))
	if err != nil {
		at, err := netip.ParseAddrPort(entry)
		if err != nil {
			return netip.Addr{}, false
		}
		a = at.Addr()
	}
	return a.Unmap().WithZone(""), true
}

// private reports whether nobody on the way can read the bearer of a request
// (decision 18): it came over TLS, from this machine, or through a trusted proxy
// that does not say that the client spoke to it in the clear.
func (s *server) private(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	at := peer(r)
	if s.trusted(at) {
		return !slices.ContainsFunc(r.Header.Values("X-Forwarded-Proto"), func(proto string) bool {
			return !strings.EqualFold(strings.TrimSpace(proto), "https")
		})
	}
	return at.IsLoopback()
}
