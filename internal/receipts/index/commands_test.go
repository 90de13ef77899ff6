package index

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

func linesOf(t testing.TB, p *node) []string {
	t.Helper()
	return texts(p.one(t, "#verify").one(t, "dl.commands").all("dt"))
}

// localOnly makes every witness of a bundle's trust a local one.
func localOnly(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	bundletest.Edit(t, files, bundle.TrustPath, func(o *canonjson.Object) {
		for _, name := range []string{"timestamp_authorities", "logs"} {
			list, _ := o.Get(name)
			for _, v := range list.([]any) {
				v.(*canonjson.Object).Set("independent", false)
			}
		}
	})
	return files
}

func TestALineForAProofAnswersAsItsPageDoes(t *testing.T) {
	t.Parallel()
	const local = "prova verify --trust trust.json --require local --log-entry log-entry.json proof.json"
	files := localOnly(t, exampleFiles(t))
	x := indexOf(t, files)
	id := citedFor(t, x, bundle.StatusSupported)
	for l, why := range map[string]string{"en": "Its witnesses are local: the operator runs them itself, so without --require local the answer is “invalid”", "fr": "Ses témoins sont locaux\u00a0: l’opérateur les fait tourner lui-même\u202f; sans --require local, la réponse est donc «\u00a0invalid\u00a0»"} {
		for _, p := range []*node{proofAt(t, x, l, id), pageAt(t, x, "/"+l+"/seasons/2.html")} {
			lines := linesOf(t, p)
			if lines[len(lines)-1] != local || slices.Contains(lines, "prova verify proof.json") {
				t.Errorf("%s: a season with local witnesses only says %q", l, lines)
			}
			if got := p.one(t, "#verify").text(); !strings.Contains(got, fold(why)) {
				t.Errorf("%s: no reason in %q", l, got)
			}
		}
	}
	if got := pageAt(t, example(t), "/en/seasons/2.html").one(t, "#verify").text(); !strings.Contains(got, "Some of its witnesses are local") {
		t.Errorf("a season with both kinds of witnesses says %q", got)
	}
	// The witnesses of this one are independent: no need for --require local.
	if got := linesOf(t, proofAt(t, example(t), "en", id)); !slices.Equal(got, []string{"prova verify --trust trust.json --log-entry log-entry.json proof.json"}) {
		t.Errorf("a proof with independent witnesses: %q", got)
	}
}

func TestTheLineWithoutATrustStandsOnlyWhereTheProgramsOwnKeysVerifyTheProof(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../evidence/receipt/testdata/trust-layer/proof_rekor.json")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := os.ReadFile("../../../evidence/receipt/testdata/trust-layer/rekor_entry.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := receipt.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	uuid, ok := p.LogUUID()
	if !ok {
		t.Fatal("the real proof names no log entry")
	}
	files := exampleFiles(t)
	files[bundle.ProofPath(p.ID())], files[bundle.LogEntryPath(uuid)] = data, entry
	x := indexOf(t, files)
	if got := linesOf(t, proofAt(t, x, "en", p.ID())); got[len(got)-1] != "prova verify proof.json" || len(got) != 2 {
		t.Errorf("a real proof of the public issuer: %q", got)
	}
	for _, id := range []string{citedFor(t, x, bundle.StatusSupported), citedFor(t, x, receipt.DetailProofMalformed), citedFor(t, x, bundle.StatusPending)} {
		if got := linesOf(t, proofAt(t, x, "en", id)); slices.Contains(got, "prova verify proof.json") || len(got) != 1 {
			t.Errorf("%s: %q", id, got)
		}
	}
}

func TestALineNamesOnlyFilesThatItsPageHas(t *testing.T) {
	t.Parallel()
	x := example(t)
	for _, id := range x.site.Load().editions[2].proofIDs {
		p := proofAt(t, x, "en", id)
		offered := map[string]bool{}
		for _, a := range p.one(t, "#verify").all("a") {
			offered[a.attr("download")] = true
		}
		for _, c := range p.one(t, "#verify").all("dt") {
			for word := range strings.FieldsSeq(c.text()) {
				if strings.HasSuffix(word, ".json") && !offered[word] {
					t.Errorf("%s: %q, but the page has no %s", id, c.text(), word)
				}
			}
		}
	}
}

func TestSection8APolicyThatNeedsBothWitnessesIsInTheLine(t *testing.T) {
	t.Parallel()
	c := newCatalogue(pages.English)
	for want, got := range map[string][]command{
		"prova verify --trust trust.json --require both --log-entry log-entry.json proof.json": proofCommands(c, receipt.RequireBoth, true, false),
		"prova verify --trust trust.json proof.json":                                           proofCommands(c, receipt.RequireAny, false, false),
	} {
		if len(got) != 1 || got[0].Line != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAnExportWithoutAServerReplaysAFolder(t *testing.T) {
	t.Parallel()
	for l, folder := range map[string]string{"en": "<folder of the bundle>", "fr": "<dossier de l’archive>"} {
		for address, want := range map[string]string{"": folder, "https://season.example": "bundle.tar.zst"} {
			x, err := New(Options{IssuerName: issuerName, Contact: contact, SeasonURL: address})
			if err != nil {
				t.Fatal(err)
			}
			s := example(t).site.Load()
			f, err := x.file(s, l+"/seasons/2.html", true)
			if err != nil {
				t.Fatal(err)
			}
			p := parseHTML(t, string(f.data))
			if got := linesOf(t, p); got[0] != "prova replay "+want || got[1] != "prova replay --trust my-trust.json "+want || len(got) != 3 {
				t.Errorf("%s %q: %q", l, address, got)
			}
			if found := strings.Contains(p.one(t, "#verify").text(), "bundle.tar.zst"); found != (address != "") {
				t.Errorf("%s %q: the archive is named: %t", l, address, found)
			}
			twin, err := x.file(s, l+"/seasons/2.json", true)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := canonjson.Resolve(parsed(t, twin.data), "/content/verify/0/command"); got != "prova replay "+want {
				t.Errorf("%s %q: the twin says %v", l, address, got)
			}
		}
	}
}
