package track_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
)

const rulesText = `{"version":"conformite-bareme-v3",
"text_sha256":"a56c2ea736cb3577f894ece20628024a0ebe0e7278f291393be07667ba9c2f1d",
"verdicts":["conforme","non_conforme","indeterminable"],"verdict_collection":null,
"probative_fields":{
 "/entites/":["/existe","/statut","/agrements","/agrements/<n>"],
 "/listes/":["/courte"],
 "/listes/agrees/":["/entrees/<n>/agrement","/entrees/<n>/statut"],
 "/produits/":["/caracteristiques/<k>","/a~1b/c~0d",""]},
"note":"an unknown member is kept out of the way"}`

func mustRules(t testing.TB) *track.Rules {
	t.Helper()
	r, err := track.ParseRules(parse(t, rulesText))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSection4PatternsOfProbativeFields(t *testing.T) {
	t.Parallel()
	r := mustRules(t)
	for _, c := range []struct {
		name, resource, field string
		want                  bool
	}{
		{"a literal field matches", "/entites/ENT-0001", "/statut", true},
		{"another field does not", "/entites/ENT-0001", "/denomination", false},
		{"the whole document never does", "/entites/ENT-0001", "", false},
		{"the whole document does not even where a pattern is empty", "/produits/PRD-1", "", false},
		{"an index matches <n>", "/entites/ENT-0001", "/agrements/0", true},
		{"a long index matches <n>, past any array", "/entites/ENT-0001", "/agrements/99999999999999999999", true},
		{"an index with a leading zero does not (D18)", "/entites/ENT-0001", "/agrements/01", false},
		{"the dash does not match <n>", "/entites/ENT-0001", "/agrements/-", false},
		{"an empty token does not match <n>", "/entites/ENT-0001", "/agrements/", false},
		{"a longer pointer does not match", "/entites/ENT-0001", "/agrements/0/x", false},
		{"the longest collection decides, here for", "/listes/agrees/courtage/1", "/entrees/0/statut", true},
		{"the longest collection decides, here against", "/listes/agrees/courtage/1", "/courte", false},
		{"the shorter collection keeps the rest", "/listes/autre", "/courte", true},
		{"a resource of no collection has no field", "/referentiel", "/version", false},
		{"a collection must match whole, slash included", "/entitesX/ENT-1", "/statut", false},
		{"<k> matches any one token", "/produits/PRD-1", "/caracteristiques/poids", true},
		{"<k> matches an escaped slash as one token", "/produits/PRD-1", "/caracteristiques/a~1b", true},
		{"<k> does not match two tokens", "/produits/PRD-1", "/caracteristiques/a/b", false},
		{"tokens are compared unescaped", "/produits/PRD-1", "/a~1b/c~0d", true},
		{"a broken escape matches nothing", "/produits/PRD-1", "/caracteristiques/~2", false},
		{"a trailing tilde matches nothing", "/produits/PRD-1", "/caracteristiques/~", false},
		{"a field without a slash matches nothing", "/entites/ENT-0001", "statut", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := r.Probative(c.resource, c.field); got != c.want {
				t.Errorf("Probative(%q, %q) = %v, want %v", c.resource, c.field, got, c.want)
			}
		})
	}
}

func TestSection53SetOfVerdictsIsReadFromTheRules(t *testing.T) {
	t.Parallel()
	none := func(string) bool { return false }
	r := mustRules(t)
	for _, v := range []string{"conforme", "non_conforme", "indeterminable"} {
		if !r.VerdictAllowed(v, none) {
			t.Errorf("%s is not allowed", v)
		}
	}
	if r.VerdictAllowed("Conforme", func(string) bool { return true }) {
		t.Error("a verdict outside the set is allowed where no collection is named")
	}
}

func TestSection63VerdictMayBeAProductOfTheManifest(t *testing.T) {
	t.Parallel()
	text := strings.Replace(rulesText, `"verdict_collection":null`, `"verdict_collection":"/produits/"`, 1)
	r, err := track.ParseRules(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	listed := func(resource string) bool {
		return resource == "/produits/PRD-1" || resource == "/produits/PRD-1/2" || resource == "/fournisseurs/FRN-1"
	}
	// The manifest alone decides what a reference is (bundle format §4).
	for v, want := range map[string]bool{
		"PRD-1": true, "PRD-2": false, "PRD-1/2": true, "PRD-1/3": false, "": false, "/produits/PRD-1": false,
		"FRN-1": false, "../fournisseurs/FRN-1": false, "conforme": true,
	} {
		if got := r.VerdictAllowed(v, listed); got != want {
			t.Errorf("VerdictAllowed(%q) = %v, want %v", v, got, want)
		}
	}
}

func TestParseRulesNamesTheMemberAtFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"a missing version", `"version":"conformite-bareme-v3",`, ``, "/version is missing"},
		{"an empty version", `"conformite-bareme-v3"`, `""`, "/version is empty"},
		{"a short text hash", `a56c2ea7`, `a56c`, "/text_sha256"},
		{"an upper-case text hash", `a56c2ea7`, `A56C2EA7`, "/text_sha256"},
		{"verdicts that are no array", `["conforme","non_conforme","indeterminable"]`, `"conforme"`, "/verdicts is a string"},
		{"a verdict that is no string", `["conforme",`, `[1,`, "/verdicts/0 is an integer"},
		{"a missing verdict collection", `"verdict_collection":null,`, ``, "/verdict_collection is missing"},
		{"a verdict collection without slashes", `"verdict_collection":null`, `"verdict_collection":"produits"`, "/verdict_collection must be"},
		{"a collection without slashes", `"/entites/"`, `"entites"`, "/probative_fields/entites"},
		{"a pattern that is no pointer", `["/existe"`, `["existe"`, "/probative_fields/~1entites~1/0"},
		{"a pattern that is no string", `["/existe"`, `[null`, "/probative_fields/~1entites~1/0 is null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(rulesText, c.from, c.to, 1)
			if text == rulesText {
				t.Fatal("the case changes nothing")
			}
			_, err := track.ParseRules(parse(t, text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
	if _, err := track.ParseRules([]any{}); err == nil {
		t.Error("rules that are an array were accepted")
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add([]byte(rulesText), "/entites/ENT-0001", "/agrements/0")
	f.Add([]byte(`{}`), "", "")
	f.Add([]byte(`{"version":"v","text_sha256":"`+strings.Repeat("0", 64)+`","verdicts":[],"verdict_collection":"/","probative_fields":{"/":["/<k>"]}}`), "/x", "/y")
	f.Fuzz(func(t *testing.T, data []byte, resource, field string) {
		v, err := canonjson.Parse(data)
		if err != nil {
			return
		}
		r, err := track.ParseRules(v)
		if err != nil {
			return
		}
		if r.Probative(resource, field) && (field == "" || !strings.HasPrefix(field, "/")) {
			t.Errorf("field %q of %q is probative", field, resource)
		}
		for _, verdict := range r.Verdicts {
			if !r.VerdictAllowed(verdict, func(string) bool { return false }) {
				t.Errorf("listed verdict %q is not allowed", verdict)
			}
		}
	})
}
