package index

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// schema names the form of the JSON twins.
const schema = "prova-index-page/1"

// errNotFound is the answer to a path that no page has.
var errNotFound = errors.New("index: no such page")

// page is one page in one language. Its JSON form is the twin, its templates see
// the same fields.
type page struct {
	Schema       string                    `json:"schema"`
	Kind         string                    `json:"kind"`
	Lang         pages.Language            `json:"lang"`
	Path         string                    `json:"path"` // of the HTML, from the site's root
	Translations map[pages.Language]string `json:"translations"`
	Title        string                    `json:"title"`
	Practice     string                    `json:"practice,omitempty"` // the label, on pages of a practice season
	AILabel      string                    `json:"ai_label"`           // art. 50 (§7.3)
	DIDBinding   string                    `json:"did_binding"`        // the sentence of §10
	Limits       string                    `json:"limits"`             // path of the page
	Crumbs       []crumb                   `json:"-"`
	Content      any                       `json:"content"`

	*catalogue `json:"-"`
	index      *Index
}

// crumb is a step of the way from the home page.
type crumb struct{ Text, Path string }

// link is a path of the site in a page's language.
func (p *page) link(name string) string { return string(p.Lang) + "/" + name + ".html" }

// newPage starts a page; name is its place in the language's folder.
func (x *Index) newPage(l pages.Language, kind, name, title string) *page {
	c := x.catalogues[l]
	p := &page{
		Schema: schema, Kind: kind, Lang: l, Title: title, Translations: map[pages.Language]string{},
		AILabel: c.Must("label.ai"), DIDBinding: c.Must("label.binding", x.options.IssuerName),
		catalogue: c, index: x,
	}
	for _, other := range languages() {
		p.Translations[other] = string(other) + "/" + name + ".html"
	}
	p.Path, p.Limits = p.Translations[l], p.link(pageLimits)
	return p
}

// build makes the page of a name in a language's folder, or errNotFound.
func (x *Index) build(s *site, l pages.Language, name string) (*page, error) {
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
	data, err := p.index.look.Render(p.Kind, p)
	if err != nil {
		return nil, fmt.Errorf("index: %s: %w", p.Path, err)
	}
	return data, nil
}

// twin is the page as JSON, the same on every call.
func (p *page) twin() ([]byte, error) {
	b, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("index: twin of %s: %w", p.Path, err)
	}
	return append(b, '\n'), nil
}

// The methods that templates call.

// Count is a number with its noun.
func (p *page) Count(key string, n any) string {
	switch n := n.(type) {
	case int64:
		return p.Must(p.Plural(key, n), n)
	case int:
		return p.Must(p.Plural(key, int64(n)), n)
	}
	return ""
}

// To is the relative link to a path of the site. An address of another site, or a
// path of this host, stays as it is.
func (p *page) To(path string) string {
	if strings.Contains(path, "://") || strings.HasPrefix(path, "/") {
		return path
	}
	return relative(p.Path, path)
}

// Twin is the relative link to the JSON twin.
func (p *page) Twin() string { return p.To(strings.TrimSuffix(p.Path, ".html") + ".json") }

// Style and Icon are the relative links to the files that every page needs.
func (p *page) Style() string { return p.To(p.index.look.Style.Path) }

// Icon is the relative link to the site's mark.
func (p *page) Icon() string { return p.To(p.index.look.Icon.Path) }

// Home is the relative link to the home page.
func (p *page) Home() string { return p.To(p.link(pageHome)) }

// Other is the relative link to the page in another language.
func (p *page) Other(l pages.Language) string { return p.To(p.Translations[l]) }

// Terms is the path of the participation terms.
func (p *page) Terms() string { return p.link(pageTerms) }

// Languages are the languages of the site in the order of the switch.
func (p *page) Languages() []pages.Language { return languages() }

// IssuerName is the issuer's configured name.
func (p *page) IssuerName() string { return p.index.options.IssuerName }

// seasonTitle is how pages name a season.
func (c *catalogue) seasonTitle(n int64) string { return c.Must("season.title", n) }

// trackTitle is how pages name a track; a track that this program does not know
// keeps its own name.
func (c *catalogue) trackTitle(name string) string { return c.Word("track.name", name) }

// trackInside is trackTitle inside a sentence.
func (c *catalogue) trackInside(name string) string {
	t, ok := c.Lookup("track.name." + name)
	if !ok {
		return name
	}
	first, size := utf8.DecodeRuneInString(t)
	return string(unicode.ToLower(first)) + t[size:]
}

// practiceLabel is the label of pages of one season.
func (x *Index) practiceLabel(s *site, l pages.Language, number int64) string {
	if !s.practice(number) {
		return ""
	}
	return x.catalogues[l].Must("practice.season")
}

// practiceNote is the label of pages that belong to no season.
func (x *Index) practiceNote(s *site, l pages.Language) string {
	c := x.catalogues[l]
	var names []string
	for _, n := range s.practiceSeasons() {
		names = append(names, strconv.FormatInt(n, 10))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == len(s.numbers()):
		return c.Must("practice.all")
	}
	return c.Must("practice.some", strings.Join(names, ", "))
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
