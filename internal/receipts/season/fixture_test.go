package season_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/season"
)

const secret = "the challenge secret of tests"

var (
	opens  = time.Date(2026, 9, 20, 8, 0, 0, 0, time.UTC)
	closes = time.Date(2026, 9, 27, 8, 0, 0, 0, time.UTC)
)

// clock is a clock that tests turn.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// issuer knows keys by heart.
type issuer struct {
	mu     sync.Mutex
	keys   map[string]season.Identity
	linked map[string][]string
	down   bool
}

func (i *issuer) Identity(_ context.Context, key string) (season.Identity, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		return season.Identity{}, errors.New("no route to 10.1.2.3")
	}
	return i.keys[key], nil
}

func (i *issuer) LinkedDIDs(_ context.Context, did string) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		return nil, errors.New("no route to 10.1.2.3")
	}
	return i.linked[did], nil
}

func (i *issuer) bind(key, did string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[key] = season.Identity{Known: true, DID: did}
}

// bench is a season service on a table: its clock, issuer and handler.
type bench struct {
	*season.Service
	t       testing.TB
	db      *store.DB
	clock   *clock
	issuer  *issuer
	handler http.Handler
	log     *bytes.Buffer
	key     ed25519.PrivateKey
}

func newBench(t testing.TB, url string) *bench {
	t.Helper()
	db, err := store.Open(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	b := &bench{
		t: t, db: db, clock: &clock{now: opens.Add(-24 * time.Hour)}, log: &bytes.Buffer{},
		issuer: &issuer{keys: map[string]season.Identity{}, linked: map[string][]string{}},
		key:    ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32)),
	}
	b.Service, err = season.New(context.Background(), deps(b, b.issuer))
	require.NoError(t, err)
	b.handler = b.Handler()
	return b
}

// on is the same bench for another test, as a fuzz target's inner one.
func (b *bench) on(t testing.TB) *bench {
	c := *b
	c.t = t
	return &c
}

func deps(b *bench, i season.Issuer) season.Deps {
	return season.Deps{
		DB: b.db, Issuer: i, Key: b.key, ChallengeSecret: secret,
		Clock: b.clock.Now, Rand: rand.Reader, Logger: slog.New(slog.NewTextHandler(b.log, nil)),
	}
}

// linksDown is an issuer whose internal listener is away.
type linksDown struct{ *issuer }

func (linksDown) LinkedDIDs(context.Context, string) ([]string, error) {
	return nil, errors.New("no route to 10.1.2.3")
}

// openBench is a bench with both tracks frozen and the season open.
func openBench(t testing.TB, url string) *bench {
	t.Helper()
	b := newBench(t, url)
	b.define()
	b.freeze("conformite", "", "prf_20260919_080000_00000a")
	b.freeze("generique", "", "prf_20260919_080000_00000b")
	b.clock.set(opens)
	return b
}

func definition() season.Definition {
	return season.Definition{
		Number: 1, Opens: opens, Closes: closes, Host: "https://season.prova.test",
		Witnesses: bundle.WitnessPolicy{RequireLog: true}, Tracks: []string{"conformite", "generique"},
	}
}

func (b *bench) define() {
	b.t.Helper()
	require.NoError(b.t, b.Define(context.Background(), definition()))
}

func freezeDocuments(track string) season.Freeze {
	text := []byte("# Rules of " + track + "\n")
	sum := sha256.Sum256(text)
	f := season.Freeze{
		Track: track, CorpusHost: "https://" + track + ".corpus.prova.test", RulesText: text,
		ManifestSHA256: strings.Repeat("a", 64), KeyCommitment: strings.Repeat("b", 64),
	}
	rules := map[string]any{"version": track + "-bareme-v1", "text_sha256": hex.EncodeToString(sum[:]), "verdicts": []string{"conforme", "non_conforme", "indeterminable"},
		"verdict_collection": nil, "probative_fields": map[string][]string{"/entites/": {"/statut"}}}
	//nolint:misspell // Wire data is French.
	tasks := `[{"task_id":"conf-01","question":{"fr":"?","en":"?"},"target":{"entite":"ENT-0001","activite":"courtage","date_examen":"2026-09-01"},"minimum":1,"cap":2},
		{"task_id":"conf-02","question":{"fr":"?","en":"?"},"target":{"entite":"ENT-0002","activite":"courtage","date_examen":"2026-09-01"},"minimum":2,"cap":4}]`
	urls := []string{f.CorpusHost + "/entites/ENT-0001", f.CorpusHost + "/entites/ENT-0002"}
	if track == "generique" {
		rules["verdicts"], rules["verdict_collection"] = []string{"aucune_option_valide"}, "/produits/"
		rules["probative_fields"] = map[string][]string{"/produits/": {"/prix"}}
		tasks = `[{"task_id":"gen-01","question":{"fr":"?","en":"?"},"target":{"categorie":"CAT-01"},"minimum":1,"cap":2}]`
		urls = []string{f.CorpusHost + "/catalogue/CAT-01/1", f.CorpusHost + "/produits/PRD-0001"}
	}
	f.Rules, _ = json.Marshal(rules)
	f.Tasks = []byte(tasks)
	f.Catalogue, _ = json.Marshal(map[string]any{"corpus_host": f.CorpusHost, "urls": urls})
	return f
}

// freeze goes the whole way: documents, call through the proxy, proof.
func (b *bench) freeze(track, reason, proofID string) *season.FreezeCall {
	b.t.Helper()
	f := freezeDocuments(track)
	f.Reason = reason
	call, err := b.Freeze(context.Background(), 1, f)
	require.NoError(b.t, err)
	require.Equal(b.t, "https://season.prova.test/v1/season/1/freeze/"+track, call.Target)
	w := b.do("POST", "/v1/season/1/freeze/"+track, string(canonjson.Compact(call.Statement)), "X-Challenge-Secret", secret)
	require.Equal(b.t, 200, w.Code, w.Body)
	require.JSONEq(b.t, `{"recorded":true}`, w.Body.String())
	require.NoError(b.t, b.RecordFreezeProof(context.Background(), 1, track, proofID, disclosures(track, call)))
	return call
}

func disclosures(track string, call *season.FreezeCall) []byte {
	pair := func(value string) map[string]string {
		return map[string]string{"nonce": strings.Repeat("c", 64), "value": value}
	}
	out, _ := json.Marshal(map[string]any{
		"request_hash":  pair(bundle.FreezeRequestHash("https://season.prova.test", 1, track, call.Statement)),
		"response_hash": pair(strings.Repeat("d", 64)),
	})
	return out
}

// do makes a request with a JSON body; header is name, value, name, value.
func (b *bench) do(method, path, body string, header ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, path, io.NopCloser(strings.NewReader(body)))
	r.ContentLength = int64(len(body))
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	if w.Code >= 400 {
		require.Equal(b.t, "application/problem+json", w.Header().Get("Content-Type"), w.Body)
		require.NotContains(b.t, w.Body.String(), "10.1.2.3")
	}
	require.NotEqual(b.t, 500, w.Code, b.log)
	return w
}

func didOf(n int) string {
	public := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 16)).Public()
	return "did:web:agents.example:" + hex.EncodeToString(public.(ed25519.PublicKey)[:8])
}

// enrol enrols agent n and returns its token and DID.
func (b *bench) enrol(n int) (token, did string) {
	b.t.Helper()
	did = didOf(n)
	key := fmt.Sprintf("mcp_free_%048d", n)
	b.issuer.bind(key, did)
	w := b.do("POST", "/v1/season/1/enroll", fmt.Sprintf(`{"agent_name":"Agent %d","accept_terms":true}`, n), "X-Api-Key", key)
	require.Equal(b.t, 201, w.Code, w.Body)
	var answer struct {
		Token string `json:"season_token"`
		DID   string `json:"agent_did"`
	}
	require.NoError(b.t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Equal(b.t, did, answer.DID)
	return answer.Token, did
}

func (b *bench) submit(token, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	return b.do("POST", "/v1/season/1/submit", body, "Authorization", "Bearer "+token)
}

const proofID = "prf_20260921_101233_ab12cd"

// submission is a good one for a compliance task.
func submission(did, task, verdict string) string {
	return fmt.Sprintf(`{"season":1,"track":"conformite","task_id":%q,"agent_did":%q,"verdict":%q,
		"assertions":[{"id":"a1","claim":{"resource":"/entites/ENT-0001","field":"/statut","value":"active"},"proof_ids":["%s"]}],
		"disclosures":{"%s":{"request_hash":{"nonce":"n","value":"v"},"response_hash":{"nonce":"n","value":"v"}}},"narrative":"ici"}`, task, did, verdict, proofID, proofID)
}

// problem reads the faults of a problem: pointer → message. An answer without
// faults has none.
func problem(t testing.TB, w *httptest.ResponseRecorder) map[string]string {
	t.Helper()
	var p struct {
		Errors []struct{ Pointer, Message string }
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	out := map[string]string{}
	for _, e := range p.Errors {
		out[e.Pointer] = e.Message
	}
	return out
}
