package season_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/receipts/season"
)

var (
	_ season.ProofSource = season.HTTP{Log: (*tlog.Client)(nil)}
	_ season.Issuer      = season.HTTPIssuer{}
)

// serve answers every request with h; the address of the server is returned.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func TestT313IdentityOfAKey(t *testing.T) {
	public := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/keys/identity" || r.Header.Get("User-Agent") == "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		switch r.Header.Get("X-Api-Key") {
		case "bound":
			fmt.Fprint(w, `{"verified_did":"did:web:a","verified_did_method":"challenge_response","verified_did_bound_at":"x","verified_did_history":[{"did":"did:web:old","bound_at":"x","method":"y","unbound_at":"z"}]}`)
		case "unbound":
			fmt.Fprint(w, `{"verified_did":null,"verified_did_method":null,"verified_did_bound_at":null,"verified_did_history":[]}`)
		case "garbage":
			fmt.Fprint(w, `<html>hush</html>`)
		case "twice":
			fmt.Fprint(w, `{"verified_did":"did:web:a","verified_did":"did:web:b"}`)
		case "huge":
			fmt.Fprint(w, `{"verified_did":"`+strings.Repeat("a", 2<<20)+`"}`)
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	i := season.HTTPIssuer{Public: public, Client: &http.Client{Timeout: 5 * time.Second}}
	for key, want := range map[string]season.Identity{
		"bound":   {Known: true, DID: "did:web:a", Past: []string{"did:web:old"}},
		"unbound": {Known: true},
		"other":   {}, "": {}, "a\nb": {}, "é": {},
	} {
		got, err := i.Identity(context.Background(), key)
		require.NoError(t, err, key)
		require.Equal(t, want, got, key)
	}
	for _, key := range []string{"garbage", "twice", "huge", "broken"} {
		_, err := i.Identity(context.Background(), key)
		require.Error(t, err, key)
		require.NotContains(t, err.Error(), "hush")
		require.NotContains(t, err.Error(), key)
	}
	linked, err := i.LinkedDIDs(context.Background(), "did:web:a")
	require.NoError(t, err, "a foreign issuer has no internal listener to ask")
	require.Empty(t, linked)
	i.Public = "http://127.0.0.1:1"
	_, err = i.Identity(context.Background(), "bound")
	require.Error(t, err)
}

func TestSection91LinkedDIDsOfTheInternalListener(t *testing.T) {
	internal := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/internal/v1/linked-dids" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if r.URL.Query().Get("did") != "did:web:a%3A1" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `{"did":"did:web:a%3A1","linked_dids":["did:web:b"]}`)
	})
	i := season.HTTPIssuer{Internal: internal, Client: &http.Client{Timeout: 5 * time.Second}}
	linked, err := i.LinkedDIDs(context.Background(), "did:web:a%3A1")
	require.NoError(t, err)
	require.Equal(t, []string{"did:web:b"}, linked)
	_, err = i.LinkedDIDs(context.Background(), "did:web:x")
	require.ErrorContains(t, err, "400")
}

func id(n int) string { return fmt.Sprintf("prf_20260921_101233_%06x", n) }

func TestT37ProofsAreReadFiftyACall(t *testing.T) {
	var calls []int
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			IDs []string `json:"proof_ids"`
		}
		if r.Method != "POST" || r.URL.Path != "/v1/proofs" || r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		calls = append(calls, len(q.IDs))
		var views []string
		for _, i := range q.IDs {
			view := fmt.Sprintf(`{"proof_id":%q, "x":1.50,"é":"\u00e9"}`, i)
			if strings.HasSuffix(i, "00") {
				view = "null"
			}
			views = append(views, fmt.Sprintf("%q:%s", i, view))
		}
		fmt.Fprint(w, `{"proofs":{`+strings.Join(views, ",")+`}}`)
	})
	source := season.HTTP{Issuer: base, Client: &http.Client{Timeout: 5 * time.Second}}
	ids := []string{id(120)}
	for n := range 121 {
		ids = append(ids, id(n))
	}
	got := map[string]string{}
	require.NoError(t, source.Proofs(context.Background(), ids, func(id string, view []byte) error {
		got[id] = string(view)
		return nil
	}))
	require.Equal(t, []int{50, 50, 21}, calls)
	require.Len(t, got, 120, "a proof that is not shown is left out")
	require.Equal(t, fmt.Sprintf(`{"proof_id":%q, "x":1.50,"é":"\u00e9"}`, id(1)), got[id(1)], "the bytes as they were sent")
	require.Error(t, source.Proofs(context.Background(), []string{"../../etc"}, nil))
	stop := errors.New("disk full")
	require.ErrorIs(t, source.Proofs(context.Background(), ids, func(string, []byte) error { return stop }), stop)
}

func TestT35ReadLimitIsReportedWithItsPause(t *testing.T) {
	calls := 0
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			fmt.Fprintf(w, `{"proofs":{%q:{}}}`, id(0))
			return
		}
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	source := season.HTTP{Issuer: base, Client: &http.Client{Timeout: 5 * time.Second}}
	var ids []string
	for n := range 51 {
		ids = append(ids, id(n))
	}
	kept := 0
	err := source.Proofs(context.Background(), ids, func(string, []byte) error { kept++; return nil })
	var limit *season.RateLimitError
	require.ErrorAs(t, err, &limit)
	require.Equal(t, 90*time.Second, limit.RetryAfter)
	require.Equal(t, 1, kept, "what came before the limit is kept")
}

func TestProofAnswersThatAreNotTheOnesExpectedAreErrors(t *testing.T) {
	for _, body := range []string{``, `null`, `{}`, `{"proofs":[]}`, `{"proofs":{"` + id(1) + `":5}}`, `{"proofs":{"` + id(1) + `":{"a":1,"a":2}}}`, `{"proofs":{}} x`, strings.Repeat("[", 100000)} {
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		source := season.HTTP{Issuer: base, Client: &http.Client{Timeout: 5 * time.Second}}
		require.Error(t, source.Proofs(context.Background(), []string{id(1)}, func(string, []byte) error { return nil }), body)
	}
}

type oneEntry struct{}

func (oneEntry) Entry(_ context.Context, uuid string) ([]byte, error) {
	return []byte(`{"` + uuid + `":{}}`), nil
}

func TestLogEntriesAreAskedByUUIDOnly(t *testing.T) {
	source := season.HTTP{Log: oneEntry{}}
	entry, err := source.LogEntry(context.Background(), strings.Repeat("a", 80))
	require.NoError(t, err)
	require.Contains(t, string(entry), strings.Repeat("a", 80))
	_, err = source.LogEntry(context.Background(), "../x")
	require.Error(t, err)
}
