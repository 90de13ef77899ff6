package board

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// language is a language of the board, as in paths and lang attributes.
type language string

const (
	english language = "en"
	french  language = "fr"
)

func languages() []language { return []language{english, french} }

// catalogue holds the sentences of one language by key. Texts with %s or %d take
// arguments, the same in every language.
type catalogue struct {
	lang  language
	texts map[string]string
}

func newCatalogue(l language) *catalogue {
	c := &catalogue{lang: l, texts: map[string]string{}}
	parts := []map[string]string{englishTexts(), englishReasons(), englishLimits()}
	if l == french {
		parts = []map[string]string{frenchTexts(), frenchReasons(), frenchLimits()}
	}
	for _, p := range parts {
		maps.Copy(c.texts, p)
	}
	if l == french {
		for key, text := range c.texts {
			c.texts[key] = typeset(text)
		}
	}
	return c
}

// typeset puts the no-break spaces that French wants beside double punctuation, so
// that the sources stay readable.
func typeset(s string) string {
	return strings.NewReplacer(" %s", " %s", " %d", " %d", " :", "\u00a0:", " ;", "\u202f;", " ?", "\u202f?", " !", "\u202f!", " %%", "\u202f%%", "« ", "«\u00a0", " »", "\u00a0»").Replace(s)
}

// text is the sentence of a key. A missing key is an error: a page is shown whole or
// not at all.
func (c *catalogue) text(key string, args ...any) (string, error) {
	t, ok := c.texts[key]
	if !ok {
		return "", fmt.Errorf("board: catalogue %s has no text %q", c.lang, key)
	}
	if len(args) == 0 {
		return t, nil
	}
	return fmt.Sprintf(t, args...), nil
}

// must is text for keys that the code itself writes; a test knows them all.
func (c *catalogue) must(key string, args ...any) string {
	t, err := c.text(key, args...)
	if err != nil {
		return key
	}
	return t
}

// word is the text of a word of the formats. A later version may have one that this
// program does not know; it is then shown as it is.
func (c *catalogue) word(family, w string) string {
	if t, ok := c.texts[family+"."+w]; ok {
		return t
	}
	return plainLine(w)
}

// count prints a number with its noun: key ".one" for one (in French for none, too),
// ".many" otherwise.
func (c *catalogue) count(key string, n int) string {
	if n == 1 || n == 0 && c.lang == french {
		return c.must(key+".one", c.number(n))
	}
	return c.must(key+".many", c.number(n))
}

// number prints a figure with the marks of the language; nil is a dash.
func (c *catalogue) number(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case *float64:
		if v == nil {
			return "–"
		}
		return c.number(*v)
	case float64:
		if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) || math.IsNaN(a) {
			return c.decimal(strconv.FormatFloat(v, 'g', -1, 64))
		}
		return c.decimal(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return c.decimal(fmt.Sprint(v))
}

// about prints a figure that was computed from others, without the last digits that
// binary fractions leave in it.
func (c *catalogue) about(v float64) string {
	const digits = 12
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return c.number(v)
	}
	return c.number(rounded)
}

// decimal groups the digits before the mark in threes.
func (c *catalogue) decimal(s string) string {
	comma, point := ",", "."
	if c.lang == french {
		comma, point = "\u202f", ","
	}
	whole, rest, has := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "\u2212", whole[1:]
	}
	if !strings.ContainsFunc(whole, func(r rune) bool { return r < '0' || r > '9' }) {
		const group = 3
		for i := len(whole) - group; i > 0; i -= group {
			whole = whole[:i] + comma + whole[i:]
		}
	}
	if has {
		whole += point + rest
	}
	return sign + whole
}

// instant prints a time; all times are UTC and say so.
func (c *catalogue) instant(t time.Time) string {
	t = t.UTC()
	if c.lang == french {
		months := [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"}
		day := strconv.Itoa(t.Day())
		if t.Day() == 1 {
			day = "1er"
		}
		return fmt.Sprintf("%s %s %d, %s UTC", day, months[t.Month()-1], t.Year(), t.Format("15:04:05"))
	}
	return t.Format("2 January 2006, 15:04:05 UTC")
}

// maxShown bounds, in code points, how much of one foreign text a page shows. The
// JSON twin has the whole.
const maxShown = 4000

// plain makes a text of somebody else safe to read: characters that change the
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
