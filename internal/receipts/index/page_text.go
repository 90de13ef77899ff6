package index

import (
	"fmt"
	"strings"

	"github.com/prova-dev/prova/internal/platform/pages"
)

// limitCount and termCount are the number of paragraphs of the two text pages, the
// same in each language.
const (
	limitCount = 12 // the list of §10
	termCount  = 9
)

// paragraph is a titled paragraph of a text page.
type paragraph struct {
	Title string   `json:"title"`
	Text  []string `json:"text"`
}

type textContent struct {
	Intro      string      `json:"intro"`
	Paragraphs []paragraph `json:"paragraphs"`
	Contact    string      `json:"contact,omitempty"`
}

// limitsPage says what the measure does not prove, §10 in full.
func (x *Index) limitsPage(s *site, l pages.Language) *page {
	return x.textPage(s, l, pageLimits, limitCount, "")
}

// termsPage is what a participant accepts at enrolment (§3, §9).
func (x *Index) termsPage(s *site, l pages.Language) *page {
	return x.textPage(s, l, pageTerms, termCount, x.options.Contact)
}

// textPage gathers the paragraphs "<name>.<i>.title" and "<name>.<i>.<j>".
func (x *Index) textPage(s *site, l pages.Language, name string, count int, contact string) *page {
	c := x.catalogues[l]
	p := x.newPage(l, "text", name, c.Must(name+".title"))
	p.Practice = x.practiceNote(s, l)
	p.Crumbs = []crumb{{c.Must("nav.home"), p.link(pageHome)}}
	fill := strings.NewReplacer("{issuer}", x.options.IssuerName, "{binding}", p.DIDBinding, "{contact}", x.options.Contact)
	content := textContent{Intro: fill.Replace(c.Must(name + ".intro")), Contact: contact}
	for i := 1; i <= count; i++ {
		par := paragraph{Title: c.Must(fmt.Sprintf("%s.%d.title", name, i))}
		for j := 1; ; j++ {
			text, ok := c.Lookup(fmt.Sprintf("%s.%d.%d", name, i, j))
			if !ok {
				break
			}
			par.Text = append(par.Text, fill.Replace(text))
		}
		content.Paragraphs = append(content.Paragraphs, par)
	}
	p.Content = content
	return p
}

// notFoundPage answers a path that no page has. Its links are relative to that
// path.
func (x *Index) notFoundPage(s *site, l pages.Language, path string) *page {
	c := x.catalogues[l]
	p := x.newPage(l, "notfound", pageHome, c.Must("notfound.title"))
	p.Path, p.Practice = path, x.practiceNote(s, l)
	p.Crumbs = []crumb{{c.Must("nav.home"), p.link(pageHome)}}
	return p
}
