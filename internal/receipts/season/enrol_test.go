package season_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/season"
)

func TestSection3EnrolmentGivesATokenAndTheTasksOfEveryTrack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := openBench(t, url)
		b.issuer.bind("k", didOf(1))
		w := b.do("POST", "/v1/season/1/enroll", `{"agent_name":"Élan 2","declared_stack":"a model, a loop","accept_terms":true}`, "X-Api-Key", "k")
		require.Equal(t, 201, w.Code, w.Body)
		var answer struct {
			SeasonToken string                      `json:"season_token"`
			AgentDID    string                      `json:"agent_did"`
			Tasks       map[string][]map[string]any `json:"tasks"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Regexp(t, `^pst_[0-9a-f]{64}$`, answer.SeasonToken)
		require.Equal(t, didOf(1), answer.AgentDID)
		require.Len(t, answer.Tasks["conformite"], 2)
		require.Equal(t, map[string]any{"fr": "?", "en": "?"}, answer.Tasks["generique"][0]["question"])

		w = b.do("GET", "/v1/season/1/tasks/conformite", "", "Authorization", "Bearer "+answer.SeasonToken)
		require.Equal(t, 200, w.Code)
		require.Contains(t, w.Body.String(), `"task_id":"conf-02"`)
		for _, authorization := range []string{"", "Bearer", "Bearer pst_" + strings.Repeat("0", 64), "Basic " + answer.SeasonToken, "Bearer \x00\xff"} {
			w = b.do("GET", "/v1/season/1/tasks/conformite", "", "Authorization", authorization)
			require.Equal(t, 401, w.Code, authorization)
			require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
		}
		require.NotContains(t, b.log.String(), answer.SeasonToken)
		var stored int
		require.NoError(t, b.db.Reader().QueryRow(`SELECT COUNT(*) FROM enrolments WHERE token_sha256 = $1 OR key_sha256 = $2`, answer.SeasonToken, "k").Scan(&stored))
		require.Zero(t, stored, "neither token nor key is stored in the clear")
	})
}

func TestSection91EnrolmentIsCheckedInTheOrderOfItsAnswers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := openBench(t, url)
		good := `{"agent_name":"Un nom","accept_terms":true}`
		enrol := func(key, body string) (int, map[string]string) {
			w := b.do("POST", "/v1/season/1/enroll", body, "X-Api-Key", key)
			return w.Code, problem(t, w)
		}
		status, _ := enrol("", "no JSON")
		require.Equal(t, 401, status, "no key comes before everything else")
		status, _ = enrol("unknown", "no JSON")
		require.Equal(t, 401, status)
		b.issuer.bind("unbound", "")
		status, _ = enrol("unbound", good)
		require.Equal(t, 403, status, "a bound DID is mandatory (§3)")
		b.issuer.bind("odd", "did:web:a/b")
		status, _ = enrol("odd", good)
		require.Equal(t, 403, status)
		b.issuer.bind("long", "did:web:"+strings.Repeat("a", 300))
		status, _ = enrol("long", good)
		require.Equal(t, 403, status)

		b.issuer.bind("one", didOf(1))
		require.Equal(t, 201, b.do("POST", "/v1/season/1/enroll", good, "X-Api-Key", "one").Code)
		status, _ = enrol("one", good)
		require.Equal(t, 409, status, "a key enrols once")
		b.issuer.bind("one", didOf(2))
		status, _ = enrol("one", `{"agent_name":"Autre","accept_terms":true}`)
		require.Equal(t, 409, status, "also with another DID")
		b.issuer.bind("two", didOf(1))
		status, _ = enrol("two", `{"agent_name":"Autre","accept_terms":true}`)
		require.Equal(t, 409, status, "a DID enrols once, whichever key it comes with")
		b.issuer.bind("three", didOf(3))
		status, faults := enrol("three", `{"agent_name":"  ","accept_terms":false,"extra":1}`)
		require.Equal(t, 422, status)
		require.Len(t, faults, 3, "every fault at once: %v", faults)
		for _, pointer := range []string{"/agent_name", "/accept_terms", "/extra"} {
			require.Contains(t, faults, pointer)
		}

		b.issuer.down = true
		w := b.do("POST", "/v1/season/1/enroll", good, "X-Api-Key", "three")
		require.Equal(t, 503, w.Code)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
		b.issuer.down = false
		b.clock.set(closes.Add(time.Second))
		status, _ = enrol("three", good)
		require.Equal(t, 403, status, "closed")
		status, _ = enrol("unknown", good)
		require.Equal(t, 401, status)
	})
}

func TestSection3EnrolmentIsOpenFromTheFreezeToTheClose(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.define()
		b.issuer.bind("k", didOf(1))
		enrol := func() int {
			return b.do("POST", "/v1/season/1/enroll", `{"agent_name":"A","accept_terms":true}`, "X-Api-Key", "k").Code
		}
		require.Equal(t, 403, enrol())
		b.freeze("conformite", "", "prf_20260919_080000_00000a")
		require.Equal(t, 403, enrol(), "one track is missing")
		b.freeze("generique", "", "prf_20260919_080000_00000b")
		require.Equal(t, 201, enrol(), "frozen, before the opening")
		require.Equal(t, 404, b.do("POST", "/v1/season/2/enroll", `{}`, "X-Api-Key", "k").Code)
	})
}

func TestEnrolmentNamesMustBeReadableAndTheirOwn(t *testing.T) {
	b := openBench(t, "sqlite:"+t.TempDir()+"/s.db")
	n := 100
	enrol := func(name string) (int, map[string]string) {
		n++
		b.issuer.bind("k"+didOf(n), didOf(n))
		body, err := json.Marshal(map[string]any{"agent_name": name, "accept_terms": true})
		require.NoError(t, err)
		w := b.do("POST", "/v1/season/1/enroll", string(body), "X-Api-Key", "k"+didOf(n))
		return w.Code, problem(t, w)
	}
	for _, name := range []string{"Straße", "Ministère 1", "研究 42", "a-b_c.d (v2)", "Ω", strings.Repeat("é", 64), "नमस्ते"} {
		status, faults := enrol(name)
		require.Equal(t, 201, status, "%q %v", name, faults)
	}
	for name, why := range map[string]string{
		"":                      "must not be empty",
		strings.Repeat("é", 65): "at most 64",
		" a":                    "white space",
		"a\u00a0":               "white space",
		"robot 🤖":               "emoji",
		"flag 🇫🇷":               "emoji",
		"heart ❤️":              "emoji",
		"thumb 👍🏽":              "emoji",
		"keycap 1\ufe0f\u20e3":  "emoji",
		"bang \u203c":           "emoji",
		"a\u0000b":              "control",
		"a\nb":                  "control",
		"a\u200db":              "control or invisible",
		"a\u200bb":              "control or invisible",
		"a\ufeffb":              "control or invisible",
		"abc\u202edef":          "bidirectional",
		"abc\u2066def":          "bidirectional",
		"a\u061cb":              "bidirectional",
		"a\u2028b":              "control or invisible",
		"a\ue000b":              "without a meaning",
		"a\U000E0041":           "control or invisible",
		"---":                   "a letter or a digit",
		"STRASSE":               "taken", // Case folding: ß is ss.
		"straße":                "taken",
		"ω":                     "taken",
		"\u2126":                "taken", // OHM SIGN is Ω.
		"研究  42":                "taken", // Two spaces.
		"Ｍinistère 1":           "taken", // Full width.
		"Ministe\u0300re 1":     "taken",
	} {
		status, faults := enrol(name)
		require.Equal(t, 422, status, "%q", name)
		require.Contains(t, faults["/agent_name"], why, "%q", name)
	}
}

func TestEnrolmentBodiesOfEveryWrongKindAreNamed(t *testing.T) {
	b := openBench(t, "sqlite:"+t.TempDir()+"/s.db")
	b.issuer.bind("k", didOf(1))
	for body, pointer := range map[string]string{
		``: "", `[]`: "", `null`: "", `{`: "", `{"a":1,"a":2}`: "", "\xff": "", `{} {}`: "", strings.Repeat("[", 10000): "",
		`{"agent_name":5,"accept_terms":true}`:                                                       "/agent_name",
		`{"accept_terms":true}`:                                                                      "/agent_name",
		`{"agent_name":"a","accept_terms":"true"}`:                                                   "/accept_terms",
		`{"agent_name":"a"}`:                                                                         "/accept_terms",
		`{"agent_name":"a","accept_terms":true,"declared_stack":5}`:                                  "/declared_stack",
		`{"agent_name":"a","accept_terms":true,"declared_stack":"🤖"}`:                                "/declared_stack",
		`{"agent_name":"a","accept_terms":true,"Agent_Name":"b"}`:                                    "/Agent_Name",
		`{"agent_name":"a","accept_terms":true,"a/b~":"b"}`:                                          "/a~1b~0",
		`{"agent_name":"\ud800","accept_terms":true}`:                                                "",
		`{"agent_name":"a","accept_terms":true,"declared_stack":"` + strings.Repeat("x", 501) + `"}`: "/declared_stack",
	} {
		w := b.do("POST", "/v1/season/1/enroll", body, "X-Api-Key", "k")
		require.Equal(t, 422, w.Code, body)
		require.Contains(t, problem(t, w), pointer, body)
	}
	require.Equal(t, 413, b.do("POST", "/v1/season/1/enroll", strings.Repeat(" ", 10<<20), "X-Api-Key", "k").Code)
	require.Equal(t, 415, b.do("POST", "/v1/season/1/enroll", `{}`, "X-Api-Key", "k", "Content-Type", "text/plain").Code)
}

func TestSection91LinkedDIDsOfEnrolmentAndCloseComeTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		b.issuer.mu.Lock()
		b.issuer.keys["k"] = season.Identity{Known: true, DID: didOf(1), Past: []string{didOf(9), didOf(1)}}
		b.issuer.linked[didOf(1)] = []string{didOf(8), didOf(9)}
		b.issuer.mu.Unlock()
		require.Equal(t, 201, b.do("POST", "/v1/season/1/enroll", `{"agent_name":"A","accept_terms":true}`, "X-Api-Key", "k").Code)
		b.enrol(2)
		require.ErrorIs(t, b.RefreshLinks(ctx, 1), season.ErrState, "only at the close")
		b.clock.set(closes.Add(time.Second))
		b.issuer.mu.Lock()
		b.issuer.linked = map[string][]string{didOf(1): {didOf(7), "no did"}, didOf(2): {didOf(1)}}
		b.issuer.mu.Unlock()
		require.NoError(t, b.RefreshLinks(ctx, 1))
		snapshot, err := b.Snapshot(ctx, 1)
		require.NoError(t, err)
		require.Len(t, snapshot.Enrolments, 2)
		got := map[string][]string{}
		for _, e := range snapshot.Enrolments {
			got[e.AgentDID] = e.LinkedDIDs
		}
		require.ElementsMatch(t, []string{didOf(7), didOf(8), didOf(9)}, got[didOf(1)], "what was seen at the enrolment stays")
		require.Equal(t, []string{didOf(1)}, got[didOf(2)])
	})
}

func TestEnrolmentGoesOnWhenOnlyTheLinksCannotBeAsked(t *testing.T) {
	b := openBench(t, "sqlite:"+t.TempDir()+"/s.db")
	flaky := &linksDown{b.issuer}
	s, err := season.New(context.Background(), deps(b, flaky))
	require.NoError(t, err)
	b.handler = s.Handler()
	b.enrol(1)
	require.Contains(t, b.log.String(), "linked DIDs")
}

func TestSection71ReferenceRunsSayWhatTheyAre(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		_, did := b.enrol(1)
		run := season.Run{Model: "m", Version: "1", Framework: "f", Prompt: "p\nq"}
		require.NoError(t, b.MarkReference(ctx, 1, did, run))
		require.Error(t, b.MarkReference(ctx, 1, didOf(2), run))
		b.clock.set(closes.Add(time.Second))
		snapshot, err := b.Snapshot(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, bundle.KindReference, snapshot.Enrolments[0].Kind)
		require.Equal(t, &run, snapshot.Enrolments[0].Run)
		require.NoError(t, b.MarkScored(ctx, 1))
		require.ErrorIs(t, b.MarkReference(ctx, 1, did, run), season.ErrState)
	})
}
