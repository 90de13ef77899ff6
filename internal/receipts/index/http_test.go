package index

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prova-dev/prova/internal/platform/pages"
)

func request(x *Index, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, r)
	return w
}

func TestTheRootLeadsToTheReadersLanguage(t *testing.T) {
	t.Parallel()
	x := example(t)
	for accept, want := range map[string]string{"": "en/", "fr": "fr/", "de, fr-CA;q=0.8, en;q=0.5": "fr/", "en-GB,fr": "en/", "de": "en/", "FR": "fr/", ",;q=": "en/"} {
		w := request(x, http.MethodGet, "/", "Accept-Language", accept)
		if w.Code != http.StatusFound || w.Header().Get("Location") != want || w.Header().Get("Vary") != "Accept-Language" {
			t.Errorf("%q: %d %s", accept, w.Code, w.Header().Get("Location"))
		}
	}
	for path, want := range map[string]string{
		"/fr": "fr/", "/en/limits": "limits.html", "/en/seasons/2": "2.html", "/en/seasons/2/": "../2.html",
		"/en/seasons/2/conformite": "conformite.html", "/fr/seasons/2/conformite.by-did": "conformite.by-did.html",
	} {
		if w := request(x, http.MethodGet, path); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != want {
			t.Errorf("%s: %d %q", path, w.Code, w.Header().Get("Location"))
		}
	}
	if a, b := get(t, x, "/fr/", 200), get(t, x, "/fr/index.html", 200); a.Body.String() != b.Body.String() {
		t.Error("/fr/ is not the home page")
	}
}

func TestEveryAnswerForbidsScriptsAndCanBeCached(t *testing.T) {
	t.Parallel()
	x := example(t)
	for path, cache := range map[string]string{
		"/en/seasons/2/conformite.html": cachePage, "/fr/limits.json": cachePage, "/files/2/results.json": cachePage,
		"/" + x.look.Style.Path: pages.CacheForever, "/" + x.look.Icon.Path: pages.CacheForever, "/en/none.html": "no-store", "/nowhere": "no-store",
	} {
		w := request(x, http.MethodGet, path)
		h := w.Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self'") || strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", path, h)
		}
		if h.Get("Cache-Control") != cache {
			t.Errorf("%s: Cache-Control %q", path, h.Get("Cache-Control"))
		}
		if w.Code != 200 {
			continue
		}
		tag := h.Get("ETag")
		for _, known := range []string{tag, `"other", ` + tag, "W/" + tag, "*"} {
			if again := request(x, http.MethodGet, path, "If-None-Match", known); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%s with %s: %d", path, known, again.Code)
			}
		}
		if again := request(x, http.MethodGet, path, "If-None-Match", `"other"`); again.Code != 200 {
			t.Errorf("%s with another tag: %d", path, again.Code)
		}
	}
}

func TestPathsThatAreNoPageGetAClearAnswer(t *testing.T) {
	t.Parallel()
	x := example(t)
	long := strings.Repeat("a", 100_000)
	for _, path := range []string{
		"/de/index.html", "/fr/none.html", "/fr/seasons/02.html", "/fr/seasons/-1.html", "/fr/seasons/99999999999999999999.html", "/fr/seasons/2/none.html",
		"/fr/seasons/2/conformite.by-.html", "/fr/seasons/2/proofs/none.html", "/fr/seasons/2/none/reports/x.html", "/fr/seasons/2/conformite/reports/none.html",
		"/fr/../en/index.html", "/fr/index.html.json", "/fr/index.json.html", "/" + long, "/fr/" + long, "/fr/seasons/2/conformite/reports/%00%ff", "//fr/index.html",
	} {
		w := request(x, http.MethodGet, path)
		if w.Code != http.StatusNotFound {
			t.Errorf("%.60s: %d", path, w.Code)
		}
	}
	page := parseHTML(t, request(x, http.MethodGet, "/fr/seasons/2/none.html").Body.String())
	if got := page.one(t, "h1").text(); got != "Page introuvable" {
		t.Errorf("%q", got)
	}
	if got := page.one(t, "a.limits").attr("href"); got != "../../limits.html" {
		t.Errorf("a page at another depth links to %q", got)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, "BREW"} {
		if w := request(x, method, "/fr/"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := request(x, http.MethodHead, "/fr/"); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestReadersAndReloadsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	dir := folder(t, exampleFiles(t))
	x := indexWith(t, Content{Bundles: []string{dir}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if w := request(x, http.MethodGet, "/en/seasons/2/conformite.html"); w.Code != 200 {
					t.Errorf("status %d", w.Code)
				}
			}
		})
	}
	for range 3 {
		if err := x.Reload(Content{Bundles: []string{dir}}); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}

func TestAnExportReadsFromFilesAndEveryRelativeLinkResolves(t *testing.T) {
	t.Parallel()
	x := example(t)
	dir := t.TempDir()
	if err := x.Export(dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, at := range append(everyPath(x), "/index.html") {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(at)))
		if err != nil {
			t.Fatal(err)
		}
		for target := range links(t, at, parseHTML(t, string(data))) {
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(target))); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s links to %s: %v", at, target, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, strings.TrimSuffix(filepath.FromSlash(at), ".html")+".json")); err != nil {
			t.Errorf("%s has no twin: %v", at, err)
		}
		pages++
	}
	if pages < 900 {
		t.Errorf("only %d pages", pages)
	}
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (strings.ContainsAny(d.Name(), `:\*?"<>|`) || strings.HasPrefix(d.Name(), ".export")) {
			t.Errorf("%s cannot be copied everywhere", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(dir, "en", "limits.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Export(dir); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(filepath.Join(dir, "en", "limits.html")); err != nil || !os.SameFile(before, after) {
		t.Error("a second export writes files again that have not changed")
	}
}

func TestAnExportLinksToTheSeasonServiceWhenItHasAnAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"": "", "https://season.example/": "https://season.example/v1/season/2/bundle.tar.zst"} {
		x, err := New(Options{IssuerName: issuerName, Contact: contact, SeasonURL: address})
		if err != nil {
			t.Fatal(err)
		}
		f, err := x.file(example(t).site.Load(), "en/seasons/2.html", true)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, a := range parseHTML(t, string(f.data)).all("a") {
			if strings.HasSuffix(a.attr("href"), "bundle.tar.zst") {
				got = a.attr("href")
			}
		}
		if got != want {
			t.Errorf("%q: link %q, want %q", address, got, want)
		}
	}
	if err := example(t).Export(filepath.Join(exampleArchive, "x")); err == nil {
		t.Error("an export into a file succeeds")
	}
}
