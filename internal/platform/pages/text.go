package pages

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown bounds, in code points, how much of one foreign text a page shows. The
// JSON twin always has the whole.
const maxShown = 4000

// Plain makes a text of somebody else safe to read: characters that change the
// direction of what follows, or that nobody can see, are written out as ⟨U+202E⟩.
// Escaping for HTML is the template's.
func Plain(s string) string {
	var b strings.Builder
	shown := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨%02X⟩", s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i += size
		if shown++; shown == maxShown && i < len(s) {
			b.WriteString("…")
			break
		}
	}
	return b.String()
}

// PlainLine is Plain for a text that stands on one line.
func PlainLine(s string) string {
	return Plain(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s))
}
