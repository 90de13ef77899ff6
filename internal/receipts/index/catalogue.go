package index

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/receipt"
)

// language is a language of the site, as in paths and lang attributes.
type language string

const (
	french  language = "fr"
	english language = "en"
)

func languages() []language { return []language{french, english} }

// catalogue holds the sentences of one language by key. Texts with %s or %d take
// arguments, the same in every language.
type catalogue struct {
	lang  language
	texts map[string]string
}

func newCatalogue(l language) *catalogue {
	c := &catalogue{lang: l, texts: map[string]string{}}
	parts := []map[string]string{englishTexts(), englishWords(), englishNotes(), englishLimits(), englishTerms()}
	if l == french {
		parts = []map[string]string{frenchTexts(), frenchWords(), frenchNotes(), frenchLimits(), frenchTerms()}
	}
	for _, p := range parts {
		maps.Copy(c.texts, p)
	}
	if l == french {
		for key, text := range c.texts {
			c.texts[key] = typesetFrench(text)
		}
	}
	return c
}

// typesetFrench puts the no-break spaces that French wants beside double
// punctuation, so that sources stay readable. A verb is no percent sign.
func typesetFrench(s string) string {
	return strings.NewReplacer(" %s", " %s", " %d", " %d", " :", "\u00a0:", " ;", "\u202f;", " ?", "\u202f?", " !", "\u202f!", " %", "\u202f%", "« ", "«\u00a0", " »", "\u00a0»").Replace(s)
}

// text is the sentence of a key. A missing key is an error: a page is shown whole
// or not at all.
func (c *catalogue) text(key string, args ...any) (string, error) {
	t, ok := c.texts[key]
	if !ok {
		return "", fmt.Errorf("index: catalogue %s has no text %q", c.lang, key)
	}
	if len(args) == 0 {
		return t, nil
	}
	return fmt.Sprintf(t, args...), nil
}

// must is text for keys that the code itself writes; the test of the catalogues
// knows them all.
func (c *catalogue) must(key string, args ...any) string {
	t, err := c.text(key, args...)
	if err != nil {
		return key
	}
	return t
}

// word is the text of a word of the bundle format. Results of a later format may
// hold a word that this program does not know; it is then shown as it is.
func (c *catalogue) word(family, w string) string {
	if t, ok := c.texts[family+"."+w]; ok {
		return t
	}
	return w
}

// wordOf is word for a word that may be null.
func (c *catalogue) wordOf(family string, w *string) string {
	if w == nil {
		return ""
	}
	return c.word(family, *w)
}

// note says a witness's detail; "" when it has no note, or one of a later version.
func (c *catalogue) note(n receipt.Note) string {
	if _, ok := c.texts["note."+n.Code]; !ok || receipt.NoteArgs()[n.Code] != len(n.Args) {
		return ""
	}
	args := make([]any, len(n.Args))
	for i, a := range n.Args {
		args[i] = plainLine(a)
	}
	return c.must("note."+n.Code, args...)
}

// percent prints a percent of the results in the language's form.
func (c *catalogue) percent(p string) string {
	if c.lang == french {
		return strings.Replace(p, ".", ",", 1) + "\u202f%"
	}
	return p + "%"
}

// instant prints a time of the season; all times are UTC and say so.
func (c *catalogue) instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if c.lang == french {
		months := [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"}
		day := fmt.Sprint(t.Day())
		if t.Day() == 1 {
			day = "1er"
		}
		return fmt.Sprintf("%s %s %d, %s UTC", day, months[t.Month()-1], t.Year(), t.Format("15:04:05"))
	}
	return t.Format("2 January 2006, 15:04:05 UTC")
}

// count prints a number with its noun: key ".one" for one (in French for none,
// too), ".many" otherwise.
func (c *catalogue) count(key string, n int64) string {
	if n == 1 || (n == 0 && c.lang == french) {
		return c.must(key+".one", n)
	}
	return c.must(key+".many", n)
}
