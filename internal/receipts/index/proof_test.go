package index

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// citedFor finds a proof that an assertion of this outcome cites.
func citedFor(t testing.TB, x *Index, detail string) string {
	t.Helper()
	e := x.site.Load().editions[2]
	for _, id := range e.proofIDs {
		for _, c := range e.cited[id] {
			if len(c.assertion.ProofIDs) == 1 && (c.assertion.Detail == nil && detail == c.assertion.Status || c.assertion.Detail != nil && *c.assertion.Detail == detail) {
				return id
			}
		}
	}
	t.Fatalf("no proof of outcome %s", detail)
	return ""
}

func proofAt(t testing.TB, x *Index, l, id string) *node {
	t.Helper()
	return pageAt(t, x, "/"+l+"/"+proofPage(2, id)+".html")
}

func TestSection2_4AProofPageNamesTheCallItsTimeAndIdentity(t *testing.T) {
	t.Parallel()
	x := example(t)
	id := citedFor(t, x, bundle.StatusSupported)
	for l, want := range map[string][]string{
		"en": {"Valid.", "GET https://corpus.prova.test/", "exactly the frozen body of that resource", "inside the season’s window", "DID bound to the key when the call was made", "does not attest that the agent read the answer", "Timestamp token", "independent third party", "supported"},
		"fr": {"Valide.", "GET https://corpus.prova.test/", "exactement le corps gelé de cette ressource", "dans la fenêtre de la saison", "DID lié à la clé au moment de l’appel", "Il n’atteste ni que l’agent a lu la réponse", "Jeton d’horodatage", "tiers indépendant", "soutenue"},
	} {
		text := proofAt(t, x, l, id).one(t, "main").text()
		for _, w := range append(want, "prova verify --trust trust.json --log-entry log-entry.json proof.json") {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is missing", l, w)
			}
		}
	}
}

func TestSection10EveryRefusedProofSaysWhichCheckFails(t *testing.T) {
	t.Parallel()
	x := example(t)
	for _, detail := range []string{
		receipt.DetailProofMalformed, receipt.DetailCommitmentsMissing, receipt.DetailCommitmentsMalformed, receipt.DetailChainMismatch, receipt.DetailIssuerKeyRefused,
		receipt.DetailSignatureInvalid, receipt.DetailBatchMalformed, receipt.DetailPathLength, receipt.DetailPathMismatch,
		receipt.DetailTokenMissing, receipt.DetailTokenInvalid, receipt.DetailLogEntryMissing, receipt.DetailLogEntryInvalid,
	} {
		id := citedFor(t, x, detail)
		for _, l := range languages() {
			p := proofAt(t, x, string(l), id)
			want := fold(x.catalogues[l].Word("detail", detail))
			if got := p.one(t, "p.refused").text(); !strings.HasSuffix(got, want) {
				t.Errorf("%s %s: %q, want %q", l, detail, got, want)
			}
		}
	}
	if got := proofAt(t, x, "en", citedFor(t, x, receipt.DetailTokenOutsideWindow)).text(); !strings.Contains(got, "outside the season’s window") {
		t.Error("a token outside the window is not called so")
	}
	if got := proofAt(t, x, "en", citedFor(t, x, "/_systeme/403")).text(); !strings.Contains(got, "exactly the frozen body of: /_systeme/403") {
		t.Error("the body of an instrument fault is not named")
	}
}

func TestSection4_1APendingProofIsNeitherValidNorInvalid(t *testing.T) {
	t.Parallel()
	x := example(t)
	id := citedFor(t, x, bundle.StatusPending)
	for l, want := range map[string]string{"en": "Pending. Its batch was not anchored", "fr": "En attente. Son lot n’était pas ancré"} {
		if got := proofAt(t, x, l, id).one(t, "p.v-pending").text(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", l, got)
		}
	}
}

func TestLocalWitnessesAreCalledLocalNotIndependent(t *testing.T) {
	t.Parallel()
	x := example(t)
	e := x.site.Load().editions[2]
	did := didOf(t, x, "local")
	var id string
	for _, task := range e.rows["conformite"][did].Tasks {
		for _, a := range task.Assertions {
			if a.ID == "a3" { // cases.json: "policy: both local"
				id = a.ProofIDs[0]
			}
		}
	}
	for l, want := range map[string][2]string{"en": {"local, not independent", "Its witnesses are local, not independent"}, "fr": {"local, non indépendant", "Ses témoins sont locaux, non indépendants"}} {
		p := proofAt(t, x, l, id)
		if got := p.one(t, "table.witnesses").text(); strings.Count(got, want[0]) != 2 {
			t.Errorf("%s: %s", l, got)
		}
		if got := p.one(t, "p.v-valid").text(); !strings.Contains(got, want[1]) {
			t.Errorf("%s: %s", l, got)
		}
	}
}

func TestTheFreezeProofHasAPageAndAFile(t *testing.T) {
	t.Parallel()
	x := example(t)
	id := x.site.Load().editions[2].bundle.Tracks["conformite"].Freeze.ProofID
	if got := proofAt(t, x, "en", id).text(); !strings.Contains(got, "pre-registration of the compliance track") || !strings.Contains(got, "Valid.") {
		t.Error("the page does not present the freeze proof")
	}
	file := get(t, x, "/files/2/proofs/"+id+".json", 200)
	p, err := receipt.Parse(file.Body.Bytes())
	if err != nil || p.ID() != id {
		t.Errorf("the file is no proof: %v", err)
	}
}

func TestAProofIsServedByteForByteAsInTheBundle(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	x := indexOf(t, files)
	for _, name := range []string{bundle.ProofPath(citedFor(t, x, bundle.StatusSupported)), bundle.TrustPath, bundle.ResultsPath, bundle.ManifestPath("conformite"), bundle.RulesTextPath("conformite"), bundle.KeyPath("conformite")} {
		if got := get(t, x, "/files/2/"+name, 200).Body.String(); got != string(files[name]) {
			t.Errorf("%s differs", name)
		}
	}
	for _, path := range []string{"/files/2/../2/season.json", "/files/2/corpora/conformite/files/a.json", "/files/3/season.json", "/files/02/season.json", "/files/2/proofs/prf_20200101_000000_aaaaaa.json", "/files/2/proofs/x.json", "/files/2/log-entries/x.json", "/files/2/submissions/x/conf-01.json", "/files/2/", "/files/"} {
		get(t, x, path, 404)
	}
}

func TestAProofThatCannotBeReadHasAPageThatSaysSo(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t)
	const id = "prf_20261025_000000_abcdef"
	files[bundle.ProofPath(id)] = []byte(`{"proof_id": "<b>` + "\u202e" + ``)
	x := indexOf(t, files)
	p := proofAt(t, x, "fr", id)
	if got := p.one(t, ".v-invalid").text(); !strings.HasPrefix(got, "Non valide. Le fichier ne se lit pas comme une preuve.") {
		t.Errorf("%q", got)
	}
	twin := parsed(t, get(t, x, "/fr/"+proofPage(2, id)+".json", 200).Body.Bytes())
	if v, _ := canonjson.Resolve(twin, "/content/season_refuses/word"); v != receipt.DetailProofMalformed {
		t.Errorf("the twin says %v", v)
	}
}
