package index

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Options are what the site says about itself, whatever its seasons.
type Options struct {
	// IssuerName names the issuer in the sentence on DID bindings (§10). Required.
	IssuerName string
	// IssuerURL is the issuer's public address, shown to readers; it may be empty.
	IssuerURL string
	// SeasonURL is the public address of the season service, for links to bundles.
	// Empty: it answers on the site's own host (an export then links to none).
	SeasonURL string
	// Contact is where disputes are sent (§9.2): an address or a link. Required.
	Contact string
	// ForeignIssuer says that the issuer is another operator's, so that DIDs linked
	// after the enrolment cannot be seen (design "receipts challenge" §3).
	ForeignIssuer bool
	// Log takes the faults of single pages; nil is slog's default.
	Log *slog.Logger

	// Content is what the site shows at first; Reload replaces it.
	Content Content
}

// Content is the seasons that the site shows.
type Content struct {
	// Bundles are the folders of published bundles, one a season, each with its
	// results.json.
	Bundles []string
	// Seasons are the seasons that have no published bundle yet. One whose number
	// is a bundle's is left out.
	Seasons []Season
	// Incidents are shown beside the rows of their season, such as an outage of a
	// witness at the close (design "receipts challenge" §3).
	Incidents []Incident
}

// The states of a season without a published bundle, in their order.
const (
	StateDraft     = "draft"
	StateFrozen    = "frozen"
	StateOpen      = "open"
	StateClosed    = "closed"
	StateScored    = "scored"
	StatePublished = "published" // of every season that has a bundle
)

// Season describes a season that is not published: what may be known before its
// close, and nothing that depends on corpus, key or submissions (§7.4).
type Season struct {
	Number        int64 // 1 or more
	Opens, Closes time.Time
	State         string // StateDraft to StateScored
	Practice      bool   // The corpus is built in: anyone can compute its key.
	Tracks        []SeasonTrack
}

// SeasonTrack is a track of such a season with its freeze (§8). The hashes are
// empty before the freeze.
type SeasonTrack struct {
	Name   string
	Freeze bundle.Freeze
}

// Incident is a fact about a season that its readers should know.
type Incident struct {
	Season int64
	FR, EN string
}

// Index serves and exports the pages. It is safe for concurrent use.
type Index struct {
	options    Options
	catalogues map[pages.Language]*catalogue
	look       *pages.Site
	root       *template.Template // the page at the root of an export
	builtin    *receipt.Checker   // the public keys and roots of the program
	site       atomic.Pointer[site]
}

// site is one state of the content; it never changes.
type site struct {
	editions  map[int64]*edition
	upcoming  map[int64]Season
	incidents map[int64][]Incident
}

//go:embed style.css templates/*.html
var files embed.FS

// New opens the bundles of the content. The error names the folder and file at
// fault.
func New(o Options) (*Index, error) {
	if strings.TrimSpace(o.IssuerName) == "" {
		return nil, errors.New("index: IssuerName is empty: the sentence on DID bindings needs the issuer's name")
	}
	if strings.TrimSpace(o.Contact) == "" {
		return nil, errors.New("index: Contact is empty: participants need an address for disputes (§9.2)")
	}
	for name, address := range map[string]string{"IssuerURL": o.IssuerURL, "SeasonURL": o.SeasonURL} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			return nil, fmt.Errorf("index: %s = %q: want https://host", name, address)
		}
	}
	o.SeasonURL = strings.TrimSuffix(o.SeasonURL, "/")
	if o.Log == nil {
		o.Log = slog.Default()
	}
	x := &Index{
		options: o, catalogues: map[pages.Language]*catalogue{},
		builtin: receipt.NewChecker(receipt.BuiltinTrust()),
	}
	for _, l := range languages() {
		x.catalogues[l] = newCatalogue(l)
	}
	var err error
	x.look, err = pages.Open(pages.Look{
		Files: files, Style: "style", Icon: "icon",
		Kinds: []string{"home", "season", "upcoming", "track", "report", "proof", "text", "notfound"},
		Funcs: template.FuncMap{
			"words": func(s string) []string { return strings.Split(s, " ") },
			"deref": func(b *bool) bool { return *b },
		},
	})
	if err == nil {
		x.root, err = template.ParseFS(files, "templates/entrance.html")
	}
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return x, x.Reload(o.Content)
}

// Reload shows another content: new bundles, other states. Requests that are
// being answered finish with the former content, and after an error it stays.
func (x *Index) Reload(c Content) error {
	s := &site{editions: map[int64]*edition{}, upcoming: map[int64]Season{}, incidents: map[int64][]Incident{}}
	for _, dir := range c.Bundles {
		e, err := openEdition(dir)
		if err != nil {
			return fmt.Errorf("index: bundle %s: %w", dir, err)
		}
		if old, ok := s.editions[e.number()]; ok {
			return fmt.Errorf("index: bundles %s and %s are both of season %d: give the later publication only", old.dir, dir, e.number())
		}
		s.editions[e.number()] = e
	}
	for _, season := range c.Seasons {
		if err := season.check(); err != nil {
			return err
		}
		if _, published := s.editions[season.Number]; !published {
			s.upcoming[season.Number] = season
		}
	}
	for _, i := range c.Incidents {
		s.incidents[i.Season] = append(s.incidents[i.Season], i)
	}
	x.site.Store(s)
	return nil
}

func (s Season) check() error {
	known := []string{StateDraft, StateFrozen, StateOpen, StateClosed, StateScored}
	switch {
	case s.Number < 1:
		return fmt.Errorf("index: season number %d: want 1 or more", s.Number)
	case !slices.Contains(known, s.State):
		return fmt.Errorf("index: season %d: state %q: want one of %s", s.Number, s.State, strings.Join(known, ", "))
	case s.Opens.IsZero(), s.Closes.Before(s.Opens):
		return fmt.Errorf("index: season %d: opens must be set and not later than closes", s.Number)
	}
	for _, t := range s.Tracks {
		if !bundle.ValidTrack(t.Name) {
			return fmt.Errorf("index: season %d: track %q: lower-case letters, digits and hyphens, at most 32", s.Number, t.Name)
		}
	}
	return nil
}

// numbers lists the seasons, the latest first.
func (s *site) numbers() []int64 {
	all := map[int64]bool{}
	for n := range s.editions {
		all[n] = true
	}
	for n := range s.upcoming {
		all[n] = true
	}
	out := slices.Sorted(maps.Keys(all))
	slices.Reverse(out)
	return out
}

// practice reports whether a season shown is a practice season.
func (s *site) practice(number int64) bool {
	if e, ok := s.editions[number]; ok {
		return e.bundle.Season.Practice
	}
	return s.upcoming[number].Practice
}

// practiceSeasons lists them, the earliest first: pages that belong to no season
// name them.
func (s *site) practiceSeasons() []int64 {
	var out []int64
	for _, n := range s.numbers() {
		if s.practice(n) {
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}
