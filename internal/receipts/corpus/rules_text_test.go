package corpus_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// rulesParts are the frozen scoring rules in French and in English.
func rulesParts(t *testing.T) (fr, en string) {
	t.Helper()
	text := string(practice(t).RulesText)
	at := strings.Index(text, "\n# ")
	if at < 0 || strings.Count(text, "\n# ") != 1 {
		t.Fatal("the text must have two first-level headings, one a language")
	}
	return text[:at+1], text[at+1:]
}

// blocks are a part's paragraphs, list items, table rows and formulas, each on one
// line.
func blocks(part string) []string {
	var out []string
	item := regexp.MustCompile(`^(- |\d\. |\| |\|-|#+ )`)
	open := false
	for line := range strings.Lines(part) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			open = false
		case open && !item.MatchString(line):
			out[len(out)-1] += " " + line
		default:
			out = append(out, line)
			open = true
		}
	}
	return out
}

// numberWords are the numbers that a sentence may have in words. Ordinals are left
// out: a “third party” is “un tiers”.
var numberWords = map[string]string{
	"deux": "2", "two": "2", "trois": "3", "three": "3", "quatre": "4", "four": "4", "cinq": "5", "five": "5",
	"dix": "10", "ten": "10", "vingt": "20", "twenty": "20", "nul": "0", "zero": "0", "moitié": "half", "half": "half", "twice": "2",
}

// figures are the numbers of a block, in figures or in words, without an order:
// that is each language's own.
func figures(block string) []string {
	out := regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(block, -1)
	for word := range strings.FieldsFuncSeq(strings.ToLower(block), func(r rune) bool { return strings.ContainsRune(" ,.;:()*’'|", r) }) {
		if n, ok := numberWords[word]; ok {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// spans are what a block says in code: identifiers, which no language translates.
func spans(block string) []string {
	out := regexp.MustCompile("`[^`]+`").FindAllString(block, -1)
	slices.Sort(out)
	return out
}

// sentences counts the sentences of a block.
func sentences(block string) int {
	return len(regexp.MustCompile(`[.?](\*\*| |$)`).FindAllString(block, -1))
}

// TestSection5RulesSayTheSameInBothLanguages compares the two parts block for
// block: as many of each form, as many sentences, the same numbers, the same
// identifiers.
func TestSection5RulesSayTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	fr, en := rulesParts(t)
	french, english := blocks(fr), blocks(en)
	for i := range min(len(french), len(english)) {
		f, e := french[i], english[i]
		same := func(what string, a, b any) {
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Errorf("%s differ: %v and %v\n  %s\n  %s", what, a, b, f, e)
			}
		}
		form := regexp.MustCompile(`^(- \*\*|- |\d\. |\| |\|-|#+ |\*\*|\*|)`)
		same("forms", form.FindString(f), form.FindString(e))
		same("sentences", sentences(f), sentences(e))
		same("numbers", figures(f), figures(e))
		same("identifiers", spans(f), spans(e))
	}
	if len(french) != len(english) {
		t.Errorf("%d blocks in French, %d in English", len(french), len(english))
	}
}

func TestSection5FrenchStandsFirstAndPrevails(t *testing.T) {
	t.Parallel()
	fr, en := rulesParts(t)
	for part, wants := range map[string][]string{
		fr: {"# Piste conformité : barème `conformite-bareme-v3`", "le français fait foi", "l’écart entre déclaration et reçus", "surdéclaration", "non soutenue"},
		en: {"# Compliance track: scoring rules `conformite-bareme-v3`", "the French one prevails", "the gap between declaration and receipts", "overclaim", "unsupported"},
	} {
		flat := strings.Join(strings.Fields(part), " ")
		for _, want := range wants {
			if !strings.Contains(flat, want) {
				t.Errorf("the part that starts %.30q lacks %q", part, want)
			}
		}
	}
	if !strings.HasPrefix(fr, "# Piste") || !strings.HasPrefix(en, "# Compliance") {
		t.Error("French must stand first, English second")
	}
}

// TestSection5RulesTextStatesWhatIsApplied compares each part with what a program
// applies: bounds, breakdown, verdicts and probative fields.
func TestSection5RulesTextStatesWhatIsApplied(t *testing.T) {
	t.Parallel()
	c := practice(t)
	fr, en := rulesParts(t)
	var rows []string
	for _, task := range tasks(t, c) {
		rows = append(rows, fmt.Sprintf("| %s | %d | %d |", task.ID, task.Minimum, task.Cap))
	}
	rules := parse(t, c.Rules)
	for _, v := range member(rules, "verdicts").([]any) {
		rows = append(rows, fmt.Sprintf("| `%s` | ", v))
	}
	collections := 0
	for collection, fields := range member(rules, "probative_fields").(*canonjson.Object).All() {
		var names []string
		for _, f := range fields.([]any) {
			names = append(names, fmt.Sprintf("`%s`", f))
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", collection, strings.Join(names, ", ")))
		collections++
	}
	for _, part := range []string{fr, en} {
		for _, row := range rows {
			if strings.Count(part, "\n"+row) != 1 {
				t.Errorf("the part that starts %.30q must have once the row %q", part, row)
			}
		}
		if n := strings.Count(part, "\n| conf-"); n != 10 {
			t.Errorf("%d rows of bounds in the part that starts %.30q", n, part)
		}
		if n := strings.Count(part, "\n| `/"); n != collections {
			t.Errorf("%d rows of fields in the part that starts %.30q, want %d", n, part, collections)
		}
		if flat := strings.Join(strings.Fields(part), " "); !strings.Contains(flat, "3 `conforme`, 4 `non_conforme`, 3 `indeterminable`") {
			t.Errorf("the part that starts %.30q lacks the breakdown", part)
		}
	}
}
