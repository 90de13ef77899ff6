package conformite_test

import (
	"maps"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// world is a corpus as JSON texts by resource.
type world map[string]string

func (w world) Value(resource string) (any, bool) {
	text, ok := w[resource]
	if !ok {
		return nil, false
	}
	v, err := canonjson.Parse([]byte(text))
	return v, err == nil
}

// edit changes one member of one resource, or drops the resource for an empty
// member and null value.
type edit struct{ resource, member, value string }

func (w world) with(t testing.TB, edits ...edit) world {
	t.Helper()
	out := maps.Clone(w)
	for _, e := range edits {
		if e.member == "" {
			out[e.resource] = e.value
			continue
		}
		v, ok := out.Value(e.resource)
		if !ok {
			t.Fatalf("no %s to edit", e.resource)
		}
		o := v.(*canonjson.Object)
		value, err := canonjson.Parse([]byte(e.value))
		if err != nil {
			t.Fatal(err)
		}
		o.Set(e.member, value)
		out[e.resource] = string(canonjson.Compact(o))
	}
	return out
}

// orderly is a world in which every criterion of the target is true.
func orderly() world {
	return world{
		"/referentiel":              `{"types_requis":{"courtage":["rc","gf"]}}`,
		"/entites/ENT-1":            `{"existe":true,"statut":"active","agrements":["AGR-1"],"attestations":["ATT-1","ATT-2"],"beneficiaires":"/beneficiaires/ENT-1/1"}`,
		"/agrements/AGR-1":          `{"existe":true,"entite":"ENT-1","activite":"courtage","statut":"valide","date_debut":"2025-01-01","date_fin_validite":"2027-01-01"}`,
		"/attestations/ATT-1":       `{"existe":true,"entite":"ENT-1","type":"rc","date_emission":"2026-01-01","date_fin_validite":"2026-12-31","avenants":[]}`,
		"/attestations/ATT-2":       `{"existe":true,"entite":"ENT-1","type":"gf","date_emission":"2026-02-01","date_fin_validite":"2026-11-30","avenants":["AVN-1"]}`,
		"/avenants/AVN-1":           `{"existe":true,"attestation":"ATT-2","objet":"siège","date_effet":"2026-03-01","nouvelle_date_fin":null,"activite_exclue":"gardiennage"}`,
		"/beneficiaires/ENT-1/1":    `{"statut_declaration":"complete","entrees":[{"nom":"Orvivel","prenoms":"Sidonie","date_naissance":"1960-01-01"}],"page_suivante":"/beneficiaires/ENT-1/2"}`,
		"/beneficiaires/ENT-1/2":    `{"statut_declaration":"complete","entrees":[{"nom":"Calmandre","prenoms":"Éloi","date_naissance":"1970-01-01"}],"page_suivante":null}`,
		"/listes/agrees/courtage/1": `{"entrees":[{"agrement":"AGR-9","entite":"ENT-9","statut":"valide"}],"page_suivante":"/listes/agrees/courtage/2"}`,
		"/listes/agrees/courtage/2": `{"entrees":[{"agrement":"AGR-1","entite":"ENT-1","statut":"valide"}],"page_suivante":null}`,
		"/mesures-restrictives/1":   `{"entrees":[{"nom":"Verdivel","prenoms":"Sixte","date_naissance":null,"motif":"x"}],"page_suivante":"/mesures-restrictives/2"}`,
		"/mesures-restrictives/2":   `{"entrees":[{"nom":"Jarvaudel","prenoms":"Brune","date_naissance":"1950-05-05","motif":"x"}],"page_suivante":null}`,
	}
}

const examined = "2026-10-01"

func target(references ...string) track.Target {
	return track.Target{Entity: "ENT-1", Activity: "courtage", Date: examined, References: references}
}

func rules(t testing.TB, w world) conformite.Referentiel {
	t.Helper()
	v, _ := w.Value("/referentiel")
	r, err := conformite.ParseReferentiel(v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func evaluate(t testing.TB, w world, references ...string) conformite.Result {
	t.Helper()
	result, err := conformite.Evaluate(w, target(references...), rules(t, w))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// at lists the places of facts as resource and field.
func at(facts []conformite.Fact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, f.Resource+f.Field)
	}
	return out
}

const absent = `{"existe":false}`
