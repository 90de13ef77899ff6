package board

import (
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/pages"
)

func languages() []pages.Language { return []pages.Language{pages.English, pages.French} }

// catalogue holds the sentences of one language.
type catalogue struct{ *pages.Catalogue }

func newCatalogue(l pages.Language) *catalogue {
	if l == pages.French {
		return &catalogue{pages.NewCatalogue(l, frenchTexts(), frenchReasons(), frenchLimits())}
	}
	return &catalogue{pages.NewCatalogue(l, englishTexts(), englishReasons(), englishLimits())}
}

// count prints a number with its noun.
func (c *catalogue) count(key string, n int) string {
	return c.Must(c.Plural(key, int64(n)), c.Number(n))
}

// Instant prints a time; in French the hour follows an à, as it is read.
func (c *catalogue) Instant(t time.Time) string {
	text := c.Catalogue.Instant(t)
	if c.Lang == pages.French {
		return strings.Replace(text, ", ", " à ", 1)
	}
	return text
}

// bps prints basis points as a percentage.
func (c *catalogue) bps(n uint64) string {
	const whole = 100
	text := fmt.Sprintf("%d.%02d", n/whole, n%whole)
	return c.Percent(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}
