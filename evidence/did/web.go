package did

import (
	"net/url"
	"strings"
)

// IsDID reports whether s has the form of a DID (W3C DID Core §3.1): "did:", a
// method in lower-case letters and digits, ':' and an identifier of letters,
// digits, '.', '-', '_', ':' and percent escapes that does not end in ':'. It says
// nothing about the method, and nothing is resolved.
func IsDID(s string) bool {
	rest, ok := strings.CutPrefix(s, "did:")
	if !ok || len(s) > maxDID {
		return false
	}
	method, id, ok := strings.Cut(rest, ":")
	if !ok || method == "" || id == "" || strings.HasSuffix(id, ":") {
		return false
	}
	for i := range len(method) {
		if c := method[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	for segment := range strings.SplitSeq(id, ":") {
		if !isSegment(segment) {
			return false
		}
	}
	return true
}

// isSegment reports whether s, which may be empty, has only the characters of a
// DID's identifier, colon excepted.
func isSegment(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlphanumeric(c) || c == '.' || c == '-' || c == '_':
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			i += 2
		default:
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// WebURL returns the address of a did:web's document (reference §12.3): the first
// part is the domain, further parts are path segments.
//
//	did:web:example.org      → https://example.org/.well-known/did.json
//	did:web:example.org:a:b  → https://example.org/a/b/did.json
//
// Nothing is percent-decoded, so a domain cannot have a port; a percent escape in
// a path segment is kept, unless it stands for a dot segment or a separator. The
// domain is not looked up: guarding the address is the caller's part. The error
// wraps ErrInvalid.
func WebURL(did string) (string, error) {
	id, ok := strings.CutPrefix(did, webPrefix)
	if !ok {
		return "", invalid(did, "want it to start with %q", webPrefix)
	}
	if len(did) > maxDID {
		return "", invalid(did, "longer than %d characters", maxDID)
	}
	domain, path, hasPath := strings.Cut(id, ":")
	if fault := domainFault(domain); fault != "" {
		return "", invalid(did, "%s", fault)
	}
	if !hasPath {
		return "https://" + domain + "/.well-known/did.json", nil
	}
	for segment := range strings.SplitSeq(path, ":") {
		if !isSegment(segment) {
			return "", invalid(did, "path segment %q has a character that a DID cannot have", segment)
		}
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, `/\`) {
			return "", invalid(did, "path segment %q is empty, a dot segment, or has a separator in it", segment)
		}
	}
	return "https://" + domain + "/" + strings.ReplaceAll(path, ":", "/") + "/did.json", nil
}

// domainFault says what is wrong with a domain; empty when nothing is.
func domainFault(domain string) string {
	switch {
	case domain == "":
		return "the domain is empty"
	case strings.Contains(domain, "%"):
		return "the domain has a percent escape; ports and escapes are not supported"
	case len(domain) > 253:
		return "the domain is longer than 253 characters"
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 {
			return "the domain has an empty label or one longer than 63 characters"
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return "the domain has a label that starts or ends with a hyphen"
		}
		for i := range len(label) {
			if c := label[i]; !isAlphanumeric(c) && c != '-' && c != '_' {
				return "the domain has a character other than letters, digits, '.', '-' and '_'"
			}
		}
	}
	return ""
}
