package index

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// reportOf is the report of an agent of the example.
func reportOf(t testing.TB, x *Index, l, name string) *node {
	t.Helper()
	return pageAt(t, x, "/"+l+"/"+reportPage(2, "conformite", didOf(t, x, name))+".html")
}

func TestSection7_5EveryUnsupportedAssertionHasItsCauseAndDetailInWords(t *testing.T) {
	t.Parallel()
	x := example(t)
	checked := 0
	for _, l := range languages() {
		c := x.catalogues[l]
		for _, part := range x.site.Load().editions[2].results.Tracks["conformite"].Participants {
			p := pageAt(t, x, "/"+string(l)+"/"+reportPage(2, "conformite", part.AgentDID)+".html")
			for _, task := range part.Tasks {
				if len(task.Assertions) == 0 {
					continue
				}
				rows := p.one(t, "section#"+task.TaskID).one(t, "table.assertions").one(t, "tbody").all("tr")
				if len(rows) != len(task.Assertions) {
					t.Fatalf("%s %s: %d rows for %d assertions", part.AgentDID, task.TaskID, len(rows), len(task.Assertions))
				}
				for i, a := range task.Assertions {
					cell := rows[i].all("td")[1]
					want := c.Word("status", a.Status)
					if a.Cause != nil {
						want += " " + c.Word("cause", *a.Cause)
					}
					if a.Detail != nil {
						want += " " + c.Word("detail", *a.Detail)
					}
					if got := cell.text(); got != fold(want) {
						t.Errorf("%s %s %s: %q, want %q", l, task.TaskID, a.ID, got, want)
					}
					if got := len(rows[i].all("td")[2].all(".proof")); got != len(a.ProofIDs) {
						t.Errorf("%s %s: %d proofs, want %d", task.TaskID, a.ID, got, len(a.ProofIDs))
					}
					checked++
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d assertions seen", checked)
	}
}

func TestSection4_1FourCausesAreCountedApart(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{
		"en": {"Invalid proof 0", "Identity not bound 0", "Resource mismatch 0", "Value mismatch 12"},
		"fr": {"Preuve invalide 0", "Identité non liée 0", "Ressource différente 0", "Valeur différente 12"},
	} {
		rows := texts(reportOf(t, x, l, "overclaimer").one(t, "table.causes").one(t, "tbody").all("tr"))
		for i, w := range want {
			if len(rows) != 4 || !strings.HasPrefix(rows[i], w+" ") {
				t.Errorf("%s: %q, want %q first", l, rows, w)
			}
		}
	}
}

func TestSection5_7TheReportNamesStateReasonVerdictsAndMissingFacts(t *testing.T) {
	t.Parallel()
	x := example(t)
	p := reportOf(t, x, "en", "grounding")
	found := 0
	for _, part := range x.site.Load().editions[2].results.Tracks["conformite"].Participants {
		if part.AgentDID != didOf(t, x, "grounding") {
			continue
		}
		for _, task := range part.Tasks {
			section := p.one(t, "section#"+task.TaskID).text()
			for _, f := range task.MissingFacts {
				if want := f.Resource + " " + f.Field + " = " + plainValue(f.Value); !strings.Contains(section, want) {
					t.Errorf("%s: the missing fact %q is not named", task.TaskID, want)
				}
				found++
			}
		}
	}
	if found == 0 {
		t.Fatal("the example has no missing fact")
	}
	rejects := reportOf(t, x, "en", "rejects")
	e := x.site.Load().editions[2]
	for _, task := range e.rows["conformite"][didOf(t, x, "rejects")].Tasks {
		section := rejects.one(t, "section#"+task.TaskID)
		if task.Reason != nil && !strings.Contains(section.text(), fold(x.catalogues[pages.English].Word("reason", *task.Reason))) {
			t.Errorf("%s: reason %s is not in words", task.TaskID, *task.Reason)
		}
		if !strings.Contains(section.text(), "Verdict expected "+e.bundle.Tracks["conformite"].Key.Tasks[task.TaskID].Verdict) {
			t.Errorf("%s: the expected verdict is missing", task.TaskID)
		}
		if task.State == results.StateRejected && !strings.Contains(section.text(), "Not verified: the task was decided by its form.") {
			t.Errorf("%s: the claims of a rejected task look verified", task.TaskID)
		}
	}
	broken := map[string]bool{}
	for _, name := range []string{"intake-1", "intake-2", "intake-3", "intake-4"} {
		p, did := reportOf(t, x, "en", name), didOf(t, x, name)
		for _, task := range e.rows["conformite"][did].Tasks {
			if task.Reason == nil || *task.Reason != results.ReasonNotConforming {
				continue
			}
			_, faults, err := e.submission(did, task.TaskID)
			if err != nil || len(faults) == 0 {
				t.Fatalf("%s %s: no fault (%v)", name, task.TaskID, err)
			}
			shown := p.one(t, "section#"+task.TaskID).one(t, ".faults").text()
			for _, f := range faults {
				broken[f.Rule] = true
				if !strings.Contains(shown, fold(x.catalogues[pages.English].Word("rule", f.Rule))) || !strings.Contains(shown, f.Pointer) {
					t.Errorf("%s %s: rule %s at %s is not named", name, task.TaskID, f.Rule, f.Pointer)
				}
			}
		}
	}
	if len(broken) < 8 {
		t.Errorf("only the rules %v were seen broken, want all eight", slices.Sorted(maps.Keys(broken)))
	}
}

func TestSection5_5AParticipantThatFailedTheControlTaskReadsANeutralSentence(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][3]string{
		"en": {"The control task (conf-05), which holds no trap, was not solved.", "instrumentation of the run", "was not submitted"},
		"fr": {"La tâche témoin (conf-05), sans piège, n’a pas été résolue.", "instrumentation de l’exécution", "n’a pas été soumise"},
	} {
		if got := reportOf(t, x, l, "faults").one(t, ".control").text(); !strings.HasPrefix(got, want[0]) || !strings.Contains(got, want[1]) {
			t.Errorf("%s: %q", l, got)
		}
		if got := reportOf(t, x, l, "window").all(".control"); len(got) != 0 && !strings.Contains(got[0].text(), want[1]) {
			t.Errorf("%s: %q", l, got[0].text())
		}
		if got := reportOf(t, x, l, "linked-first").one(t, ".control").text(); !strings.Contains(got, want[2]) {
			t.Errorf("%s: %q", l, got)
		}
		if got := reportOf(t, x, l, "solver").all(".control"); len(got) != 0 {
			t.Errorf("%s: a solved control task: %q", l, got[0].text())
		}
	}
}

func TestSection4_1InstrumentFaultsAndDivergingMembersAreIncidentsNotCauses(t *testing.T) {
	t.Parallel()
	x := example(t)
	faults := texts(reportOf(t, x, "en", "faults").one(t, "ul.incidents").all("li"))
	if len(faults) != 6 {
		t.Errorf("%d incidents, want 6", len(faults))
	}
	for _, f := range faults {
		if !strings.HasPrefix(f, "Instrument fault ") || !strings.Contains(f, "/_systeme/") || !strings.Contains(f, "prf_") {
			t.Errorf("incident %q", f)
		}
	}
	flat := reportOf(t, x, "fr", "flat").one(t, "#incidents").text()
	for _, want := range []string{"ne compte contre personne", "empreinte de la requête ( hashes.request )", "statut du DID"} {
		if !strings.Contains(flat, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestSection4TheNarrativeIsShownEscapedAndLabelledNotScored(t *testing.T) {
	t.Parallel()
	files, x := exampleFiles(t), example(t)
	path := bundle.SubmissionPath(didOf(t, x, "solver"), "conf-01")
	const hostile = "<script>alert(1)</script>\n\u202Etxet derorrim\u202C <img src=x onerror=alert(2)> \x00"
	bundletest.Edit(t, files, path, func(o *canonjson.Object) { o.Set("narrative", hostile) })
	x = indexOf(t, files)
	for l, label := range map[string]string{"en": "Narrative of the agent, not scored", "fr": "Récit de l’agent, non noté"} {
		figure := reportOf(t, x, l, "solver").one(t, "section#conf-01").one(t, "figure.narrative")
		if got := figure.one(t, "figcaption").text(); got != label {
			t.Errorf("label %q", got)
		}
		if got := figure.one(t, "blockquote").text(); got != "<script>alert(1)</script> ⟨U+202E⟩txet derorrim⟨U+202C⟩ <img src=x onerror=alert(2)> ⟨U+0000⟩" {
			t.Errorf("narrative %q", got)
		}
	}
	twin := get(t, x, "/en/"+reportPage(2, "conformite", didOf(t, x, "solver"))+".json", 200)
	narrative, _ := canonjson.Resolve(parsed(t, twin.Body.Bytes()), "/content/tasks/0/narrative")
	if narrative != hostile {
		t.Errorf("the twin has %q", narrative)
	}
}

func TestSection13ACorrectedAssertionSaysWhy(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	did := didOf(t, example(t), "overclaimer")
	correction := canonjson.NewObject("agent_did", did, "track", "conformite", "task_id", "conf-01", "assertion_id", "a3",
		"status", "supported", "cause", nil, "reason", "the page was read wrongly", "dispute_id", "d1", "decided_at", "2026-12-10T00:00:00Z")
	files[bundle.CorrectionsPath] = canonjson.Compact(canonjson.NewObject("version", 2, "previous_sha256", strings.Repeat("1", 64), "corrections", []any{correction}))
	bundletest.Edit(t, files, bundle.ResultsPath, func(o *canonjson.Object) {
		o.Set("version", 2)
		o.Set("previous_sha256", strings.Repeat("1", 64))
		o.Set("corrections", []any{})
	})
	x := indexOf(t, files)
	notes := texts(reportOf(t, x, "en", "overclaimer").all(".correction"))
	if !slices.Equal(notes, []string{"Corrected after publication: the page was read wrongly"}) {
		t.Errorf("notes %q", notes)
	}
	season := pageAt(t, x, "/fr/seasons/2.html").text()
	if !strings.Contains(season, "publication 2") || !strings.Contains(season, strings.Repeat("1", 64)) {
		t.Error("the season's page does not show the version and the hash of the one before")
	}
}

func TestTitlesOfReportsDifferAndHoldNoTextOfAnOperator(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, form := range map[string]string{"en": "Report %s, compliance track, season 2 · Prova", "fr": "Rapport %s, piste conformité, saison 2 · Prova"} {
		seen := map[string]bool{}
		for did := range x.site.Load().editions[2].rows["conformite"] {
			got := pageAt(t, x, "/"+l+"/"+reportPage(2, "conformite", did)+".html").one(t, "title").text()
			if got != fmt.Sprintf(form, shortDID(did)) || seen[got] {
				t.Errorf("%s: %q", did, got)
			}
			seen[got] = true
		}
	}
	for did, want := range map[string]string{
		"did:key:z6MkveEZtANhS3ZCPnjsrhYsnoMtLJ5dVxqHVmfrAkoFePy5": "did:key:…AkoFePy5",
		"did:web:model.example": "DID #26aba31e", "did:key:z6": "DID #6c612401", "": "DID #e3b0c442",
	} {
		if got := shortDID(did); got != want {
			t.Errorf("%s: %q, want %q", did, got, want)
		}
	}
}
