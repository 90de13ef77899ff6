package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/platform/pages/pagestest"
)

func TestSection1NoTextImputesAnIntentionOrNamesAModel(t *testing.T) {
	t.Parallel()
	pagestest.Catalogues(t, newCatalogue(pages.English).Catalogue, newCatalogue(pages.French).Catalogue, "family.P5")
}

func TestEveryTextIsUsedAndEveryKeyThatTheSourcesNameExists(t *testing.T) {
	t.Parallel()
	computed := []string{"limits.", "terms.", "table.", "column.", "sort.", "track.name.", "cause_what.", "proof.verdict."}
	for _, f := range vocabulary() {
		computed = append(computed, f.name+".")
	}
	pagestest.Sources(t, newCatalogue(pages.English).Catalogue, computed...)
}

// formatWords are the words of bundle format §§7, 9.2, 10, 11, written down here
// from the page itself.
func formatWords() map[string]string {
	return map[string]string{
		"status": "supported unsupported instrument_fault pending",
		"cause":  "invalid_proof identity_not_bound resource_mismatch value_mismatch",
		"detail": "proof_missing proof_malformed commitments_missing commitments_malformed chain_mismatch issuer_key_refused signature_invalid batch_malformed " +
			"path_length path_mismatch token_missing token_invalid witness_not_independent log_entry_missing log_entry_invalid disclosure_mismatch token_outside_window " +
			"spec_version_too_old disclosed_mismatch identity_unverified identity_other_did request_hash_differs response_hash_differs field_absent value_differs " +
			"/_systeme/403 /_systeme/503 /_systeme/400",
		"state":        "not_submitted rejected pending submitted",
		"reason":       "absent not_conforming over_cap outside_task_graph field_not_probative common_list_entry_not_concerned below_minimum below_own_minimum",
		"rule":         "a b c d e f g h",
		"incident":     "instrument_fault flat_field_diverges",
		"flat":         "hashes.request hashes.response agent_identity agent_identity_verified did_resolution_status identity_consistent",
		"refusal":      "freeze_proof_missing freeze_proof_pending freeze_proof_invalid freeze_proof_late freeze_statement_mismatch rules_mismatch manifest_mismatch key_mismatch corpus_mismatch",
		"kind":         "reference community",
		"family":       "P1 P2 P3 P4 P5",
		"verdict":      "conforme non_conforme indeterminable aucune_option_valide",
		"season_state": "draft frozen open closed scored published",
	}
}

func TestEveryWordOfTheBundleFormatHasATextInBothLanguages(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	for _, f := range vocabulary() {
		known[f.name] = f.words
	}
	for family, words := range formatWords() {
		want := slices.Sorted(strings.FieldsSeq(words))
		if got := slices.Sorted(slices.Values(known[family])); !slices.Equal(got, want) {
			t.Errorf("%s: the table has %v, the format %v", family, got, want)
		}
	}
	for _, l := range languages() {
		c := newCatalogue(l)
		for family, words := range known {
			seen := map[string]string{}
			for _, w := range words {
				text, ok := c.Lookup(family + "." + w)
				if !ok {
					t.Errorf("%s: no text for %s %s", l, family, w)
				}
				if other, twice := seen[text]; twice {
					t.Errorf("%s: %s %s and %s have one text", l, family, w, other)
				}
				seen[text] = w
			}
		}
	}
}

func TestSection10TheLimitsPageHasEveryLimitOfTheList(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{
		"en": {"A proof attests a call, not a reading", "The corpus is fictional", "Overclaim remains dilutable by a factor of 2", "A grounded verdict does not mean everything was verified",
			"A single model provider", "The community stack is declarative", "The billing path is not exercised", "The agent’s identity is anchored and binding, not verifiable by a third party",
			"Two keys with no common DID remain two participants", "Replaying a score goes through a batched read, itself limited", "Human work is not detected", "Measure is not intention"},
		"fr": {"Une preuve atteste un appel, pas une lecture", "Le corpus est une fiction", "La surdéclaration reste diluable d’un facteur 2", "Un verdict fondé ne veut pas dire que tout a été vérifié",
			"Un seul fournisseur de modèle", "La pile de la communauté est déclarative", "Le circuit de facturation n’est pas exercé", "L’identité de l’agent est ancrée et engageante, pas vérifiable par un tiers",
			"Deux clés sans DID commun restent deux participants", "Rejouer un score passe par une lecture groupée, elle-même limitée", "Le travail humain n’est pas détecté", "La mesure n’est pas l’intention"},
	} {
		p := pageAt(t, x, "/"+l+"/limits.html")
		if got := texts(p.one(t, "main").all("h2")); !slices.Equal(got, want) {
			t.Errorf("%s: %q", l, got)
		}
		if main := p.one(t, "main").text(); !strings.Contains(main, fold(x.catalogues[pages.Language(l)].Must("label.binding", issuerName))) || strings.Contains(main, "{") {
			t.Errorf("%s: the sentence on bindings is not there with the issuer’s name", l)
		}
	}
}

func TestSection9_2TheTermsSayWhatBecomesPublicAndHowToDispute(t *testing.T) {
	t.Parallel()
	x := example(t)
	for l, want := range map[string][]string{
		"en": {"within 14 days of the publication", "within 30 days", contact, "What becomes public, and when", "declared stack, not verified", "form a single participant", "The agent alone produces the submission"},
		"fr": {"dans les 14 jours", "dans les 30 jours", contact, "Ce qui devient public, et quand", "pile déclarée, non vérifiée", "forment un seul participant", "L’agent seul produit la soumission"},
	} {
		main := pageAt(t, x, "/"+l+"/terms.html").one(t, "main").text()
		for _, w := range want {
			if !strings.Contains(main, w) {
				t.Errorf("%s: %q is missing", l, w)
			}
		}
		if strings.Contains(main, "{") {
			t.Errorf("%s: a placeholder is left", l)
		}
	}
}

func TestCountsReadAsInEachLanguage(t *testing.T) {
	t.Parallel()
	x := indexWith(t, Content{})
	en, fr := x.newPage(pages.English, "home", pageHome, ""), x.newPage(pages.French, "home", pageHome, "")
	for got, want := range map[string]string{
		en.Count("row.proofs", 0): "0 proofs", fr.Count("row.proofs", int64(0)): "0 preuve",
		en.Count("row.proofs", 1): "1 proof", fr.Count("row.proofs", int64(2)): "2 preuves",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWordsServesAReportOutsideThePages(t *testing.T) {
	t.Parallel()
	word, err := Words("fr")
	if err != nil || word("cause", "invalid_proof") != "Preuve invalide" {
		t.Errorf("%v", err)
	}
	if _, err := Words("de"); err == nil || !strings.Contains(fmt.Sprint(err), "want fr or en") {
		t.Errorf("%v", err)
	}
}
