package index

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// forbidden are word stems that impute an intention (§1, vocabulary), in both
// languages, and models or providers that no text of ours may name (§7.3).
func forbidden() *regexp.Regexp {
	intention := []string{"li" + `e[sd]?\b`, "lying", "liar", "che" + "at", "dish" + "onest", "hallu" + "cin", "fr" + "aud", "decei", "decept", "mensong", "menteu", `menti[rt]?\b`, "trich", "malhonn", "tromp(er|é)"}
	names := []string{"claude", "anthropic", "openai", "gpt", "gemini", "mistral", "llama", "google", "deepseek", "qwen"}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(append(intention, names...), "|") + `)`)
}

func TestSection1NoTextImputesAnIntentionOrNamesAModel(t *testing.T) {
	t.Parallel()
	bad := forbidden()
	for _, word := range []string{"a li" + "e", "Fr" + "aud", "mensonge", "by Claude 3"} {
		if !bad.MatchString(word) {
			t.Fatalf("the scan does not see %q", word)
		}
	}
	for _, l := range languages() {
		for key, text := range newCatalogue(l).texts {
			if found := bad.FindString(text); found != "" && !strings.HasPrefix(key, "family.P5") {
				t.Errorf("%s %s: %q", l, key, found)
			}
		}
	}
}

func TestBothCataloguesHaveTheSameKeysAndArguments(t *testing.T) {
	t.Parallel()
	en, fr := newCatalogue(english).texts, newCatalogue(french).texts
	verb := regexp.MustCompile(`%[a-z]|\{[a-z]+\}`)
	keys := slices.Sorted(maps.Keys(en))
	if !slices.Equal(keys, slices.Sorted(maps.Keys(fr))) {
		for k := range en {
			if _, ok := fr[k]; !ok {
				t.Errorf("%s is not in French", k)
			}
		}
		for k := range fr {
			if _, ok := en[k]; !ok {
				t.Errorf("%s is not in English", k)
			}
		}
	}
	for _, k := range keys {
		if strings.TrimSpace(en[k]) == "" || strings.TrimSpace(fr[k]) == "" {
			t.Errorf("%s is empty", k)
		}
		if !slices.Equal(slices.Sorted(slices.Values(verb.FindAllString(en[k], -1))), slices.Sorted(slices.Values(verb.FindAllString(fr[k], -1)))) {
			t.Errorf("%s takes other arguments in French: %q, %q", k, en[k], fr[k])
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
	text := sources.String()
	texts := newCatalogue(english).texts
	for _, m := range regexp.MustCompile(`(?:must\(|\.T |\.T \()"([a-z_0-9.]+[a-z_0-9])"`).FindAllStringSubmatch(text, -1) {
		if _, ok := texts[m[1]]; !ok && m[1] != "table" && m[1] != "column" {
			t.Errorf("the sources use %q, which has no text", m[1])
		}
	}
	computed := []string{"limits.", "terms.", "table.", "column.", "sort.", "track.name.", "cause_what.", "proof.verdict."}
	for _, f := range vocabulary() {
		computed = append(computed, f.name+".")
	}
	for key := range texts {
		named := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".many")
		if !strings.Contains(text, `"`+named+`"`) && !slices.ContainsFunc(computed, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("nothing uses %s", key)
		}
	}
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
				text, ok := c.texts[family+"."+w]
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
	if got := newCatalogue(french).word("detail", "a_later_word"); got != "a_later_word" {
		t.Errorf("an unknown word shows as %q", got)
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
		if main := p.one(t, "main").text(); !strings.Contains(main, fold(x.catalogues[language(l)].must("label.binding", issuerName))) || strings.Contains(main, "{") {
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

func TestNumbersAndTimesReadAsInEachLanguage(t *testing.T) {
	t.Parallel()
	en, fr := newCatalogue(english), newCatalogue(french)
	at := time.Date(2026, 8, 1, 9, 5, 7, 0, time.FixedZone("", 7200))
	for got, want := range map[string]string{
		en.percent("6.3"): "6.3%", fr.percent("6.3"): "6,3\u202f%",
		en.instant(at): "1 August 2026, 07:05:07 UTC", fr.instant(at): "1er août 2026, 07:05:07 UTC",
		en.count("row.proofs", 0): "0 proofs", fr.count("row.proofs", 0): "0 preuve",
		en.count("row.proofs", 1): "1 proof", fr.count("row.proofs", 2): "2 preuves",
		en.instant(time.Time{}): "", typesetFrench("« a » : b ?"): "«\u00a0a\u00a0»\u00a0: b\u202f?",
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
