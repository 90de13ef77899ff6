package canonjson

import (
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Marshal returns the canonical text of a value (reference §5.1).
func Marshal(v any) []byte { return Append(nil, v) }

// Sum returns the SHA-256 of the canonical text of a value.
func Sum(v any) [32]byte {
	var room [1024]byte
	return sha256.Sum256(Append(room[:0], v))
}

// Append appends the canonical text of a value to dst (reference §5.1): ASCII,
// members sorted by code point, no white space, floats in Python's layout, NaN
// and ±Infinity as these words.
//
// The value is one of the package's model. Go values that [FromGo] converts are
// converted; any other type is a programming error and panics. A byte in a
// string that belongs to no code point, which no parsed value has, is written as
// \ufffd.
func Append(dst []byte, v any) []byte { return writer{canonical: true}.append(dst, v) }

// Compact returns the compact text of a value; see AppendCompact.
func Compact(v any) []byte { return AppendCompact(nil, v) }

// AppendCompact appends the text of JSON responses and request bodies (reference
// §1, §4.4) to dst: members in the object's order, no white space, non-ASCII
// characters raw. What UTF-8 JSON cannot hold is written so that the text stays
// valid: lone surrogates as \udXXX escapes, NaN and ±Infinity as null.
// Values are taken as by Append.
func AppendCompact(dst []byte, v any) []byte { return writer{}.append(dst, v) }

type writer struct{ canonical bool }

func (w writer) append(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return w.str(dst, v)
	case Int:
		return append(dst, v...)
	case float64:
		return w.float(dst, v)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = w.append(dst, v[i])
		}
		return append(dst, ']')
	case *Object:
		if v == nil {
			return append(dst, "null"...)
		}
		return w.object(dst, v.members)
	}
	converted, err := FromGo(v)
	if err != nil {
		panic("canonjson: " + err.Error()) //nolint:forbidigo // A programming error, as documented.
	}
	return w.append(dst, converted)
}

func (w writer) object(dst []byte, members []member) []byte {
	if w.canonical && !slices.IsSortedFunc(members, byName) {
		var room [32]member
		members = append(room[:0], members...)
		slices.SortFunc(members, byName)
	}
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(w.str(dst, members[i].name), ':')
		dst = w.append(dst, members[i].value)
	}
	return append(dst, '}')
}

// byName orders by code point, which in generalised UTF-8 is the order of bytes.
func byName(a, b member) int { return strings.Compare(a.name, b.name) }

const hexDigits = "0123456789abcdef"

func (w writer) str(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if 0x20 <= c && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, n := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 && surrogateAt(s, i) {
				r, n = 0xd000|rune(s[i+1]&0x3f)<<6|rune(s[i+2]&0x3f), 3
			}
		}
		if !w.canonical && (c == 0x7f || c >= utf8.RuneSelf && n > 1 && !isSurrogate(r)) {
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = appendEscape(dst, r)
		i += n
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	if r > 0xffff {
		r -= 0x10000
		return appendUnit(appendUnit(dst, 0xd800|r>>10), 0xdc00|r&0x3ff)
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// float writes Python's repr: the shortest digits that read back, plain while the
// decimal exponent of the first digit is from −4 to 15, else with an exponent of
// at least two digits.
func (w writer) float(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		switch {
		case !w.canonical:
			return append(dst, "null"...)
		case f > 0:
			return append(dst, "Infinity"...)
		case f < 0:
			return append(dst, "-Infinity"...)
		}
		return append(dst, "NaN"...)
	}
	if m := math.Abs(f); m != 0 && (m < 1e-4 || m >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[start:], '.') {
		dst = append(dst, '.', '0')
	}
	return dst
}
