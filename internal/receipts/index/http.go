package index

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/pages"
)

const cachePage = "public, max-age=60, must-revalidate"

// Handler serves the site. It answers GET and HEAD:
//
//	/                          → /fr/ or /en/, by Accept-Language
//	/{fr|en}/                  the home page
//	/{fr|en}/….html, ….json    a page and its twin
//	/{fr|en}/…?sort=KEY        a track's tables ordered by one column
//	/files/{season}/…          files of a published bundle
//	/style-….css, /icon-….svg  what the pages look like
//
// A page's path without extension leads to the page. Every answer has an ETag.
// Links are relative, so the handler may be mounted under any prefix.
func (x *Index) Handler() http.Handler { return http.HandlerFunc(x.serve) }

func (x *Index) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	pages.Secure(h)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		httpx.Problem(w, http.StatusMethodNotAllowed, "the Index is read only: use GET")
		return
	}
	s, path := x.site.Load(), strings.TrimPrefix(r.URL.Path, "/")
	switch path {
	case "":
		h.Set("Vary", "Accept-Language")
		pages.Redirect(w, http.StatusFound, string(pages.Preferred(r))+"/")
		return
	case "fr", "en":
		pages.Redirect(w, http.StatusMovedPermanently, path+"/")
		return
	case "fr/", "en/":
		path += pageHome + ".html"
	}
	if r.URL.Query().Has("sort") {
		sorted, ok := sortedPath(path, r.URL.Query().Get("sort"))
		if !ok {
			httpx.Problem(w, http.StatusBadRequest, "sort: want one of "+joinKeys()+", on a track's page")
			return
		}
		path = sorted
	}
	f, err := x.file(s, path, false)
	switch {
	case errors.Is(err, errNotFound):
		x.notFound(w, r, s, path)
	case err != nil:
		x.options.Log.ErrorContext(r.Context(), "a page of the Index cannot be made", "path", path, "error", err)
		httpx.Problem(w, http.StatusInternalServerError, "this page cannot be made now; the log of the service says why")
	default:
		write(w, r, f)
	}
}

// write answers with a file, or with 304 when the reader has it.
func write(w http.ResponseWriter, r *http.Request, f *file) {
	sum := sha256.Sum256(f.data)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", cachePage)
	if f.forever {
		h.Set("Cache-Control", pages.CacheForever)
	}
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	httpx.Bytes(w, http.StatusOK, f.contentType, f.data)
}

// notFound answers a path without a file: a page's name without extension leads to
// the page, a reader gets a page, a program a problem.
func (x *Index) notFound(w http.ResponseWriter, r *http.Request, s *site, path string) {
	first, name, _ := strings.Cut(path, "/")
	l := pages.Language(first)
	if !l.Known() || strings.HasSuffix(path, ".json") {
		httpx.Problem(w, http.StatusNotFound, "the Index has no such page")
		return
	}
	name = strings.TrimSuffix(name, "/")
	if _, err := x.build(s, l, name); err == nil {
		to := name[strings.LastIndexByte(name, '/')+1:] + ".html"
		if strings.HasSuffix(path, "/") {
			to = "../" + to
		}
		pages.Redirect(w, http.StatusMovedPermanently, to)
		return
	}
	data, err := x.notFoundPage(s, l, path).html()
	if err != nil {
		httpx.Problem(w, http.StatusNotFound, "the Index has no such page")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	httpx.Bytes(w, http.StatusNotFound, typeHTML, data)
}

// sortedPath turns ?sort=KEY on a track's page into the path of the ordered page.
func sortedPath(path, key string) (string, bool) {
	stem, ext := path, ".html"
	for _, e := range []string{".html", ".json"} {
		if s, ok := strings.CutSuffix(path, e); ok {
			stem, ext = s, e
		}
	}
	if !slices.Contains(sortKeys(), sortKey(key)) || strings.Count(stem, "/") != 3 || !strings.Contains(stem, "/seasons/") {
		return "", false
	}
	stem, _, _ = strings.Cut(stem, ".by-")
	if sortKey(key) == sortName {
		return stem + ext, true
	}
	return stem + ".by-" + key + ext, true
}

func joinKeys() string {
	var names []string
	for _, k := range sortKeys() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
