package index

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

const (
	exampleArchive = "../scoring/testdata/example/bundle.tar.zst"
	issuerName     = "Émetteur d’essai"
	contact        = "disputes@prova.test"
)

// unpacked reads the example bundle once.
var unpacked = sync.OnceValues(func() (map[string][]byte, error) {
	f, err := os.Open(exampleArchive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	decoder, err := zstd.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	files := map[string][]byte{}
	for r := tar.NewReader(decoder); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			return nil, err
		}
	}
})

func exampleFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := unpacked()
	if err != nil {
		t.Fatal(err)
	}
	return maps.Clone(files)
}

// folder writes files of a bundle into a new folder.
func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// indexOf is a site of a bundle in memory.
func indexOf(t testing.TB, files map[string][]byte) *Index {
	t.Helper()
	e, err := newEdition("memory", bundletest.FS(files))
	if err != nil {
		t.Fatal(err)
	}
	x := indexWith(t, Content{})
	x.site.Store(&site{editions: map[int64]*edition{e.number(): e}})
	return x
}

func indexWith(t testing.TB, c Content) *Index {
	t.Helper()
	x, err := New(Options{IssuerName: issuerName, Contact: contact, Content: c})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var exampleOnce struct {
	sync.Once
	*Index
}

// example is a site of the example bundle as it is, shared by all tests.
func example(t testing.TB) *Index {
	t.Helper()
	exampleOnce.Do(func() { exampleOnce.Index = indexOf(t, exampleFiles(t)) })
	if exampleOnce.Index == nil {
		t.Fatal("the example bundle does not open; the first test that needs it says why")
	}
	return exampleOnce.Index
}

// enrolment edits the enrolment of an agent of the example by its name.
func editEnrolment(t testing.TB, files map[string][]byte, name string, edit func(o *canonjson.Object)) {
	t.Helper()
	list := parsed(t, files[bundle.EnrolmentsPath]).([]any)
	i := slices.IndexFunc(list, func(v any) bool { n, _ := v.(*canonjson.Object).Get("agent_name"); return n == name })
	if i < 0 {
		t.Fatalf("no agent %s", name)
	}
	edit(list[i].(*canonjson.Object))
	files[bundle.EnrolmentsPath] = canonjson.Compact(list)
}

// practiceOf marks a bundle as a practice season.
func practiceOf(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	bundletest.Edit(t, files, bundle.SeasonPath, func(o *canonjson.Object) { o.Set("practice", true) })
	return files
}

func parsed(t testing.TB, data []byte) any {
	t.Helper()
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// didOf finds an agent of a site by the name it enrolled under.
func didOf(t testing.TB, x *Index, name string) string {
	t.Helper()
	for _, e := range x.site.Load().editions {
		for did, en := range e.enrolments {
			if en.AgentName == name {
				return did
			}
		}
	}
	t.Fatalf("no agent %s", name)
	return ""
}

// get asks the handler for a path and requires a status.
func get(t testing.TB, x *Index, path string, status int) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	if w.Code != status {
		t.Fatalf("GET %s: status %d, want %d: %.300s", path, w.Code, status, w.Body)
	}
	return w
}

// page is a parsed page of the site.
func pageAt(t testing.TB, x *Index, path string) *node {
	t.Helper()
	return parseHTML(t, get(t, x, path, http.StatusOK).Body.String())
}

// node is an element with what tests look for.
type node struct{ *html.Node }

func parseHTML(t testing.TB, s string) *node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	return &node{n}
}

// all finds elements by "tag", "tag.class", ".class" or "#id", in document order.
func (n *node) all(selector string) []*node {
	tag, class, _ := strings.Cut(selector, ".")
	tag, id, _ := strings.Cut(tag, "#")
	var out []*node
	for d := range n.Descendants() {
		if d.Type != html.ElementNode || tag != "" && d.Data != tag {
			continue
		}
		e := &node{d}
		if (id == "" || e.attr("id") == id) && (class == "" || slices.Contains(strings.Fields(e.attr("class")), class)) {
			out = append(out, e)
		}
	}
	return out
}

// one is the only match.
func (n *node) one(t testing.TB, selector string) *node {
	t.Helper()
	found := n.all(selector)
	if len(found) != 1 {
		t.Fatalf("%d elements %s, want 1", len(found), selector)
	}
	return found[0]
}

func (n *node) attr(name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is what a reader sees, white space folded.
func (n *node) text() string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
			b.WriteByte(' ')
		}
	}
	return fold(b.String())
}

func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

func texts(nodes []*node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.text()
	}
	return out
}

// everyPath is every HTML page of a site.
func everyPath(x *Index) []string {
	var out []string
	for _, l := range languages() {
		for _, name := range x.site.Load().pageNames() {
			out = append(out, "/"+string(l)+"/"+name+".html")
		}
	}
	return out
}
