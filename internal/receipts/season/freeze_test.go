package season_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/receipts/season"
)

func TestSection8FrozenDocumentsAreServedFromTheFreezeOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		b.define()
		paths := []string{"rules/conformite.md", "rules/conformite.json", "rules/conformite/statement", "catalogue/conformite"}
		for _, p := range paths {
			require.Equal(t, 404, b.do("GET", "/v1/season/1/"+p, "").Code, p)
		}
		call := b.freeze("conformite", "", "prf_20260919_080000_00000a")
		for _, p := range paths {
			require.Equal(t, 404, b.do("GET", "/v1/season/1/"+p, "").Code, "the season is frozen when every track is: %s", p)
		}
		b.freeze("generique", "", "prf_20260919_080000_00000b")
		f := freezeDocuments("conformite")
		for p, want := range map[string][]byte{paths[0]: f.RulesText, paths[1]: f.Rules, paths[3]: f.Catalogue} {
			w := b.do("GET", "/v1/season/1/"+p, "")
			require.Equal(t, 200, w.Code, p)
			require.Equal(t, string(want), w.Body.String(), p)
		}
		w := b.do("GET", "/v1/season/1/rules/conformite/statement", "")
		sum := sha256.Sum256(w.Body.Bytes())
		require.Equal(t, call.RulesSHA256, hex.EncodeToString(sum[:]), "the body is the very text that the rules hash covers")
		for _, p := range []string{"rules/other.md", "rules/conformite", "rules/conformite.txt", "catalogue/other", "rules/other/statement", "catalogue/%00", "catalogue/..%2f"} {
			require.Equal(t, 404, b.do("GET", "/v1/season/1/"+p, "").Code, p)
		}
	})
}

func TestSection3StatusOfASeason(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b := newBench(t, url)
		status := func() map[string]any {
			w := b.do("GET", "/v1/season/1", "")
			require.Equal(t, 200, w.Code)
			var o map[string]any
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &o))
			return o
		}
		require.Equal(t, 404, b.do("GET", "/v1/season/1", "").Code)
		b.define()
		require.Equal(t, "draft", status()["state"])
		b.freeze("conformite", "", "prf_20260919_080000_00000a")
		b.freeze("generique", "", "prf_20260919_080000_00000b")
		o := status()
		require.Equal(t, "frozen", o["state"])
		require.Equal(t, false, o["ouverte"])
		require.Equal(t, "2026-09-20T08:00:00Z", o["opens"])
		require.Equal(t, "2026-09-27T08:00:00Z", o["closes"])
		require.Equal(t, "2026-09-27T07:58:00Z", o["last_safe_call"], "closes − 120 s")
		require.Equal(t, false, o["practice"])
		freeze := o["tracks"].(map[string]any)["conformite"].(map[string]any)["freeze"].(map[string]any)
		require.Equal(t, "prf_20260919_080000_00000a", freeze["proof_id"])
		require.Equal(t, strings.Repeat("a", 64), freeze["manifest_sha256"])
		require.Equal(t, strings.Repeat("b", 64), freeze["key_commitment"])
		b.clock.set(opens)
		require.Equal(t, true, status()["ouverte"])
		token, did := b.enrol(1)
		before := b.do("GET", "/v1/season/1", "").Body.String()
		require.Equal(t, 200, b.submit(token, submission(did, "conf-01", "conforme")).Code)
		require.Equal(t, before, b.do("GET", "/v1/season/1", "").Body.String(), "nobody else sees that something was submitted")
		b.clock.set(closes.Add(time.Second))
		require.Equal(t, "closed", status()["state"])
		require.Equal(t, 200, b.do("HEAD", "/v1/season/1", "").Code)
		for _, n := range []string{"0", "01", "-1", "2", "x", "99999999999999999999", "1.0", "%31x"} {
			require.Equal(t, 404, b.do("GET", "/v1/season/"+n, "").Code, n)
		}
		require.Equal(t, 405, b.do("DELETE", "/v1/season/1", "").Code)
		require.Equal(t, 404, b.do("GET", "/", "").Code)
	})
}

func TestSection8FreezeCallComesThroughTheProxyBeforeTheOpeningWithTheStoredStatement(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := newBench(t, url), context.Background()
		b.define()
		f := freezeDocuments("conformite")
		path := "/v1/season/1/freeze/conformite"
		require.Equal(t, 409, b.do("POST", path, `{}`, "X-Challenge-Secret", secret).Code, "nothing is stored")
		call, err := b.Freeze(ctx, 1, f)
		require.NoError(t, err)
		statement := string(canonjson.Compact(call.Statement))
		for _, wrong := range []string{"", "wrong", secret + "x", secret[:len(secret)-1]} {
			require.Equal(t, 403, b.do("POST", path, statement, "X-Challenge-Secret", wrong).Code, wrong)
		}
		require.Equal(t, 404, b.do("POST", "/v1/season/1/freeze/other", statement, "X-Challenge-Secret", secret).Code)
		for name, body := range map[string]string{
			"another key":       strings.Replace(statement, strings.Repeat("b", 64), strings.Repeat("c", 64), 1),
			"a member more":     strings.Replace(statement, "{", `{"x":1,`, 1),
			"a number as float": strings.Replace(statement, `"season":1`, `"season":1.0`, 1),
			"no JSON":           "x",
			"duplicate":         strings.Replace(statement, "{", `{"season":1,`, 1),
		} {
			require.Equal(t, 409, b.do("POST", path, body, "X-Challenge-Secret", secret).Code, name)
		}
		require.ErrorIs(t, b.RecordFreezeProof(ctx, 1, "conformite", "prf_20260919_080000_00000a", disclosures("conformite", call)), season.ErrState, "the call has not come")
		require.Equal(t, 200, b.do("POST", path, " "+statement, "X-Challenge-Secret", secret).Code, "equal as JSON")
		require.Equal(t, 200, b.do("POST", path, statement, "X-Challenge-Secret", secret).Code, "again is no harm")
		b.clock.set(opens)
		require.Equal(t, 403, b.do("POST", path, statement, "X-Challenge-Secret", secret).Code, "past the opening")
		require.Error(t, b.RecordFreezeProof(ctx, 1, "conformite", "no proof id", disclosures("conformite", call)))
		require.Error(t, b.RecordFreezeProof(ctx, 1, "conformite", "prf_20260919_080000_00000a", disclosures("generique", call)), "the proof of another call")
		require.Error(t, b.RecordFreezeProof(ctx, 1, "conformite", "prf_20260919_080000_00000a", []byte(`{}`)))
		require.NoError(t, b.RecordFreezeProof(ctx, 1, "conformite", "prf_20260919_080000_00000a", disclosures("conformite", call)), "the call itself was in time")
		require.NotContains(t, b.log.String(), secret)
	})
}

func TestFreezeCallIsRefusedWhereNoSecretIsConfigured(t *testing.T) {
	b := newBench(t, "sqlite:"+t.TempDir()+"/s.db")
	d := deps(b, b.issuer)
	d.ChallengeSecret = ""
	s, err := season.New(context.Background(), d)
	require.NoError(t, err)
	b.handler = s.Handler()
	b.define()
	require.Equal(t, 403, b.do("POST", "/v1/season/1/freeze/conformite", `{}`, "X-Challenge-Secret", "").Code)
}

func TestSection8ReplacedFreezeStaysOnRecordWithItsReason(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := newBench(t, url), context.Background()
		b.define()
		b.freeze("conformite", "", "prf_20260919_080000_00000a")
		b.freeze("generique", "", "prf_20260919_080000_00000b")
		_, err := b.Freeze(ctx, 1, freezeDocuments("conformite"))
		require.ErrorContains(t, err, "say why", "a replacement gives its reason")
		b.freeze("conformite", "grounded-verdict rule", "prf_20260919_090000_00000c")
		f := freezeDocuments("conformite")
		f.Reason = "abandoned before its call"
		_, err = b.Freeze(ctx, 1, f)
		require.NoError(t, err)
		w := b.do("GET", "/v1/season/1", "")
		require.Contains(t, w.Body.String(), `"proof_id":"prf_20260919_090000_00000c"`)
		require.Contains(t, w.Body.String(), `"replaced":[{"proof_id":"prf_20260919_080000_00000a","reason":"grounded-verdict rule"}]`)
		b.clock.set(opens)
		f.Reason = "too late"
		_, err = b.Freeze(ctx, 1, f)
		require.ErrorIs(t, err, season.ErrState, "from the opening on nothing frozen changes (§8)")
		b.clock.set(closes.Add(time.Second))
		snapshot, err := b.Snapshot(ctx, 1)
		require.NoError(t, err)
		require.Len(t, snapshot.Freezes, 2)
		record := snapshot.Freezes[0]
		require.Equal(t, "conformite", record.Track)
		require.Equal(t, "prf_20260919_090000_00000c", record.ProofID)
		require.Equal(t, []season.Replaced{{ProofID: "prf_20260919_080000_00000a", Reason: "grounded-verdict rule"}}, record.Replaced)
		require.Contains(t, string(record.Disclosures), "request_hash")
		require.Equal(t, freezeDocuments("conformite").Tasks, record.Tasks)
	})
}

func TestFreezeRefusesDocumentsThatContradictThemselves(t *testing.T) {
	b, ctx := newBench(t, "sqlite:"+t.TempDir()+"/s.db"), context.Background()
	b.define()
	for name, change := range map[string]func(*season.Freeze){
		"unknown track":        func(f *season.Freeze) { f.Track = "other" },
		"other text":           func(f *season.Freeze) { f.RulesText = []byte("x") },
		"rules no JSON":        func(f *season.Freeze) { f.Rules = []byte("{") },
		"tasks no array":       func(f *season.Freeze) { f.Tasks = []byte("{}") },
		"no tasks":             func(f *season.Freeze) { f.Tasks = []byte("[]") },
		"short hash":           func(f *season.Freeze) { f.KeyCommitment = "abc" },
		"upper-case hash":      func(f *season.Freeze) { f.ManifestSHA256 = strings.Repeat("A", 64) },
		"catalogue of another": func(f *season.Freeze) { f.CorpusHost = "https://x.test" },
		"catalogue not sorted": func(f *season.Freeze) {
			f.Catalogue = []byte(`{"corpus_host":"` + f.CorpusHost + `","urls":["` + f.CorpusHost + `/b","` + f.CorpusHost + `/a"]}`)
		},
		"catalogue without list": func(f *season.Freeze) { f.Catalogue = []byte(`{"corpus_host":"` + f.CorpusHost + `"}`) },
	} {
		f := freezeDocuments("conformite")
		change(&f)
		_, err := b.Freeze(ctx, 1, f)
		require.Error(t, err, name)
	}
	b.freeze("conformite", "", "prf_20260919_080000_00000a")
	f := freezeDocuments("generique")
	f.Tasks = []byte(strings.Replace(string(f.Tasks), "gen-01", "conf-01", 1))
	_, err := b.Freeze(ctx, 1, f)
	require.ErrorContains(t, err, "conf-01", "task ids are unique across tracks")
}

func TestDefinitionIsFixedByTheFirstFreeze(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := newBench(t, url), context.Background()
		b.define()
		b.define()
		d := definition()
		d.Closes = closes.Add(time.Hour)
		require.NoError(t, b.Define(ctx, d), "a draft may change")
		b.define()
		call, err := b.Freeze(ctx, 1, freezeDocuments("conformite"))
		require.NoError(t, err)
		require.Equal(t, 200, b.do("POST", "/v1/season/1/freeze/conformite", string(canonjson.Compact(call.Statement)), "X-Challenge-Secret", secret).Code)
		require.NoError(t, b.Define(ctx, d), "a freeze that was never proven, timestamped too late for example, does not hold the operator to its window")
		require.ErrorIs(t, b.RecordFreezeProof(ctx, 1, "conformite", "prf_20260919_080000_00000c", disclosures("conformite", call)), season.ErrState,
			"it went with the definition it was made for")
		b.define()
		b.freeze("conformite", "", "prf_20260919_080000_00000a")
		require.ErrorIs(t, b.Define(ctx, d), season.ErrState, "a publisher cannot extend the window after the fact (D5)")
		b.define()
		for name, change := range map[string]func(*season.Definition){
			"number": func(d *season.Definition) { d.Number = 0 }, "window": func(d *season.Definition) { d.Closes = d.Opens.Add(-time.Second) },
			"fraction": func(d *season.Definition) { d.Opens = d.Opens.Add(time.Millisecond) }, "host": func(d *season.Definition) { d.Host = "http://x" },
			"slash": func(d *season.Definition) { d.Host = "https://x/" }, "no track": func(d *season.Definition) { d.Tracks = nil },
			"track name": func(d *season.Definition) { d.Tracks = []string{"A,b"} }, "twice": func(d *season.Definition) { d.Tracks = []string{"a", "a"} },
		} {
			d := definition()
			d.Number = 2
			change(&d)
			require.Error(t, b.Define(ctx, d), name)
		}
	})
}

func TestOperatorMayCloseEarlierAndNeverReopens(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		token, did := b.enrol(1)
		b.clock.set(opens.Add(-time.Second))
		b.clock.set(opens.Add(time.Hour))
		require.NoError(t, b.Close(ctx, 1))
		require.Equal(t, 403, b.submit(token, submission(did, "conf-01", "conforme")).Code)
		w := b.do("GET", "/v1/season/1", "")
		require.Contains(t, w.Body.String(), `"closed_at":"2026-09-20T09:00:00.000000Z"`)
		require.Contains(t, w.Body.String(), `"closes":"2026-09-27T08:00:00Z"`, "the announced window stays: the rules hash covers it")
		require.NoError(t, b.Close(ctx, 1), "again changes nothing")
		snapshot, err := b.Snapshot(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, opens.Add(time.Hour), snapshot.ClosedAt)
		require.Equal(t, season.Closed, snapshot.State)
	})
	b := newBench(t, "sqlite:"+t.TempDir()+"/s.db")
	b.define()
	require.ErrorIs(t, b.Close(context.Background(), 1), season.ErrState, "a draft cannot be closed")
}

func TestSection74ResultsAreReleasedAtPublicationOnly(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		b, ctx := openBench(t, url), context.Background()
		_, did := b.enrol(1)
		dir := t.TempDir()
		write := func(name, text string) string {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			return path
		}
		p := season.Publication{
			Results: map[string]string{"conformite": write("c.json", `{"c":1}`), "generique": write("g.json", `{"g":1}`)},
			Bundle:  write("b.tar.zst", "zstd bytes"), Reports: filepath.Join(dir, "reports"),
		}
		write("reports/"+did+".json", `{"report":1}`)
		write("secret.json", "not published")
		paths := map[string]string{"results/conformite": `{"c":1}`, "results/generique": `{"g":1}`, "reports/" + did: `{"report":1}`, "bundle.tar.zst": "zstd bytes"}
		hidden := func(why string) {
			t.Helper()
			for path := range paths {
				require.Equal(t, 404, b.do("GET", "/v1/season/1/"+path, "").Code, "%s: %s", why, path)
			}
		}
		hidden("open")
		_, err := b.Publish(ctx, 1, p)
		require.ErrorIs(t, err, season.ErrState)
		require.ErrorIs(t, b.MarkScored(ctx, 1), season.ErrState)
		b.clock.set(closes.Add(time.Second))
		hidden("closed")
		_, err = b.Publish(ctx, 1, p)
		require.ErrorIs(t, err, season.ErrState, "not scored")
		require.NoError(t, b.MarkScored(ctx, 1))
		require.NoError(t, b.MarkScored(ctx, 1))
		hidden("scored")
		_, err = b.Publish(ctx, 1, season.Publication{Results: map[string]string{"conformite": p.Results["conformite"]}, Bundle: p.Bundle, Reports: p.Reports})
		require.ErrorContains(t, err, "generique")
		_, err = b.Publish(ctx, 1, season.Publication{Results: p.Results, Bundle: "/nonexistent", Reports: p.Reports})
		require.Error(t, err)
		version, err := b.Publish(ctx, 1, p)
		require.NoError(t, err)
		require.EqualValues(t, 1, version)
		for path, want := range paths {
			w := b.do("GET", "/v1/season/1/"+path, "")
			require.Equal(t, 200, w.Code, path)
			require.Equal(t, want, w.Body.String(), path)
		}
		for _, path := range []string{"results/other", "reports/" + didOf(2), "reports/..%2fsecret", "reports/%00", "reports/%ff", "reports/did:web:..%2f..%2fsecret"} {
			require.Equal(t, 404, b.do("GET", "/v1/season/1/"+path, "").Code, path)
		}
		p.Results["conformite"] = write("c2.json", `{"c":2}`)
		version, err = b.Publish(ctx, 1, p)
		require.NoError(t, err)
		require.EqualValues(t, 2, version, "a correction is a new version (§13)")
		require.JSONEq(t, `{"c":2}`, b.do("GET", "/v1/season/1/results/conformite", "").Body.String())
		require.Contains(t, b.do("GET", "/v1/season/1", "").Body.String(), `"publication":{"version":2,`)
		require.Equal(t, 405, b.do("POST", "/v1/season/1/results/conformite", "{}").Code)
	})
}
