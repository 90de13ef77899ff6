package corpus_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// frenchDay and englishDay are a date as a sentence of that language has it.
var (
	frenchDay  = regexp.MustCompile(` (?:1er|[2-9]|[12]\d|3[01]) (?:septembre|octobre) 2026\b`)
	englishDay = regexp.MustCompile(` (?:[1-9]|[12]\d|3[01]) (?:September|October) 2026\b`)
	isoDay     = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
)

// TestQuestionsReadAsSentencesInBothLanguages reads the questions of many corpora:
// every phrasing, with names of either gender, plural ones, ones that start with a
// vowel, and the first of a month.
func TestQuestionsReadAsSentencesInBothLanguages(t *testing.T) {
	t.Parallel()
	first := 0
	for n := range 40 {
		c, err := corpus.Build(seeded(fmt.Sprint("questions", n), corpus.MinEntities))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks(t, c) {
			fr, en := task.Question["fr"], task.Question["en"]
			name := member(parse(t, c.Files[file("/entites/"+task.Target.Entity)]), "denomination").(string)
			if !strings.Contains(strings.ToLower(fr), "l’entreprise "+strings.ToLower(name)+" (") {
				t.Errorf("no “l’entreprise” before the name, so something has to agree with it: %s", fr)
			}
			if frenchDay.FindString(fr) == "" || englishDay.FindString(en) == "" || isoDay.MatchString(fr+en) {
				t.Errorf("a date is not written in words:\n  %s\n  %s", fr, en)
			}
			if strings.Contains(fr, " 1er ") {
				first++
				if !strings.Contains(en, " 1 ") {
					t.Errorf("another day in English:\n  %s\n  %s", fr, en)
				}
			}
			if strings.Contains(fr+en, "%!") || strings.Contains(fr+en, "  ") {
				t.Errorf("badly put together:\n  %s\n  %s", fr, en)
			}
		}
	}
	if first == 0 {
		t.Error("no question is about the first of a month: read more corpora")
	}
}

func TestNobodyBearsOneGivenNameTwice(t *testing.T) {
	t.Parallel()
	c, err := corpus.Build(seeded("given names", 2000))
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for name, body := range c.Files {
		if !strings.HasPrefix(name, "beneficiaires/") {
			continue
		}
		for _, owner := range member(parse(t, body), "entrees").([]any) {
			one, two, both := strings.Cut(member(owner, "prenoms").(string), " ")
			if both {
				pairs++
			}
			if one == two {
				t.Errorf("%s: %s %s", name, one, two)
			}
		}
	}
	if pairs < 100 {
		t.Errorf("only %d persons with two given names", pairs)
	}
}
