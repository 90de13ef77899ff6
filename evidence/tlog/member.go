package tlog

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// member returns a member of an object as T, one of the types of canonjson's value model. The error names the member's
// place by JSON Pointer and what stands there instead.
func member[T any](o *canonjson.Object, parent, name string) (T, error) {
	v, ok := o.Get(name)
	if !ok {
		var zero T
		return zero, fmt.Errorf("%s/%s: missing, want %s", parent, name, canonjson.Kind(zero))
	}
	return as[T](v, parent+"/"+name)
}

func as[T any](v any, pointer string) (T, error) {
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("%s: %s, want %s", pointer, canonjson.Kind(v), canonjson.Kind(t))
	}
	return t, nil
}

// integerMember returns a member that is an integer literal from -2^63 to 2^63-1.
func integerMember(o *canonjson.Object, parent, name string) (int64, error) {
	text, err := member[canonjson.Int](o, parent, name)
	if err != nil {
		return 0, err
	}
	n, ok := text.Int64()
	if !ok {
		return 0, fmt.Errorf("%s/%s: integer of %d digits, want one of 64 bits", parent, name, len(text))
	}
	return n, nil
}

// parseHash reads 64 lower-case hexadecimal characters.
func parseHash(s string) ([32]byte, error) {
	var out [32]byte
	if !isHex(s, 64) {
		return out, fmt.Errorf("%s is not 64 lower-case hex", excerpt(s))
	}
	_, err := hex.Decode(out[:], []byte(s))
	return out, err
}

// isHex reports whether s has the given length and only lower-case hexadecimal digits.
func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// excerpt quotes the beginning of an outside text for an error.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		return fmt.Sprintf("%q… (%d bytes)", s[:most], len(s))
	}
	return fmt.Sprintf("%q", s)
}
