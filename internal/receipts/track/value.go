package track

import (
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// member reads one required member of an object and names its pointer when it is
// missing or of another type.
func member[T any](o *canonjson.Object, at, name, want string) (T, error) {
	var zero T
	v, ok := o.Get(name)
	if !ok {
		return zero, fmt.Errorf("%s/%s is missing: it must be %s", at, name, want)
	}
	t, ok := v.(T)
	if !ok {
		return zero, fmt.Errorf("%s/%s is %s: it must be %s", at, name, canonjson.Kind(v), want)
	}
	return t, nil
}

// text reads a required, non-empty string.
func text(o *canonjson.Object, at, name string) (string, error) {
	s, err := member[string](o, at, name, "a string")
	if err != nil {
		return "", err
	}
	if s == "" {
		return "", fmt.Errorf("%s/%s is empty: it must be a string with content", at, name)
	}
	return s, nil
}

// texts reads an array of strings.
func texts(v any, at string) ([]string, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s: it must be an array of strings", at, canonjson.Kind(v))
	}
	out := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("%s/%d is %s: it must be a string", at, i, canonjson.Kind(item))
		}
		out[i] = s
	}
	return out, nil
}

// calendarDay reports whether s is a day that exists, written YYYY-MM-DD.
func calendarDay(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && t.Format(time.DateOnly) == s
}

// isHash reports whether s is 64 lower-case hex digits.
func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// fields splits a JSON Pointer (RFC 6901) into its unescaped tokens. It splits at
// '/' first and unescapes each token afterwards, as bundle format §4 asks.
func fields(pointer string) ([]string, bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		if !strings.Contains(token, "~") {
			continue
		}
		for j := range len(token) {
			if token[j] == '~' && (j+1 == len(token) || token[j+1] != '0' && token[j+1] != '1') {
				return nil, false
			}
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, true
}

// isIndex reports whether a token is an array index: 0, or digits without a
// leading zero (D18).
func isIndex(token string) bool {
	if token == "" || len(token) > 1 && token[0] == '0' {
		return false
	}
	return strings.Trim(token, "0123456789") == ""
}
