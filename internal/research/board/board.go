package board

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/payout"
)

//go:embed style.css templates/*.html
var files embed.FS

// Options are what the board reads.
type Options struct {
	Host *host.Host
	// Payout computes a closed epoch; nil asks the host each time.
	Payout func(ctx context.Context, epoch uint64) (*payout.Result, error)
	Log    *slog.Logger // nil: nothing is logged
}

// Board is the pages. It is safe for concurrent use.
type Board struct {
	o          Options
	catalogues map[pages.Language]*catalogue
	look       *pages.Site
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
	b := &Board{o: o, catalogues: map[pages.Language]*catalogue{}}
	for _, l := range languages() {
		b.catalogues[l] = newCatalogue(l)
	}
	var err error
	b.look, err = pages.Open(pages.Look{
		Files: files, Style: "board", Icon: "mark",
		Kinds: []string{"home", "topic", "rows", "row", "epochs", "epoch", "limits", "notice"},
	})
	if err != nil {
		return nil, fmt.Errorf("board: %w", err)
	}
	return b, nil
}

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
	pages.Secure(h)
	path := strings.TrimPrefix(r.URL.Path, "/")
	first, name, nested := strings.Cut(path, "/")
	l := pages.Language(first)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		b.answer(w, r, b.notice(pages.Preferred(r), http.StatusMethodNotAllowed, "notice.method"))
	case path == "":
		h.Set("Vary", "Accept-Language")
		h.Set("Cache-Control", "no-cache")
		pages.Redirect(w, http.StatusFound, string(pages.Preferred(r))+"/")
	case path == b.look.Style.Path:
		write(w, b.look.Style)
	case path == b.look.Icon.Path:
		write(w, b.look.Icon)
	case !l.Known():
		b.answer(w, r, b.notice(pages.Preferred(r), http.StatusNotFound, "notice.missing"))
	case !nested:
		pages.Redirect(w, http.StatusMovedPermanently, first+"/")
	default:
		b.page(w, r, l, name)
	}
}

func (b *Board) page(w http.ResponseWriter, r *http.Request, l pages.Language, name string) {
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
	out, err := b.look.Render(p.Kind, p)
	if err != nil {
		b.o.Log.ErrorContext(r.Context(), "a page cannot be written", "path", r.URL.Path, "error", err)
		w.Header().Set("Cache-Control", "no-store")
		httpx.Bytes(w, http.StatusInternalServerError, "text/plain; charset=utf-8", []byte("This page cannot be made now. / Cette page ne peut pas être faite maintenant.\n"))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	httpx.Bytes(w, p.Status, "text/html; charset=utf-8", out)
}

func write(w http.ResponseWriter, a pages.Asset) {
	w.Header().Set("Cache-Control", pages.CacheForever)
	httpx.Bytes(w, http.StatusOK, a.ContentType, a.Data)
}
