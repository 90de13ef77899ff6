package index

import (
	"bytes"
	"embed"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/internal/receipts/bundle"
)

//go:embed templates/*.html
var templateFiles embed.FS

// schema names the form of the JSON twins.
const schema = "prova-index-page/1"

// errNotFound is the answer to a path that no page has.
var errNotFound = errors.New("index: no such page")

// page is one page in one language. Its JSON form is the twin, its templates see
// the same fields.
type page struct {
	Schema       string              `json:"schema"`
	Kind         string              `json:"kind"`
	Lang         language            `json:"lang"`
	Path         string              `json:"path"` // of the HTML, from the site's root
	Translations map[language]string `json:"translations"`
	Title        string              `json:"title"`
	Practice     string              `json:"practice,omitempty"` // the label, on pages of a practice season
	AILabel      string              `json:"ai_label"`           // art. 50 (§7.3)
	DIDBinding   string              `json:"did_binding"`        // the sentence of §10
	Limits       string              `json:"limits"`             // path of the page
	Crumbs       []crumb             `json:"-"`
	Content      any                 `json:"content"`

	index *Index
	words *catalogue
}

// crumb is a step of the way from the home page.
type crumb struct{ Text, Path string }

// link is a path of the site in a page's language.
func (p *page) link(name string) string { return string(p.Lang) + "/" + name + ".html" }

// newPage starts a page; name is its place in the language's folder.
func (x *Index) newPage(l language, kind, name, title string) *page {
	c := x.catalogues[l]
	p := &page{
		Schema: schema, Kind: kind, Lang: l, Title: title, Translations: map[language]string{},
		AILabel: c.must("label.ai"), DIDBinding: c.must("label.binding", x.options.IssuerName),
		index: x, words: c,
	}
	for _, other := range languages() {
		p.Translations[other] = string(other) + "/" + name + ".html"
	}
	p.Path, p.Limits = p.Translations[l], p.link(pageLimits)
	return p
}

// build makes the page of a name in a language's folder, or errNotFound.
func (x *Index) build(s *site, l language, name string) (*page, error) {
	switch name {
	case pageHome:
		return x.homePage(s, l), nil
	case pageLimits:
		return x.limitsPage(s, l), nil
	case pageTerms:
		return x.termsPage(s, l), nil
	}
	parts := strings.Split(name, "/")
	if len(parts) < 2 || parts[0] != "seasons" {
		return nil, errNotFound
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || strconv.FormatInt(number, 10) != parts[1] {
		return nil, errNotFound
	}
	if upcoming, ok := s.upcoming[number]; ok && len(parts) == 2 {
		return x.upcomingPage(s, l, upcoming), nil
	}
	e, ok := s.editions[number]
	if !ok {
		return nil, errNotFound
	}
	switch {
	case len(parts) == 2:
		return x.seasonPage(s, l, e)
	case len(parts) == 3:
		track, order, ok := parseTrackName(parts[2])
		if _, has := e.rows[track]; !ok || !has {
			return nil, errNotFound
		}
		return x.trackPage(s, l, e, track, order), nil
	case len(parts) == 4 && parts[2] == "proofs" && e.isProof[parts[3]]:
		return x.proofPage(s, l, e, parts[3])
	case len(parts) == 5 && parts[3] == "reports":
		if did, ok := e.bySlug[parts[2]][parts[4]]; ok {
			return x.reportPage(s, l, e, parts[2], did)
		}
	}
	return nil, errNotFound
}

// pageNames lists every page of a language's folder.
func (s *site) pageNames() []string {
	names := []string{pageHome, pageLimits, pageTerms}
	for _, n := range s.numbers() {
		names = append(names, seasonPage(n))
		e, ok := s.editions[n]
		if !ok {
			continue
		}
		for _, track := range e.bundle.TrackNames() {
			for _, order := range sortKeys() {
				names = append(names, trackPage(n, track, order))
			}
			for _, p := range e.results.Tracks[track].Participants {
				names = append(names, reportPage(n, track, p.AgentDID))
			}
		}
		for _, id := range e.proofIDs {
			names = append(names, proofPage(n, id))
		}
	}
	return names
}

// HTML is the page as its template writes it.
func (p *page) html() ([]byte, error) {
	var b bytes.Buffer
	if err := p.index.templates[p.Kind].ExecuteTemplate(&b, "layout.html", p); err != nil {
		return nil, fmt.Errorf("index: %s: %w", p.Path, err)
	}
	return b.Bytes(), nil
}

// twin is the page as JSON, the same on every call.
func (p *page) twin() ([]byte, error) {
	b, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("index: twin of %s: %w", p.Path, err)
	}
	return append(b, '\n'), nil
}

// parseTemplates gives each kind of page its own set: the layout and its content.
func parseTemplates() (map[string]*template.Template, error) {
	shared, err := template.New("layout.html").Funcs(template.FuncMap{
		// pair hands a template the page beside one item of it.
		"pair":  func(p *page, item any) paired { return paired{p, item} },
		"words": func(s string) []string { return strings.Split(s, " ") },
		"deref": func(b *bool) bool { return *b },
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	entrance, err := template.ParseFS(templateFiles, "templates/entrance.html")
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	out := map[string]*template.Template{"entrance": entrance}
	for _, kind := range []string{"home", "season", "upcoming", "track", "report", "proof", "text", "notfound"} {
		set, err := shared.Clone()
		if err == nil {
			_, err = set.ParseFS(templateFiles, "templates/"+kind+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("index: %w", err)
		}
		out[kind] = set
	}
	return out, nil
}

// paired is an item for a template that needs the page, too.
type paired struct {
	Page *page
	Item any
}

// The methods that templates call.

// T is a text of the catalogue.
func (p *page) T(key string, args ...any) (string, error) { return p.words.text(key, args...) }

// Count is a number with its noun.
func (p *page) Count(key string, n any) string {
	switch n := n.(type) {
	case int64:
		return p.words.count(key, n)
	case int:
		return p.words.count(key, int64(n))
	}
	return ""
}

// Word is a word of the bundle format in the reader's language.
func (p *page) Word(family, w string) string { return p.words.word(family, w) }

// Percent prints a rate's percent.
func (p *page) Percent(r rate) string { return p.words.percent(r.Percent) }

// To is the relative link to a path of the site. An address of another site, or a
// path of this host, stays as it is.
func (p *page) To(path string) string {
	if strings.Contains(path, "://") || strings.HasPrefix(path, "/") {
		return path
	}
	return relative(p.Path, path)
}

// Twin is the path of the JSON twin.
func (p *page) Twin() string { return strings.TrimSuffix(p.Path, ".html") + ".json" }

// Style and Icon are the paths of the files that every page needs.
func (p *page) Style() string { return p.index.style.path }

// Icon is the path of the site's mark.
func (p *page) Icon() string { return p.index.icon.path }

// Home and Terms are pages that every page links to.
func (p *page) Home() string { return p.link(pageHome) }

// Terms is the path of the participation terms.
func (p *page) Terms() string { return p.link(pageTerms) }

// Languages are the languages of the site in the order of the switch.
func (p *page) Languages() []language { return languages() }

// IssuerName is the issuer's configured name.
func (p *page) IssuerName() string { return p.index.options.IssuerName }

// Safe shows a text of a participant.
func (p *page) Safe(s string) string { return plain(s) }

// SafeLine shows it on one line.
func (p *page) SafeLine(s string) string { return plainLine(s) }

// seasonTitle is how pages name a season.
func (c *catalogue) seasonTitle(n int64) string { return c.must("season.title", n) }

// trackTitle is how pages name a track; a track that this program does not know
// keeps its own name.
func (c *catalogue) trackTitle(name string) string {
	if t, ok := c.texts["track.name."+name]; ok {
		return t
	}
	return name
}

// trackInside is trackTitle inside a sentence.
func (c *catalogue) trackInside(name string) string {
	t, ok := c.texts["track.name."+name]
	if !ok {
		return name
	}
	first, size := utf8.DecodeRuneInString(t)
	return string(unicode.ToLower(first)) + t[size:]
}

// practiceLabel is the label of pages of one season.
func (x *Index) practiceLabel(s *site, l language, number int64) string {
	if !s.practice(number) {
		return ""
	}
	return x.catalogues[l].must("practice.season")
}

// practiceNote is the label of pages that belong to no season.
func (x *Index) practiceNote(s *site, l language) string {
	c := x.catalogues[l]
	var names []string
	for _, n := range s.practiceSeasons() {
		names = append(names, strconv.FormatInt(n, 10))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == len(s.numbers()):
		return c.must("practice.all")
	}
	return c.must("practice.some", strings.Join(names, ", "))
}

// freezeView is a track's freeze as pages show it.
type freezeView struct {
	Track          string         `json:"track"`
	TrackTitle     string         `json:"track_title"`
	TrackPage      string         `json:"track_page,omitempty"`
	ProofID        string         `json:"proof_id"`
	ProofPage      string         `json:"proof_page,omitempty"`
	RulesSHA256    string         `json:"rules_sha256"`
	ManifestSHA256 string         `json:"manifest_sha256"`
	KeyCommitment  string         `json:"key_commitment"`
	RulesVersion   string         `json:"rules_version,omitempty"`
	RulesText      string         `json:"rules_text,omitempty"`
	RulesData      string         `json:"rules_data,omitempty"`
	Manifest       string         `json:"manifest,omitempty"`
	Key            string         `json:"key,omitempty"`
	Replaced       []replacedView `json:"replaced"`
}

type replacedView struct {
	ProofID string `json:"proof_id"`
	Reason  string `json:"reason"`
	Salt    string `json:"salt,omitempty"` // revealed at close (§8)
}

func newFreezeView(c *catalogue, track string, f bundle.Freeze) freezeView {
	v := freezeView{
		Track: track, TrackTitle: c.trackTitle(track), ProofID: f.ProofID,
		RulesSHA256: f.RulesSHA256, ManifestSHA256: f.ManifestSHA256, KeyCommitment: f.KeyCommitment, Replaced: []replacedView{},
	}
	for _, r := range f.Replaced {
		v.Replaced = append(v.Replaced, replacedView{ProofID: r.ProofID, Reason: r.Reason})
	}
	return v
}
