package shape

import (
	"strings"
	"unicode"
)

// The longest accepted forms, in bytes.
const (
	MaxModel  = 256 // a model name of an offer, a pin or a topic
	MaxOpaque = 256 // a task slice or the value of a parameter
)

// Slug reports whether s matches [a-z0-9][a-z0-9-]{1,62}: topic and offer ids.
func Slug(s string) bool { return word(s, 63, "-") }

// CustomID reports whether s matches [a-z0-9][a-z0-9_-]{1,63}: ids that a topic
// mints itself, of its metric, its rules and its parameters.
func CustomID(s string) bool { return word(s, 64, "-_") }

// word reports whether s has 2 to most bytes, the first of [a-z0-9], the others
// of [a-z0-9] and the marks.
func word(s string, most int, marks string) bool {
	if len(s) < 2 || len(s) > most {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte(marks, c) >= 0:
		default:
			return false
		}
	}
	return true
}

// Hex64 reports whether s is 64 hexadecimal digits. White space around them and
// upper case are tolerated, as everywhere in the reference; compare with
// [SameHex].
func Hex64(s string) bool { return isHex(strings.TrimSpace(s), 64) }

// SameHex reports whether two hashes in hex are equal, case and white space
// around them aside.
func SameHex(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// HTTPOrigin reports whether s can be the origin of a judge: it starts with
// http:// or https://, has at least 8 bytes, no space and no line feed. Paths
// are allowed, and no more than this is asked (reference §4).
func HTTPOrigin(s string) bool {
	return (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")) && len(s) >= 8 && !strings.ContainsAny(s, " \n")
}

// ModelPin reports whether s is vendor/model or vendor/model:tag, each segment 1
// to 128 bytes of [A-Za-z0-9_.-].
func ModelPin(s string) bool {
	vendor, model, ok := strings.Cut(s, "/")
	if !ok || !segment(vendor) {
		return false
	}
	model, tag, tagged := strings.Cut(model, ":")
	return segment(model) && (!tagged || segment(tag))
}

func segment(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// Opaque reports whether s can be a task slice or the value of a parameter: one
// line that is not blank, at most MaxOpaque bytes, no control character.
func Opaque(s string) bool {
	return strings.TrimSpace(s) != "" && len(s) <= MaxOpaque && !strings.ContainsFunc(s, unicode.IsControl)
}

// Model reports whether s can name a model: not blank, at most MaxModel bytes.
func Model(s string) bool { return strings.TrimSpace(s) != "" && len(s) <= MaxModel }

// Length returns the number of characters of s without the white space around
// it, as limits on texts count them.
func Length(s string) int { return len([]rune(strings.TrimSpace(s))) }
