package track_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/internal/receipts/track"
)

var complianceWorld = map[string]string{
	"/referentiel":                 `{}`,
	"/_systeme/403":                `{}`,
	"/entites/ENT-0001":            `{"agrements":["AGR-1","AGR-404",7],"attestations":["ATT-1","ATT-2"],"beneficiaires":"/beneficiaires/ENT-0001/1"}`,
	"/entites/ENT-0002":            `{"agrements":["AGR-2"]}`,
	"/agrements/AGR-1":             `{"entite":"ENT-0002"}`,
	"/agrements/AGR-2":             `{"entite":"ENT-0002"}`,
	"/attestations/ATT-1":          `{"avenants":["AVN-1"]}`,
	"/attestations/ATT-2":          `{"existe":false}`,
	"/attestations/ATT-3":          `{"avenants":["AVN-3"]}`,
	"/avenants/AVN-1":              `{}`,
	"/avenants/AVN-3":              `{}`,
	"/beneficiaires/ENT-0001/1":    `{"entrees":[{"nom":"Vesprin","prenoms":"Aldéric"},{"nom":"Calmoire","prenoms":null},"x"],"page_suivante":"/beneficiaires/ENT-0001/2"}`,
	"/beneficiaires/ENT-0001/2":    `{"entrees":[{"nom":"Rolvesse","prenoms":"Ombeline"}],"page_suivante":"/beneficiaires/ENT-0001/1"}`,
	"/listes/agrees/courtage/1":    `{"entrees":[{"entite":"ENT-0002"},{"entite":"ENT-0001"},"ENT-0001"],"page_suivante":"/listes/agrees/courtage/2"}`,
	"/listes/agrees/courtage/2":    `{"entrees":[{"entite":"ENT-0001"}],"page_suivante":"/listes/agrees/courtage/9"}`,
	"/listes/agrees/gardiennage/1": `{"entrees":[{"entite":"ENT-0001"}],"page_suivante":null}`,
	"/mesures-restrictives/1":      `{"entrees":[{"nom":"Vesprin","prenoms":"Aldéric"},{"nom":"Vesprin","prenoms":"Alderic"},{"nom":"Calmoire","prenoms":null}],"page_suivante":"/mesures-restrictives/2"}`,
	"/mesures-restrictives/2":      `{"entrees":[{"nom":"Rolvesse","prenoms":"Ombeline"}],"page_suivante":null}`,
}

func compliance(t *testing.T, references ...string) *track.Graph {
	t.Helper()
	target := track.Target{Entity: "ENT-0001", Activity: "courtage", Date: "2026-09-02", References: references}
	g, err := track.BuildGraph(track.Conformite, target, freeze(t, complianceWorld))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSection91ComplianceGraphHoldsTheTargetsWorldOnly(t *testing.T) {
	t.Parallel()
	want := []string{
		"/agrements/AGR-1", "/attestations/ATT-1", "/attestations/ATT-2", "/avenants/AVN-1",
		"/beneficiaires/ENT-0001/1", "/beneficiaires/ENT-0001/2", "/entites/ENT-0001",
		"/listes/agrees/courtage/1", "/listes/agrees/courtage/2",
		"/mesures-restrictives/1", "/mesures-restrictives/2",
	}
	if diff := cmp.Diff(want, slices.Collect(compliance(t).Resources())); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
}

func TestSection91ReferencesOfTheQuestion(t *testing.T) {
	t.Parallel()
	g := compliance(t, "/attestations/ATT-3", "/agrements/AGR-404", "/_systeme/403", "/listes/agrees/gardiennage/1")
	for resource, own := range map[string]bool{
		"/attestations/ATT-3":          true,
		"/avenants/AVN-3":              true, // a rider of an attestation that only the question cites
		"/listes/agrees/gardiennage/1": false,
	} {
		if !g.Contains(resource) || g.Own(resource) != own {
			t.Errorf("%s: contained %v, own %v, want own %v", resource, g.Contains(resource), g.Own(resource), own)
		}
	}
	for _, resource := range []string{"/agrements/AGR-404", "/_systeme/403", "/entites/ENT-0002", "/referentiel"} {
		if g.Contains(resource) {
			t.Errorf("%s is in the graph", resource)
		}
	}
}

func TestD15RecordReachedThroughTheEntityIsOwnWhateverItNames(t *testing.T) {
	t.Parallel()
	g := compliance(t)
	if !g.Own("/agrements/AGR-1") {
		t.Error("an agrément of the record that names another entity is not own")
	}
	if g.Contains("/agrements/AGR-2") {
		t.Error("an agrément of another record is in the graph")
	}
}

func TestSection52CommonListEntryMustConcernTheEntity(t *testing.T) {
	t.Parallel()
	g := compliance(t, "/listes/agrees/gardiennage/1")
	for _, c := range []struct {
		name, resource, field string
		want                  bool
	}{
		{"an own resource concerns it, whatever the field", "/entites/ENT-0001", "/statut", true},
		{"an entry of another entity does not", "/listes/agrees/courtage/1", "/entrees/0/statut", false},
		{"an entry of the entity does", "/listes/agrees/courtage/1", "/entrees/1/statut", true},
		{"an entry that is no object does not", "/listes/agrees/courtage/1", "/entrees/2/statut", false},
		{"an entry past the end concerns nobody (D18)", "/listes/agrees/courtage/1", "/entrees/3/statut", false},
		{"an index past any array concerns nobody", "/listes/agrees/courtage/1", "/entrees/99999999999999999999/statut", false},
		{"a leading zero is no index", "/listes/agrees/courtage/1", "/entrees/01/statut", false},
		{"a field outside the entries concerns nobody", "/listes/agrees/courtage/1", "/page_suivante", false},
		{"a list page that the question cites stays a common list", "/listes/agrees/gardiennage/1", "/entrees/0/statut", true},
		{"a listed person named like an owner does", "/mesures-restrictives/1", "/entrees/0/nom", true},
		{"one that differs by an accent does not", "/mesures-restrictives/1", "/entrees/1/nom", false},
		{"null first names match nobody", "/mesures-restrictives/1", "/entrees/2/nom", false},
		{"an owner of a later page counts", "/mesures-restrictives/2", "/entrees/0/date_naissance", true},
		{"a resource outside the graph concerns nobody", "/entites/ENT-0002", "/statut", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := g.Concerns(c.resource, c.field); got != c.want {
				t.Errorf("Concerns(%q, %q) = %v, want %v", c.resource, c.field, got, c.want)
			}
		})
	}
}

func TestSection91GenericGraph(t *testing.T) {
	t.Parallel()
	world := freeze(t, map[string]string{
		"/catalogue/velos/1":       `{"entrees":[{"produit":"PRD-1","fournisseur":"FRN-1"},{"produit":"PRD-404","fournisseur":"FRN-2"}],"page_suivante":"/catalogue/velos/2"}`,
		"/catalogue/velos/2":       `{"entrees":[{"produit":"PRD-2"},{"produit":"PRD-9"}],"page_suivante":"/catalogue/velos/2"}`,
		"/catalogue/casques/1":     `{"entrees":[{"produit":"PRD-3"}],"page_suivante":null}`,
		"/produits/PRD-1":          `{"fournisseur":"FRN-3","annexe_livraison":"ANX-1"}`,
		"/produits/PRD-2":          `{"existe":false}`,
		"/produits/PRD-3":          `{}`,
		"/produits/PRD-9":          `"no object"`,
		"/fournisseurs/FRN-1":      `{}`,
		"/fournisseurs/FRN-2":      `{}`,
		"/fournisseurs/FRN-3":      `{}`,
		"/fournisseurs/FRN-4":      `{}`,
		"/annexes-livraison/ANX-1": `{}`,
		"/annexes-livraison/ANX-2": `{}`,
	})
	g, err := track.BuildGraph(track.Generique, track.Target{Category: "velos", References: []string{"/produits/PRD-404", "/annexes-livraison/ANX-2"}}, world)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/annexes-livraison/ANX-1", "/annexes-livraison/ANX-2", "/catalogue/velos/1", "/catalogue/velos/2",
		"/fournisseurs/FRN-1", "/fournisseurs/FRN-2", "/fournisseurs/FRN-3", "/produits/PRD-1", "/produits/PRD-2", "/produits/PRD-9",
	}
	if diff := cmp.Diff(want, slices.Collect(g.Resources())); diff != "" {
		t.Errorf("graph (-want +got):\n%s", diff)
	}
	if g.Own("/catalogue/velos/1") || !g.Own("/fournisseurs/FRN-3") {
		t.Error("the catalogue is own, or a supplier is not")
	}
	if !g.Concerns("/catalogue/velos/1", "/entrees/0/produit") || g.Concerns("/catalogue/velos/1", "/entrees/1/produit") {
		t.Error("an entry concerns the task exactly when its product is in the graph")
	}
}

func TestBuildGraphRefusesATrackItDoesNotKnow(t *testing.T) {
	t.Parallel()
	if _, err := track.BuildGraph("autre", track.Target{}, frozen{}); err == nil {
		t.Error("no error")
	}
}

func TestGraphEndsOnAnyValueInPlaceOfAReference(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`null`, `7`, `"x"`, `[]`, `{}`, `[[["x"]]]`, `{"agrements":{"0":"AGR-1"},"attestations":"ATT-1","beneficiaires":["/x"]}`} {
		world := freeze(t, map[string]string{"/entites/ENT-1": value, "/listes/agrees/a/1": value, "/mesures-restrictives/1": value})
		g, err := track.BuildGraph(track.Conformite, track.Target{Entity: "ENT-1", Activity: "a"}, world)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(slices.Collect(g.Resources())); n != 3 {
			t.Errorf("value %s: %d resources, want 3", value, n)
		}
		if g.Concerns("/mesures-restrictives/1", "/entrees/0/nom") {
			t.Errorf("value %s: an entry concerns the entity", value)
		}
	}
}
