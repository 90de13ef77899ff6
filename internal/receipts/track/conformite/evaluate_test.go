package conformite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

const (
	yes = conformite.True
	no  = conformite.False
	ne  = conformite.NE
)

func TestDesignSection2CriteriaTable(t *testing.T) {
	t.Parallel()
	listed := func(nom, prenoms, born string) edit {
		return edit{"/mesures-restrictives/2", "entrees", `[{"nom":"` + nom + `","prenoms":"` + prenoms + `","date_naissance":` + born + `,"motif":"x"}]`}
	}
	rider := func(effect, end, excluded string) edit {
		return edit{"/avenants/AVN-1", "", `{"existe":true,"attestation":"ATT-2","objet":"x","date_effet":` + effect + `,"nouvelle_date_fin":` + end + `,"activite_exclue":` + excluded + `}`}
	}
	for _, c := range []struct {
		name       string
		edits      []edit
		references []string
		want       [5]conformite.State
		verdict    string
	}{
		{"everything in order is conforme", nil, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},

		{"a suspended entity fails criterion 1", []edit{{"/entites/ENT-1", "statut", `"suspendue"`}}, nil, [5]conformite.State{no, yes, yes, yes, yes}, "non_conforme"},
		{"a struck-off entity fails criterion 1", []edit{{"/entites/ENT-1", "statut", `"radiee"`}}, nil, [5]conformite.State{no, yes, yes, yes, yes}, "non_conforme"},
		{"an absent record leaves all that depends on it open", []edit{{"/entites/ENT-1", "", absent}}, nil, [5]conformite.State{ne, ne, ne, yes, ne}, "indeterminable"},

		{"a licence that ends on the day counts", []edit{{"/agrements/AGR-1", "date_fin_validite", `"2026-10-01"`}}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"a licence that ended the day before does not", []edit{{"/agrements/AGR-1", "date_fin_validite", `"2026-09-30"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"a licence that begins on the day counts", []edit{{"/agrements/AGR-1", "date_debut", `"2026-10-01"`}}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"a licence that begins the day after does not", []edit{{"/agrements/AGR-1", "date_debut", `"2026-10-02"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"a suspended licence fails, and criterion 4 is then true", []edit{{"/agrements/AGR-1", "statut", `"suspendu"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"another activity's licence fails", []edit{{"/agrements/AGR-1", "activite", `"gardiennage"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"another entity's licence fails", []edit{{"/agrements/AGR-1", "entite", `"ENT-9"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"no licence at all fails", []edit{{"/entites/ENT-1", "agrements", `[]`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"an absent licence is not establishable", []edit{{"/agrements/AGR-1", "", absent}}, nil, [5]conformite.State{yes, ne, yes, yes, yes}, "indeterminable"},
		{"a null end that must be compared is not establishable", []edit{{"/agrements/AGR-1", "date_fin_validite", `null`}}, nil, [5]conformite.State{yes, ne, yes, yes, yes}, "indeterminable"},
		{"a null start need not be compared where the end has passed", []edit{{"/agrements/AGR-1", "date_debut", `null`}, {"/agrements/AGR-1", "date_fin_validite", `"2026-09-30"`}}, nil, [5]conformite.State{yes, no, yes, yes, yes}, "non_conforme"},
		{"one licence that satisfies is enough beside an absent one", []edit{{"/entites/ENT-1", "agrements", `["AGR-0","AGR-1"]`}, {"/agrements/AGR-0", "", absent}}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"an absent one beside one that fails leaves it open", []edit{{"/entites/ENT-1", "agrements", `["AGR-0","AGR-1"]`}, {"/agrements/AGR-0", "", absent}, {"/agrements/AGR-1", "statut", `"retire"`}}, nil, [5]conformite.State{yes, ne, yes, yes, yes}, "indeterminable"},
		{"a licence that only the question cites counts", []edit{{"/entites/ENT-1", "agrements", `[]`}}, []string{"/agrements/AGR-1"}, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},

		{"a required type that nothing covers fails", []edit{{"/entites/ENT-1", "attestations", `["ATT-1"]`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"an attestation of the last day counts", []edit{{"/attestations/ATT-1", "date_fin_validite", `"2026-10-01"`}}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"an expired attestation fails", []edit{{"/attestations/ATT-1", "date_fin_validite", `"2026-09-30"`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"one issued after the day fails", []edit{{"/attestations/ATT-1", "date_emission", `"2026-10-02"`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"another entity's attestation fails", []edit{{"/attestations/ATT-1", "entite", `"ENT-9"`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"an absent attestation might be of the missing type", []edit{{"/attestations/ATT-1", "", absent}}, nil, [5]conformite.State{yes, yes, ne, yes, yes}, "indeterminable"},
		{"the worst type counts: false before not establishable", []edit{{"/attestations/ATT-1", "date_fin_validite", `null`}, {"/attestations/ATT-2", "date_fin_validite", `"2026-09-30"`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"an absent attestation beside good ones changes nothing", []edit{{"/attestations/ATT-3", "", absent}}, []string{"/attestations/ATT-3"}, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"one that only the question cites, and is absent, leaves its type open", []edit{{"/entites/ENT-1", "attestations", `["ATT-1"]`}, {"/attestations/ATT-3", "", absent}}, []string{"/attestations/ATT-3"}, [5]conformite.State{yes, yes, ne, yes, yes}, "indeterminable"},

		{"a rider in effect on the day extends", []edit{{"/attestations/ATT-2", "date_fin_validite", `"2026-08-01"`}, rider(`"2026-10-01"`, `"2026-12-01"`, `null`)}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"a rider of the day after does not", []edit{{"/attestations/ATT-2", "date_fin_validite", `"2026-08-01"`}, rider(`"2026-10-02"`, `"2026-12-01"`, `null`)}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"a rider in effect shortens", []edit{rider(`"2026-09-01"`, `"2026-09-30"`, `null`)}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"a rider in effect excludes the activity", []edit{rider(`"2026-09-01"`, `null`, `"courtage"`)}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"a later rider does not lift an exclusion", []edit{rider(`"2026-09-01"`, `null`, `"courtage"`), {"/attestations/ATT-2", "avenants", `["AVN-1","AVN-2"]`}, {"/avenants/AVN-2", "", `{"existe":true,"date_effet":"2026-09-02","nouvelle_date_fin":"2027-01-01","activite_exclue":null}`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"the last end by date of effect stands, whatever the order cited", []edit{rider(`"2026-09-15"`, `"2026-12-01"`, `null`), {"/attestations/ATT-2", "avenants", `["AVN-1","AVN-2"]`}, {"/avenants/AVN-2", "", `{"existe":true,"date_effet":"2026-09-01","nouvelle_date_fin":"2026-09-20","activite_exclue":null}`}}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"of one date of effect the greater reference stands", []edit{rider(`"2026-09-01"`, `"2026-12-01"`, `null`), {"/attestations/ATT-2", "avenants", `["AVN-2","AVN-1"]`}, {"/avenants/AVN-2", "", `{"existe":true,"date_effet":"2026-09-01","nouvelle_date_fin":"2026-09-20","activite_exclue":null}`}}, nil, [5]conformite.State{yes, yes, no, yes, yes}, "non_conforme"},
		{"an absent rider might extend what has ended", []edit{{"/attestations/ATT-2", "date_fin_validite", `"2026-08-01"`}, {"/avenants/AVN-1", "", absent}}, nil, [5]conformite.State{yes, yes, ne, yes, yes}, "indeterminable"},

		{"another status in the public list is a contradiction", []edit{{"/listes/agrees/courtage/2", "entrees", `[{"agrement":"AGR-1","entite":"ENT-1","statut":"suspendu"}]`}}, nil, [5]conformite.State{yes, yes, yes, ne, yes}, "indeterminable"},
		{"no entry leaves criterion 4 open", []edit{{"/listes/agrees/courtage/2", "entrees", `[]`}}, nil, [5]conformite.State{yes, yes, yes, ne, yes}, "indeterminable"},
		{"an entry that names another entity is none", []edit{{"/listes/agrees/courtage/2", "entrees", `[{"agrement":"AGR-1","entite":"ENT-9","statut":"valide"}]`}}, nil, [5]conformite.State{yes, yes, yes, ne, yes}, "indeterminable"},

		{"same name and date of birth is the person", []edit{listed("Calmandre", "Éloi", `"1970-01-01"`)}, nil, [5]conformite.State{yes, yes, yes, yes, no}, "non_conforme"},
		{"same name, another date is a namesake", []edit{listed("Calmandre", "Éloi", `"1970-01-02"`)}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"same name, no date in the list leaves it open", []edit{listed("Calmandre", "Éloi", `null`)}, nil, [5]conformite.State{yes, yes, yes, yes, ne}, "indeterminable"},
		{"names are compared by code point", []edit{listed("Calmandre", "Eloi", `"1970-01-01"`)}, nil, [5]conformite.State{yes, yes, yes, yes, yes}, "conforme"},
		{"a partial page leaves it open", []edit{{"/beneficiaires/ENT-1/2", "statut_declaration", `"partielle"`}}, nil, [5]conformite.State{yes, yes, yes, yes, ne}, "indeterminable"},
		{"no owners' pages leave it open", []edit{{"/entites/ENT-1", "beneficiaires", `null`}}, nil, [5]conformite.State{yes, yes, yes, yes, ne}, "indeterminable"},
		{"a match is false before anything is open", []edit{listed("Calmandre", "Éloi", `"1970-01-01"`), {"/beneficiaires/ENT-1/1", "statut_declaration", `"absente"`}}, nil, [5]conformite.State{yes, yes, yes, yes, no}, "non_conforme"},

		{"a false criterion comes before one that is open", []edit{{"/entites/ENT-1", "statut", `"suspendue"`}, {"/attestations/ATT-1", "", absent}}, nil, [5]conformite.State{no, yes, ne, yes, yes}, "non_conforme"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(t, orderly().with(t, c.edits...), c.references...)
			if got.Criteria != c.want || got.Verdict != c.verdict {
				t.Errorf("criteria %v, verdict %s; want %v, %s", got.Criteria, got.Verdict, c.want, c.verdict)
			}
		})
	}
}

func TestDesignSection2GroundingFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		edits      []edit
		references []string
		want       []string
	}{
		{"1 false: the status", []edit{{"/entites/ENT-1", "statut", `"radiee"`}}, nil, []string{"/entites/ENT-1/statut"}},
		{"2 false: the failing field and the link", []edit{{"/agrements/AGR-1", "date_fin_validite", `"2026-09-30"`}}, nil, []string{"/agrements/AGR-1/date_fin_validite", "/entites/ENT-1/agrements/0"}},
		{"2 false by its start", []edit{{"/agrements/AGR-1", "date_debut", `"2026-11-01"`}}, nil, []string{"/agrements/AGR-1/date_debut", "/entites/ENT-1/agrements/0"}},
		{"2 false, no licence for the activity: the list of licences", []edit{{"/agrements/AGR-1", "activite", `"x"`}}, nil, []string{"/entites/ENT-1/agrements"}},
		{"3 false by its own end", []edit{{"/attestations/ATT-1", "date_fin_validite", `"2026-09-30"`}}, nil, []string{"/attestations/ATT-1/date_fin_validite", "/entites/ENT-1/attestations/0"}},
		{"3 false by a rider's exclusion", []edit{{"/avenants/AVN-1", "activite_exclue", `"courtage"`}}, nil, []string{"/avenants/AVN-1/activite_exclue", "/avenants/AVN-1/date_effet", "/attestations/ATT-2/avenants/0", "/entites/ENT-1/attestations/1"}},
		{"3 false by a rider's end", []edit{{"/avenants/AVN-1", "nouvelle_date_fin", `"2026-09-30"`}}, nil, []string{"/avenants/AVN-1/nouvelle_date_fin", "/avenants/AVN-1/date_effet", "/attestations/ATT-2/avenants/0", "/entites/ENT-1/attestations/1"}},
		{"5 false: both dates of birth", []edit{{"/mesures-restrictives/2", "entrees", `[{"nom":"x","prenoms":"y","date_naissance":null},{"nom":"Calmandre","prenoms":"Éloi","date_naissance":"1970-01-01"}]`}}, nil, []string{"/beneficiaires/ENT-1/2/entrees/0/date_naissance", "/mesures-restrictives/2/entrees/1/date_naissance"}},
		{"an absent licence: that it is absent, and its link", []edit{{"/agrements/AGR-1", "", absent}}, nil, []string{"/agrements/AGR-1/existe", "/entites/ENT-1/agrements/0"}},
		{"an absent attestation", []edit{{"/attestations/ATT-2", "", absent}}, nil, []string{"/attestations/ATT-2/existe", "/entites/ENT-1/attestations/1"}},
		{"an absent rider", []edit{{"/attestations/ATT-2", "date_fin_validite", `"2026-08-01"`}, {"/avenants/AVN-1", "", absent}}, nil, []string{"/avenants/AVN-1/existe", "/attestations/ATT-2/avenants/0"}},
		{"an absent reference of the question has no link", []edit{{"/entites/ENT-1", "attestations", `["ATT-1"]`}, {"/attestations/ATT-3", "", absent}}, []string{"/attestations/ATT-3"}, []string{"/attestations/ATT-3/existe"}},
		{"4 open by another status: both statuses", []edit{{"/listes/agrees/courtage/2", "entrees", `[{"agrement":"AGR-1","entite":"ENT-1","statut":"retire"}]`}}, nil, []string{"/agrements/AGR-1/statut", "/listes/agrees/courtage/2/entrees/0/statut"}},
		{"4 open without entry: status and end", []edit{{"/listes/agrees/courtage/2", "entrees", `[]`}}, nil, []string{"/agrements/AGR-1/statut", "/agrements/AGR-1/date_fin_validite"}},
		{"5 open by a missing date: both dates", []edit{{"/beneficiaires/ENT-1/1", "entrees", `[{"nom":"Jarvaudel","prenoms":"Brune","date_naissance":null}]`}}, nil, []string{"/beneficiaires/ENT-1/1/entrees/0/date_naissance", "/mesures-restrictives/2/entrees/0/date_naissance"}},
		{"5 open by a page: its declaration", []edit{{"/beneficiaires/ENT-1/2", "statut_declaration", `"partielle"`}}, nil, []string{"/beneficiaires/ENT-1/2/statut_declaration"}},
		{"conforme: status, licence, an end for each type", nil, nil, []string{"/entites/ENT-1/statut", "/agrements/AGR-1/date_fin_validite", "/attestations/ATT-1/date_fin_validite", "/attestations/ATT-2/date_fin_validite"}},
		{"conforme by a rider: its end and its link", []edit{{"/avenants/AVN-1", "nouvelle_date_fin", `"2027-01-01"`}}, nil, []string{"/entites/ENT-1/statut", "/agrements/AGR-1/date_fin_validite", "/attestations/ATT-1/date_fin_validite", "/avenants/AVN-1/nouvelle_date_fin", "/attestations/ATT-2/avenants/0"}},
		{"conforme with a namesake: both dates too", []edit{{"/beneficiaires/ENT-1/1", "entrees", `[{"nom":"Jarvaudel","prenoms":"Brune","date_naissance":"1951-05-05"}]`}}, nil, []string{"/entites/ENT-1/statut", "/agrements/AGR-1/date_fin_validite", "/attestations/ATT-1/date_fin_validite", "/attestations/ATT-2/date_fin_validite", "/beneficiaires/ENT-1/1/entrees/0/date_naissance", "/mesures-restrictives/2/entrees/0/date_naissance"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := evaluate(t, orderly().with(t, c.edits...), c.references...)
			if diff := cmp.Diff(c.want, at(got.Facts)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSection57LinksHaveEquivalentForms(t *testing.T) {
	t.Parallel()
	got := evaluate(t, orderly().with(t, edit{"/avenants/AVN-1", "activite_exclue", `"courtage"`}))
	want := map[string][]string{
		"/attestations/ATT-2/avenants/0": {"/attestations/ATT-2/avenants", "/avenants/AVN-1/attestation"},
		"/entites/ENT-1/attestations/1":  {"/entites/ENT-1/attestations", "/attestations/ATT-2/entite"},
	}
	for _, f := range got.Facts {
		if diff := cmp.Diff(want[f.Resource+f.Field], at(f.Equivalents)); diff != "" {
			t.Errorf("%s%s (-want +got):\n%s", f.Resource, f.Field, diff)
		}
	}
	two := evaluate(t, orderly().with(t, edit{"/agrements/AGR-1", "statut", `"retire"`}, edit{"/agrements/AGR-1", "date_fin_validite", `"2026-01-01"`}))
	if diff := cmp.Diff([]string{"/agrements/AGR-1/date_fin_validite"}, at(two.Facts[0].Equivalents)); diff != "" {
		t.Errorf("a second failing field carries the same fact (-want +got):\n%s", diff)
	}
}

func TestEvaluateNamesAnActivityTheReferentielLacks(t *testing.T) {
	t.Parallel()
	target := target()
	target.Activity = "peche"
	_, err := conformite.Evaluate(orderly(), target, rules(t, orderly()))
	if err == nil || !strings.Contains(err.Error(), `"peche"`) {
		t.Errorf("error %v", err)
	}
}

func TestParseReferentielRefusesTypesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `[]`, `{"types_requis":[]}`, `{"types_requis":{"a":[]}}`, `{"types_requis":{"a":"rc"}}`, `{"types_requis":{"a":[null]}}`, `{"types_requis":{"a":["rc","rc"]}}`} {
		v, _ := world{"/": text}.Value("/")
		if _, err := conformite.ParseReferentiel(v); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

func TestAmbiguitiesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		edits []edit
		want  string
	}{
		{"two licences that satisfy", []edit{{"/entites/ENT-1", "agrements", `["AGR-1","AGR-2"]`}, {"/agrements/AGR-2", "", orderly()["/agrements/AGR-1"]}}, "/agrements/AGR-2"},
		{"two attestations of a type that satisfy", []edit{{"/entites/ENT-1", "attestations", `["ATT-1","ATT-2","ATT-3"]`}, {"/attestations/ATT-3", "", orderly()["/attestations/ATT-1"]}}, "/attestations/ATT-3"},
		{"two entries for one licence", []edit{{"/listes/agrees/courtage/1", "entrees", `[{"agrement":"AGR-1","entite":"ENT-1","statut":"valide"}]`}}, "/agrements/AGR-1"},
		{"an absent rider on an attestation that satisfies", []edit{{"/avenants/AVN-1", "", absent}}, "/attestations/ATT-2"},
		{"an absent rider of another entity's attestation", []edit{{"/attestations/ATT-2", "entite", `"ENT-9"`}, {"/avenants/AVN-1", "", absent}}, "/attestations/ATT-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := orderly().with(t, c.edits...)
			found := conformite.Ambiguities(w, target(), rules(t, w))
			if len(found) == 0 || found[0].Resource != c.want {
				t.Errorf("found %v, want one at %s", found, c.want)
			}
		})
	}
	if found := conformite.Ambiguities(orderly(), target(), rules(t, orderly())); len(found) != 0 {
		t.Errorf("an orderly file is ambiguous: %v", found)
	}
}
