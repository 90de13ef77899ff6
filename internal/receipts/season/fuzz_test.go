package season_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/receipts/season"
)

// FuzzEnroll: whatever the body, the answer is an enrolment or a problem, and a
// refusal leaves nothing behind.
func FuzzEnroll(f *testing.F) {
	for _, s := range []string{`{"agent_name":"a","accept_terms":true}`, `{"agent_name":"é\u0301","declared_stack":null,"accept_terms":true}`, `{"agent_name":"🤖"}`, `[]`, `{"a":1,"a":1}`, "\xff", `{"agent_name":"a\u0000","accept_terms":1e999}`} {
		f.Add(s)
	}
	b := openBench(f, "sqlite:"+filepath.Join(f.TempDir(), "s.db"))
	b.issuer.bind("k", didOf(1))
	f.Fuzz(func(t *testing.T, body string) {
		w := b.on(t).do("POST", "/v1/season/1/enroll", body, "X-Api-Key", "k")
		count := func() (n int) {
			if err := b.db.Reader().QueryRow(`SELECT COUNT(*) FROM enrolments`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		switch w.Code {
		case http.StatusCreated:
			if _, err := b.db.Writer().Exec(`DELETE FROM enrolments`); err != nil {
				t.Fatal(err)
			}
		case http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
			if count() != 0 {
				t.Fatalf("%q was refused and recorded", body)
			}
		default:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}

// FuzzSubmit: an accepted body is stored byte for byte, a refused one names its
// faults and is not stored.
func FuzzSubmit(f *testing.F) {
	b := openBench(f, "sqlite:"+filepath.Join(f.TempDir(), "s.db"))
	token, did := b.enrol(1)
	good := submission(did, "conf-01", "conforme")
	for _, s := range []string{good, strings.Replace(good, "a1", "", 1), strings.Replace(good, `"active"`, `[{"a":1e400}]`, 1), `{}`, `null`, "\xef\xbb\xbf" + good, strings.Repeat(`{"a":`, 200), strings.Replace(good, "ici", `\ud83d`, 1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := b.on(t).submit(token, body)
		var stored []byte
		err := b.db.Reader().QueryRow(`SELECT body FROM submissions`).Scan(&stored)
		switch w.Code {
		case http.StatusOK:
			if err != nil || string(stored) != body {
				t.Fatalf("stored %q for %q: %v", stored, body, err)
			}
			var answer struct{ Receipt season.Receipt }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
			if err := answer.Receipt.Verify(b.ReceiptKey(), []byte(body)); err != nil {
				t.Fatal(err)
			}
			if _, err := b.db.Writer().Exec(`DELETE FROM submissions`); err != nil {
				t.Fatal(err)
			}
		case http.StatusUnprocessableEntity:
			if err == nil {
				t.Fatalf("%q was refused and recorded", body)
			}
			if len(problem(t, w)) == 0 {
				t.Fatalf("%q was refused without a fault", body)
			}
		case http.StatusRequestEntityTooLarge:
		default:
			t.Fatalf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}

// FuzzProofAnswer: no answer of an issuer makes the reader panic or hand on what
// was not asked for.
func FuzzProofAnswer(f *testing.F) {
	for _, s := range []string{`{"proofs":{"` + id(1) + `":{}}}`, `{"proofs":{"` + id(2) + `":{}}}`, `{"proofs":null}`, `{"proofs":{"` + id(1) + `":"x"}}`, `[]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		source := season.HTTP{Issuer: "http://issuer.test", Client: &http.Client{Timeout: time.Second, Transport: canned(body)}}
		_ = source.Proofs(t.Context(), []string{id(1)}, func(got string, view []byte) error {
			if got != id(1) || !json.Valid(view) {
				t.Fatalf("%q %q", got, view)
			}
			return nil
		})
		_, _ = season.HTTPIssuer{Public: "http://issuer.test", Client: source.Client}.Identity(t.Context(), "k")
	})
}

// canned answers every request with the same body.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, _ = w.WriteString(string(c))
	return w.Result(), nil
}
