package board

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/payout"
)

//go:embed style.css
var styleSheet []byte

//go:embed icon.svg
var iconFile []byte

// Options are what the board reads.
type Options struct {
	Host *host.Host
	// Payout computes a closed epoch; nil asks the host each time.
	Payout func(ctx context.Context, epoch uint64) (*payout.Result, error)
	Log    *slog.Logger // nil: nothing is logged
}

// Board is the pages. It is safe for concurrent use.
type Board struct {
	o           Options
	catalogues  map[language]*catalogue
	templates   map[string]*template.Template
	style, icon asset
}

// asset is a file that every page needs; its name changes with its content.
type asset struct {
	path, contentType string
	data              []byte
}

// New reads the templates.
func New(o Options) (*Board, error) {
	if o.Host == nil {
		return nil, errors.New("research board: a host is required")
	}
	if o.Payout == nil {
		o.Payout = o.Host.Payout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Board{
		o: o, catalogues: map[language]*catalogue{},
		style: newAsset("board", ".css", "text/css; charset=utf-8", styleSheet),
		icon:  newAsset("mark", ".svg", "image/svg+xml", iconFile),
	}
	for _, l := range languages() {
		b.catalogues[l] = newCatalogue(l)
	}
	var err error
	b.templates, err = parseTemplates()
	return b, err
}

func newAsset(name, extension, contentType string, data []byte) asset {
	sum := sha256.Sum256(data)
	return asset{name + "-" + hex.EncodeToString(sum[:6]) + extension, contentType, data}
}

// contentPolicy forbids everything that the pages do not use: scripts first.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP answers GET and HEAD:
//
//	/                              → /en/ or /fr/, by Accept-Language
//	/{en|fr}/                      topics, bars, champions
//	/{en|fr}/topics/{id}           one topic
//	/{en|fr}/rows, …/rows/{id}     rows and one row
//	/{en|fr}/epochs, …/epochs/{n}  closed epochs and the payout of one
//	/{en|fr}/limits                what the figures do not prove
//
// ?before= goes on in a list of rows, ?hotkey= narrows rows and a payout.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	path := strings.TrimPrefix(r.URL.Path, "/")
	first, name, nested := strings.Cut(path, "/")
	l := language(first)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		b.answer(w, r, b.notice(preferred(r), http.StatusMethodNotAllowed, "notice.method"))
	case path == "":
		h.Set("Vary", "Accept-Language")
		h.Set("Cache-Control", "no-cache")
		redirect(w, http.StatusFound, string(preferred(r))+"/")
	case path == b.style.path:
		b.style.write(w)
	case path == b.icon.path:
		b.icon.write(w)
	case !slices.Contains(languages(), l):
		b.answer(w, r, b.notice(preferred(r), http.StatusNotFound, "notice.missing"))
	case !nested:
		redirect(w, http.StatusMovedPermanently, first+"/")
	default:
		b.page(w, r, l, name)
	}
}

func (b *Board) page(w http.ResponseWriter, r *http.Request, l language, name string) {
	q, err := readQuery(r.URL.RawQuery)
	var p *page
	if err == nil {
		p, err = b.build(r.Context(), l, name, q)
	}
	var refusal *host.Error
	switch {
	case err == nil:
	case errors.Is(err, errMissing), errors.As(err, &refusal) && refusal.Status == http.StatusNotFound:
		p = b.notice(l, http.StatusNotFound, "notice.missing")
	case errors.Is(err, errQuery):
		p = b.notice(l, http.StatusBadRequest, "notice.query")
	case r.Context().Err() != nil:
		return // the reader has gone
	default:
		b.o.Log.ErrorContext(r.Context(), "a page cannot be made", "path", r.URL.Path, "error", err)
		p = b.notice(l, http.StatusInternalServerError, "notice.failed")
	}
	b.answer(w, r, p)
}

// answer writes a page whole, or an error: never a half.
func (b *Board) answer(w http.ResponseWriter, r *http.Request, p *page) {
	p.depth = strings.Count(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var out bytes.Buffer
	if err := b.templates[p.Kind].ExecuteTemplate(&out, "layout.html", p); err != nil {
		b.o.Log.ErrorContext(r.Context(), "a page cannot be written", "path", r.URL.Path, "error", err)
		w.Header().Set("Cache-Control", "no-store")
		httpx.Bytes(w, http.StatusInternalServerError, "text/plain; charset=utf-8", []byte("This page cannot be made now. / Cette page ne peut pas être faite maintenant.\n"))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	httpx.Bytes(w, p.Status, "text/html; charset=utf-8", out.Bytes())
}

func (a asset) write(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	httpx.Bytes(w, http.StatusOK, a.contentType, a.data)
}

// redirect leads to a relative address, so that a prefix in front of the board stays.
func redirect(w http.ResponseWriter, status int, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
}

// preferred is the language that the reader's browser asks for first, of those that
// there are; English when it asks for none of them.
func preferred(r *http.Request) language {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(part)), ";")
		primary, _, _ := strings.Cut(tag, "-")
		if slices.Contains(languages(), language(primary)) {
			return language(primary)
		}
	}
	return english
}
