package corpus_test

import (
	"os"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

func practiceTOML(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("conformite.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestParseCompositionNamesTheKeyAtFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"another format", `"prova-composition/1"`, `"prova-composition/2"`, "format is"},
		{"an unknown key", `entities = 60`, "entities = 60\nentites = 60", `unknown key "entites"`},
		{"a word for a number", `entities = 60`, `entities = "sixty"`, "entities"},
		{"too few entities", `entities = 60`, `entities = 11`, "from 12 to 100000"},
		{"a track that is not generated", `track = "conformite"`, `track = "generique"`, "not generated yet"},
		{"a day that does not exist", `"2026-10-31"`, `"2026-09-31"`, "examination.to"},
		{"an end before the start", `"2026-10-31"`, `"2026-08-31"`, "examination.to"},
		{"a range of ten years", `"2026-10-31"`, `"2036-10-31"`, "examination.to"},
		{"a date of long ago", `"2026-09-01"`, `"1950-01-01"`, "examination is from"},
		{"no owners on a page", `owners = 2`, `owners = 0`, "pages.owners is 0"},
		{"a share above a thousand", `situations = 450`, `situations = 1001`, "background.situations is 1001"},
		{"an empty list of measures", `strangers = 18`, `strangers = 0`, "measures.strangers is 0"},
		{"an activity twice", `name = "gardiennage"`, `name = "courtage"`, "activities[1].name"},
		{"an activity with a slash", `name = "gardiennage"`, `name = "a/b"`, "activities[1].name"},
		{"a label without content", `label_en = "asbestos removal"`, `label_en = " "`, "activities[2]"},
		{"no required type", `required_types = ["regularite_fiscale"]`, `required_types = []`, "activities[3].required_types"},
		{"a type twice", `["garantie_financiere", "regularite_sociale"]`, `["garantie_financiere", "garantie_financiere"]`, "activities[4].required_types[1]"},
		{"an unknown situation", `situations = ["control"]`, `situations = ["controle"]`, `"controle" is unknown`},
		{"a task without a situation", `situations = ["control"]`, `situations = []`, "tasks[0].situations is empty"},
		{"situations of two verdicts", `["homonym", "boundary_day"]`, `["homonym", "listed_owner"]`, "differ in verdict"},
		{"no control", `situations = ["control"]`, `situations = ["homonym"]`, "exactly one"},
		{"another breakdown", `situations = ["rider_extends"]`, `situations = ["listed_owner"]`, "(§5.5)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(practiceTOML(t), "\n"+c.from, "\n"+c.to, 1)
			if text == practiceTOML(t) {
				text = strings.Replace(practiceTOML(t), c.from, c.to, 1)
			}
			if text == practiceTOML(t) {
				t.Fatal("the case changes nothing")
			}
			_, err := corpus.ParseComposition([]byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
	if _, err := corpus.ParseComposition(make([]byte, 1<<20+1)); err == nil {
		t.Error("a composition of more than a mebibyte was read")
	}
}

func TestBuildRefusesACompositionThatNoOrderFits(t *testing.T) {
	t.Parallel()
	// Without P5 on three tasks no assignment is sound.
	text := strings.Replace(practiceTOML(t), "\nsituations = [\"birth_date_unknown\"]", "\nsituations = [\"partial_declaration\"]", 1)
	text = strings.Replace(text, "\nsituations = [\"rider_extends\"]", "\nsituations = [\"boundary_day\"]", 1)
	text = strings.Replace(text, `["licence_expired", "certificate_expired", "rider_not_yet"]`, `["licence_expired"]`, 1)
	text = strings.Replace(text, `["listed_owner", "licence_suspended"]`, `["listed_owner"]`, 1)
	text = strings.Replace(text, `"certificate_absent", "licence_absent", `, `"certificate_absent", `, 1)
	c, err := corpus.ParseComposition([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := seeded("fits", 20)
	o.Composition = c
	if _, err := corpus.Build(o); err == nil || !strings.Contains(err.Error(), "no order of these situations") {
		t.Errorf("error %v", err)
	}
}

func TestPageSizesOfACompositionAreKept(t *testing.T) {
	t.Parallel()
	o := seeded("pages", 60)
	o.Composition.Pages.Register, o.Composition.Pages.Owners = 20, 3
	c, err := corpus.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range corpus.Lint(c) {
		t.Error(f)
	}
	if _, ok := c.Files["listes/agrees/courtage/3.json"]; ok {
		t.Error("a list of at most 60 licences has more than two pages of 20")
	}
	o.Composition.Pages.Register = 1
	if c, err = corpus.Build(o); err != nil {
		t.Fatal(err)
	}
	if got := rulesOf(corpus.Lint(c)); !got[corpus.RuleCalls] {
		t.Errorf("lists of one entry a page keep within the calls: %v", got)
	}
}

func FuzzParseComposition(f *testing.F) {
	f.Add([]byte(practiceTOML(f)))
	f.Add([]byte(`format = "prova-composition/1"`))
	f.Add([]byte("[[tasks]]\nsituations = [\"control\", \"homonym\"]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := corpus.ParseComposition(data)
		if err != nil {
			return
		}
		o := seeded("fuzz", 12)
		o.Composition = c
		built, err := corpus.Build(o)
		if err != nil {
			return
		}
		checkAnswers(t, built)
	})
}
