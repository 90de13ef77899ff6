package index

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// twoTracks is a made-up season of both tracks with one participant in each.
func twoTracks(t testing.TB) map[string][]byte {
	t.Helper()
	s := bundletest.New(t, bundletest.Compliance(1), bundletest.Purchasing())
	did := s.Enrol("alpha")
	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01", 2)...)
	s.Submit(did, "gen-01", "PRD-0001", s.Claims("gen-01", 2)...)
	task := func(id, verdict, state, reason string) string {
		return fmt.Sprintf(`{"assertions":[],"grounded":false,"missing_facts":[],"reason":%s,"state":%q,"task_id":%q,"verdict":%s,"verdict_exact":false}`, reason, state, id, verdict)
	}
	participant := func(tasks string, den int) string {
		return fmt.Sprintf(`{"agent_did":%q,"incidents":[],"kind":"community","overclaim":null,"ranked":true,"success":{"den":%d,"num":0,"percent":"0.0"},"tasks":[%s],"tasks_submitted":0}`, did, den, tasks)
	}
	s.Files[bundle.ResultsPath] = []byte(`{"season":1,"tracks":{` +
		`"conformite":{"best_constant_answer":{"den":1,"num":1,"verdict":"conforme"},"participants":[` + participant(task("conf-01", `"conforme"`, "rejected", `"outside_task_graph"`), 1) + `]},` +
		`"generique":{"best_constant_answer":{"den":2,"num":1,"verdict":"PRD-0001"},"participants":[` + participant(task("gen-01", `"PRD-0001"`, "rejected", `"field_not_probative"`)+","+task("gen-02", "null", "not_submitted", `"absent"`), 2) + `]}}}` + "\n")
	return s.Files
}

func upcoming(state string) Season {
	return Season{
		Number: 7, Opens: time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), Closes: time.Date(2027, 3, 30, 23, 59, 59, 0, time.UTC),
		State: state, Practice: true,
		Tracks: []SeasonTrack{{Name: "conformite", Freeze: bundle.Freeze{
			ProofID: "prf_20270201_000000_0a0b0c", RulesSHA256: strings.Repeat("a", 64), ManifestSHA256: strings.Repeat("b", 64), KeyCommitment: strings.Repeat("c", 64),
			Replaced: []bundle.ReplacedFreeze{{ProofID: "prf_20270101_000000_0a0b0c", Reason: "corpus <corrected>"}},
		}}, {Name: "generique"}},
	}
}

func TestSection7_4ASeasonThatIsNotPublishedShowsWindowStateAndFreezeAndNoScore(t *testing.T) {
	t.Parallel()
	for state, word := range map[string]string{
		StateDraft: "in preparation", StateFrozen: "frozen, not open yet", StateOpen: "open", StateClosed: "closed, scores not published yet", StateScored: "scored, not published yet",
	} {
		x := indexWith(t, Content{Seasons: []Season{upcoming(state)}})
		p := pageAt(t, x, "/en/seasons/7.html")
		main := p.one(t, "main").text()
		for _, want := range []string{word, "1 March 2027, 00:00:00 UTC", "30 March 2027, 23:59:59 UTC", "30 March 2027, 23:57:59 UTC",
			"prf_20270201_000000_0a0b0c", strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64), "prf_20270101_000000_0a0b0c · corpus <corrected>", "practice"} {
			if !strings.Contains(main, want) {
				t.Errorf("%s: %q is missing", state, want)
			}
		}
		if strings.ContainsAny(main, "%") || len(p.all("table")) != 0 || strings.Contains(main, "bundle.tar.zst") {
			t.Errorf("%s: the page shows more than window, state and freeze", state)
		}
		for _, path := range []string{"/en/seasons/7/conformite.html", "/en/seasons/7/conformite.json", "/files/7/results.json", "/en/seasons/7/proofs/prf_20270201_000000_0a0b0c.html"} {
			get(t, x, path, 404)
		}
	}
	french := pageAt(t, indexWith(t, Content{Seasons: []Season{upcoming(StateOpen)}}), "/fr/seasons/7.html").one(t, "main").text()
	for _, want := range []string{"ouverte", "1er mars 2027, 00:00:00 UTC", "Dernier appel sûr 30 mars 2027, 23:57:59 UTC", "entraînement"} {
		if !strings.Contains(french, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestReloadShowsANewBundleAndKeepsTheContentAfterAnError(t *testing.T) {
	t.Parallel()
	season := upcoming(StateClosed)
	season.Number = 2
	x := indexWith(t, Content{Seasons: []Season{season}})
	get(t, x, "/en/seasons/2/conformite.html", 404)
	if err := x.Reload(Content{Bundles: []string{folder(t, exampleFiles(t))}, Seasons: []Season{season}}); err != nil {
		t.Fatal(err)
	}
	get(t, x, "/en/seasons/2/conformite.html", 200)
	if got := pageAt(t, x, "/en/seasons/2.html").one(t, ".state-published").text(); got != "published" {
		t.Errorf("state %q", got)
	}
	dir := folder(t, exampleFiles(t))
	for name, c := range map[string]Content{
		"no such folder": {Bundles: []string{"/nowhere/bundle"}},
		"both of season": {Bundles: []string{dir, dir}},
		"state":          {Seasons: []Season{{Number: 3, Opens: season.Opens, Closes: season.Closes, State: StatePublished}}},
		"number 0":       {Seasons: []Season{{State: StateOpen}}},
		"opens":          {Seasons: []Season{{Number: 3, State: StateOpen}}},
		"track":          {Seasons: []Season{{Number: 3, State: StateOpen, Opens: season.Opens, Closes: season.Closes, Tracks: []SeasonTrack{{Name: "A b"}}}}},
	} {
		if err := x.Reload(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
		get(t, x, "/en/seasons/2/conformite.html", 200)
	}
}

func TestABundleThatIsNoPublicationIsRefusedWithItsFault(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(files map[string][]byte){
		"has no results.json": func(files map[string][]byte) { delete(files, bundle.ResultsPath) },
		"season 3, the bundle of season 2": func(files map[string][]byte) {
			files[bundle.ResultsPath] = []byte(strings.Replace(string(files[bundle.ResultsPath]), `"season":2`, `"season":3`, 1))
		},
		"is not enrolled": func(files map[string][]byte) {
			files[bundle.ResultsPath] = []byte(strings.Replace(string(files[bundle.ResultsPath]), `"agent_did":"did:key:z6Mke`, `"agent_did":"did:key:z6Mkx`, 1))
		},
		"has no task": func(files map[string][]byte) {
			files[bundle.ResultsPath] = []byte(strings.Replace(string(files[bundle.ResultsPath]), `"task_id":"conf-03"`, `"task_id":"conf-99"`, 1))
		},
		"has no track conformite": func(files map[string][]byte) { files[bundle.ResultsPath] = []byte(`{"season":2,"tracks":{}}`) },
		"season.json:":            func(files map[string][]byte) { delete(files, bundle.SeasonPath) },
	} {
		files := exampleFiles(t)
		change(files)
		_, err := newEdition("dir", bundletest.FS(files))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := openEdition(exampleArchive); err == nil || !strings.Contains(err.Error(), "unpack the archive") {
		t.Errorf("an archive: %v", err)
	}
}

func TestOptionsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"IssuerName": {Contact: contact}, "Contact": {IssuerName: issuerName},
		"IssuerURL": {IssuerName: issuerName, Contact: contact, IssuerURL: "issuer"},
		"SeasonURL": {IssuerName: issuerName, Contact: contact, SeasonURL: "javascript:alert(1)"},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSection8TheSeasonPageShowsHashesFreezesSaltsWitnessesAndHowToVerify(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	bundletest.Edit(t, files, bundle.KeyPath("conformite"), func(o *canonjson.Object) {
		o.Set("replaced", []any{canonjson.NewObject("proof_id", "prf_20260801_000000_0a0b0c", "salt", strings.Repeat("5", 64))})
	})
	x := indexOf(t, files)
	for l, words := range map[string][]string{"en": {"local, not independent", "independent third party", "barème revu avant l’ouverture"}, "fr": {"local, non indépendant", "tiers indépendant", "Comment vérifier"}} {
		p := pageAt(t, x, "/"+l+"/seasons/2.html")
		main := p.one(t, "main").text()
		e := x.site.Load().editions[2]
		freeze := e.bundle.Tracks["conformite"].Freeze
		for _, want := range append(words, freeze.ProofID, freeze.RulesSHA256, freeze.ManifestSHA256, freeze.KeyCommitment,
			"prf_20260801_000000_0a0b0c", strings.Repeat("5", 64), e.resultsSHA256) {
			if !strings.Contains(main, want) {
				t.Errorf("%s: %q is missing", l, want)
			}
		}
		var commands []string
		for _, c := range p.one(t, "#verify").one(t, "dl.commands").all("dt") {
			commands = append(commands, c.text())
		}
		for _, want := range []string{"prova replay bundle.tar.zst", "prova verify --trust trust.json --require local --log-entry log-entry.json proof.json"} {
			found := false
			for _, c := range commands {
				found = found || c == want
			}
			if !found {
				t.Errorf("%s: no command %q among %q", l, want, commands)
			}
		}
		link := false
		for _, a := range p.all("a") {
			link = link || a.attr("href") == "/v1/season/2/bundle.tar.zst"
		}
		if !link {
			t.Errorf("%s: no link to the bundle", l)
		}
	}
}

func TestIncidentsOfASeasonStandBesideItsRows(t *testing.T) {
	t.Parallel()
	x := indexWith(t, Content{Bundles: []string{folder(t, exampleFiles(t))}, Incidents: []Incident{{Season: 2, FR: "Panne du témoin", EN: "A witness was down"}, {Season: 3, FR: "x", EN: "other"}}})
	for path, want := range map[string]string{"/en/seasons/2/conformite.html": "Incident of this season A witness was down", "/fr/seasons/2.html": "Incident de cette saison Panne du témoin"} {
		if got := pageAt(t, x, path).one(t, "aside.notice").text(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestAForeignIssuerIsNamedOnTheTracksPage(t *testing.T) {
	t.Parallel()
	x, err := New(Options{IssuerName: issuerName, Contact: contact, ForeignIssuer: true, Content: Content{Bundles: []string{folder(t, exampleFiles(t))}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(pageAt(t, x, "/en/seasons/2/conformite.html").text(), "only links known at enrolment were taken into account") {
		t.Error("the page does not say which links were seen")
	}
	if strings.Contains(pageAt(t, example(t), "/en/seasons/2/conformite.html").text(), "only links known at enrolment") {
		t.Error("a page of the own issuer says so, too")
	}
}
