package index

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/platform/pages"
)

// FuzzPath: whatever path and query come from outside, the answer is content of the
// site, a redirect to such content, or a clear refusal; no path climbs out.
func FuzzPath(f *testing.F) {
	x := example(f)
	for _, at := range everyPath(x)[:40] {
		f.Add(at, "")
	}
	for _, s := range []string{
		"/", "/fr", "/en/", "/en/seasons/2", "/en/seasons/2/", "/" + x.look.Style.Path, "/files/2/results.json", "/files/2/rules/conformite.md",
		"/files/2/../../../../etc/passwd", "/files/2/proofs/../season.json", "/files/2/submissions/x/conf-01.json", "/files/2/log-entries/.json",
		"//evil.example/fr/", "/fr//evil.example", "/fr/\\evil.example/", "/en/seasons/2/conformite/reports/~2e~2e", "/en/%2e%2e/%2e%2e/", "/en/seasons/2/\x00.html", "/en/\xff",
	} {
		f.Add(s, "")
	}
	f.Add("/en/seasons/2/conformite.html", "did")
	f.Add("/en/seasons/2/conformite.json", "//evil.example")
	handler := x.Handler()
	serve := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	statuses := []int{http.StatusOK, http.StatusFound, http.StatusMovedPermanently, http.StatusNotFound}
	f.Fuzz(func(t *testing.T, path, sort string) {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.URL = &url.URL{Path: path}
		if sort != "" {
			r.URL.RawQuery = url.Values{"sort": {sort}}.Encode()
		}
		w := serve(r)
		if sort != "" && w.Code == http.StatusBadRequest {
			return
		}
		if !slices.Contains(statuses, w.Code) {
			t.Fatalf("%q: %d", path, w.Code)
		}
		if w.Header().Get("Content-Security-Policy") != pages.Policy {
			t.Errorf("%q: no policy", path)
		}
		if w.Code == http.StatusOK {
			if strings.Contains(path, "..") {
				t.Errorf("%q climbs and has content", path)
			}
			r.Header.Set("If-None-Match", w.Header().Get("ETag"))
			if again := serve(r); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%q again: %d", path, again.Code)
			}
		}
		r.Method = http.MethodPost
		if refused := serve(r); refused.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %q: %d", path, refused.Code)
		}
		to := w.Header().Get("Location")
		if to == "" {
			return
		}
		base := &url.URL{Scheme: "https", Host: "index.example", Path: "/" + strings.TrimPrefix(path, "/")}
		target, err := base.Parse(to)
		if err != nil || target.Scheme != base.Scheme || target.Host != base.Host {
			t.Fatalf("%q leads to %q: %v", path, to, err)
		}
		if again := request(x, http.MethodGet, target.EscapedPath()); again.Code != http.StatusOK {
			t.Errorf("%q leads to %q, which answers %d", path, to, again.Code)
		}
	})
}
