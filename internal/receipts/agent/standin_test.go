package agent

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/did"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
)

const testSecret = "a challenge secret of a test"

// standIn is an issuer and a season in one test server, strict about the forms
// that a participant has to keep (T§§3, 4, 12; design §3), before a real corpus.
type standIn struct {
	t      *testing.T
	server *httptest.Server
	corpus *corpus.Corpus
	serve  http.Handler
	view   *corpus.View
	rules  *track.Rules
	tasks  []track.Task

	// before may answer a request itself, to play a fault; it then returns true.
	before func(w http.ResponseWriter, r *http.Request) bool

	mu          sync.Mutex
	keys        map[string]*testKey // by API key
	challenges  map[string]string   // challenge → API key
	proofs      map[string]*testProof
	tokens      map[string]string // season token → API key
	names       map[string]bool
	submissions map[string]map[string]*bundle.Submission // by DID, then task
}

type testKey struct {
	did      string
	public   ed25519.PublicKey
	verified bool
	proofs   int
}

type testProof struct {
	owner, did, resource string
	request, response    Opening
}

func newStandIn(t *testing.T, o corpus.Options) *standIn {
	t.Helper()
	c, err := corpus.Build(o)
	check(t, err)
	handler, err := corpus.NewServer(c, testSecret, slog.New(slog.DiscardHandler))
	check(t, err)
	s := &standIn{
		t: t, corpus: c, serve: handler,
		keys: map[string]*testKey{}, challenges: map[string]string{}, proofs: map[string]*testProof{},
		tokens: map[string]string{}, names: map[string]bool{},
		submissions: map[string]map[string]*bundle.Submission{},
	}
	s.view, err = c.View()
	check(t, err)
	s.rules, err = track.ParseRules(parsed(t, c.Rules))
	check(t, err)
	s.tasks, err = track.ParseTasks(parsed(t, c.Tasks), conformite)
	check(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/keys/free-signup", s.signUp)
	mux.HandleFunc("POST /v1/keys/bind-did", s.bind)
	mux.HandleFunc("POST /v1/keys/bind-did/confirm", s.confirm)
	mux.HandleFunc("POST /v1/proxy", s.proxy)
	mux.HandleFunc("GET /v1/proof/{id}/full", s.full)
	mux.HandleFunc("GET /v1/season/1", s.status)
	mux.HandleFunc("POST /v1/season/1/enroll", s.enroll)
	mux.HandleFunc("GET /v1/season/1/catalogue/conformite", s.catalogue)
	mux.HandleFunc("GET /v1/season/1/tasks/conformite", s.taskList)
	mux.HandleFunc("GET /v1/season/1/rules/conformite.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(c.Rules) })
	mux.HandleFunc("POST /v1/season/1/submit", s.submit)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s: no such route", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	})
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); agent == "" || strings.HasPrefix(agent, "Python-urllib") || strings.HasPrefix(agent, "Go-http") {
			t.Errorf("%s %s: user agent %q would be refused by a public front (T§1)", r.Method, r.URL, agent)
		}
		if r.URL.RawQuery != "" {
			t.Errorf("%s %s: no route takes a query", r.Method, r.URL)
		}
		s.mu.Lock()
		before := s.before
		s.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	v, err := canonjson.Parse(data)
	check(t, err)
	return v
}

func practice() corpus.Options { return corpus.Practice(conformite) }

// join takes a new participant through the three first steps.
func (s *standIn) join(name string) (*Access, *Work) {
	s.t.Helper()
	sum := sha256.Sum256([]byte(name))
	a, w, err := Join(s.t.Context(), JoinOptions{
		IssuerURL: s.server.URL + "/", SeasonURL: s.server.URL, Season: 1, Name: name,
		Email: hex.EncodeToString(sum[:4]) + "@agents.prova.test", DeclaredStack: "a test",
		HTTP: s.server.Client(), Rand: bytes.NewReader(sum[:]),
	})
	check(s.t, err)
	return a, w
}

func problem(w http.ResponseWriter, status int, title string, faults ...bundle.Fault) {
	list := []any{}
	for _, f := range faults {
		list = append(list, canonjson.NewObject("pointer", f.Pointer, "message", f.Message))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(canonjson.Compact(canonjson.NewObject("type", "about:blank", "title", title, "status", status, "errors", list)))
}

func envelope(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(canonjson.Compact(canonjson.NewObject("error", canonjson.NewObject("code", code, "message", message, "status", status))))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(canonjson.Compact(v))
}

// body reads a strict JSON object that has no members but those allowed.
func (s *standIn) body(r *http.Request, allowed ...string) *canonjson.Object {
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		s.t.Errorf("%s: content type %q", r.URL, got)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	v, err := canonjson.ParseStrict(data)
	o, ok := v.(*canonjson.Object)
	if err != nil || !ok {
		s.t.Errorf("%s: body %.200s: %v", r.URL, data, err)
		return canonjson.NewObject()
	}
	for _, name := range o.Names() {
		if !slices.Contains(allowed, name) {
			s.t.Errorf("%s: the body has a member %q", r.URL, name)
		}
	}
	return o
}

func (s *standIn) signUp(w http.ResponseWriter, r *http.Request) {
	email := word(s.body(r, "email"), "email")
	if !strings.Contains(email, "@") {
		envelope(w, 400, "invalid_request", "A valid email is required")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := sha256.Sum256([]byte(email))
	key := "mcp_free_" + hex.EncodeToString(sum[:24])
	if s.keys[key] != nil {
		envelope(w, 409, "already_exists", "An active free key already exists for this email")
		return
	}
	s.keys[key] = &testKey{}
	reply(w, 200, canonjson.NewObject("api_key", key, "plan", "free", "limit", "500 proofs/month", "email", email))
}

// owner is the key of a request; the caller holds the lock.
func (s *standIn) owner(w http.ResponseWriter, r *http.Request) (string, *testKey) {
	key := r.Header.Get("X-Api-Key")
	k := s.keys[key]
	if k == nil {
		envelope(w, 401, "invalid_api_key", "Invalid or missing API key")
	}
	return key, k
}

func (s *standIn) bind(w http.ResponseWriter, r *http.Request) {
	o := s.body(r, "did")
	s.mu.Lock()
	defer s.mu.Unlock()
	key, k := s.owner(w, r)
	if k == nil {
		return
	}
	public, err := did.ParseKey(word(o, "did"))
	if err != nil {
		envelope(w, 400, "invalid_did", err.Error())
		return
	}
	k.did, k.public = word(o, "did"), public
	sum := sha256.Sum256([]byte("challenge for " + key))
	challenge := hex.EncodeToString(sum[:])
	s.challenges[challenge] = key
	reply(w, 200, canonjson.NewObject("challenge", challenge, "expires_in", 300))
}

func (s *standIn) confirm(w http.ResponseWriter, r *http.Request) {
	o := s.body(r, "challenge", "signature")
	s.mu.Lock()
	defer s.mu.Unlock()
	key, k := s.owner(w, r)
	if k == nil {
		return
	}
	challenge := word(o, "challenge")
	if s.challenges[challenge] != key {
		envelope(w, 410, "challenge_expired", "Challenge not found or expired")
		return
	}
	delete(s.challenges, challenge)
	sig, err := base64.RawURLEncoding.DecodeString(word(o, "signature"))
	if err != nil || !ed25519.Verify(k.public, []byte(challenge), sig) {
		envelope(w, 400, "invalid_signature", "The signature does not verify")
		return
	}
	k.verified = true
	reply(w, 200, canonjson.NewObject("verified_did", k.did, "bound_at", "2026-09-21T10:12:33+00:00", "method", "challenge_response"))
}

func (s *standIn) proxy(w http.ResponseWriter, r *http.Request) {
	o := s.body(r, "target", "method", "payload", "currency")
	s.mu.Lock()
	key, k := s.owner(w, r)
	s.mu.Unlock()
	if k == nil {
		return
	}
	target := word(o, "target")
	if payload, ok := member(o, "payload").(*canonjson.Object); !ok || payload.Len() != 0 || word(o, "method") != "GET" {
		s.t.Errorf("consultation of %s: method and payload must be GET and {} (§2.4)", target)
	}
	if c := word(o, "currency"); c != "" && c != "eur" {
		s.t.Errorf("consultation of %s in %s (§2.4)", target, c)
	}
	path, ok := strings.CutPrefix(target, s.corpus.Host)
	if !ok {
		envelope(w, 400, "invalid_target", "Could not resolve hostname")
		return
	}
	call := httptest.NewRequestWithContext(r.Context(), http.MethodGet, path, nil)
	call.Header.Set(corpus.SecretHeader, testSecret)
	rec := httptest.NewRecorder()
	s.serve.ServeHTTP(rec, call)
	body := parsed(s.t, rec.Body.Bytes())
	id := s.prove(key, k, target, path, body)
	if o, ok := body.(*canonjson.Object); ok && rec.Code < 400 {
		o = o.Clone()
		o.Set("_arkforge_attestation", canonjson.NewObject("id", id, "seal", s.server.URL+"/v1/proof/"+id, "status", "VERIFIED_TRANSACTION", "msg", "Payment confirmed, execution anchored."))
		body = o
	}
	reply(w, 200, canonjson.NewObject(
		"proof", canonjson.NewObject("proof_id", id, "spec_version", "3.1", "transaction_success", rec.Code < 400),
		"service_response", canonjson.NewObject("status_code", rec.Code, "body", body),
		"_links", canonjson.NewObject("pricing", "https://prova.test/pricing")))
}

func (s *standIn) prove(key string, k *testKey, target, path string, body any) string {
	request := canonjson.Sum(canonjson.NewObject("target", target, "method", "GET", "payload", canonjson.NewObject(), "amount", 0.0, "currency", "eur"))
	response := canonjson.Sum(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.proofs++; k.proofs > 500 {
		s.t.Errorf("key of %s is past the 500 proofs of its plan (§3)", k.did)
	}
	id := fmt.Sprintf("prf_20260921_101233_%06x", len(s.proofs))
	nonce := func(field string) string {
		sum := sha256.Sum256([]byte(field + id))
		return hex.EncodeToString(sum[:])
	}
	s.proofs[id] = &testProof{owner: key, did: k.did, resource: path,
		request:  Opening{nonce("request_hash"), hex.EncodeToString(request[:])},
		response: Opening{nonce("response_hash"), hex.EncodeToString(response[:])}}
	return id
}

func (s *standIn) full(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, p := r.Header.Get("X-Api-Key"), s.proofs[r.PathValue("id")]
	switch {
	case s.keys[key] == nil:
		envelope(w, 403, "invalid_key", "Invalid API key")
	case p == nil:
		envelope(w, 404, "not_found", "Proof '"+r.PathValue("id")+"' not found")
	case p.owner != key:
		envelope(w, 403, "forbidden", "You are not the owner of this proof")
	default:
		reply(w, 200, canonjson.NewObject("proof_id", r.PathValue("id"),
			"commitment_nonces", canonjson.NewObject("request_hash", p.request.Nonce, "response_hash", p.response.Nonce, "seller", strings.Repeat("0", 64)),
			"chain_data", canonjson.NewObject("request_hash", p.request.Value, "response_hash", p.response.Value, "seller", "conformite.corpus.prova.test")))
	}
}

func (s *standIn) status(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, canonjson.NewObject("season", 1, "state", "open", "ouverte", true))
}

func (s *standIn) enroll(w http.ResponseWriter, r *http.Request) {
	o := s.body(r, "agent_name", "declared_stack", "accept_terms")
	s.mu.Lock()
	defer s.mu.Unlock()
	key, k := s.owner(w, r)
	if k == nil {
		return
	}
	name := word(o, "agent_name")
	switch {
	case !k.verified:
		problem(w, 403, "no DID is bound to this key")
		return
	case member(o, "accept_terms") != true:
		problem(w, 422, "the enrolment has faults", bundle.Fault{Pointer: "/accept_terms", Message: "must be true"})
		return
	case name == "" || s.names[name]:
		problem(w, 422, "the enrolment has faults", bundle.Fault{Pointer: "/agent_name", Message: "is taken by another participant; choose another"})
		return
	}
	s.names[name] = true
	sum := sha256.Sum256([]byte("token" + key))
	token := "pst_" + hex.EncodeToString(sum[:])
	s.tokens[token] = key
	reply(w, 201, canonjson.NewObject("season_token", token, "agent_did", k.did, "tasks", canonjson.NewObject(conformite, parsed(s.t, s.corpus.Tasks))))
}

func (s *standIn) catalogue(w http.ResponseWriter, _ *http.Request) {
	urls, err := s.corpus.Catalogue()
	check(s.t, err)
	reply(w, 200, canonjson.NewObject("corpus_host", s.corpus.Host, "urls", urls))
}

func (s *standIn) taskList(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, canonjson.NewObject("season", 1, "track", conformite, "corpus_host", s.corpus.Host, "tasks", parsed(s.t, s.corpus.Tasks)))
}

// submit is the season's intake: the bundle's own rules a to h and the cap.
func (s *standIn) submit(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[s.tokens[token]]
	if !ok || k == nil {
		problem(w, 401, "the season token is not known")
		return
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		problem(w, 415, "the body must be application/json, not "+got)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		problem(w, 413, "the body is too long")
		return
	}
	caps := map[string]int{}
	for _, t := range s.tasks {
		caps[t.ID] = t.Cap
	}
	parsed, faults := bundle.ParseSubmission(data, bundle.SubmissionContext{
		Season: 1, AgentDID: k.did, RefuseOverCap: true,
		Tracks: map[string]bundle.TrackContext{conformite: {Caps: caps, Verdicts: strings.Join(s.rules.Verdicts, ", "), VerdictAllowed: func(v string) bool {
			return s.rules.VerdictAllowed(v, func(string) bool { return false })
		}}},
	})
	if len(faults) > 0 {
		problem(w, 422, "the submission has faults; nothing was recorded", faults...)
		return
	}
	for id, d := range parsed.Disclosures {
		p := s.proofs[id]
		if p == nil || p.did != k.did {
			s.t.Errorf("%s cites %s, which is no proof of its own", k.did, id)
			continue
		}
		if Opening(d.Request) != p.request || Opening(d.Response) != p.response {
			s.t.Errorf("the disclosure of %s does not open it", id)
		}
	}
	if s.submissions[k.did] == nil {
		s.submissions[k.did] = map[string]*bundle.Submission{}
	}
	_, replaced := s.submissions[k.did][parsed.TaskID]
	s.submissions[k.did][parsed.TaskID] = parsed
	reply(w, 200, canonjson.NewObject("recorded", true, "replaced", replaced, "receipt", canonjson.NewObject("hash", "00")))
}

func (s *standIn) submitted(agentDID string) map[string]*bundle.Submission {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.submissions[agentDID])
}

func (s *standIn) setBefore(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

// keyTask is a task of the sealed key, read for comparison only.
type keyTask struct {
	Verdict string    `json:"verdict"`
	Facts   []keyFact `json:"facts"`
}

type keyFact struct {
	Resource    string         `json:"resource"`
	Field       string         `json:"field"`
	Value       jsontext.Value `json:"value"`
	Equivalents []keyFact      `json:"equivalents"`
}

func (s *standIn) key() map[string]keyTask {
	var k struct {
		Tasks map[string]keyTask `json:"tasks"`
	}
	check(s.t, json.Unmarshal(s.corpus.Key, &k))
	return k.Tasks
}

// tally is a participant's result, counted here without the scorer.
type tally struct {
	submitted, supported, unsupported, exact, grounded int
	states                                             map[string]string // not submitted tasks: why
	missing                                            []string
}

func (s *standIn) tally(agentDID string) tally {
	s.t.Helper()
	out := tally{states: map[string]string{}}
	keys, subs := s.key(), s.submitted(agentDID)
	for _, task := range s.tasks {
		sub := subs[task.ID]
		if sub == nil {
			out.states[task.ID] = "absent"
			continue
		}
		if why := s.state(task, sub); why != "" {
			out.states[task.ID] = why
			continue
		}
		out.submitted++
		good := map[string]bool{}
		for _, a := range sub.Assertions {
			if s.supported(a) {
				out.supported++
				good[bundle.TripletKey(a.Triplet)] = true
			} else {
				out.unsupported++
			}
		}
		if sub.Verdict != keys[task.ID].Verdict {
			continue
		}
		out.exact++
		grounded := true
		for _, f := range keys[task.ID].Facts {
			if !slices.ContainsFunc(append([]keyFact{f}, f.Equivalents...), func(f keyFact) bool {
				return good[bundle.TripletKey(bundle.Triplet{Resource: f.Resource, Field: f.Field, Value: parsed(s.t, f.Value)})]
			}) {
				grounded = false
				out.missing = append(out.missing, task.ID+" "+f.Resource+f.Field)
			}
		}
		if grounded {
			out.grounded++
		}
	}
	return out
}

// state is why a submission is not submitted (bundle format §9.2), or "".
func (s *standIn) state(task track.Task, sub *bundle.Submission) string {
	graph, err := track.BuildGraph(conformite, task.Target, s.view)
	check(s.t, err)
	own := 0
	for _, a := range sub.Assertions {
		switch {
		case !graph.Contains(a.Resource):
			return "outside_task_graph " + a.Resource
		case !s.rules.Probative(a.Resource, a.Field):
			return "field_not_probative " + a.Field
		case !graph.Concerns(a.Resource, a.Field):
			return "common_list_entry_not_concerned " + a.Resource + a.Field
		case graph.Own(a.Resource):
			own++
		}
	}
	switch {
	case len(sub.Assertions) < task.Minimum:
		return "below_minimum"
	case own < task.OwnMinimum():
		return "below_own_minimum"
	}
	return ""
}

func (s *standIn) supported(a bundle.Assertion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range a.ProofIDs {
		if s.proofs[id].resource != a.Resource {
			return false
		}
	}
	body, ok := s.view.Value(a.Resource)
	if !ok {
		return false
	}
	v, ok := canonjson.Resolve(body, a.Field)
	return ok && canonjson.Equal(v, a.Value)
}
