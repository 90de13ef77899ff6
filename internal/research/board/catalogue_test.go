package board

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/platform/pages/pagestest"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/topic"
)

func TestTheCataloguesAgreeAndNoTextImputesAnIntentionOrNamesAProvider(t *testing.T) {
	t.Parallel()
	pagestest.Catalogues(t, newCatalogue(pages.English).Catalogue, newCatalogue(pages.French).Catalogue, "")
}

func TestEveryTextIsUsedAndEveryKeyThatTheSourcesNameExists(t *testing.T) {
	t.Parallel()
	pagestest.Sources(t, newCatalogue(pages.English).Catalogue,
		"limits.", "state.", "status.", "source.", "payout.", "family.", "direction.", "need.", "reason.awaiting.margin.", "gate.", "integrity.", "notice.")
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
	en, fr := newCatalogue(pages.English), newCatalogue(pages.French)
	for i, want := range []string{
		"More operations were measured than the miner declared.", "Evidence is missing: split_nll.",
		"Measured 2,500,000 operations, over the topic's budget of 2,000.", "The holdout likelihood 3.25 does not beat the baseline 3.0 by the margin 0.02.",
		"The claimed result was not reproduced.",
	} {
		if got := en.gate(verdict.Failed[i], nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := fr.gate(verdict.Failed[i], nil); got == want || strings.Contains(got, "%!") {
			t.Errorf("French: %q", got)
		}
	}
	for _, l := range languages() {
		c := newCatalogue(l)
		for _, g := range gates {
			if text, ok := c.Lookup("gate." + g); !ok || strings.Count(text, "%s") != len(gateFields()[g]) {
				t.Errorf("%s: gate %s", l, g)
			}
		}
		for code := range strings.FieldsSeq("unreproduced_claim flops_over_budget flops_under_declared strawman_adamw fake_optimizer contamination public_metric_mismatch other") {
			if _, ok := c.Lookup("integrity." + code); !ok {
				t.Errorf("%s: code %s", l, code)
			}
		}
	}
}

func TestCountsAndSharesReadAsInEachLanguage(t *testing.T) {
	t.Parallel()
	en, fr := newCatalogue(pages.English), newCatalogue(pages.French)
	for got, want := range map[string]string{
		en.bps(8000): "80%", fr.bps(3333): "33,33\u202f%", en.bps(5): "0.05%", en.bps(0): "0%", fr.bps(10_000): "100\u202f%",
		en.count("noun.pass", 0): "0 passes", fr.count("noun.pass", 0): "0 réussite", en.count("noun.pass", 1): "1 pass", en.count("noun.pass", 1000): "1,000 passes",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAHarvestTopicHasAPassMarkAndNoCrown(t *testing.T) {
	t.Parallel()
	d := topic.New()
	d.Metric.Family, d.EpsilonNLL = topic.NLL, 0.02
	sealed := 3.0
	en, fr := newCatalogue(pages.English), newCatalogue(pages.French)
	if got, want := *en.passMark(d, &sealed), (mark{"2.98 or less", "To pass: the sealed baseline 3 less a margin of 0.02."}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := *fr.passMark(d, &sealed), (mark{"2,98 ou moins", "Pour réussir\u00a0: la référence scellée 3, moins une marge de 0,02."}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.Metric = topic.Metric{Family: topic.Throughput, Direction: topic.Max, EpsilonRel: 0.1}
	if got := en.passMark(d, &sealed).Need; got != "3.3 or more" {
		t.Errorf("throughput: %q", got)
	}
	if got := en.passMark(d, nil).Need; got != "–" {
		t.Errorf("unknown: %q", got)
	}
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
