package issuer

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// target is the destination of a proxied call, read from the caller's URL once.
type target struct {
	// Host is the seller: lower case, without port or brackets (T§4.9).
	Host string
	// Addr is set when Host is an IP literal.
	Addr netip.Addr

	authority string // host[:port] as it is dialled and sent in Host
	user      *url.Userinfo
	path      string // as sent: dot segments resolved, percent-encoded
	query     string
	hasQuery  bool
}

const maxURLLength = 65536

// parseTarget applies the URL rules of T§4.6 that need no look-up. Addresses are
// checked, and pinned, by the guard of the transport.
func parseTarget(raw string) (*target, *apiError) {
	if len(raw) > maxURLLength {
		return nil, badTarget("'target' is longer than 65536 characters")
	}
	if hasSurrogate(raw) {
		return nil, badTarget("'target' holds a lone surrogate")
	}
	for i := range len(raw) {
		if raw[i] < 0x20 || raw[i] == 0x7f {
			return nil, badTarget("'target' holds a control character")
		}
	}
	rest, _, _ := strings.Cut(raw, "#")
	scheme, rest, ok := strings.Cut(rest, ":")
	if !ok || !strings.EqualFold(scheme, "https") || !strings.HasPrefix(rest, "//") {
		return nil, badTarget("Target must be an https URL")
	}
	rest = rest[2:]
	t := &target{}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if strings.Contains(authority, `\`) {
		return nil, badTarget("'target' has a backslash in its host")
	}
	if err := t.parseAuthority(authority); err != nil {
		return nil, err
	}
	path, query, hasQuery := strings.Cut(rest, "?")
	t.path = normalizePath(quoteURL(path, " \"#<>?`{}"))
	t.query, t.hasQuery = quoteURL(query, " \"#<>"), hasQuery
	return t, nil
}

func (t *target) parseAuthority(s string) *apiError {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		name, password, _ := strings.Cut(s[:i], ":")
		n, err1 := url.PathUnescape(name)
		p, err2 := url.PathUnescape(password)
		if err1 != nil || err2 != nil {
			return badTarget("'target' has a malformed user-info part")
		}
		t.user, s = url.UserPassword(n, p), s[i+1:]
	}
	host, port := s, ""
	if strings.HasPrefix(s, "[") {
		i := strings.IndexByte(s, ']')
		if i < 0 {
			return badTarget("'target' has a malformed host")
		}
		host, port = s[1:i], s[i+1:]
		if port != "" && port[0] != ':' {
			return badTarget("'target' has a malformed host")
		}
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return badTarget("'target' has a malformed IPv6 address")
		}
		t.Addr = addr
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, port = s[:i], s[i:]
	}
	host = strings.ToLower(host)
	switch host {
	case "":
		return badTarget("Target URL has no host")
	case "localhost", "0.0.0.0":
		return badTarget("Target host is not allowed")
	}
	if !t.Addr.IsValid() {
		ascii, err := asciiHost(host)
		if err != nil {
			return badTarget("'target' has a malformed host")
		}
		host = ascii
		if addr, err := netip.ParseAddr(host); err == nil {
			t.Addr = addr
		}
	}
	t.Host = host
	t.authority = host
	if t.Addr.Is6() {
		t.authority = "[" + host + "]"
	}
	if port = strings.TrimPrefix(port, ":"); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return badTarget("'target' has a malformed port")
		}
		if n != 443 {
			t.authority += ":" + strconv.FormatUint(n, 10)
		}
	}
	return nil
}

// asciiHost is the name to look up: letters, digits, hyphens, dots and
// underscores; anything else goes through IDNA.
func asciiHost(host string) (string, error) {
	for i := range len(host) {
		c := host[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return idna.Lookup.ToASCII(host)
		}
	}
	return host, nil
}

// url is what the call fetches (T§4.4): for GET the payload replaces the query,
// and an empty payload removes it; for POST the query stays.
func (t *target) url(method string, payload *canonjson.Object) *url.URL {
	u := &url.URL{Scheme: "https", Host: t.authority}
	query, hasQuery := t.query, t.hasQuery
	if method == "GET" {
		query, hasQuery = formEncode(payload), payload.Len() > 0
	}
	u.RawQuery, u.ForceQuery = query, hasQuery && query == ""
	// Opaque sends the path exactly as encoded here; a path that begins with two
	// slashes would read as an authority there, so that one takes the other way.
	if strings.HasPrefix(t.path, "//") {
		u.Path, u.RawPath = mustUnescape(t.path), t.path
	} else {
		u.Opaque = t.path
	}
	return u
}

func mustUnescape(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

// normalizePath resolves dot segments as RFC 3986 5.2.4 does and never returns
// an empty path.
func normalizePath(path string) string {
	if path == "" {
		return "/"
	}
	if !strings.Contains(path, ".") {
		return path
	}
	parts := strings.Split(path, "/")
	if !containsDots(parts) {
		return path
	}
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		switch p {
		case ".":
		case "..":
			if len(out) > 1 || (len(out) == 1 && out[0] != "") {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, p)
		}
	}
	joined := strings.Join(out, "/")
	if !strings.HasPrefix(joined, "/") {
		joined = "/" + joined
	}
	return joined
}

func containsDots(parts []string) bool {
	for _, p := range parts {
		if p == "." || p == ".." {
			return true
		}
	}
	return false
}

// quoteURL percent-encodes non-ASCII bytes and those of unsafe; escapes that are
// there stay.
func quoteURL(s, unsafe string) string {
	clean := true
	for i := range len(s) {
		if s[i] >= 0x80 || strings.IndexByte(unsafe, s[i]) >= 0 {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] >= 0x80 || strings.IndexByte(unsafe, s[i]) >= 0 {
			percent(&b, s[i])
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func percent(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}
