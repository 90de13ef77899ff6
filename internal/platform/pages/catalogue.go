package pages

import (
	"fmt"
	"maps"
	"strings"
)

// Catalogue holds the sentences of one language by key. Texts with %s or %d take
// arguments, the same in every language. It never changes.
type Catalogue struct {
	Lang  Language
	texts map[string]string
}

// NewCatalogue gathers the texts of a language.
func NewCatalogue(l Language, parts ...map[string]string) *Catalogue {
	c := &Catalogue{Lang: l, texts: map[string]string{}}
	for _, p := range parts {
		maps.Copy(c.texts, p)
	}
	if l == French {
		for key, text := range c.texts {
			c.texts[key] = typeset(text)
		}
	}
	return c
}

// typeset puts the no-break spaces that French wants beside double punctuation, so
// that sources stay readable. A verb is no percent sign.
func typeset(s string) string {
	return strings.NewReplacer(" %s", " %s", " %d", " %d", " :", "\u00a0:", " ;", "\u202f;", " ?", "\u202f?", " !", "\u202f!", " %", "\u202f%", "« ", "«\u00a0", " »", "\u00a0»").Replace(s)
}

// Texts are all texts by key, for tests of a site's catalogues.
func (c *Catalogue) Texts() map[string]string { return maps.Clone(c.texts) }

// Lookup is the text of a key that a catalogue need not have.
func (c *Catalogue) Lookup(key string) (string, bool) {
	t, ok := c.texts[key]
	return t, ok
}

// T is the sentence of a key, for templates. A missing key is an error: a page is
// shown whole or not at all.
func (c *Catalogue) T(key string, args ...any) (string, error) {
	t, ok := c.texts[key]
	if !ok {
		return "", fmt.Errorf("pages: catalogue %s has no text %q", c.Lang, key)
	}
	if len(args) == 0 {
		return t, nil
	}
	return fmt.Sprintf(t, args...), nil
}

// Must is T for keys that the code itself writes; the tests of the catalogues know
// them all.
func (c *Catalogue) Must(key string, args ...any) string {
	t, err := c.T(key, args...)
	if err != nil {
		return key
	}
	return t
}

// Word is the text of a word of a format. A later version may have one that this
// program does not know; it is then shown as it is.
func (c *Catalogue) Word(family, w string) string {
	if t, ok := c.texts[family+"."+w]; ok {
		return t
	}
	return PlainLine(w)
}

// Plural is the key of a noun beside a number: ".one" for one (in French for none,
// too), ".many" otherwise.
func (c *Catalogue) Plural(key string, n int64) string {
	if n == 1 || n == 0 && c.Lang == French {
		return key + ".one"
	}
	return key + ".many"
}
