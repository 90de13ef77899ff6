package index

import (
	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/pages"
)

func languages() []pages.Language { return []pages.Language{pages.French, pages.English} }

// catalogue holds the sentences of one language.
type catalogue struct{ *pages.Catalogue }

func newCatalogue(l pages.Language) *catalogue {
	if l == pages.French {
		return &catalogue{pages.NewCatalogue(l, frenchTexts(), frenchWords(), frenchNotes(), frenchLimits(), frenchTerms())}
	}
	return &catalogue{pages.NewCatalogue(l, englishTexts(), englishWords(), englishNotes(), englishLimits(), englishTerms())}
}

// wordOf is Word for a word that may be null.
func (c *catalogue) wordOf(family string, w *string) string {
	if w == nil {
		return ""
	}
	return c.Word(family, *w)
}

// note says a witness's detail; "" when it has no note, or one of a later version.
func (c *catalogue) note(n receipt.Note) string {
	if _, ok := c.Lookup("note." + n.Code); !ok || receipt.NoteArgs()[n.Code] != len(n.Args) {
		return ""
	}
	args := make([]any, len(n.Args))
	for i, a := range n.Args {
		args[i] = pages.PlainLine(a)
	}
	return c.Must("note."+n.Code, args...)
}

// plainValue shows a JSON value on one line, as a reader would write it.
func plainValue(v any) string { return pages.PlainLine(string(canonjson.Compact(v))) }
