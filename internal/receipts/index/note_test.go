package index

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/platform/pages"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

func TestEveryNoteOfAWitnessHasATextThatNamesItsArgs(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		c := newCatalogue(l)
		for code, n := range receipt.NoteArgs() {
			if text, _ := c.Lookup("note." + code); strings.Count(text, "%s") != n || text == "" {
				t.Errorf("%s: %s: %q has not %d args", l, code, text, n)
			}
		}
		for _, n := range []receipt.Note{{}, {Code: "a_later_code"}, {Code: receipt.NoteToken}} {
			if got := c.note(n); got != "" {
				t.Errorf("%s: %+v reads %q", l, n, got)
			}
		}
	}
	if got := newCatalogue(pages.French).note(receipt.Note{Code: receipt.NoteIdentityUnbound, Args: []string{"did:web:\u202ea\nb"}}); got != "DID did:web:⟨U+202E⟩a b, vérifié mais non lié." {
		t.Errorf("a foreign value reads %q", got)
	}
}

// TestAFrenchProofPageSaysItsFindingsInFrench: what stays English is marked so.
func TestAFrenchProofPageSaysItsFindingsInFrench(t *testing.T) {
	t.Parallel()
	x := example(t)
	good := proofAt(t, x, "fr", citedFor(t, x, bundle.StatusSupported)).one(t, "table.witnesses")
	for _, want := range []string{"Clé key-1 de l’émetteur.", "Feuille ", " sous la racine ", "Jeton de ", "Entrée "} {
		if !strings.Contains(good.text(), want) {
			t.Errorf("%q is missing in %q", want, good.text())
		}
	}
	english, french := 0, 0
	for _, id := range x.site.Load().editions[2].proofIDs {
		p := proofAt(t, x, "fr", id)
		for _, table := range p.all("table.witnesses") {
			for _, td := range table.all("td") {
				for _, s := range td.all("span.small") {
					marked := s.attr("lang") == "en"
					if marked {
						english++
					} else {
						french++
					}
					for _, word := range []string{" the ", "not ", " is ", "issuer's"} {
						if !marked && strings.Contains(s.text(), word) {
							t.Errorf("%s: %q is not French", id, s.text())
						}
					}
				}
			}
		}
	}
	if english*10 > french {
		t.Errorf("%d details are English, %d French", english, french)
	}
}
