package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// dataRows are the rows of a table's participants as cells.
func dataRows(table *node) [][]*node {
	var out [][]*node
	for _, tr := range table.all("tr") {
		if c := tr.attr("class"); c != "" || len(tr.all("td")) == 0 {
			continue
		}
		out = append(out, append(tr.all("th"), tr.all("td")...))
	}
	return out
}

func cellsOf(rows [][]*node, i int) []string {
	out := make([]string, len(rows))
	for k, r := range rows {
		out[k] = r[i].text()
	}
	return out
}

func TestSection7_1TwoTablesPerTrackNeverMergedEachWithItsLabel(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{
		"en": {"Reference runs", "Calibration, not a ranking", "Community", "Declared stack, not verified"},
		"fr": {"Exécutions de référence", "Étalonnage, pas un classement", "Communauté", "Pile déclarée, non vérifiée"},
	} {
		p := pageAt(t, x, "/"+l+"/seasons/2/conformite.html")
		tables := p.all("table.index")
		if len(tables) != 2 {
			t.Fatalf("%s: %d tables, want 2", l, len(tables))
		}
		for i, table := range tables {
			if got := table.one(t, "caption").text(); got != want[2*i]+": "+want[2*i+1] {
				t.Errorf("%s: caption %q", l, got)
			}
		}
		if got := cellsOf(dataRows(tables[0]), 0); !slices.Equal(got, []string{"solver"}) {
			t.Errorf("reference runs: %v", got)
		}
		community := dataRows(tables[1])
		if len(community) != 42 {
			t.Errorf("%d community rows, want 42 ranked ones", len(community))
		}
		for _, r := range community {
			if got := r[5].one(t, ".tag-declared").text(); got != want[3] {
				t.Errorf("%s: row %s: label %q", l, r[0].text(), got)
			}
		}
		for _, r := range dataRows(tables[0]) {
			if len(r[5].all(".tag-declared")) != 0 {
				t.Error("a reference run is labelled as a declared stack")
			}
		}
	}
}

func TestSection7_2ColumnsStandInOrder(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{
		"en": {"Agent", "DID", "Overclaim rate", "Success rate", "Tasks submitted", "Declared stack", "Proofs"},
		"fr": {"Agent", "DID", "Taux de surdéclaration", "Taux de réussite", "Tâches soumises", "Pile déclarée", "Preuves"},
	} {
		for _, table := range pageAt(t, x, "/"+l+"/seasons/2/conformite.html").all("table.index") {
			if got := texts(table.one(t, "thead").all("th")); !slices.Equal(got, want) {
				t.Errorf("%s: columns %v", l, got)
			}
			for _, r := range dataRows(table) {
				if len(r) != len(want) {
					t.Fatalf("row of %d cells", len(r))
				}
				for i, cell := range r {
					if cell.attr("data-column") != want[i] {
						t.Errorf("cell %d is labelled %q", i, cell.attr("data-column"))
					}
				}
				if link := r[6].one(t, "a").attr("href"); !strings.Contains(link, "/reports/did_key_") {
					t.Errorf("link to proofs: %q", link)
				}
			}
		}
	}
}

func TestSection7_2ARowShowsTheFiguresOfTheResults(t *testing.T) {
	t.Parallel()
	for l, want := range map[string][]string{
		"en": {"overclaimer", "44.4% 12/27", "60.0% 6/10", "6 /10", "pile déclarée overclaimer Declared stack, not verified"},
		"fr": {"overclaimer", "44,4 % 12/27", "60,0 % 6/10", "6 /10", "pile déclarée overclaimer Pile déclarée, non vérifiée"},
	} {
		rows := dataRows(pageAt(t, example(t), "/"+l+"/seasons/2/conformite.html").all("table.index")[1])
		i := slices.Index(cellsOf(rows, 0), "overclaimer")
		got := []string{rows[i][0].text(), rows[i][2].text(), rows[i][3].text(), rows[i][4].text(), rows[i][5].text()}
		if d := gocmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", l, d)
		}
	}
}

func TestSection7_2TheBestConstantAnswerIsTheFixedFirstRowOfEachTable(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{"en": {"Best constant answer", "not applicable", "40.0% 4/10"}, "fr": {"Meilleure réponse constante", "sans objet", "40,0 % 4/10"}} {
		for _, order := range sortKeys() {
			for _, table := range pageAt(t, x, "/"+l+"/"+trackPage(2, "conformite", order)+".html").all("table.index") {
				first := table.all("tbody")[0].all("tr")[0]
				cells := append(first.all("th"), first.all("td")...)
				if first.attr("class") != "best" || !strings.HasPrefix(cells[0].text(), want[0]) || cells[2].text() != want[1] || cells[3].text() != want[2] {
					t.Errorf("%s by %s: first row %q", l, order, first.text())
				}
			}
		}
	}
}

func TestSection7_2TheDefaultOrderIsByName(t *testing.T) {
	t.Parallel()
	names := cellsOf(dataRows(pageAt(t, example(t), "/en/seasons/2/conformite.html").all("table.index")[1]), 0)
	bare := make([]string, len(names))
	for i, n := range names {
		bare[i], _, _ = strings.Cut(n, " provisional")
	}
	if !slices.IsSorted(bare) {
		t.Errorf("not by name: %v", bare)
	}
}

// fraction reads "12.5% 1/8".
func fraction(t *testing.T, s string) (num, den int) {
	t.Helper()
	_, counts, _ := strings.Cut(s, "%")
	if _, err := fmt.Sscanf(strings.TrimSpace(counts), "%d/%d", &num, &den); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return num, den
}

func TestSection5_7RowsAreOrderedByOneColumnAndByOverclaimOnlyWithinEqualSuccess(t *testing.T) {
	t.Parallel()
	x := example(t)
	success := func(r []*node) int { n, _ := fraction(t, r[3].text()); return n }
	over := func(r []*node) float64 {
		if strings.Contains(r[2].text(), "no assertion") {
			return 2 // after every rate
		}
		n, d := fraction(t, r[2].text())
		return float64(n) / float64(d)
	}
	less := map[sortKey]func(a, b []*node) int{
		sortDID:     func(a, b []*node) int { return cmp.Compare(a[1].text(), b[1].text()) },
		sortSuccess: func(a, b []*node) int { return cmp.Compare(success(b), success(a)) },
		sortTasks: func(a, b []*node) int {
			var na, nb int
			fmt.Sscanf(a[4].text(), "%d", &na)
			fmt.Sscanf(b[4].text(), "%d", &nb)
			return cmp.Compare(nb, na)
		},
		sortOverclaim: func(a, b []*node) int {
			return cmp.Or(cmp.Compare(success(b), success(a)), cmp.Compare(over(a), over(b)))
		},
	}
	for order, compare := range less {
		p := pageAt(t, x, "/en/"+trackPage(2, "conformite", order)+".html")
		rows := dataRows(p.all("table.index")[1])
		if len(rows) != 42 || !slices.IsSortedFunc(rows, compare) {
			t.Errorf("by %s: %d rows out of order", order, len(rows))
		}
		marked := 0
		for _, th := range p.all("table.index")[1].one(t, "thead").all("th") {
			if th.attr("aria-sort") != "" {
				marked++
			}
		}
		if marked != 1 {
			t.Errorf("by %s: %d columns say that they order the rows, want 1", order, marked)
		}
	}
	p := pageAt(t, x, "/en/"+trackPage(2, "conformite", sortOverclaim)+".html")
	for _, body := range p.all("table.index")[1].all("tbody")[1:] {
		group := body.one(t, ".group").text()
		for _, r := range dataRows(body) {
			if !strings.HasSuffix(group, r[3].text()) {
				t.Errorf("group %q holds a row of success %q", group, r[3].text())
			}
		}
	}
	if len(p.all("tr.group")) < 4 {
		t.Error("rows by overclaim stand in no groups of equal success")
	}
}

func TestSection7_2TheStackAndCompositesAreNoOrder(t *testing.T) {
	t.Parallel()
	x := example(t)
	for _, key := range []string{"stack", "score", "composite", "rank", "proofs", "overclaim,success", ""} {
		get(t, x, "/en/seasons/2/conformite.html?sort="+key, 400)
	}
	for _, path := range []string{"/en/seasons/2/conformite.by-stack.html", "/en/seasons/2/conformite.by-name.html"} {
		get(t, x, path, 404)
	}
	if a, b := get(t, x, "/en/seasons/2/conformite.html?sort=success", 200), get(t, x, "/en/seasons/2/conformite.by-success.html", 200); a.Body.String() != b.Body.String() {
		t.Error("?sort=success and the file of that order differ")
	}
	if a, b := get(t, x, "/en/seasons/2/conformite.by-did.json?sort=name", 200), get(t, x, "/en/seasons/2/conformite.json", 200); a.Body.String() != b.Body.String() {
		t.Error("?sort=name is not the default order")
	}
}

func TestSection4_1ARowWithPendingTasksIsProvisional(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string]string{"en": "pending provisional, 3 pending", "fr": "pending provisoire, 3 en attente"} {
		names := cellsOf(dataRows(pageAt(t, x, "/"+l+"/seasons/2/conformite.html").all("table.index")[1]), 0)
		if !slices.Contains(names, want) {
			t.Errorf("%s: no row %q", l, want)
		}
		if n := len(slices.DeleteFunc(names, func(s string) bool { return !strings.Contains(s, "provis") })); n != 1 {
			t.Errorf("%s: %d provisional rows, want 1", l, n)
		}
	}
}

func TestSection9_1LaterEnrolmentsOfAParticipantStandBesideTheTablesWithReports(t *testing.T) {
	t.Parallel()
	x := example(t)
	p := pageAt(t, x, "/en/seasons/2/conformite.html")
	want := []string{"linked-second", "linked-tie-2", "linked-ghost-1"}
	got := texts(p.one(t, "ul.unranked").all("bdi"))
	if d := gocmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); d != "" {
		t.Error(d)
	}
	for _, name := range cellsOf(dataRows(p.all("table.index")[1]), 0) {
		if slices.Contains(want, name) {
			t.Errorf("%s has a row", name)
		}
	}
	report := pageAt(t, x, "/en/"+reportPage(2, "conformite", didOf(t, x, "linked-second"))+".html").text()
	if !strings.Contains(report, "A later enrolment of a participant that already has a row") {
		t.Error("the report does not say that its enrolment is outside the tables")
	}
}

func TestSection7_1AReferenceRunPublishesModelVersionFrameworkAndPromptInItsColumn(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	editEnrolment(t, files, "solver", func(o *canonjson.Object) {
		o.Set("run", canonjson.NewObject("model", "Modelle", "version", "7.2", "framework", "Rahmen", "prompt", "Read <everything>."))
	})
	x := indexOf(t, files)
	cell := dataRows(pageAt(t, x, "/en/seasons/2/conformite.html").all("table.index")[0])[0][5]
	for _, want := range []string{"Model Modelle", "Version 7.2", "Framework Rahmen", "Prompt Read <everything>."} {
		if !strings.Contains(cell.text(), want) {
			t.Errorf("cell %q lacks %q", cell.text(), want)
		}
	}
	const long = "v0.0.0-20261130212128-762caf0b1c2d+dirty"
	editEnrolment(t, files, "solver", func(o *canonjson.Object) {
		o.Set("run", canonjson.NewObject("model", "Modelle", "version", long, "framework", "Rahmen", "prompt", "Read."))
	})
	cell = dataRows(pageAt(t, indexOf(t, files), "/fr/seasons/2/conformite.html").all("table.index")[0])[0][5]
	if got := cell.one(t, "dd.clip"); got.attr("title") != long || got.text() != long || !strings.Contains(cell.one(t, "details").text(), "Version "+long) {
		t.Errorf("a long version is not there in full: %q", cell.text())
	}
	if got := cell.one(t, "pre").attr("lang"); got != "en" {
		t.Errorf("the published prompt is marked %q on a French page", got)
	}
	editEnrolment(t, files, "solver", func(o *canonjson.Object) { o.Set("run", canonjson.NewObject("model", 7)) })
	_, err := newEdition("dir", bundletest.FS(files))
	if err == nil || !strings.Contains(err.Error(), "/run/model must be a string") {
		t.Errorf("a run of wrong types: %v", err)
	}
}

func TestSection6TheTwoTracksNeverShareAPage(t *testing.T) {
	t.Parallel()
	x := indexOf(t, twoTracks(t))
	for _, name := range x.site.Load().pageNames() {
		if strings.Count(name, "/") < 2 {
			continue // The season's page links to both and shows figures of none.
		}
		text := pageAt(t, x, "/en/"+name+".html").one(t, "main").text()
		if strings.Contains(text, "Compliance track") && strings.Contains(text, "Generic track") {
			t.Errorf("%s speaks of both tracks", name)
		}
	}
	season := pageAt(t, x, "/en/seasons/1.html")
	if got := len(season.all("table.index")); got != 0 || strings.Contains(season.one(t, "main").text(), "%") {
		t.Error("the season's page shows figures of tracks")
	}
	if got := pageAt(t, x, "/en/seasons/1/generique.html").one(t, "h1").text(); got != "Generic track Season 1" {
		t.Errorf("heading %q", got)
	}
}
