package canonjson

import (
	"strconv"
	"strings"
)

// ValidPointer reports whether p is a JSON Pointer (RFC 6901 §3): empty, or
// starting with '/', with each '~' followed by 0 or 1.
func ValidPointer(p string) bool {
	if p == "" {
		return true
	}
	if p[0] != '/' {
		return false
	}
	for i := range len(p) {
		if p[i] == '~' && (i+1 == len(p) || p[i+1] != '0' && p[i+1] != '1') {
			return false
		}
	}
	return true
}

// Resolve returns the value that a JSON Pointer names inside v (RFC 6901 §4). It
// resolves to nothing when the pointer is not valid, a member is not there, or an
// array token is no index of it; indexes are 0 or have no leading zero, and "-"
// (the element after the last) names nothing.
func Resolve(v any, pointer string) (any, bool) {
	if !ValidPointer(pointer) {
		return nil, false
	}
	for pointer != "" {
		var token string
		token, pointer = firstToken(pointer)
		switch c := v.(type) {
		case *Object:
			next, ok := c.Get(UnescapeToken(token))
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := arrayIndex(token, len(c))
			if !ok {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// firstToken cuts the first token, still escaped, off a pointer that is not empty.
func firstToken(pointer string) (token, rest string) {
	pointer = pointer[1:]
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}

func arrayIndex(token string, length int) (int, bool) {
	if token == "" || len(token) > 1 && token[0] == '0' {
		return 0, false
	}
	for i := range len(token) {
		if token[i] < '0' || token[i] > '9' {
			return 0, false
		}
	}
	i, err := strconv.Atoi(token)
	return i, err == nil && i < length
}

// EscapeToken writes a member name as a token of a JSON Pointer: '~' as ~0 and
// '/' as ~1.
func EscapeToken(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return name
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// UnescapeToken is the reverse of EscapeToken: ~1 becomes '/' first, then ~0
// becomes '~'.
func UnescapeToken(token string) string {
	if strings.IndexByte(token, '~') < 0 {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
