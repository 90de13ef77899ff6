package family

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// appendFloat writes a float as R§3 spells it, and null for what JSON has no
// word for: figures that did not come out of a document.
func appendFloat(dst []byte, f float64) []byte {
	text, err := canonjson.AppendSorted(dst, f)
	if err != nil { // not finite
		return append(dst, "null"...)
	}
	return text
}

// appendString writes a string as R§3 does; what is no UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	text, err := canonjson.AppendSorted(dst, s)
	if err != nil { // not UTF-8
		return appendString(dst, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return text
}

// appendDebugFloat writes a float as Rust's {:?} does: decimal for
// 1e-4 <= |f| < 1e16, else an exponent without zeros and without a plus sign.
func appendDebugFloat(dst []byte, f float64) []byte {
	switch m := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case m == 0 || m >= 1e-4 && m < 1e16:
		return appendFloat(dst, f)
	}
	text := strconv.AppendFloat(nil, f, 'e', -1, 64)
	mantissa, exponent, _ := bytes.Cut(text, []byte("e"))
	dst = append(append(dst, mantissa...), 'e')
	if exponent[0] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, bytes.TrimLeft(exponent, "+-0")...)
}

// cut returns at most limit bytes of s, ending between two characters
// (decision 21: a cut inside one is what the source aborts on).
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
