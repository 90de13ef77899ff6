package bundletest

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// Track is a track in the making. Everything may be changed before [New].
type Track struct {
	Name, Host string
	Corpus     map[string]any // resource → value, system bodies included
	Tasks      []any          // as season.json lists them
	Rules      *canonjson.Object
	Key        *canonjson.Object // task id → what is expected
	// Sound are claims that the corpus supports, by task.
	Sound map[string][]Claim
}

// Claim is what an assertion claims.
type Claim struct {
	Resource, Field string
	Value           any
}

func newTrack(name, version string, verdicts []any, collection any, fields *canonjson.Object) Track {
	t := Track{
		Name: name, Host: "https://" + name + ".corpus.prova.test",
		Corpus: map[string]any{}, Key: canonjson.NewObject(), Sound: map[string][]Claim{},
		Rules: canonjson.NewObject("version", version, "verdicts", verdicts, "verdict_collection", collection, "probative_fields", fields),
	}
	for _, code := range []string{"400", "403", "404", "503"} {
		t.put("/_systeme/"+code, "erreur", code)
	}
	t.put("/referentiel", "version", version)
	return t
}

// put adds a resource with these members.
func (t *Track) put(resource string, nameValue ...any) {
	t.Corpus[resource] = canonjson.NewObject(append([]any{"resource", resource}, nameValue...)...)
}

func (t *Track) task(id string, target *canonjson.Object, minimum, limit int, verdict string, facts []any, sound ...Claim) {
	t.Tasks = append(t.Tasks, canonjson.NewObject("task_id", id, "question", canonjson.NewObject("fr", "Question "+id, "en", "Question "+id),
		"target", target, "minimum", minimum, "cap", limit))
	t.Key.Set(id, canonjson.NewObject("verdict", verdict, "families", []any{}, "control", false, "facts", facts))
	t.Sound[id] = sound
}

func fact(resource, field string, value any, equivalents ...any) *canonjson.Object {
	return canonjson.NewObject("resource", resource, "field", field, "value", value, "equivalents", equivalents)
}

// Compliance is a track of n tasks, conf-01 and on, each about its own entity
// ENT-0001 and on, minimum 2 and cap 4, expected verdict conforme with one fact,
// the entity's statut. The last entity's owner is on the restrictive list.
func Compliance(n int) Track {
	t := newTrack(track.Conformite, "conformite-bareme-test", []any{"conforme", "non_conforme", "indeterminable"}, nil, canonjson.NewObject(
		"/entites/", []any{"/existe", "/statut", "/agrements", "/agrements/<n>", "/attestations", "/attestations/<n>", "/beneficiaires"},
		"/agrements/", []any{"/existe", "/entite", "/activite", "/statut", "/date_debut", "/date_fin_validite"},
		"/attestations/", []any{"/existe", "/entite", "/avenants", "/avenants/<n>"},
		"/avenants/", []any{"/existe", "/attestation"},
		"/listes/agrees/", []any{"/entrees/<n>/agrement", "/entrees/<n>/entite", "/entrees/<n>/statut"},
		"/beneficiaires/", []any{"/statut_declaration", "/entrees/<n>/nom", "/entrees/<n>/prenoms", "/page_suivante"},
		"/mesures-restrictives/", []any{"/entrees/<n>/nom", "/entrees/<n>/prenoms", "/entrees/<n>/date_naissance"},
	))
	var licensed []any
	for i := range n {
		number := fmt.Sprintf("%04d", i+1)
		entity, licence := "ENT-"+number, "AGR-"+number
		t.put("/entites/"+entity, "existe", true, "statut", "active", "denomination", "Maison "+number,
			"agrements", []any{licence}, "attestations", []any{}, "beneficiaires", "/beneficiaires/"+entity+"/1")
		t.put("/agrements/"+licence, "existe", true, "entite", entity, "activite", "courtage", "statut", "valide",
			"date_debut", "2025-01-01", "date_fin_validite", "2027-12-31")
		t.put("/beneficiaires/"+entity+"/1", "statut_declaration", "complete", "page_suivante", nil,
			"entrees", []any{canonjson.NewObject("nom", "Nom "+number, "prenoms", "Prénom", "date_naissance", "1970-01-01")})
		licensed = append(licensed, canonjson.NewObject("agrement", licence, "entite", entity, "statut", "valide"))
		t.task(fmt.Sprintf("conf-%02d", i+1), canonjson.NewObject("entite", entity, "activite", "courtage", "date_examen", "2026-10-01"), 2, 4,
			"conforme", []any{fact("/entites/"+entity, "/statut", "active", canonjson.NewObject("resource", "/entites/"+entity, "field", "/existe", "value", true))},
			Claim{"/entites/" + entity, "/statut", "active"}, Claim{"/agrements/" + licence, "/statut", "valide"},
			Claim{"/agrements/" + licence, "/date_fin_validite", "2027-12-31"}, Claim{"/beneficiaires/" + entity + "/1", "/statut_declaration", "complete"})
	}
	t.put("/listes/agrees/courtage/1", "entrees", licensed, "page_suivante", nil)
	t.put("/mesures-restrictives/1", "page_suivante", nil, "entrees", []any{
		canonjson.NewObject("nom", fmt.Sprintf("Nom %04d", n), "prenoms", "Prénom", "date_naissance", "1980-01-01"),
		canonjson.NewObject("nom", "Personne", "prenoms", "Autre", "date_naissance", nil),
	})
	return t
}

// Purchasing is the generique track with two tasks: gen-01, whose answer is the
// product PRD-0001, and gen-02, which no product satisfies.
func Purchasing() Track {
	t := newTrack(track.Generique, "generique-bareme-test", []any{"aucune_option_valide"}, "/produits/", canonjson.NewObject(
		"/produits/", []any{"/existe", "/statut", "/prix", "/stock", "/fournisseur", "/caracteristiques/<k>", "/annexe_livraison"},
		"/fournisseurs/", []any{"/existe", "/statut", "/certifications/<n>"},
		"/annexes-livraison/", []any{"/existe", "/delai_jours", "/condition_bloquante"},
		"/catalogue/", []any{"/entrees/<n>/produit", "/entrees/<n>/fournisseur"},
	))
	t.put("/catalogue/bureau/1", "page_suivante", "/catalogue/bureau/2", "entrees", []any{canonjson.NewObject("produit", "PRD-0001", "fournisseur", "FRN-0001")})
	t.put("/catalogue/bureau/2", "page_suivante", nil, "entrees", []any{canonjson.NewObject("produit", "PRD-0002", "fournisseur", "FRN-0002")})
	for _, number := range []string{"0001", "0002", "0003"} {
		t.put("/produits/PRD-"+number, "existe", true, "categorie", "bureau", "fournisseur", "FRN-"+number, "statut", "disponible",
			"prix", "120.00", "stock", "4", "caracteristiques", canonjson.NewObject("largeur/cm", "80"), "annexe_livraison", "ANX-"+number)
		t.put("/fournisseurs/FRN-"+number, "existe", true, "statut", "actif", "certifications", []any{"ISO-A"})
		t.put("/annexes-livraison/ANX-"+number, "existe", true, "delai_jours", "5", "condition_bloquante", nil)
	}
	need := canonjson.NewObject("categorie", "bureau", "budget", "150.00", "zone", "nord")
	t.task("gen-01", need, 2, 4, "PRD-0001", []any{fact("/produits/PRD-0001", "/prix", "120.00")},
		Claim{"/produits/PRD-0001", "/prix", "120.00"}, Claim{"/annexes-livraison/ANX-0001", "/condition_bloquante", nil},
		Claim{"/produits/PRD-0001", "/caracteristiques/largeur~1cm", "80"}, Claim{"/catalogue/bureau/2", "/entrees/0/produit", "PRD-0002"})
	t.task("gen-02", need, 2, 4, "aucune_option_valide", []any{},
		Claim{"/fournisseurs/FRN-0002", "/statut", "actif"}, Claim{"/produits/PRD-0002", "/stock", "4"})
	return t
}
