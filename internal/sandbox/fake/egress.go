package fake

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"syscall"

	"github.com/prova-dev/prova/internal/platform/httpx"
)

// Egress is the list of private addresses that artefacts may be fetched from,
// besides public ones. The zero value allows none.
type Egress []allow

type allow struct {
	prefix netip.Prefix
	port   uint16 // 0: any
}

// ParseEgress reads a comma-separated list in the grammar of the agent's allow
// entries, CIDR[:port[/tcp]] (R§24.2): a bare address is that address alone, an
// IPv6 network with a port stands in brackets. Host names are refused.
func ParseEgress(list string) (Egress, error) {
	var out Egress
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		a, err := parseAllow(entry)
		if err != nil {
			return nil, fmt.Errorf("egress entry %q: %w; write CIDR[:port[/tcp]], such as 127.0.0.1:9000", entry, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAllow(entry string) (allow, error) {
	network, port := entry, ""
	hasPort := false
	if inner, ok := strings.CutPrefix(entry, "["); ok {
		if network, port, ok = strings.Cut(inner, "]"); !ok {
			return allow{}, errors.New("the bracket is not closed")
		}
		if port != "" {
			if port, hasPort = strings.CutPrefix(port, ":"); !hasPort {
				return allow{}, errors.New("after the bracket comes :port or nothing")
			}
		}
	} else if strings.Count(entry, ":") == 1 {
		network, port, hasPort = strings.Cut(entry, ":")
	}
	a := allow{}
	if hasPort {
		digits, protocol, named := strings.Cut(port, "/")
		if named && protocol != "tcp" {
			return allow{}, errors.New("artefacts are fetched over tcp")
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 {
			return allow{}, errors.New("the port must be 1..65535")
		}
		a.port = uint16(n)
	}
	if addr, err := netip.ParseAddr(network); err == nil && addr.Zone() == "" {
		a.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return a, nil
	}
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		return allow{}, errors.New("it is neither an address nor a network")
	}
	a.prefix = prefix.Masked()
	return a, nil
}

// Allows reports whether an artefact may be fetched from that address: a public
// one, or one that an entry names.
func (e Egress) Allows(at netip.AddrPort) bool {
	addr := at.Addr().Unmap().WithZone("")
	for _, a := range e {
		if a.prefix.Contains(addr) && (a.port == 0 || a.port == at.Port()) {
			return true
		}
	}
	return !httpx.Blocked(addr)
}

// errEgress is what a refused connection says; which address a name resolved to
// is nothing for the miner who wrote the name.
var errEgress = errors.New("its address is not public and no egress entry names it")

// control is the last word before a connection is made: it sees the address
// after the look-up, so a second look-up cannot change it.
func (e Egress) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !e.Allows(at) {
		return errEgress
	}
	return nil
}
