package board

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/family"
)

func TestBothCataloguesHaveTheSameKeysAndArguments(t *testing.T) {
	t.Parallel()
	en, fr := newCatalogue(english).texts, newCatalogue(french).texts
	verb := regexp.MustCompile(`%[a-z]`)
	if a, b := slices.Sorted(maps.Keys(en)), slices.Sorted(maps.Keys(fr)); !slices.Equal(a, b) {
		for _, k := range append(a, b...) {
			if en[k] == "" || fr[k] == "" {
				t.Errorf("%s is in one language only", k)
			}
		}
	}
	for k := range en {
		if strings.TrimSpace(en[k]) == "" || strings.TrimSpace(fr[k]) == "" {
			t.Errorf("%s is empty", k)
		}
		if len(verb.FindAllString(en[k], -1)) != len(verb.FindAllString(fr[k], -1)) {
			t.Errorf("%s takes other arguments in French: %q, %q", k, en[k], fr[k])
		}
	}
}

func TestNoTextImputesAnIntentionOrNamesAProvider(t *testing.T) {
	t.Parallel()
	stems := []string{"li" + `e[sd]?\b`, "lying", "liar", "che" + "at", "dish" + "onest", "hallu" + "cin", "fr" + "aud", "decei", "decept", "mensong", "menteu", "trich", "malhonn", "tromp(er|é)", "openai", "anthropic", "gpt", "mistral", "google"}
	bad := regexp.MustCompile(`(?i)\b(` + strings.Join(stems, "|") + `)`)
	if !bad.MatchString("a mensonge") {
		t.Fatal("the scan sees nothing")
	}
	for _, l := range languages() {
		for key, text := range newCatalogue(l).texts {
			if found := bad.FindString(text); found != "" {
				t.Errorf("%s %s: %q", l, key, found)
			}
		}
	}
}

func TestEveryTextIsUsedAndEveryKeyThatTheSourcesNameExists(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "templates/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "en") || strings.HasPrefix(name, "fr") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(data)
		}
	}
	text, texts := sources.String(), newCatalogue(english).texts
	for _, m := range regexp.MustCompile(`(?:must\(|count\(|\.T )"([a-z_0-9.]+[a-z_0-9])"`).FindAllStringSubmatch(text, -1) {
		if _, one := texts[m[1]+".one"]; texts[m[1]] == "" && !one {
			t.Errorf("the sources use %q, which has no text", m[1])
		}
	}
	computed := []string{"limits.", "state.", "status.", "source.", "payout.", "family.", "direction.", "need.pass.", "need.crown.", "gate.", "integrity.", "notice."}
	for key := range texts {
		named := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".many")
		if !strings.Contains(text, `"`+named+`"`) && !slices.ContainsFunc(computed, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("nothing uses %s", key)
		}
	}
}

// TestSection125EveryGateAndEveryCodeHasASentence holds the catalogue against the
// words of R§10 and R§12.5, written down here from the reference.
func TestSection125EveryGateAndEveryCodeHasASentence(t *testing.T) {
	t.Parallel()
	gates := strings.Fields("unreproduced contamination agent_reject unknown_custom flops_over_budget cheat evidence_missing nll_miss split_regress quality_floor throughput_miss wall_over_budget")
	if got := slices.Sorted(maps.Keys(gateFields())); !slices.Equal(got, slices.Sorted(slices.Values(gates))) {
		t.Errorf("gates %v", got)
	}
	verdict, err := family.ParseVerdict([]byte(`{"pass":false,"agent":{"verdict":"reject","reproduced":true,"claim_holds_public":false,"contamination":false,"canary_hit":false,"flops_used":1500,"flops_budget":2000,"cheat_codes":["other"],"rationale":"","topic_id":"a","family":"nll"},"harness":` +
		`{"canary_nll":null,"custom_value":null,"holdout_nll":3.25,"public_nll":null,"split_nll":{},"step_latency_ms":null,"tokens_per_sec":null,"wall_s":null},` +
		`"failed":[{"cheat":{"code":"flops_under_declared"}},{"evidence_missing":{"field":"split_nll"}},{"flops_over_budget":{"used":2500000,"budget":2000}},{"nll_miss":{"holdout":3.25,"baseline":3.0,"epsilon":0.02}},"unreproduced"],"lattice":0}`))
	if err != nil {
		t.Fatal(err)
	}
	en, fr := newCatalogue(english), newCatalogue(french)
	for i, want := range []string{
		"More operations were measured than the miner declared.", "Evidence is missing: split_nll.",
		"Measured 2,500,000 operations, over the topic's budget of 2,000.", "The holdout likelihood 3.25 does not beat the baseline 3.0 by the margin 0.02.",
		"The claimed result was not reproduced.",
	} {
		if got := en.gate(verdict.Failed[i]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := fr.gate(verdict.Failed[i]); got == want || strings.Contains(got, "%!") {
			t.Errorf("French: %q", got)
		}
	}
	for _, l := range languages() {
		c := newCatalogue(l)
		for _, g := range gates {
			if c.texts["gate."+g] == "" || strings.Count(c.texts["gate."+g], "%s") != len(gateFields()[g]) {
				t.Errorf("%s: gate %s", l, g)
			}
		}
		for code := range strings.FieldsSeq("unreproduced_claim flops_over_budget flops_under_declared strawman_adamw fake_optimizer contamination public_metric_mismatch other") {
			if c.texts["integrity."+code] == "" {
				t.Errorf("%s: code %s", l, code)
			}
		}
	}
}

func TestNumbersAndTimesReadAsInEachLanguage(t *testing.T) {
	t.Parallel()
	en, fr := newCatalogue(english), newCatalogue(french)
	half := 0.5
	var none *float64
	at := time.Date(2026, 8, 1, 9, 5, 7, 0, time.FixedZone("", 7200))
	for _, c := range [][2]string{
		{en.number(1234567.5), "1,234,567.5"}, {fr.number(1234567.5), "1\u202f234\u202f567,5"}, {en.number(uint64(1 << 63)), "9,223,372,036,854,775,808"},
		{en.number(-1234), "\u22121,234"}, {en.number(2e18), "2e+18"}, {en.number(1e-9), "1e-09"}, {fr.number(&half), "0,5"}, {en.number(none), "–"}, {en.number(nil), "–"},
		{en.about(0.5 - 0.4), "0.1"}, {en.about(0.56 * 1.05), "0.588"}, {en.bps(8000), "80%"}, {fr.bps(3333), "33,33\u202f%"}, {en.bps(5), "0.05%"}, {en.bps(0), "0%"},
		{en.instant(at), "1 August 2026, 07:05:07 UTC"}, {fr.instant(at), "1er août 2026, 07:05:07 UTC"},
		{en.count("noun.pass", 0), "0 passes"}, {fr.count("noun.pass", 0), "0 réussite"}, {en.count("noun.pass", 1), "1 pass"},
		{plainLine("a\r\nb\u202ec\x00"), "a b⟨U+202E⟩c⟨U+0000⟩"}, {plain("\xff"), "⟨FF⟩"}, {typeset("« a » : b ?"), "«\u00a0a\u00a0»\u00a0: b\u202f?"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
	if got := plain(strings.Repeat("x", 5000)); len([]rune(got)) != maxShown+1 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d code points are shown", len([]rune(got)))
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\u202eb\xff\n")
	f.Add(strings.Repeat("é", 5000))
	f.Fuzz(func(t *testing.T, s string) {
		got := plain(s)
		if strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (r < ' ' || r == 0x7f || r == 0x202e || r == 0x2066)
		}) {
			t.Fatalf("%q shows %q", s, got)
		}
		if strings.ContainsAny(plainLine(s), "\r\n\t") {
			t.Fatalf("%q is not one line", s)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"", "before=pf_00000000000000ff", "hotkey=" + strings.Repeat("ab", 32), "%zz", "before=1", "a=b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := readQuery(raw)
		if err != nil {
			return
		}
		again, err := readQuery(strings.TrimPrefix(q.text(), "?"))
		if err != nil || again.text() != q.text() {
			t.Fatalf("%q reads as %q, again as %q: %v", raw, q.text(), again.text(), err)
		}
	})
}
