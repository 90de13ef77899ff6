package family

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// appendFloat writes a float as the reference's canonical JSON does (R§3):
// shortest digits, ".0" for integral values, decimal for 1e-5 <= |f| < 1e16,
// else one leading digit and an exponent without zeros, signed when positive.
// JSON has no word for what is not finite: null.
func appendFloat(dst []byte, f float64) []byte {
	if !finite(f) {
		return append(dst, "null"...)
	}
	if m := math.Abs(f); m != 0 && (m < 1e-5 || m >= 1e16) {
		return appendExponent(dst, f, true)
	}
	return appendDecimal(dst, f)
}

// appendDebugFloat writes a float as Rust's {:?} does: decimal for
// 1e-4 <= |f| < 1e16, else an exponent without a plus sign.
func appendDebugFloat(dst []byte, f float64) []byte {
	switch m := math.Abs(f); {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case m != 0 && (m < 1e-4 || m >= 1e16):
		return appendExponent(dst, f, false)
	}
	return appendDecimal(dst, f)
}

func appendDecimal(dst []byte, f float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendExponent writes Go's 1e-08 as 1e-8, and 1e+16 with or without its sign.
func appendExponent(dst []byte, f float64, plus bool) []byte {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	e := bytes.IndexByte(text, 'e')
	sign, digits := text[e+1], text[e+2:]
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	dst = append(dst, text[:e+1]...)
	if sign == '-' || plus {
		dst = append(dst, sign)
	}
	return append(dst, digits...)
}

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string with the escapes of R§3 and nothing else
// escaped. Bytes that are no UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			if c < 0x20 {
				dst = append(dst, `\u00`...)
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			} else {
				dst = append(dst, c)
			}
		}
	}
	return append(dst, '"')
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
