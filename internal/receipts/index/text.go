package index

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// maxShown bounds, in code points, how much of one foreign text a page shows. The
// JSON twin always has the whole.
const maxShown = 4000

// plain makes a text of a participant safe to read: characters that change the
// direction of what follows, or that nobody can see, are written out as ⟨U+202E⟩.
// Escaping for HTML is the template's.
func plain(s string) string {
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

// plainLine is plain for a text that stands on one line.
func plainLine(s string) string {
	return plain(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s))
}

// plainValue shows a JSON value on one line, as a reader would write it.
func plainValue(v any) string { return plainLine(string(canonjson.Compact(v))) }
