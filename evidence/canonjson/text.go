package canonjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// str reads the string whose opening quote is at p.at. A string without
// escapes is cut from the document without a copy.
func (p *parser) str() (string, bool) {
	start := p.at + 1
	i := start
	for {
		i = plainEnd(p.data, i)
		if i >= len(p.data) {
			return "", p.fail(p.at, "string does not end; a closing double quote is missing")
		}
		switch c := p.data[i]; {
		case c == '"':
			p.at = i + 1
			return p.text[start:i], true
		case c == '\\':
			return p.escaped(start, i)
		case c < 0x20:
			return "", p.fail(i, "control character 0x%02x inside a string; write it as \\u%04x", c, c)
		default:
			n := p.sequence(i)
			if n == 0 {
				return "", false
			}
			i += n
		}
	}
}

// escaped reads on from the first backslash, at i, into a buffer.
func (p *parser) escaped(start, i int) (string, bool) {
	buf := append(make([]byte, 0, i-start+32), p.data[start:i]...)
	for {
		end := plainEnd(p.data, i)
		buf = append(buf, p.data[i:end]...)
		i = end
		if i >= len(p.data) {
			return "", p.fail(p.at, "string does not end; a closing double quote is missing")
		}
		switch c := p.data[i]; {
		case c == '"':
			p.at = i + 1
			return string(buf), true
		case c == '\\':
			var ok bool
			if buf, i, ok = p.escape(buf, i); !ok {
				return "", false
			}
		case c < 0x20:
			return "", p.fail(i, "control character 0x%02x inside a string; write it as \\u%04x", c, c)
		default:
			n := p.sequence(i)
			if n == 0 {
				return "", false
			}
			buf = append(buf, p.data[i:i+n]...)
			i += n
		}
	}
}

// escape reads the escape whose backslash is at i and returns the place behind it.
func (p *parser) escape(buf []byte, i int) ([]byte, int, bool) {
	if i+1 >= len(p.data) {
		return buf, i, p.fail(i, "ends inside an escape")
	}
	switch c := p.data[i+1]; c {
	case '"', '\\', '/':
		return append(buf, c), i + 2, true
	case 'b':
		return append(buf, '\b'), i + 2, true
	case 'f':
		return append(buf, '\f'), i + 2, true
	case 'n':
		return append(buf, '\n'), i + 2, true
	case 'r':
		return append(buf, '\r'), i + 2, true
	case 't':
		return append(buf, '\t'), i + 2, true
	case 'u':
	default:
		return buf, i, p.fail(i, "unknown escape; only \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX exist")
	}
	r, ok := p.hex4(i + 2)
	if !ok {
		return buf, i, p.fail(i, "\\u without four hexadecimal digits")
	}
	next := i + 6
	if isHigh(r) && next+1 < len(p.data) && p.data[next] == '\\' && p.data[next+1] == 'u' {
		// A low surrogate right behind joins; anything else is read on its own.
		low, ok := p.hex4(next + 2)
		if !ok {
			return buf, i, p.fail(next, "\\u without four hexadecimal digits")
		}
		if isLow(low) {
			return utf8.AppendRune(buf, join(r, low)), next + 6, true
		}
	}
	if p.strict && isSurrogate(r) {
		return buf, i, p.fail(i, "\\u%04x is half of a surrogate pair; write the whole pair", r)
	}
	return appendCodePoint(buf, r), next, true
}

// hex4 reads four hexadecimal digits at i.
func (p *parser) hex4(i int) (rune, bool) {
	if i+4 > len(p.data) {
		return 0, false
	}
	var r rune
	for _, c := range p.data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// sequence checks the UTF-8 sequence of several bytes at i and returns its
// length, or 0 after p.fail.
func (p *parser) sequence(i int) int {
	if r, n := utf8.DecodeRune(p.data[i:]); r != utf8.RuneError || n > 1 {
		return n
	}
	if surrogateAt(p.data, i) {
		if !p.strict {
			return 3
		}
		p.fail(i, "encoded surrogate % x; surrogates are not characters", p.data[i:i+3])
		return 0
	}
	p.fail(i, "byte 0x%02x is not valid UTF-8", p.data[i])
	return 0
}

// surrogateAt reports whether three bytes at i encode a surrogate, as UTF-8 would
// if it could.
func surrogateAt[T string | []byte](s T, i int) bool {
	return i+2 < len(s) && s[i] == 0xed && s[i+1]&0xe0 == 0xa0 && s[i+2]&0xc0 == 0x80
}

func isSurrogate(r rune) bool { return r&^0x7ff == 0xd800 }
func isHigh(r rune) bool      { return r&^0x3ff == 0xd800 }
func isLow(r rune) bool       { return r&^0x3ff == 0xdc00 }
func join(high, low rune) rune {
	return 0x10000 + (high-0xd800)<<10 + (low - 0xdc00)
}

// appendCodePoint is utf8.AppendRune that keeps surrogates.
func appendCodePoint(dst []byte, r rune) []byte {
	if isSurrogate(r) {
		return append(dst, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// plainEnd returns the place, from i on, of the first byte that is not ordinary
// string content: a quote, a backslash, a control character or a byte from 0x80.
// Eight bytes are looked at together; of a false alarm there is none below the
// first true one, because borrows run upwards only.
func plainEnd(data []byte, i int) int {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	for i+8 <= len(data) {
		x := binary.LittleEndian.Uint64(data[i:])
		stop := (x | (x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & tops
		if stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
		i += 8
	}
	for i < len(data) {
		if c := data[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
		i++
	}
	return i
}
