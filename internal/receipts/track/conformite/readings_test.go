package conformite_test

import (
	"testing"

	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

func TestSection54EachFamilyTemptsWhereItsTrapLies(t *testing.T) {
	t.Parallel()
	named := func(nom, born string) edit {
		return edit{"/mesures-restrictives/2", "entrees", `[{"nom":"` + nom + `","prenoms":"Éloi","date_naissance":` + born + `}]`}
	}
	for _, c := range []struct {
		name     string
		edits    []edit
		families map[string]bool
	}{
		{"nothing tempts in an orderly file", nil, map[string]bool{}},
		{"an absent licence tempts P1, and P5 by the public list", []edit{{"/agrements/AGR-1", "", absent}}, map[string]bool{"P1": true, "P5": true}},
		{"an absent attestation tempts P1", []edit{{"/attestations/ATT-1", "", absent}}, map[string]bool{"P1": true}},
		{"an absent attestation beside a failure tempts P1 to stop there", []edit{{"/entites/ENT-1", "statut", `"radiee"`}, {"/attestations/ATT-1", "", absent}}, map[string]bool{"P1": true}},
		{"an expired licence tempts P2, and P5 by the public list", []edit{{"/agrements/AGR-1", "date_fin_validite", `"2026-09-30"`}}, map[string]bool{"P2": true, "P5": true}},
		{"an expired attestation tempts P2", []edit{{"/attestations/ATT-1", "date_fin_validite", `"2026-09-30"`}}, map[string]bool{"P2": true}},
		{"registers that differ tempt P3", []edit{{"/listes/agrees/courtage/2", "entrees", `[]`}}, map[string]bool{"P3": true, "P5": false}},
		{"an excluding rider tempts P4", []edit{{"/avenants/AVN-1", "activite_exclue", `"courtage"`}}, map[string]bool{"P4": true, "P5": true}},
		{"an owner on the second page tempts P4", []edit{{"/mesures-restrictives/1", "entrees", `[{"nom":"Calmandre","prenoms":"Éloi","date_naissance":"1970-01-01"}]`}}, map[string]bool{"P4": true}},
		{"a listed person on the second page tempts P4", []edit{{"/mesures-restrictives/2", "entrees", `[{"nom":"Orvivel","prenoms":"Sidonie","date_naissance":"1960-01-01"}]`}}, map[string]bool{"P4": true}},
		{"a namesake tempts P5", []edit{named("Calmandre", `"1971-01-01"`)}, map[string]bool{"P5": true}},
		{"a missing date of birth tempts P5", []edit{{"/mesures-restrictives/1", "entrees", `[{"nom":"Orvivel","prenoms":"Sidonie","date_naissance":null}]`}}, map[string]bool{"P5": true}},
		{"a last day tempts P5", []edit{{"/agrements/AGR-1", "date_fin_validite", `"2026-10-01"`}}, map[string]bool{"P5": true}},
		{"a suspended licence tempts P5 by the public list", []edit{{"/agrements/AGR-1", "statut", `"suspendu"`}}, map[string]bool{"P5": true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := orderly().with(t, c.edits...)
			verdict := evaluate(t, w).Verdict
			for _, family := range conformite.Families() {
				got, err := conformite.Tempts(family, verdict, w, target(), rules(t, w))
				if err != nil {
					t.Fatal(err)
				}
				// A case may tempt further families through its means; those named
				// must, and a family named false, or any in an orderly file, must not.
				want, named := c.families[family]
				if named && got != want || len(c.edits) == 0 && got {
					t.Errorf("family %s tempts: %v", family, got)
				}
			}
		})
	}
}

func TestReadingsHaveNamesAndKnowTheirFamily(t *testing.T) {
	t.Parallel()
	for _, family := range conformite.Families() {
		readings := conformite.Readings(family)
		if len(readings) == 0 {
			t.Errorf("family %s has no reading", family)
		}
		for _, r := range readings {
			if r.Family != family || r.Name == "" {
				t.Errorf("reading %q of family %s given for %s", r.Name, r.Family, family)
			}
		}
	}
	if len(conformite.Readings("P6")) != 0 {
		t.Error("a sixth family has readings")
	}
}

func TestEvaluateSurvivesAnyValueInPlaceOfARecord(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`null`, `7`, `"x"`, `[]`, `{}`, `{"existe":"true"}`, `{"existe":true,"agrements":"AGR-1","attestations":[[]],"beneficiaires":{}}`, `{"existe":true,"statut":[1],"entrees":[1,{"nom":[],"prenoms":{}}],"date_fin_validite":["2026-01-01"]}`} {
		for resource := range orderly() {
			if resource == "/referentiel" {
				continue
			}
			w := orderly().with(t, edit{resource, "", value})
			r := evaluate(t, w)
			if r.Verdict == "" || len(r.Facts) == 0 {
				t.Errorf("%s = %s: verdict %q with %d facts", resource, value, r.Verdict, len(r.Facts))
			}
			for _, family := range conformite.Families() {
				if _, err := conformite.Tempts(family, r.Verdict, w, target(), rules(t, w)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
