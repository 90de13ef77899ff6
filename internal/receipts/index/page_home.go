package index

import (
	"strconv"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// instantForm is how twins write times.
const instantForm = "2006-01-02T15:04:05Z"

// seasonHead is what every page of a season says of it.
type seasonHead struct {
	Number   int64      `json:"number"`
	Title    string     `json:"title"`
	Page     string     `json:"page"`
	State    string     `json:"state"`
	StateIn  string     `json:"state_in_words"`
	Opens    string     `json:"opens"`
	Closes   string     `json:"closes"`
	Window   [2]string  `json:"-"` // both bounds in words
	Practice bool       `json:"practice"`
	Tracks   []trackRef `json:"tracks"`
}

type trackRef struct {
	Track string `json:"track"`
	Title string `json:"title"`
	Page  string `json:"page,omitempty"` // none before the publication
}

type homeContent struct {
	Seasons []seasonHead `json:"seasons"`
}

func (x *Index) homePage(s *site, l pages.Language) *page {
	c := x.catalogues[l]
	p := x.newPage(l, "home", pageHome, c.Must("home.title"))
	p.Practice = x.practiceNote(s, l)
	content := homeContent{Seasons: []seasonHead{}}
	for _, n := range s.numbers() {
		content.Seasons = append(content.Seasons, x.seasonHead(s, l, n))
	}
	p.Content = content
	return p
}

// seasonHead describes a season, published or not.
func (x *Index) seasonHead(s *site, l pages.Language, n int64) seasonHead {
	c := x.catalogues[l]
	h := seasonHead{
		Number: n, Title: c.seasonTitle(n), Page: string(l) + "/" + seasonPage(n) + ".html",
		Practice: s.practice(n), Tracks: []trackRef{},
	}
	var opens, closes time.Time
	if e, ok := s.editions[n]; ok {
		h.State, opens, closes = StatePublished, e.bundle.Season.Opens, e.bundle.Season.Closes
		for _, name := range e.bundle.TrackNames() {
			h.Tracks = append(h.Tracks, trackRef{
				Track: name, Title: c.trackTitle(name), Page: string(l) + "/" + trackPage(n, name, sortName) + ".html",
			})
		}
	} else {
		u := s.upcoming[n]
		h.State, opens, closes = u.State, u.Opens, u.Closes
		for _, t := range u.Tracks {
			h.Tracks = append(h.Tracks, trackRef{Track: t.Name, Title: c.trackTitle(t.Name)})
		}
	}
	h.StateIn = c.Word("season_state", h.State)
	h.Opens, h.Closes = opens.UTC().Format(instantForm), closes.UTC().Format(instantForm)
	h.Window = [2]string{c.Instant(opens), c.Instant(closes)}
	return h
}

// startOf is the trail that pages of a season begin with.
func (x *Index) startOf(p *page, s *site, number int64) {
	p.Practice = x.practiceLabel(s, p.Lang, number)
	p.Crumbs = []crumb{
		{p.Must("nav.home"), p.link(pageHome)},
		{p.seasonTitle(number), p.link(seasonPage(number))},
	}
}

// upcomingContent is a season without a published bundle: window, state, freeze.
type upcomingContent struct {
	Season   seasonHead   `json:"season"`
	LastCall string       `json:"last_safe_call"` // design §3: closes − 120 s
	LastIn   string       `json:"-"`
	Freezes  []freezeView `json:"freezes"`
	Notices  []string     `json:"incidents"`
}

func (x *Index) upcomingPage(s *site, l pages.Language, u Season) *page {
	c := x.catalogues[l]
	p := x.newPage(l, "upcoming", seasonPage(u.Number), c.seasonTitle(u.Number))
	x.startOf(p, s, u.Number)
	p.Crumbs = p.Crumbs[:1]
	last := u.Closes.Add(-120 * time.Second)
	content := upcomingContent{
		Season: x.seasonHead(s, l, u.Number), LastCall: last.UTC().Format(instantForm), LastIn: c.Instant(last),
		Freezes: []freezeView{}, Notices: s.notices(l, u.Number),
	}
	for _, t := range u.Tracks {
		if t.Freeze.ProofID != "" {
			content.Freezes = append(content.Freezes, newFreezeView(c, t.Name, t.Freeze))
		}
	}
	p.Content = content
	return p
}

// notices are the season's incidents in a language.
func (s *site) notices(l pages.Language, number int64) []string {
	out := []string{}
	for _, i := range s.incidents[number] {
		text := i.EN
		if l == pages.French {
			text = i.FR
		}
		out = append(out, text)
	}
	return out
}

type seasonContent struct {
	Season        seasonHead        `json:"season"`
	SeasonHost    string            `json:"season_host"`
	Witnesses     []witnessKind     `json:"witnesses"`
	RequireLog    bool              `json:"log_required"`
	AllowLocal    bool              `json:"local_allowed"`
	IssuerURL     string            `json:"issuer_url,omitempty"`
	Freezes       []freezeView      `json:"freezes"`
	ResultsSHA256 string            `json:"results_sha256"`
	Version       int64             `json:"version,omitzero"`
	Previous      string            `json:"previous_sha256,omitempty"`
	BundleURL     string            `json:"bundle_url,omitempty"`
	Files         map[string]string `json:"files"`
	Commands      []command         `json:"verify"`
	Refusals      []wordText        `json:"refusals"`
	Notices       []string          `json:"incidents"`
}

// witnessKind is an authority or log of the bundle's trust.
type witnessKind struct {
	Kind        string `json:"kind"` // timestamp or log
	Name        string `json:"name"`
	Independent bool   `json:"independent"`
}

type wordText struct {
	Word string `json:"word"`
	Text string `json:"text"`
}

func (x *Index) seasonPage(s *site, l pages.Language, e *edition) (*page, error) {
	c, n := x.catalogues[l], e.number()
	p := x.newPage(l, "season", seasonPage(n), c.seasonTitle(n))
	x.startOf(p, s, n)
	p.Crumbs = p.Crumbs[:1]
	season := e.bundle.Season
	content := seasonContent{
		Season: x.seasonHead(s, l, n), SeasonHost: season.SeasonHost, IssuerURL: x.options.IssuerURL,
		RequireLog: season.Witnesses.RequireLog, AllowLocal: season.Witnesses.AllowLocal,
		ResultsSHA256: e.resultsSHA256, Version: e.results.Version, Previous: e.results.PreviousSHA256,
		BundleURL: x.bundleURL(n), Notices: s.notices(l, n),
		Files: map[string]string{
			"results": bundleFile(n, bundle.ResultsPath), "trust": bundleFile(n, bundle.TrustPath), "enrolments": bundleFile(n, bundle.EnrolmentsPath),
			"season": bundleFile(n, bundle.SeasonPath),
		},
		Commands: append(replayCommands(c, archiveName), x.seasonCommands(c, e)...),
	}
	if e.bundle.Corrections != nil {
		content.Files["corrections"] = bundleFile(n, bundle.CorrectionsPath)
	}
	for _, a := range e.bundle.Trust.Authorities {
		content.Witnesses = append(content.Witnesses, witnessKind{"timestamp", a.Provider, a.Independent})
	}
	for _, g := range e.bundle.Trust.Logs {
		content.Witnesses = append(content.Witnesses, witnessKind{"log", g.Name, g.Independent})
	}
	for _, name := range e.bundle.TrackNames() {
		f, err := x.openedFreeze(l, e, name)
		if err != nil {
			return nil, err
		}
		content.Freezes = append(content.Freezes, f)
	}
	for _, f := range vocabulary() {
		if f.name == "refusal" {
			for _, w := range f.words {
				content.Refusals = append(content.Refusals, wordText{w, c.Word(f.name, w)})
			}
		}
	}
	p.Content = content
	return p, nil
}

// openedFreeze is a track's freeze with what the close has revealed.
func (x *Index) openedFreeze(l pages.Language, e *edition, name string) (freezeView, error) {
	n, t := e.number(), e.bundle.Tracks[name]
	f := newFreezeView(x.catalogues[l], name, t.Freeze)
	f.TrackPage = string(l) + "/" + trackPage(n, name, sortName) + ".html"
	f.ProofPage = string(l) + "/" + proofPage(n, t.Freeze.ProofID) + ".html"
	f.RulesVersion = t.Rules.Version
	f.RulesText, f.RulesData = bundleFile(n, bundle.RulesTextPath(name)), bundleFile(n, bundle.RulesPath(name))
	f.Manifest, f.Key = bundleFile(n, bundle.ManifestPath(name)), bundleFile(n, bundle.KeyPath(name))
	key, err := e.document(bundle.KeyPath(name))
	if err != nil {
		return f, err
	}
	for i := range f.Replaced {
		f.Replaced[i].Salt = replacedSalt(key, f.Replaced[i].ProofID)
	}
	return f, nil
}

// replacedSalt finds the salt of an earlier freeze (bundle format §6).
func replacedSalt(key any, proofID string) string {
	list, _ := canonjson.Resolve(key, "/replaced")
	items, _ := list.([]any)
	for _, item := range items {
		if id, _ := canonjson.Resolve(item, "/proof_id"); id == proofID {
			salt, _ := canonjson.Resolve(item, "/salt")
			s, _ := salt.(string)
			return pages.PlainLine(s)
		}
	}
	return ""
}

// bundleURL is where the season service serves the bundle.
func (x *Index) bundleURL(n int64) string {
	return x.options.SeasonURL + "/v1/season/" + strconv.FormatInt(n, 10) + "/" + archiveName
}
