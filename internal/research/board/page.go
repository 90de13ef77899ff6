package board

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

//go:embed templates/*.html
var templateFiles embed.FS

var (
	errMissing = errors.New("there is no such page")
	errQuery   = errors.New("the query of the page cannot be read")
)

// page is one page in one language, as its template sees it.
type page struct {
	Kind    string
	Status  int
	Lang    language
	Name    string // path below the language's folder
	Query   string
	Title   string
	Twin    string // path of the route with the same content
	Labels  []label
	Content any

	depth int // folders between the site's root and the page
	board *Board
	words *catalogue
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

func (b *Board) newPage(l language, kind, name string) *page {
	return &page{Kind: kind, Status: http.StatusOK, Lang: l, Name: name, board: b, words: b.catalogues[l]}
}

// notice is a page that says why there is no other.
func (b *Board) notice(l language, status int, key string) *page {
	p := b.newPage(l, "notice", "")
	p.Status, p.Title, p.Twin = status, p.words.must(key+".title"), "v1/status"
	p.Content = p.words.must(key)
	return p
}

// build makes the page of a path below a language's folder, or errMissing.
func (b *Board) build(ctx context.Context, l language, name string, q query) (*page, error) {
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
	p.Labels = p.words.labels(status)
	return p, nil
}

// labels are on every page.
func (c *catalogue) labels(s *host.Status) []label {
	var list []label
	warn := func(key string, args ...any) { list = append(list, label{c.must(key, args...), true}) }
	if s.EvalBackend == "sim" || s.ForceSim {
		warn("label.sim")
	}
	if s.Standin {
		warn("label.standin")
	}
	if s.Sandbox != nil {
		if driver := plainLine(s.Sandbox.Driver); isolating(s.Sandbox.Driver) {
			list = append(list, label{c.must("label.driver", driver), false})
		} else {
			warn("label.unsandboxed", driver)
		}
	}
	if !s.SignatureRequired {
		warn("label.unsigned")
	}
	if !s.Production {
		list = append(list, label{c.must("label.development"), false})
	}
	return append(list, label{c.must("label.store", plainLine(s.Store)), false})
}

// isolating reports whether runs under a driver are stamped sandboxed: true
// (decision 13).
func isolating(driver string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(driver)), " ")
	return first == "firecracker"
}

func parseTemplates() (map[string]*template.Template, error) {
	shared, err := template.New("layout.html").Funcs(template.FuncMap{
		"pair": func(p *page, item any) paired { return paired{p, item} },
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	out := map[string]*template.Template{}
	for _, kind := range []string{"home", "topic", "rows", "row", "epochs", "epoch", "limits", "notice"} {
		set, err := shared.Clone()
		if err == nil {
			_, err = set.ParseFS(templateFiles, "templates/"+kind+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("board: %w", err)
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

// Other is the relative link to the page in another language.
func (p *page) Other(l language) string { return p.To(string(l) + "/" + p.Name + p.Query) }

// Style and Icon are the files that every page needs.
func (p *page) Style() string { return p.To(p.board.style.path) }

// Icon is the mark of the site.
func (p *page) Icon() string { return p.To(p.board.icon.path) }

// Languages are the languages in the order of the switch.
func (p *page) Languages() []language { return languages() }

// Safe shows a text of somebody else.
func (p *page) Safe(s string) string { return plain(s) }

// Line shows it on one line.
func (p *page) Line(s string) string { return plainLine(s) }

// Number prints a figure in the language's form.
func (p *page) Number(v any) string { return p.words.number(v) }
