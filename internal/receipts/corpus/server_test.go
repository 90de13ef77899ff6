package corpus_test

import (
	"bufio"
	"bytes"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const challengeSecret = "s3cret-of-this-test-0123456789"

func serve(t testing.TB, c *corpus.Corpus, log io.Writer) *corpus.Server {
	t.Helper()
	s, err := corpus.NewServer(c, challengeSecret, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(h http.Handler, method, target string, body io.Reader, secrets ...string) *http.Response {
	r := httptest.NewRequest(method, "/", body)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	r.URL.ForceQuery = strings.HasSuffix(target, "?")
	for _, secret := range secrets {
		r.Header.Add(corpus.SecretHeader, secret)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestSection25ResponseContract(t *testing.T) {
	t.Parallel()
	c := practice(t)
	s := serve(t, c, io.Discard)
	entity := tasks(t, c)[0].Target.Entity
	for _, test := range []struct {
		name, method, target string
		body                 io.Reader
		secrets              []string
		status               int
		want                 string // the body, or the file that holds it
	}{
		{"a record answers its frozen bytes", "GET", "/entites/" + entity, nil, []string{challengeSecret}, 200, "entites/" + entity + ".json"},
		{"so does the référentiel", "GET", "/referentiel", nil, []string{challengeSecret}, 200, "referentiel.json"},
		{"and a page of a list", "GET", "/listes/agrees/courtage/2", nil, []string{challengeSecret}, 200, "listes/agrees/courtage/2.json"},
		{"an absent reference answers 200", "GET", "/entites/ENT-0000", nil, []string{challengeSecret}, 200, `{"existe":false,"resource":"/entites/ENT-0000"}`},
		{"so does an absent page", "GET", "/mesures-restrictives/99", nil, []string{challengeSecret}, 200, `{"existe":false,"resource":"/mesures-restrictives/99"}`},
		{"and a page of a list that does not exist", "GET", "/listes/agrees/peche/1", nil, []string{challengeSecret}, 200, `{"existe":false,"resource":"/listes/agrees/peche/1"}`},
		{"and owners of nobody", "GET", "/beneficiaires/ENT-0000/1", nil, []string{challengeSecret}, 200, `{"existe":false,"resource":"/beneficiaires/ENT-0000/1"}`},
		{"a path outside the collections is 404", "GET", "/", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a collection itself is 404", "GET", "/entites/", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a trailing slash is 404", "GET", "/entites/" + entity + "/", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a doubled slash is 404", "GET", "//entites/" + entity, nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a reference of another form is 404", "GET", "/entites/AGR-1234", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"page 0 is 404", "GET", "/mesures-restrictives/0", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a page with a leading zero is 404", "GET", "/mesures-restrictives/01", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"the fixed bodies are never served as such", "GET", "/_systeme/403", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"a path up is 404", "GET", "/entites/../../etc/passwd", nil, []string{challengeSecret}, 404, "_systeme/404.json"},
		{"without the secret it is 403", "GET", "/entites/" + entity, nil, nil, 403, "_systeme/403.json"},
		{"with another secret too", "GET", "/entites/" + entity, nil, []string{challengeSecret + "x"}, 403, "_systeme/403.json"},
		{"with an empty one too", "GET", "/entites/" + entity, nil, []string{""}, 403, "_systeme/403.json"},
		{"with two too", "GET", "/entites/" + entity, nil, []string{challengeSecret, challengeSecret}, 403, "_systeme/403.json"},
		{"without the secret a malformed request shows nothing else", "POST", "/x?y", strings.NewReader("z"), nil, 403, "_systeme/403.json"},
		{"a query is 400", "GET", "/entites/" + entity + "?page=2", nil, []string{challengeSecret}, 400, "_systeme/400.json"},
		{"an empty query is 400", "GET", "/entites/" + entity + "?", nil, []string{challengeSecret}, 400, "_systeme/400.json"},
		{"a body is 400", "GET", "/entites/" + entity, strings.NewReader("{}"), []string{challengeSecret}, 400, "_systeme/400.json"},
		{"a chunked body is 400", "GET", "/entites/" + entity, io.MultiReader(strings.NewReader("{}")), []string{challengeSecret}, 400, "_systeme/400.json"},
		{"POST is 400", "POST", "/entites/" + entity, nil, []string{challengeSecret}, 400, "_systeme/400.json"},
		{"DELETE is 400", "DELETE", "/entites/" + entity, nil, []string{challengeSecret}, 400, "_systeme/400.json"},
		{"OPTIONS is 400", "OPTIONS", "/entites/" + entity, nil, []string{challengeSecret}, 400, "_systeme/400.json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			resp := call(s, test.method, test.target, test.body, test.secrets...)
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			want := []byte(test.want)
			if strings.HasSuffix(test.want, ".json") {
				want = c.Files[test.want]
			}
			if resp.StatusCode != test.status || !bytes.Equal(got, want) {
				t.Errorf("status %d, body %s; want %d, %s", resp.StatusCode, got, test.status, want)
			}
			if ct, cc := resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control"); ct != "application/json" || cc != "no-store" {
				t.Errorf("Content-Type %q, Cache-Control %q", ct, cc)
			}
		})
	}
}

func TestSection25EscapedPathIsAnotherURL(t *testing.T) {
	t.Parallel()
	c := practice(t)
	entity := tasks(t, c)[0].Target.Entity
	r := httptest.NewRequest(http.MethodGet, "/entites/"+strings.Replace(entity, "-", "%2D", 1), nil)
	r.Header.Set(corpus.SecretHeader, challengeSecret)
	w := httptest.NewRecorder()
	serve(t, c, io.Discard).ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d: the canonical URL is compared character for character", w.Code)
	}
}

func TestSection25MaintenanceAnswersTheFixedBody(t *testing.T) {
	t.Parallel()
	c := practice(t)
	s := serve(t, c, io.Discard)
	s.SetMaintenance(true)
	resp := call(s, "GET", "/referentiel", nil, challengeSecret)
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || !bytes.Equal(body, c.Files["_systeme/503.json"]) {
		t.Errorf("status %d, body %s", resp.StatusCode, body)
	}
	if resp := call(s, "GET", "/referentiel", nil); resp.StatusCode != 403 {
		t.Errorf("without the secret status %d, want 403", resp.StatusCode)
	}
	s.SetMaintenance(false)
	if resp := call(s, "GET", "/referentiel", nil, challengeSecret); resp.StatusCode != 200 {
		t.Errorf("afterwards status %d", resp.StatusCode)
	}
}

// blocked is a writer whose first byte waits, like a client that reads slowly.
type blocked struct {
	http.ResponseWriter
	entered, release chan struct{}
}

func (b blocked) WriteHeader(int) { b.entered <- struct{}{}; <-b.release }

func TestSection25OverloadAnswersTheFixedBody(t *testing.T) {
	t.Parallel()
	c := practice(t)
	s := serve(t, c, io.Discard)
	s.Limit(1)
	b := blocked{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	var slow sync.WaitGroup
	slow.Go(func() {
		r := httptest.NewRequest(http.MethodGet, "/referentiel", nil)
		r.Header.Set(corpus.SecretHeader, challengeSecret)
		s.ServeHTTP(b, r)
	})
	<-b.entered
	resp := call(s, "GET", "/referentiel", nil, challengeSecret)
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || !bytes.Equal(body, c.Files["_systeme/503.json"]) {
		t.Errorf("status %d, body %s", resp.StatusCode, body)
	}
	close(b.release)
	slow.Wait()
	if resp := call(s, "GET", "/referentiel", nil, challengeSecret); resp.StatusCode != 200 {
		t.Errorf("afterwards status %d", resp.StatusCode)
	}
}

func TestEmptySecretLetsNobodyIn(t *testing.T) {
	t.Parallel()
	s, err := corpus.NewServer(practice(t), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, secrets := range [][]string{nil, {""}} {
		if resp := call(s, "GET", "/referentiel", nil, secrets...); resp.StatusCode != 403 {
			t.Errorf("secrets %q: status %d", secrets, resp.StatusCode)
		}
	}
}

func TestSection25CallsAreLoggedWithoutTheSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := serve(t, practice(t), &log)
	call(s, "GET", "/referentiel", nil, challengeSecret)
	call(s, "GET", "/"+strings.Repeat("x", 5000), nil, challengeSecret)
	got := log.String()
	if !strings.Contains(got, "path=/referentiel") || !strings.Contains(got, "status=200") || !strings.Contains(got, "status=404") {
		t.Errorf("log: %s", got)
	}
	if strings.Contains(got, challengeSecret) || len(got) > 2000 {
		t.Errorf("the log holds the secret or a whole long path: %d bytes", len(got))
	}
}

// TestSection25OverTheWire runs the server behind net/http, where HEAD, disconnects
// and slow bodies are real.
func TestSection25OverTheWire(t *testing.T) {
	t.Parallel()
	c := practice(t)
	ts := httptest.NewServer(serve(t, c, io.Discard))
	defer ts.Close()
	client := ts.Client()
	defer client.CloseIdleConnections()

	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, ts.URL+"/referentiel", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(corpus.SecretHeader, challengeSecret)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.ContentLength != int64(len(c.Files["referentiel.json"])) || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: status %d, length %d, %v", resp.StatusCode, resp.ContentLength, resp.Header)
	}

	conn, err := net.DialTimeout("tcp", ts.Listener.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	// A caller that asks and leaves must not hurt the next one.
	if _, err := io.WriteString(conn, "GET /referentiel HTTP/1.1\r\nHost: x\r\n"+corpus.SecretHeader+": "+challengeSecret+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	r.Method = http.MethodGet
	if resp, err = client.Do(r); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !bytes.Equal(body, c.Files["referentiel.json"]) {
		t.Errorf("body %s, %v", body, err)
	}
}

// TestSection25WhatNetHTTPRefusesItselfIsTheFixed400 speaks to the listener what no
// client library would: each answer is the fixed body, as for any malformed request.
func TestSection25WhatNetHTTPRefusesItselfIsTheFixed400(t *testing.T) {
	t.Parallel()
	c := practice(t)
	s := serve(t, c, io.Discard)
	ts := httptest.NewUnstartedServer(s)
	ts.Listener = corpus.FixedErrors(ts.Listener, func() []byte { return s.Fixed(http.StatusBadRequest) })
	ts.Config.MaxHeaderBytes = 16 << 10
	ts.Config.DisableGeneralOptionsHandler = true
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.Start()
	defer ts.Close()
	secret := corpus.SecretHeader + ": " + challengeSecret + "\r\n"
	for name, request := range map[string]string{
		"no HTTP":                 "GARBAGE\r\n\r\n",
		"no host":                 "GET /referentiel HTTP/1.1\r\n" + secret + "\r\n",
		"a bad escape":            "GET /%zz HTTP/1.1\r\nHost: x\r\n" + secret + "\r\n",
		"a bad header":            "GET /referentiel HTTP/1.1\r\nHost: x\r\n" + secret + "no colon\r\n\r\n",
		"an unknown encoding":     "GET /referentiel HTTP/1.1\r\nHost: x\r\n" + secret + "Transfer-Encoding: zzz\r\n\r\n",
		"an unknown version":      "GET /referentiel HTTP/9.1\r\nHost: x\r\n" + secret + "\r\n",
		"an unknown expectation":  "POST /referentiel HTTP/1.1\r\nHost: x\r\n" + secret + "Expect: tea\r\nContent-Length: 1\r\n\r\nx",
		"too many headers":        "GET /referentiel HTTP/1.1\r\nHost: x\r\n" + secret + "X-A: " + strings.Repeat("a", 40<<10) + "\r\n\r\n",
		"options of no path":      "OPTIONS * HTTP/1.1\r\nHost: x\r\n" + secret + "\r\n",
		"a fragment of a request": "GET /referentiel HTTP/1.1\r\nHost: x\r\n" + secret + "Content-Length: -1\r\n\r\n",
	} {
		conn, err := net.DialTimeout("tcp", ts.Listener.Addr().String(), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, request) // The answer may come before the last byte was taken.
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 400 || !bytes.Equal(body, c.Files["_systeme/400.json"]) ||
			resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: status %d, %v, %q, %v", name, resp.StatusCode, resp.Header, body, err)
		}
		conn.Close()
	}
}

func TestNewServerNeedsTheFixedBodies(t *testing.T) {
	t.Parallel()
	h := hand{t, practice(t)}
	delete(h.Files, "_systeme/503.json")
	h.remanifest()
	if _, err := corpus.NewServer(h.Corpus, challengeSecret, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "/_systeme/503") {
		t.Errorf("error %v", err)
	}
	h.Manifest = []byte(`{}`)
	if _, err := corpus.NewServer(h.Corpus, challengeSecret, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a manifest that is no array was accepted")
	}
}

func TestServerKnowsTheCollectionsOfTheGenericTrack(t *testing.T) {
	t.Parallel()
	h := hand{t, practice(t)}
	h.Track = track.Generique
	s := serve(t, h.Corpus, io.Discard)
	for target, want := range map[string]int{"/produits/PRD-1234": 200, "/catalogue/velos/1": 200, "/annexes-livraison/ANX-1234": 200, "/fournisseurs/FRN-1234": 200, "/entites/ENT-0000": 404, "/produits/1": 404} {
		if resp := call(s, "GET", target, nil, challengeSecret); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", target, resp.StatusCode, want)
		}
	}
}

// FuzzServerPath looks for a path that gets anything but the contract's answers.
func FuzzServerPath(f *testing.F) {
	c := practice(f)
	s := serve(f, c, io.Discard)
	for _, seed := range []string{"/referentiel", "/entites/ENT-0000", "/mesures-restrictives/1", "/_systeme/403", "/entites/ENT-1234/1", "", "//", "/%zz", "/entites/ENT-1234\n", "/listes/agrees/" + strings.Repeat("a", 60) + "/1"} {
		f.Add(seed, "")
	}
	f.Add("/referentiel", "page=2")
	f.Fuzz(func(t *testing.T, path, query string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery = path, query
		r.Header.Set(corpus.SecretHeader, challengeSecret)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		body := w.Body.Bytes()
		v, err := canonjson.ParseStrict(body)
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		switch w.Code {
		case http.StatusOK:
			if query != "" || member(v, "resource") != any(path) {
				t.Errorf("%q?%q answers %s", path, query, body)
			}
			if exists, ok := member(v, "existe").(bool); ok && !exists && strings.ContainsAny(path, "%\n \\") {
				t.Errorf("%q counts as a reference", path)
			}
		case http.StatusBadRequest, http.StatusNotFound:
			if want := map[int]string{400: "_systeme/400.json", 404: "_systeme/404.json"}[w.Code]; !bytes.Equal(body, c.Files[want]) {
				t.Errorf("%q: status %d with %s", path, w.Code, body)
			}
		default:
			t.Errorf("%q: status %d", path, w.Code)
		}
	})
}
