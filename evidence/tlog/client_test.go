package tlog

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serveLog runs handler for the test and returns a client for it that does not wait long.
func serveLog(t testing.TB, handler http.Handler) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Client{BaseURL: server.URL, HTTP: server.Client(), Wait: time.Millisecond}
}

func TestOneClientServesTheEmbeddedLogOverHTTP(t *testing.T) {
	e := openLog(t, openStore(t, t.TempDir()))
	c := serveLog(t, e)
	c.Logs = []Log{e.Log()}
	for _, appender := range []Appender{c, e, c} {
		for n := range 5 {
			uuid, document := submit(t, appender, n)
			verify(t, uuid, document, n, e.Log())
			again, err := appender.Entry(t.Context(), uuid)
			if err != nil || string(again) != string(document) {
				t.Fatalf("entry %d: %v\n%s\n%s", n, err, again, document)
			}
		}
	}
	if size := openedCheckpoint(t, e).Size; size != 5 {
		t.Errorf("%d entries, want 5: the same hash by the same key is one entry", size)
	}
}

func TestClientEntryUnderItsLeafHashIsNamedAsAskedFor(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	uuid, _ := submit(t, e, 0)
	document, err := serveLog(t, e).Entry(t.Context(), uuid[16:])
	if err != nil {
		t.Fatal(err)
	}
	verify(t, uuid[16:], document, 0, e.Log())
}

func TestClientEntryThatIsNotThere(t *testing.T) {
	requests := new(atomic.Int32)
	e := openLog(t, new(MemoryStore))
	c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); e.ServeHTTP(w, r) }))
	if _, err := c.Entry(t.Context(), strings.Repeat("0", 80)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1: asking again would not help", n)
	}
	for _, uuid := range []string{"", "x", "../" + strings.Repeat("0", 61), strings.Repeat("0", 63) + "?"} {
		if _, err := c.Entry(t.Context(), uuid); err == nil || !strings.Contains(err.Error(), "64 or 80") {
			t.Errorf("uuid %q: %v", uuid, err)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests after bad uuids, want 1", n)
	}
}

// behaviour changes how a log answers one kind of request; it gets the good answer and may do as it likes.
type behaviour func(w http.ResponseWriter, r *http.Request, good *httptest.ResponseRecorder)

func honest(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
	for name, values := range good.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(good.Code)
	_, _ = w.Write(good.Body.Bytes())
}

// answer sends a fixed answer.
func answer(status int, body string) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// firstTimes behaves one way for n requests and honestly from then on.
func firstTimes(n int32, b behaviour) behaviour {
	seen := new(atomic.Int32)
	return func(w http.ResponseWriter, r *http.Request, good *httptest.ResponseRecorder) {
		if seen.Add(1) <= n {
			b(w, r, good)
			return
		}
		honest(w, r, good)
	}
}

// edited replaces a part of the good answer's body.
func edited(old, replacement string) behaviour {
	return func(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
		body := good.Body.String()
		if !strings.Contains(body, old) {
			panic("nothing to edit in " + body)
		}
		w.WriteHeader(good.Code)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, old, replacement))
	}
}

func TestClientAgainstLogsThatMisbehave(t *testing.T) {
	other := openLog(t, new(MemoryStore))
	unrelatedUUID, unrelated := submit(t, other, 77)
	exists := func(location, body string) behaviour {
		return func(w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
			if location != "" {
				w.Header().Set("Location", location)
			}
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, body)
		}
	}
	slow := func(w http.ResponseWriter, r *http.Request, good *httptest.ResponseRecorder) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
			honest(w, r, good)
		}
	}
	drop := func(http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) }
	cut := func(w http.ResponseWriter, _ *http.Request, good *httptest.ResponseRecorder) {
		w.Header().Set("Content-Length", "5000")
		w.WriteHeader(good.Code)
		_, _ = w.Write(good.Body.Bytes()[:100])
	}
	huge := answer(http.StatusCreated, strings.Repeat("x", maxDocument+1))
	const anyway = "accepted"
	for name, tc := range map[string]struct {
		post, get behaviour
		trust     bool   // the client knows the log's key
		want      string // part of the error; "" for success; anyway: success without trust, but VerifyEntry refuses
	}{
		"as it should be":       {honest, honest, true, ""},
		"503, then good":        {firstTimes(1, answer(503, "busy")), honest, true, ""},
		"429, then good":        {firstTimes(1, answer(429, "")), honest, true, ""},
		"503 for ever":          {answer(503, "busy"), honest, true, `status 503: "busy"`},
		"400":                   {answer(400, `{"code":400,"message":"no"}`), honest, true, "status 400"},
		"a redirect to nowhere": {answer(302, ""), honest, true, "302"},
		"slow, then good":       {firstTimes(1, slow), honest, true, ""},
		"slow for ever":         {slow, honest, true, "deadline exceeded"},
		"a connection dropped after the entry was taken":         {firstTimes(1, drop), honest, true, ""},
		"an answer cut off after the entry was taken":            {firstTimes(1, cut), honest, true, ""},
		"409 with Location and message":                          {exists("/api/v1/log/entries/UUID", `{"code":409,"message":"exists with UUID UUID"}`), honest, true, ""},
		"409 with Location only":                                 {exists("/api/v1/log/entries/UUID", ""), honest, true, ""},
		"409 with an absolute Location":                          {exists("https://log.test/api/v1/log/entries/UUID", ""), honest, true, ""},
		"409 with a message only":                                {exists("", `{"code":409,"message":"exists with UUID UUID"}`), honest, true, ""},
		"409 with nothing":                                       {exists("", ""), honest, true, ""},
		"409 with something unreadable":                          {exists("", "<html>"), honest, true, ""},
		"409 that names another entry":                           {exists("/api/v1/log/entries/"+unrelatedUUID, ""), honest, true, ""},
		"409, the entry then answered with another":              {exists("/api/v1/log/entries/UUID", ""), answer(200, string(unrelated)), true, "the SHA-256 of the text"},
		"409, the entry then missing":                            {exists("", ""), answer(404, `{"code":404,"message":"entry not found"}`), true, "not found"},
		"201 about another entry, the right one when asked":      {answer(201, string(unrelated)), honest, true, ""},
		"201 about another entry, and so when asked":             {answer(201, string(unrelated)), answer(200, string(unrelated)), true, "the SHA-256 of the text"},
		"201 about another entry, and so when asked, no trust":   {answer(201, string(unrelated)), answer(200, string(unrelated)), false, "another artifact"},
		"201 without inclusion proof, with one later":            {edited(`"inclusionProof"`, `"x"`), firstTimes(1, edited(`"inclusionProof"`, `"x"`)), true, ""},
		"201 without inclusion proof, with one later, no trust":  {edited(`"inclusionProof"`, `"x"`), firstTimes(1, edited(`"inclusionProof"`, `"x"`)), false, ""},
		"never an inclusion proof":                               {edited(`"inclusionProof"`, `"x"`), edited(`"inclusionProof"`, `"x"`), true, "inclusionProof: missing"},
		"never an inclusion proof, no trust":                     {edited(`"inclusionProof"`, `"x"`), edited(`"inclusionProof"`, `"x"`), false, "inclusionProof: missing"},
		"a checkpoint of another size":                           {edited(`63117254729573873\n1\n`, `63117254729573873\n2\n`), edited(`63117254729573873\n1\n`, `63117254729573873\n2\n`), true, "checkpoint: it is of a tree of size 2"},
		"a checkpoint of another size, no trust":                 {edited(`63117254729573873\n1\n`, `63117254729573873\n2\n`), honest, false, anyway},
		"201 with nothing":                                       {answer(201, ""), honest, true, ""},
		"201 with an array":                                      {answer(201, "[]"), honest, true, ""},
		"201 with two entries":                                   {answer(201, `{"a":{},"b":{}}`), honest, true, ""},
		"200 instead of 201":                                     {answer(200, "{}"), honest, true, "status 200"},
		"a huge answer":                                          {huge, honest, true, "more than"},
		"a huge answer when asked":                               {answer(201, "{}"), answer(200, strings.Repeat("x", maxDocument+1)), true, "more than"},
		"ten thousand nested arrays when asked":                  {answer(201, "{}"), answer(200, strings.Repeat("[", 10000)), true, "not strict JSON"},
		"an error message with control characters and much text": {answer(400, "\x1b[2J"+strings.Repeat("y", 5000)), honest, true, `\x1b[2J`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openLog(t, new(MemoryStore))
			c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				good := httptest.NewRecorder()
				e.ServeHTTP(good, r)
				if good.Code == http.StatusConflict && r.Header.Get("User-Agent") != "prova-test" {
					t.Errorf("User-Agent %q", r.Header.Get("User-Agent"))
				}
				b := tc.get
				if r.Method == http.MethodPost {
					b = tc.post
				}
				b(&uuidWriter{w, e}, r, good)
			}))
			c.UserAgent, c.Attempts = "prova-test", 2
			if strings.HasPrefix(name, "slow") {
				c.Timeout = 500 * time.Millisecond
			}
			if tc.trust {
				c.Logs = []Log{e.Log()}
			}
			uuid, document, err := c.Submit(t.Context(), anchoredHash(0), testKey(7))
			switch {
			case tc.want == "" && err != nil:
				t.Fatal(err)
			case tc.want == "":
				verify(t, uuid, document, 0, e.Log())
			case tc.want == anyway:
				if err != nil {
					t.Fatal(err)
				}
				_, err := VerifyEntry(uuid, document, anchoredHash(0), []Log{e.Log()})
				wantCheck(t, err, CheckCheckpoint)
			case err == nil:
				t.Fatalf("accepted: %s", document)
			case !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 2000 || strings.ContainsRune(err.Error(), 0x1b):
				t.Fatalf("error of %d bytes: %v, want one about %q", len(err.Error()), err, tc.want)
			}
			if size := openedCheckpoint(t, e).Size; size != 1 {
				t.Errorf("%d entries were made, want 1", size)
			}
		})
	}
}

// uuidWriter writes the uuid of the log's first entry for the word UUID.
type uuidWriter struct {
	http.ResponseWriter
	log *Embedded
}

func (w *uuidWriter) uuid() string {
	w.log.mu.RLock()
	defer w.log.mu.RUnlock()
	return w.log.uuid(w.log.tree.levels[0][0])
}

func (w *uuidWriter) WriteHeader(status int) {
	if location := w.Header().Get("Location"); location != "" {
		w.Header().Set("Location", strings.ReplaceAll(location, "UUID", w.uuid()))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *uuidWriter) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.ResponseWriter, strings.ReplaceAll(string(b), "with UUID UUID", "with UUID "+w.uuid())); err != nil {
		return 0, err
	}
	return len(b), nil
}

func TestClientStopsWhenItsContextEnds(t *testing.T) {
	c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	c.Attempts, c.Wait = 1000, time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, _, err := c.Submit(ctx, anchoredHash(0), testKey(7))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestClientMakesTheAttemptsThatItIsToldTo(t *testing.T) {
	for attempts, want := range map[int]int32{-1: 1, 0: DefaultAttempts, 1: 1, 4: 4} {
		requests := new(atomic.Int32)
		c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { requests.Add(1); w.WriteHeader(502) }))
		c.Attempts = attempts
		if _, _, err := c.Submit(t.Context(), anchoredHash(0), testKey(7)); err == nil {
			t.Errorf("Attempts %d: accepted", attempts)
		}
		if _, err := c.Entry(t.Context(), strings.Repeat("0", 80)); err == nil {
			t.Errorf("Attempts %d: an entry out of nothing", attempts)
		}
		if got := requests.Load(); got != 2*want {
			t.Errorf("Attempts %d: %d requests, want %d", attempts, got, 2*want)
		}
	}
}

func TestClientEntryOfAnotherName(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	_, document := submit(t, e, 0)
	for name, body := range map[string]string{
		"another entry": string(document),
		"two entries":   `{"a":1,"b":2}`,
		"no entry":      `{}`,
		"not JSON":      `<html>`,
	} {
		c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		if _, err := c.Entry(t.Context(), strings.Repeat("1", 80)); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := c.Entry(t.Context(), strings.Repeat("1", 64)); err == nil {
			t.Errorf("%s under a leaf hash: accepted", name)
		}
	}
}

func TestClientSendsWhatRekorExpects(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	var dump []byte
	c := serveLog(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, _ = httputil.DumpRequest(r, true)
		e.ServeHTTP(w, r)
	}))
	c.BaseURL += "/"
	submit(t, c, 0)
	head, body, _ := strings.Cut(string(dump), "\r\n\r\n")
	for _, want := range []string{"POST /api/v1/log/entries HTTP/1.1\r\n", "Content-Type: application/json", "Accept: application/json", "User-Agent: prova"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is not in\n%s", want, head)
		}
	}
	if body != proposal(t, 0) || !json.Valid([]byte(body)) {
		t.Errorf("body %s", body)
	}
}

func TestClientNeedsAnHTTPClientAndAnAddress(t *testing.T) {
	if _, err := (&Client{BaseURL: "http://log.test"}).Entry(t.Context(), strings.Repeat("0", 80)); err == nil {
		t.Error("no HTTP client: accepted")
	}
	c := &Client{BaseURL: "::", HTTP: http.DefaultClient}
	if _, _, err := c.Submit(t.Context(), anchoredHash(0), testKey(7)); err == nil {
		t.Error("no address: accepted")
	}
}
