package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// quick is a client that does not really wait between attempts.
func quick(a *Access) (*Client, *atomic.Int64) {
	c := NewClient(a)
	var waited atomic.Int64
	c.wire.sleep = func(ctx context.Context, d time.Duration) error {
		waited.Add(int64(d))
		return ctx.Err()
	}
	return c, &waited
}

func record(s *standIn) string { return s.corpus.Host + "/entites/" + s.tasks[0].Target.Entity }

func TestSection24ConsultUsesTheCanonicalFormAndStripsTheStamp(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	r, err := NewClient(a).Consult(t.Context(), record(s))
	check(t, err)
	if want, _ := s.view.Value(r.Resource); !canonjson.Equal(r.Body, want) {
		t.Errorf("body %s, want the frozen one %s", canonjson.Compact(r.Body), canonjson.Compact(want))
	}
	if !ValidProofID(r.ProofID) || r.Status != 200 || r.Resource != "/entites/"+s.tasks[0].Target.Entity {
		t.Errorf("receipt %+v", r)
	}
	d, err := NewClient(a).Disclosures(t.Context(), r.ProofID)
	check(t, err)
	if p := s.proofs[r.ProofID]; d.RequestHash != p.request || d.ResponseHash != p.response {
		t.Errorf("disclosure %+v", d)
	}
}

func TestConsultRefusesWhatIsNoCanonicalURL(t *testing.T) {
	c := NewClient(&Access{})
	for _, u := range []string{"", "/entites/ENT-0001", "http://h.test/a", "https://h.test", "https://h.test/", "https:///a", "https://h.test/a?b", "https://h.test/a#b", "https://h.test/a b"} {
		if _, err := c.Consult(t.Context(), u); err == nil {
			t.Errorf("%q was consulted", u)
		}
	}
}

func TestConsultOfAPathOutsideTheCollectionsIsAnErrorInTheCorpussWords(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	r, err := NewClient(a).Consult(t.Context(), s.corpus.Host+"/nothing/here")
	if err == nil || !strings.Contains(err.Error(), "belongs to no collection") || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
	if !ValidProofID(r.ProofID) || r.Status != 404 {
		t.Errorf("the receipt of the refusal is lost: %+v", r)
	}
}

func TestLoadIsTriedAgainAFewTimesAndNotForEver(t *testing.T) {
	for _, status := range []int{429, 503} {
		for _, failures := range []int{1, 4, 5, 1000} {
			t.Run(fmt.Sprintf("%d times %d", failures, status), func(t *testing.T) {
				s := newStandIn(t, practice())
				a, _ := s.join("A")
				var sent atomic.Int64
				s.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
					if sent.Add(1) > int64(failures) {
						return false
					}
					w.Header().Set("Retry-After", "2")
					envelope(w, status, "rate_limited", "Daily rate limit reached")
					return true
				})
				c, waited := quick(a)
				_, err := c.Consult(t.Context(), record(s))
				if fine := failures < attempts; fine != (err == nil) {
					t.Errorf("error %v", err)
				}
				if n := sent.Load(); n != int64(min(failures+1, attempts)) {
					t.Errorf("%d requests", n)
				}
				if err != nil && (!strings.Contains(err.Error(), "Daily rate limit reached") || waited.Load() != int64(2*(attempts-1))*int64(time.Second)) {
					t.Errorf("%v after %s", err, time.Duration(waited.Load()))
				}
			})
		}
	}
}

func TestALongWaitThatAServiceAsksForIsAnErrorAtOnce(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	s.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "3600")
		envelope(w, 429, "rate_limited", "Too many signups. Try again later.")
		return true
	})
	c, waited := quick(a)
	_, err := c.Consult(t.Context(), record(s))
	var status *StatusError
	if !errors.As(err, &status) || status.Code != "rate_limited" || !strings.Contains(err.Error(), "1h0m0s") || waited.Load() != 0 {
		t.Errorf("%v after %s", err, time.Duration(waited.Load()))
	}
}

func TestACorpusThatIsOverloadedIsAskedAgain(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	var sent atomic.Int64
	s.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
		if sent.Add(1) > 3 {
			return false
		}
		reply(w, 200, canonjson.NewObject("proof", canonjson.NewObject("proof_id", "prf_20260921_101233_ffffff"),
			"service_response", canonjson.NewObject("status_code", 503, "body", canonjson.NewObject("erreur", "corpus_indisponible"))))
		return true
	})
	c, _ := quick(a)
	r, err := c.Consult(t.Context(), record(s))
	if err != nil || r.Status != 200 || sent.Load() != 4 {
		t.Errorf("%+v, %v after %d calls", r, err, sent.Load())
	}
}

func TestOddAnswersAreErrorsAndNeverAPanic(t *testing.T) {
	deep := strings.Repeat("[", 10000)
	bodies := []string{
		``, `null`, `[]`, `{}`, `"x"`, `1`, deep, "\xff\xfe", `<html>`, `{"proof":null}`, `{"proof":[],"service_response":7}`,
		`{"proof":{"proof_id":7}}`, `{"proof":{"proof_id":"prf_20260921_101233_zzzzzz"}}`,
		`{"proof":{"proof_id":"prf_20260921_101233_000000"}}`,
		`{"proof":{"proof_id":"prf_20260921_101233_000000"},"service_response":{"status_code":200.0}}`,
		`{"proof":{"proof_id":"prf_20260921_101233_000000"},"service_response":{"status_code":99999999999999999999}}`,
		`{"error":null}`, `{"error":"x","message":7}`, `{"error":{"code":[],"message":{}}}`, `{"errors":{"pointer":1}}`,
		`{"title":"t","errors":[null,1,{"pointer":[],"message":null}]}`,
		`{"tasks":{"conformite":[null]},"season_token":"x"}`, `{"api_key":7}`, `{"urls":[7],"corpus_host":"x"}`,
	}
	for _, status := range []int{200, 201, 301, 400, 404, 422, 500, 502, 504} {
		for _, body := range bodies {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "https://elsewhere.test/")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
			a := &Access{IssuerURL: server.URL, SeasonURL: server.URL, Season: 1, APIKey: "mcp_free_secret", SeasonToken: "pst_secret", AgentDID: "did:key:z"}
			c, _ := quick(a)
			_, err1 := c.Consult(t.Context(), "https://corpus.test/a")
			_, err2 := c.Disclosures(t.Context(), "prf_20260921_101233_000000")
			err3 := c.Submit(t.Context(), Submission{Track: "conformite", TaskID: "conf-01"})
			_, err4 := c.Rules(t.Context(), "conformite")
			_, _, err5 := Join(t.Context(), JoinOptions{IssuerURL: server.URL, SeasonURL: server.URL, Season: 1, Rand: bytes.NewReader(make([]byte, 32)), HTTP: server.Client()})
			for i, err := range []error{err1, err2, err3, err4, err5} {
				if err == nil {
					t.Errorf("%d %.60s: call %d has no error", status, body, i)
				} else if strings.Contains(err.Error(), "secret") {
					t.Errorf("%d %.60s: a secret is in the error: %v", status, body, err)
				}
			}
			server.Close()
		}
	}
}

func TestAnAnswerThatIsTooLongIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		block := bytes.Repeat([]byte("a"), 1<<20)
		_, _ = w.Write([]byte(`"`))
		for range 20 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	c, _ := quick(&Access{IssuerURL: server.URL})
	if _, err := c.Consult(t.Context(), "https://corpus.test/a"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
}

func TestNoRedirectCarriesTheKeyElsewhere(t *testing.T) {
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, _ := quick(&Access{IssuerURL: server.URL, SeasonURL: server.URL, APIKey: "k", HTTP: server.Client()})
	_, err := c.Disclosures(t.Context(), "prf_20260921_101233_000000")
	if err == nil || reached.Load() {
		t.Errorf("error %v, the other host was reached: %t", err, reached.Load())
	}
}

func TestSection4SubmitAddsTheDisclosuresOfExactlyTheProofsCited(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("A")
	c := NewClient(a)
	r, err := c.Consult(t.Context(), record(s))
	check(t, err)
	claim := Assertion{Resource: r.Resource, Field: "/existe", Value: true, ProofIDs: []string{r.ProofID}}
	named := claim
	named.ID, named.Field = "a1", "/statut"
	named.Value = member(r.Body, "statut")
	sub := Submission{Track: "conformite", TaskID: w.Tracks["conformite"].Tasks[0].TaskID, Verdict: "conforme", Assertions: []Assertion{claim, named}, Narrative: "n"}
	check(t, c.Submit(t.Context(), sub))
	check(t, c.Submit(t.Context(), sub)) // It replaces the one before.
	got := s.submitted(a.AgentDID)[sub.TaskID]
	if got == nil || len(got.Assertions) != 2 || got.Assertions[0].ID == "a1" || got.Assertions[1].ID != "a1" || len(got.Disclosures) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestSection4ARefusalShowsEveryFaultWithItsPlace(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	err := NewClient(a).Submit(t.Context(), Submission{Track: "conformite", TaskID: "conf-99", Verdict: "perhaps"})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 422 || len(status.Faults) < 2 {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"/task_id: ", "/verdict: ", "nothing was recorded"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestSubmitOfAProofOfSomebodyElseSaysSo(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	b, _ := s.join("B")
	r, err := NewClient(b).Consult(t.Context(), record(s))
	check(t, err)
	err = NewClient(a).Submit(t.Context(), Submission{Track: "conformite", TaskID: "conf-01", Verdict: "conforme",
		Assertions: []Assertion{{Resource: r.Resource, Field: "/existe", Value: true, ProofIDs: []string{r.ProofID}}}})
	if err == nil || !strings.Contains(err.Error(), "not the owner") || !strings.Contains(err.Error(), r.ProofID) {
		t.Errorf("%v", err)
	}
}

func TestSection3JoinBindsEnrolsAndReadsTheCatalogue(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("A")
	track := w.Tracks["conformite"]
	urls, err := s.corpus.Catalogue()
	check(t, err)
	if len(track.Tasks) != 10 || track.CorpusHost != s.corpus.Host || len(track.Catalogue) != len(urls) {
		t.Errorf("%d tasks, host %s, %d URLs", len(track.Tasks), track.CorpusHost, len(track.Catalogue))
	}
	if !strings.HasPrefix(a.AgentDID, "did:key:z") || a.IssuerURL != s.server.URL {
		t.Errorf("%v", a)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, shown := range []string{fmt.Sprintf(format, a), fmt.Sprintf(format, *a)} {
			if strings.Contains(shown, a.APIKey) || strings.Contains(shown, a.SeasonToken) {
				t.Errorf("%s shows a secret", format)
			}
		}
	}
	// The tasks reach an agent as they were published, references included.
	data, err := w.JSON()
	check(t, err)
	got, _ := canonjson.Resolve(parsed(t, data), "/tracks/conformite/tasks")
	if !canonjson.Equal(got, parsed(t, s.corpus.Tasks)) {
		t.Errorf("tasks differ from those published: %s", data)
	}
	if again, err := w.JSON(); err != nil || !bytes.Equal(data, again) {
		t.Errorf("the work has two forms: %v", err)
	}
}

func TestSection3JoinStopsAtTheStepThatIsRefused(t *testing.T) {
	s := newStandIn(t, practice())
	s.join("A")
	join := func(name, email string, random []byte) error {
		_, _, err := Join(t.Context(), JoinOptions{IssuerURL: s.server.URL, SeasonURL: s.server.URL, Season: 1, Name: name, Email: email, HTTP: s.server.Client(), Rand: bytes.NewReader(random)})
		return err
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no address":       {join("B", "", make([]byte, 32)), "signing up: "},
		"no randomness":    {join("B", "b@agents.prova.test", nil), "no randomness"},
		"a name in use":    {join("A", "c@agents.prova.test", make([]byte, 32)), "/agent_name: is taken"},
		"the same address": {join("D", "c@agents.prova.test", make([]byte, 32)), "already_exists"},
	} {
		var status *StatusError
		text := fmt.Sprint(c.err)
		if errors.As(c.err, &status) {
			text += status.Code
		}
		if c.err == nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAwaitOpenWaitsAndGivesUpWhenTheSeasonIsOver(t *testing.T) {
	s := newStandIn(t, practice())
	a, _ := s.join("A")
	var asked atomic.Int64
	answer := func(state string, open bool) func(w http.ResponseWriter, _ *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			reply(w, 200, canonjson.NewObject("state", state, "ouverte", open || asked.Add(1) > 3))
			return true
		}
	}
	s.setBefore(answer("frozen", false))
	c, waited := quick(a)
	if err := c.AwaitOpen(t.Context()); err != nil || waited.Load() != 3*int64(openPoll) {
		t.Errorf("%v after %s", err, time.Duration(waited.Load()))
	}
	asked.Store(-1000)
	s.setBefore(answer("closed", false))
	if err := c.AwaitOpen(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

func TestAClientHasAtMostEightRequestsUnderWay(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("A")
	var now, most atomic.Int64
	release := make(chan struct{})
	s.setBefore(func(http.ResponseWriter, *http.Request) bool {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == inFlight {
			close(release)
		}
		<-release
		now.Add(-1)
		return false
	})
	b := newNotebook(NewClient(a), s.corpus.Host)
	var paths []string
	for _, u := range w.Tracks["conformite"].Catalogue[:40] {
		paths = append(paths, strings.TrimPrefix(u, s.corpus.Host))
	}
	_, err := b.readAll(t.Context(), paths)
	check(t, err)
	if n := most.Load(); n > inFlight {
		t.Errorf("%d requests were under way at once", n)
	}
}

func TestAListThatNeverEndsIsAnErrorAndALoopIsNone(t *testing.T) {
	b := newNotebook(nil, "")
	done := make(chan struct{})
	close(done)
	put := func(path, next string) {
		b.kept[path] = &note{done: done, page: &page{path: path, body: canonjson.NewObject("page_suivante", next)}}
	}
	put("/l/1", "/l/2")
	put("/l/2", "/l/1")
	if pages, err := b.chain(t.Context(), "/l/1"); err != nil || len(pages) != 2 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	for i := range maxChain + 1 {
		put(fmt.Sprintf("/m/%d", i), fmt.Sprintf("/m/%d", i+1))
	}
	if _, err := b.chain(t.Context(), "/m/0"); err == nil {
		t.Error("a list of more pages than the bound was read")
	}
}

func TestParseGuideRefusesRulesItWasNotWrittenFor(t *testing.T) {
	s := newStandIn(t, practice())
	v, _ := s.view.Value(referentielPath)
	if _, err := parseGuide(v); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"bornes": "exclues", "precedence": []any{"a", "b"}, "types_requis": nil, "criteres": []any{canonjson.NewObject("numero", "6")},
	} {
		o := v.(*canonjson.Object).Clone()
		o.Set(name, value)
		if _, err := parseGuide(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseGuide(nil); err == nil {
		t.Error("nothing is taken for rules")
	}
}

func TestBoundedKeepsMinimumCapAndOwnHalf(t *testing.T) {
	rules := Rules{Collections: []Collection{
		{"/entites/", []string{"/statut", "/existe", "/agrements/<n>"}}, {"/mesures-restrictives/", []string{"/entrees/<n>/date_naissance"}},
		{"/listes/agrees/", []string{"/entrees/<n>/statut"}},
	}}
	at := func(resource, field string) Assertion { return Assertion{Resource: resource, Field: field} }
	common := []Assertion{at("/mesures-restrictives/1", "/entrees/0/date_naissance"), at("/mesures-restrictives/1", "/entrees/1/date_naissance"), at("/listes/agrees/a/1", "/entrees/2/statut")}
	own := []Assertion{at("/entites/E", "/statut"), at("/entites/E", "/existe"), at("/entites/E", "/agrements/0"), at("/entites/E", "/agrements/00"), at("/entites/E", "")}
	for _, c := range []struct {
		name         string
		task         Task
		list, filler []Assertion
		want         int
	}{
		{"fills to the minimum", Task{Minimum: 3, Cap: 6}, common[:1], own, 3},
		{"goes on until half of it is own", Task{Minimum: 3, Cap: 6}, common, own, 5},
		{"never passes the cap", Task{Minimum: 3, Cap: 4}, common, own, 4},
		{"adds nothing that is there", Task{Minimum: 3, Cap: 6}, own[:2], own, 3},
		{"adds no field twice and none inadmissible", Task{Minimum: 6, Cap: 8}, nil, append(own, own...), 3},
		{"drops what is inadmissible", Task{Minimum: 1, Cap: 8}, []Assertion{at("/entites/E", "/siege"), at("/referentiel", "/version"), own[0]}, nil, 1},
		{"keeps grounds beyond the minimum", Task{Minimum: 1, Cap: 8}, own[:3], nil, 3},
	} {
		if got := bounded(c.task, rules, c.list, c.filler); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
}
