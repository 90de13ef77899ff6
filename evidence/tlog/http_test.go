package tlog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

// proposal returns a body to post for the n-th hash.
func proposal(t testing.TB, n int) string {
	t.Helper()
	h, err := sign(anchoredHash(n), testKey(7))
	if err != nil {
		t.Fatal(err)
	}
	body, err := h.body()
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func call(e http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// wantProblem checks an answer's status, and that it is Rekor's error object with a message about fault.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, fault string) {
	t.Helper()
	var problem struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	if w.Code != status || problem.Code != status || !strings.Contains(problem.Message, fault) || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, %s: %s; want %d about %q", w.Code, w.Header().Get("Content-Type"), w.Body, status, fault)
	}
}

func TestRekorAPIPostThenReadInEveryWay(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	submit(t, e, 100)
	w := call(e, "POST", "/api/v1/log/entries", proposal(t, 0), "Content-Type", "application/json; charset=utf-8")
	if w.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	location := w.Header().Get("Location")
	uuid := strings.TrimPrefix(location, "/api/v1/log/entries/")
	verify(t, uuid, w.Body.Bytes(), 0, e.Log())
	if etag := w.Header().Get("ETag"); etag != `"`+uuid+`"` {
		t.Errorf("ETag %s", etag)
	}
	for _, target := range []string{location, "/api/v1/log/entries/" + uuid[16:], "/api/v1/log/entries?logIndex=1"} {
		got := call(e, "GET", target, "")
		if got.Code != http.StatusOK || got.Body.String() != w.Body.String() {
			t.Errorf("GET %s: status %d: %s", target, got.Code, got.Body)
		}
	}
	again := call(e, "POST", "/api/v1/log/entries", proposal(t, 0))
	wantProblem(t, again, http.StatusConflict, uuid)
	if got := again.Header().Get("Location"); got != location {
		t.Errorf("Location %q, want %q", got, location)
	}
	if size := openedCheckpoint(t, e).Size; size != 2 {
		t.Errorf("%d entries, want 2", size)
	}
}

func TestRekorAPIEntriesAreKeptInCanonicalForm(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	loose := strings.ReplaceAll(proposal(t, 0), `":`, "\" : ")
	if w := call(e, "POST", "/api/v1/log/entries", loose); w.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	wantProblem(t, call(e, "POST", "/api/v1/log/entries", proposal(t, 0)), http.StatusConflict, "already exists")
}

func TestRekorAPILogInfoAndKey(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	for n := range 3 {
		submit(t, e, n)
	}
	var info struct {
		RootHash, SignedTreeHead, TreeID string
		TreeSize                         uint64
		InactiveShards                   []any
	}
	w := call(e, "GET", "/api/v1/log", "")
	if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	c, err := ParseCheckpoint(info.SignedTreeHead)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := ParsePublicKeyPEM(call(e, "GET", "/api/v1/log/publicKey", "").Body.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SignedBy(key); err != nil {
		t.Error(err)
	}
	if info.TreeSize != 3 || c.Size != 3 || info.RootHash != hex.EncodeToString(c.Root[:]) || info.TreeID != "63117254729573873" {
		t.Errorf("log: %+v", info)
	}
}

func TestRekorAPIConsistencyProofsShowThatTheLogOnlyGrew(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	roots := map[int][32]byte{}
	for n := 1; n <= 9; n++ {
		submit(t, e, n)
		roots[n] = openedCheckpoint(t, e).Root
	}
	for first := 1; first <= 9; first++ {
		for last := first; last <= 9; last++ {
			w := call(e, "GET", fmt.Sprintf("/api/v1/log/proof?firstSize=%d&lastSize=%d", first, last), "")
			var answer struct {
				RootHash string
				Hashes   []string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%d–%d: status %d: %s", first, last, w.Code, w.Body)
			}
			var hashes [][]byte
			for _, h := range answer.Hashes {
				raw, err := parseHash(h)
				if err != nil {
					t.Fatal(err)
				}
				hashes = append(hashes, raw[:])
			}
			old, root := roots[first], roots[last]
			if err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(first), uint64(last), hashes, old[:], root[:]); err != nil {
				t.Errorf("%d–%d: %v", first, last, err)
			}
		}
	}
	if w := call(e, "GET", "/api/v1/log/proof?lastSize=9", ""); w.Code != http.StatusOK {
		t.Errorf("firstSize is optional: %s", w.Body)
	}
}

func TestRekorAPIRefusesBadRequests(t *testing.T) {
	e := openLog(t, new(MemoryStore))
	uuid, _ := submit(t, e, 0)
	good := proposal(t, 1)
	with := func(old, replacement string) string {
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q stands %d times in %s", old, strings.Count(good, old), good)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	signatureOf := func(body string) string {
		var entry struct {
			Spec struct{ Signature struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(body), &entry); err != nil {
			t.Fatal(err)
		}
		return entry.Spec.Signature.Content
	}
	const entries = "/api/v1/log/entries"
	for name, tc := range map[string]struct {
		method, target, body string
		status               int
		fault                string
	}{
		"an empty body":                {"POST", entries, "", 400, "error processing entry"},
		"not JSON":                     {"POST", entries, "{", 400, "error processing entry"},
		"an array":                     {"POST", entries, "[]", 400, "an array, want an object"},
		"two values":                   {"POST", entries, good + good, 400, "error processing entry"},
		"ten thousand arrays":          {"POST", entries, strings.Repeat("[", 10000), 400, "error processing entry"},
		"a member twice":               {"POST", entries, with(`"kind":`, `"kind":"x","kind":`), 400, "error processing entry"},
		"not UTF-8":                    {"POST", entries, with("hashedrekord", "hashed\xff"), 400, "error processing entry"},
		"another kind":                 {"POST", entries, with(`"hashedrekord"`, `"intoto"`), 400, "/kind"},
		"another version":              {"POST", entries, with("0.0.1", "0.0.2"), 400, "/apiVersion"},
		"no version":                   {"POST", entries, with(`"apiVersion":"0.0.1",`, ""), 400, "/apiVersion"},
		"an unknown member":            {"POST", entries, with(`"spec"`, `"extra":1,"spec"`), 400, "unknown member"},
		"an unknown member deep down":  {"POST", entries, with(`"algorithm"`, `"x":1,"algorithm"`), 400, "/spec/data/hash: unknown member"},
		"another hash algorithm":       {"POST", entries, with(`"sha256"`, `"sha512"`), 400, "/spec/data/hash/algorithm"},
		"a hash that is too short":     {"POST", entries, with(`"value":"`, `"value":"x`), 400, "/spec/data/hash/value"},
		"a hash that is a number":      {"POST", entries, with(`"value":"`, `"value":1,"y":"`), 400, "/spec/data/hash/value: an integer"},
		"a signature of another hash":  {"POST", entries, with(signatureOf(good), signatureOf(proposal(t, 2))), 400, "/spec/signature/content"},
		"a signature that is not DER":  {"POST", entries, with(signatureOf(good), "AAAA"), 400, "/spec/signature/content"},
		"a signature not in base64":    {"POST", entries, with(signatureOf(good), "?"), 400, "/spec/signature/content"},
		"a key that is none":           {"POST", entries, with(`"publicKey":{"content":"`, `"publicKey":{"content":"AAAA`), 400, "/spec/signature/publicKey/content"},
		"more than an entry can have":  {"POST", entries, strings.Repeat(" ", maxProposal) + good, 413, "more than"},
		"ten megabytes":                {"POST", entries, strings.Repeat(" ", 10<<20), 413, "more than"},
		"a uuid in upper case":         {"GET", entries + "/" + strings.ToUpper(uuid), "", 400, "uuid"},
		"a uuid that is a path":        {"GET", entries + "/../../x", "", 400, "uuid"},
		"no uuid":                      {"GET", entries + "/", "", 400, "uuid"},
		"an unknown uuid":              {"GET", entries + "/" + strings.Repeat("0", 80), "", 404, "not found"},
		"an unknown leaf":              {"GET", entries + "/" + strings.Repeat("0", 64), "", 404, "not found"},
		"no index":                     {"GET", entries, "", 400, "logIndex"},
		"two indices":                  {"GET", entries + "?logIndex=0&logIndex=0", "", 400, "given 2 times"},
		"a negative index":             {"GET", entries + "?logIndex=-1", "", 400, "logIndex"},
		"an index with leading zeros":  {"GET", entries + "?logIndex=00", "", 400, "logIndex"},
		"an index beyond the end":      {"GET", entries + "?logIndex=1", "", 404, "not found"},
		"an index of 2^64-1":           {"GET", entries + "?logIndex=18446744073709551615", "", 404, "not found"},
		"a query that is unreadable":   {"GET", entries + "?logIndex=%zz", "", 400, "query"},
		"a proof of no size":           {"GET", "/api/v1/log/proof", "", 400, "lastSize"},
		"a proof from nothing":         {"GET", "/api/v1/log/proof?firstSize=0&lastSize=1", "", 400, "want 1 ≤"},
		"a proof beyond the end":       {"GET", "/api/v1/log/proof?firstSize=1&lastSize=2", "", 400, "want 1 ≤"},
		"a proof backwards":            {"GET", "/api/v1/log/proof?firstSize=2&lastSize=1", "", 400, "want 1 ≤"},
		"a proof, unreadable":          {"GET", "/api/v1/log/proof?lastSize=%zz", "", 400, "query"},
		"another path":                 {"GET", "/api/v2/log", "", 404, "no such path"},
		"the root":                     {"GET", "/", "", 404, "no such path"},
		"removing an entry":            {"DELETE", entries + "/" + uuid, "", 405, "DELETE"},
		"changing the log":             {"PUT", "/api/v1/log", "", 405, "PUT"},
		"a method on the entries":      {"PATCH", entries, "", 405, "PATCH"},
		"posting to the key's address": {"POST", "/api/v1/log/publicKey", "", 405, "POST"},
	} {
		t.Run(name, func(t *testing.T) {
			w := call(e, tc.method, tc.target, tc.body)
			wantProblem(t, w, tc.status, tc.fault)
			if tc.status == http.StatusMethodNotAllowed && !strings.HasPrefix(w.Header().Get("Allow"), "GET, HEAD") {
				t.Errorf("Allow: %q", w.Header().Get("Allow"))
			}
		})
	}
	t.Run("another content type", func(t *testing.T) {
		wantProblem(t, call(e, "POST", entries, good, "Content-Type", "text/plain"), 415, "want application/json")
		wantProblem(t, call(e, "POST", entries, good, "Content-Type", ";"), 415, "want application/json")
	})
	t.Run("a body that breaks off", func(t *testing.T) {
		r := httptest.NewRequest("POST", entries, io.MultiReader(strings.NewReader(good[:50]), &brokenReader{}))
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		wantProblem(t, w, 400, "ended early")
	})
	if size := openedCheckpoint(t, e).Size; size != 1 {
		t.Errorf("%d entries, want the one from the start", size)
	}
}

type brokenReader struct{}

func (*brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRekorAPIHidesTheStoresTroubleFromCallers(t *testing.T) {
	store := &countingStore{Store: new(MemoryStore)}
	e := openLog(t, store)
	store.set(func(s *countingStore) {
		s.fail = func(uint64, []Record) error { return errors.New("/var/lib/secret: disk full") }
	})
	w := call(e, "POST", "/api/v1/log/entries", proposal(t, 0))
	wantProblem(t, w, http.StatusServiceUnavailable, "try again later")
	if strings.Contains(w.Body.String(), "secret") {
		t.Error("the store's path is shown")
	}
}

func TestRekorAPIAnswersBusyInsteadOfQueueingWithoutEnd(t *testing.T) {
	store := &countingStore{Store: new(MemoryStore)}
	e := openLog(t, store)
	e.mu.Lock()
	e.queue = make([]*submission, maxQueue)
	e.mu.Unlock()
	wantProblem(t, call(e, "POST", "/api/v1/log/entries", proposal(t, 0)), http.StatusServiceUnavailable, "too many submissions")
}
