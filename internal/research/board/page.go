package board

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

var (
	errMissing = errors.New("there is no such page")
	errQuery   = errors.New("the query of the page cannot be read")
)

// page is one page in one language, as its template sees it.
type page struct {
	Kind    string
	Status  int
	Lang    pages.Language
	Name    string // path below the language's folder
	Query   string
	Title   string
	Labels  []label
	Content any

	*catalogue
	twin  string // path of the route with the same content
	depth int    // folders between the site's root and the page
	board *Board
}

// label says what makes the figures of a page worth less, or where they come from.
type label struct {
	Text string
	Warn bool
}

// query is what a page may be asked.
type query struct {
	before *intake.ID
	hotkey *payout.Hotkey
}

func readQuery(raw string) (q query, err error) {
	given, err := url.ParseQuery(raw)
	if err != nil {
		return q, errQuery
	}
	if sent := given.Get("before"); sent != "" {
		id, err := intake.ParseID(sent)
		if err != nil {
			return q, errQuery
		}
		q.before = &id
	}
	if sent := given.Get("hotkey"); sent != "" {
		stored, ok := intake.Hex64(sent)
		if !ok {
			return q, errQuery
		}
		key, err := payout.ParseHotkey(stored)
		if err != nil {
			return q, errQuery
		}
		q.hotkey = &key
	}
	return q, nil
}

// text is the query as a link writes it.
func (q query) text() string {
	v := url.Values{}
	if q.before != nil {
		v.Set("before", q.before.String())
	}
	if q.hotkey != nil {
		v.Set("hotkey", q.hotkey.String())
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

func (b *Board) newPage(l pages.Language, kind, name string) *page {
	return &page{Kind: kind, Status: http.StatusOK, Lang: l, Name: name, board: b, catalogue: b.catalogues[l]}
}

// notice is a page that says why there is no other.
func (b *Board) notice(l pages.Language, status int, key string) *page {
	p := b.newPage(l, "notice", "")
	p.Status, p.Title, p.twin = status, p.Must(key+".title"), "v1/status"
	p.Content = p.Must(key)
	return p
}

// build makes the page of a path below a language's folder, or errMissing.
func (b *Board) build(ctx context.Context, l pages.Language, name string, q query) (*page, error) {
	folder, rest, _ := strings.Cut(name, "/")
	var p *page
	var err error
	switch {
	case name == "":
		p, err = b.home(ctx, l)
	case name == "limits":
		p = b.limits(l)
	case name == "rows":
		p, err = b.rows(ctx, l, q)
	case name == "epochs":
		p = b.epochs(l)
	case rest == "" || strings.Contains(rest, "/"):
		return nil, errMissing
	case folder == "topics":
		p, err = b.topic(ctx, l, rest, q)
	case folder == "rows":
		p, err = b.row(ctx, l, rest)
	case folder == "epochs":
		n, fault := strconv.ParseUint(rest, 10, 64)
		if fault != nil || strconv.FormatUint(n, 10) != rest {
			return nil, errMissing
		}
		p, err = b.epoch(ctx, l, n, q)
	default:
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	p.Query = q.text()
	status, err := b.o.Host.Status(ctx)
	if err != nil {
		return nil, err
	}
	p.Labels = p.labels(status)
	return p, nil
}

// labels are on every page.
func (c *catalogue) labels(s *host.Status) []label {
	var list []label
	warn := func(key string, args ...any) { list = append(list, label{c.Must(key, args...), true}) }
	if s.EvalBackend == "sim" || s.ForceSim {
		warn("label.sim")
	}
	if s.Standin {
		warn("label.standin")
	}
	if s.Sandbox != nil {
		switch driver := pages.PlainLine(s.Sandbox.Driver); {
		case isolating(s.Sandbox.Driver):
			list = append(list, label{c.Must("label.driver", driver), false})
		case s.Sandbox.Driver == fakeDriver:
			warn("label.unsandboxed.fake")
		default:
			warn("label.unsandboxed", driver)
		}
	}
	if !s.SignatureRequired {
		warn("label.unsigned")
	}
	if !s.Production {
		list = append(list, label{c.Must("label.development"), false})
	}
	return append(list, label{c.Must("label.store", pages.PlainLine(s.Store)), false})
}

// fakeDriver is how the fake agent names itself; its words are in the catalogues.
const fakeDriver = "fake (nothing is isolated, figures are the artefact's own)"

// isolating reports whether runs under a driver are stamped sandboxed: true
// (decision 13).
func isolating(driver string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(driver)), " ")
	return first == "firecracker"
}

// The methods that templates call.

// To is the relative link to a path from the site's root.
func (p *page) To(path string) string {
	link := strings.Repeat("../", p.depth) + path
	if link == "" {
		return "./"
	}
	return link
}

// In is the relative link to a page in the same language.
func (p *page) In(name string) string { return p.To(string(p.Lang) + "/" + name) }

// Home is the relative link to the home page.
func (p *page) Home() string { return p.In("") }

// Twin is the relative link to the route with the same content.
func (p *page) Twin() string { return p.To(p.twin) }

// Other is the relative link to the page in another language.
func (p *page) Other(l pages.Language) string { return p.To(string(l) + "/" + p.Name + p.Query) }

// Style and Icon are the files that every page needs.
func (p *page) Style() string { return p.To(p.board.look.Style.Path) }

// Icon is the mark of the site.
func (p *page) Icon() string { return p.To(p.board.look.Icon.Path) }

// Languages are the languages in the order of the switch.
func (p *page) Languages() []pages.Language { return languages() }
