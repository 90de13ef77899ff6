package agent

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"
	"time"
	"unicode"
)

// run lets a reference agent play a season and counts its result.
func run(t *testing.T, s *standIn, ref Reference) tally {
	t.Helper()
	a, w := s.join(ref.Name)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	c := NewClient(a)
	check(t, c.AwaitOpen(ctx))
	check(t, ref.Run(ctx, c, w))
	return s.tally(a.AgentDID)
}

func reference(t *testing.T, slug string) Reference {
	t.Helper()
	for _, r := range References() {
		if r.Slug == slug {
			return r
		}
	}
	t.Fatalf("no reference agent %q", slug)
	return Reference{}
}

func TestReferences(t *testing.T) {
	s := newStandIn(t, practice())
	got := map[string]tally{}
	for _, ref := range References() {
		got[ref.Slug] = run(t, s, ref)
		t.Logf("%-16s %+v", ref.Slug, got[ref.Slug])
		if n := got[ref.Slug].submitted; n != 10 {
			t.Errorf("%s: %d tasks submitted, want all ten: %v", ref.Slug, n, got[ref.Slug].states)
		}
	}
	if r := got["reader"]; r.grounded != 10 || r.unsupported != 0 {
		t.Errorf("Reader: %+v, want ten grounded and nothing unsupported", r)
	}
	if r := got["first-answer"]; r.unsupported != 0 || r.grounded >= 5 {
		t.Errorf("First Answer: %+v, want nothing unsupported and few grounded", r)
	}
	if r := got["no-consultation"]; r.supported != 0 || r.grounded != 0 {
		t.Errorf("No Consultation: %+v, want nothing supported", r)
	}
	if r := got["expected-values"]; r.supported == 0 || r.unsupported == 0 {
		t.Errorf("Expected Values: %+v, want some of both", r)
	}
	if r := got["constant"]; r.unsupported != 0 || r.exact != 4 || r.grounded > 2 {
		t.Errorf("Constant: %+v, want the four of the breakdown exact and hardly one grounded", r)
	}
	if r := got["random-receipts"]; r.unsupported <= r.supported || r.supported == 0 {
		t.Errorf("Random Receipts: %+v, want more unsupported than supported, and not only those", r)
	}
}

func TestReaderReachesTheKeyOnManyCorpora(t *testing.T) {
	for i := range 25 {
		o := practice()
		o.Seed = sha256.Sum256([]byte{byte(i), 'r'})
		if i%3 == 1 {
			o.Size = 12
		}
		s := newStandIn(t, o)
		got := run(t, s, reference(t, "reader"))
		if got.grounded != 10 || got.unsupported != 0 || got.submitted != 10 {
			t.Errorf("seed %d: %+v", i, got)
		}
	}
}

func TestReaderKeepsTheBoundsOfSection56AndConsultsNothingTwice(t *testing.T) {
	s := newStandIn(t, practice())
	a, w := s.join("Reader")
	check(t, reference(t, "reader").Run(t.Context(), NewClient(a), w))
	seen := map[string]bool{}
	for _, p := range s.proofs {
		if seen[p.resource] {
			t.Errorf("%s was consulted twice", p.resource)
		}
		seen[p.resource] = true
	}
	if n := len(s.proofs); n < 20 || n > 150 {
		t.Errorf("the Reader made %d proofs, §5.6 expects 50 to 150 and no more", n)
	}
	for id, sub := range s.submitted(a.AgentDID) {
		if sub.Narrative == nil || !strings.Contains(*sub.Narrative, " / ") {
			t.Errorf("%s: the narrative is not in both languages: %v", id, sub.Narrative)
		}
	}
}

func TestRandomReceiptsDrawsTheSameLotsInEveryRun(t *testing.T) {
	first := run(t, newStandIn(t, practice()), reference(t, "random-receipts"))
	second := run(t, newStandIn(t, practice()), reference(t, "random-receipts"))
	if first.supported != second.supported || first.unsupported != second.unsupported || first.exact != second.exact {
		t.Errorf("two runs differ: %+v and %+v", first, second)
	}
}

func TestReferencesAreDescribedInBothLanguagesWithoutForbiddenWords(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range References() {
		if seen[r.Slug] || seen[r.Name] || r.Slug == "" || r.Name == "" {
			t.Errorf("%q %q: names are not distinct", r.Slug, r.Name)
		}
		seen[r.Slug], seen[r.Name] = true, true
		if len(r.Describe) != 2 || r.Describe["fr"] == "" || r.Describe["en"] == "" {
			t.Errorf("%s: descriptions %v, want fr and en", r.Slug, r.Describe)
		}
		for _, one := range strings.FieldsFunc(strings.ToLower(r.Name+" "+r.Describe["fr"]+" "+r.Describe["en"]), func(r rune) bool { return !unicode.IsLetter(r) }) {
			for _, bad := range []string{"li" + "e", "li" + "es", "ly" + "ing", "ment", "ment" + "ir"} {
				if one == bad {
					t.Errorf("%s: %q is in its texts", r.Slug, bad)
				}
			}
			for _, bad := range []string{"che" + "at", "dis" + "hon", "hal" + "lu", "fra" + "ud", "tri" + "ch"} {
				if strings.Contains(one, bad) {
					t.Errorf("%s: %q is in its texts", r.Slug, one)
				}
			}
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d names, want at least five agents", len(seen))
	}
}

func TestReferencesOverTrackTheyDoNotKnowSaySo(t *testing.T) {
	for _, r := range References() {
		err := r.Run(t.Context(), NewClient(&Access{}), &Work{Season: 1, Tracks: map[string]TrackWork{"generique": {}}})
		if err == nil || !strings.Contains(err.Error(), "generique") {
			t.Errorf("%s: %v", r.Slug, err)
		}
	}
}

func TestReferencesEndWithTheirContext(t *testing.T) {
	s := newStandIn(t, practice())
	for _, ref := range References() {
		a, w := s.join(ref.Name)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ref.Run(ctx, NewClient(a), w); err == nil {
			t.Errorf("%s: no error from a run that was cancelled", ref.Slug)
		}
	}
}
