package canonjson

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// ErrNotFinite is wrapped by the error of [AppendSorted] for a NaN or an
// infinity.
var ErrNotFinite = errors.New("is not a finite number")

// Sorted returns the sorted compact text of a value; see AppendSorted.
func Sorted(v any) ([]byte, error) { return AppendSorted(nil, v) }

// AppendSorted appends the sorted compact text of a value to dst: the text that
// signed topics and the commitments of the research challenge hash (R§3).
//
//   - Members are sorted by the bytes of their names; no white space.
//   - Strings are raw UTF-8. Escaped are the double quote and the backslash,
//     \b \f \n \r \t, and the other bytes below 0x20 as \u00xx.
//   - An [Int] is its digits. A float64 has the shortest digits that read back:
//     plain while 1e-5 ≤ |x| < 1e16, with at least one digit after the point
//     (0.00001, 100.0), else with an exponent without leading zeros and with its
//     sign (1e-8, 1.5e+16). Negative zero is -0.0.
//
// It differs from [Append] in strings and float spelling, and from RFC 8785 in
// floats of integral value. The text is a fixed point: it parses to a value that
// has the same text.
//
// NaN and the infinities (ErrNotFinite) and strings that are not UTF-8, lone
// surrogates among them, have no such text and are refused with a JSON Pointer
// to the value; dst is then returned as it was. Go values are taken as by Append.
func AppendSorted(dst []byte, v any) ([]byte, error) {
	out, err := appendSorted(dst, v)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// unsortable is why a value has no sorted compact text.
type unsortable struct {
	path   []string // tokens of the pointer to it, innermost first
	reason string
	cause  error
}

func (e *unsortable) Error() string {
	at := "the value"
	for _, token := range slices.Backward(e.path) {
		if at == "the value" {
			at = ""
		}
		at += "/" + EscapeToken(token)
	}
	return at + " " + e.reason
}

func (e *unsortable) Unwrap() error { return e.cause }

func below(err *unsortable, token string) ([]byte, *unsortable) {
	err.path = append(err.path, token)
	return nil, err
}

func appendSorted(dst []byte, v any) ([]byte, *unsortable) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendSortedString(dst, v)
	case Int:
		return append(dst, v...), nil
	case float64:
		return appendSortedFloat(dst, v)
	case []any:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err *unsortable
			if dst, err = appendSorted(dst, v[i]); err != nil {
				return below(err, strconv.Itoa(i))
			}
		}
		return append(dst, ']'), nil
	case *Object:
		if v == nil {
			return append(dst, "null"...), nil
		}
		return appendSortedObject(dst, v.members)
	}
	converted, err := FromGo(v)
	if err != nil {
		panic("canonjson: " + err.Error()) //nolint:forbidigo // A programming error, as documented.
	}
	return appendSorted(dst, converted)
}

func appendSortedObject(dst []byte, members []member) ([]byte, *unsortable) {
	if !slices.IsSortedFunc(members, byName) {
		var room [32]member
		members = append(room[:0], members...)
		slices.SortFunc(members, byName)
	}
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *unsortable
		if dst, err = appendSortedString(dst, members[i].name); err != nil {
			err.reason = "has a member name that " + err.reason
			return nil, err
		}
		dst = append(dst, ':')
		if dst, err = appendSorted(dst, members[i].value); err != nil {
			return below(err, members[i].name)
		}
	}
	return append(dst, '}'), nil
}

func appendSortedString(dst []byte, s string) ([]byte, *unsortable) {
	dst = append(dst, '"')
	start, all := 0, byte(0)
	for i := range len(s) {
		c := s[i]
		all |= c
		if c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, rune(c))
			start = i + 1
		}
	}
	if all >= utf8.RuneSelf && !utf8.ValidString(s) {
		return nil, &unsortable{reason: "is not valid UTF-8"}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}

func appendSortedFloat(dst []byte, f float64) ([]byte, *unsortable) {
	m := math.Abs(f)
	switch {
	case math.IsNaN(f), math.IsInf(f, 0):
		return nil, &unsortable{reason: "(" + strconv.FormatFloat(f, 'g', -1, 64) + ") " + ErrNotFinite.Error(), cause: ErrNotFinite}
	case m == 0 || 1e-5 <= m && m < 1e16:
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
		if !slices.Contains(dst[start:], '.') {
			dst = append(dst, '.', '0')
		}
		return dst, nil
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// strconv writes at least two digits of exponent: e-08 becomes e-8.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, nil
}
