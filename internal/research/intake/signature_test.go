package intake

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPullRequest209AVictimsHotkeyIsRefused: anyone may name a hotkey, only its
// owner signs under it.
func TestPullRequest209AVictimsHotkeyIsRefused(t *testing.T) {
	victim := func(f *fixture) {
		f.fields["miner_hotkey"] = "ce48ba6638eefb00ab74ca70d58f7aec57f7996d36dc11de6e8ac595150b5738"
	}
	newFixture(victim).refused(t, 401, "hotkey_signature invalid")

	unsigned := newFixture(victim, optional, noSignatureSent)
	if s := unsigned.passes(t, Run).Submission; s.Signed {
		t.Error("a submission without a signature passes for signed")
	}
}

func optional(f *fixture) { f.host.SignatureRequired = false }

func noSignatureSent(f *fixture) { f.fields["hotkey_signature"], f.fields["submit_nonce"] = nil, nil }

func TestDecision5ASignatureThatIsThereIsAlwaysChecked(t *testing.T) {
	if s := newFixture(optional).passes(t, Run).Submission; !s.Signed {
		t.Error("a signed submission passes for unsigned")
	}
	wrong := func(f *fixture) { f.fields["hotkey_signature"] = strings.Repeat("a", 128) }
	newFixture(optional, wrong).refused(t, 401, "hotkey_signature invalid")
	newFixture(optional, func(f *fixture) { f.fields["submit_nonce"] = nil }).refused(t, 401, "submit_nonce required")
	newFixture(optional, func(f *fixture) { f.fields["hotkey_signature"] = nil }).refused(t, 401, "hotkey_signature required")
}

func TestSection11Point5AHotkeyThatIsNoKeySignsNothing(t *testing.T) {
	newFixture(func(f *fixture) { f.fields["miner_hotkey"] = strings.Repeat("f", 64) }).refused(t, 401, "hotkey_signature invalid")
}

func TestDecision5TheArtefactsAddressIsOutsideTheSignature(t *testing.T) {
	f := newFixture()
	f.fields["hotkey_signature"] = f.sign()
	first := f.passes(t, Run).Submission
	bodies := map[[32]byte]bool{first.Body: true}
	for i, change := range []func(){
		func() { f.fields["artifact_uri"] = "https://elsewhere.invalid" },
		func() { f.fields["architecture"] = "label" },
		func() { throughput(f) }, // for which no address is a legal one
		func() { f.fields["artifact_uri"] = "" },
	} {
		change()
		s := f.passes(t, Run).Submission
		if s.Digest != first.Digest || bodies[s.Body] {
			t.Errorf("change %d: digest %s of %s, body %x seen before: %v", i, s.Digest, first.Digest, s.Body, bodies[s.Body])
		}
		bodies[s.Body] = true
	}
}

func TestDecision7TheLimitOfAHotkeyCountsOnlyWhatItSigned(t *testing.T) {
	limited := func(f *fixture) { f.facts.Miner.Limited = true }
	newFixture(optional, limited, noSignatureSent).passes(t, Run)
	newFixture(optional, limited).refused(t, 429, "too many submissions of this hotkey")
}

func TestPropertySignedSubmissionsPassHoweverTheHashesAreSpelt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		plain := f.accepted(t)
		spell := func(name string) {
			s := f.fields[name].(string)
			if rapid.Bool().Draw(t, name+" upper") {
				s = strings.ToUpper(s)
			}
			f.fields[name] = rapid.SampledFrom([]string{"", " ", "0x", "\n0x"}).Draw(t, name+" before") + s + rapid.SampledFrom([]string{"", "\t"}).Draw(t, name+" after")
		}
		spell("miner_hotkey")
		spell("artifact_digest")
		f.fields["topic_id"] = " topic-a "
		if spelt := f.accepted(t); spelt.Digest != plain.Digest || spelt.Nonce != plain.Nonce || spelt.Body != plain.Body {
			t.Fatalf("%+v and %+v differ", spelt, plain)
		}
	})
}

func (f *fixture) accepted(t rapid.TB) *Submission {
	t.Helper()
	out, refusal := f.decide()
	if refusal != nil {
		t.Fatalf("refused at row %s: %s", refusal.Row, refusal.Text)
	}
	return out.Submission
}

func TestPropertyPayloadsOfDifferentFieldsDiffer(t *testing.T) {
	signed := func(r Request) Signed {
		return Signed{r.MinerHotkey, r.TopicID, r.ArtifactDigest, r.DeclaredFLOPs, r.Claim, r.Manifest, value(r.SubmitNonce)}
	}
	sorted := func(p Signed) Signed {
		p.Manifest = Manifest{
			append([]string{}, slices.Sorted(slices.Values(p.Manifest.ContentHashes))...),
			append([]string{}, slices.Sorted(slices.Values(p.Manifest.DatasetIDs))...),
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := signed(anyRequest(t)), signed(anyRequest(t))
		if rapid.Bool().Draw(t, "alike") { // so that close neighbours are met
			b.Hotkey, b.TopicID, b.ArtifactDigest, b.DeclaredFLOPs, b.Claim = a.Hotkey, a.TopicID, a.ArtifactDigest, a.DeclaredFLOPs, a.Claim
		}
		same := reflect.DeepEqual(sorted(a), sorted(b))
		if bytes.Equal(a.Payload(), b.Payload()) != same {
			t.Fatalf("%+v and %+v have\n%x\n%x", a, b, a.Payload(), b.Payload())
		}
	})
}

func TestPropertyWhateverIsSignedVerifies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		p := Signed{miner().Public().String(), r.TopicID, r.ArtifactDigest, r.DeclaredFLOPs, r.Claim, r.Manifest, nonce}
		signature, err := miner().Sign(nil, Domain, p.Payload())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Verify(hex.EncodeToString(signature[:])); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(p.Manifest.ContentHashes)
		if err := p.Verify(hex.EncodeToString(signature[:])); err != nil {
			t.Fatalf("in another order: %v", err)
		}
		p.Manifest.DatasetIDs = append(p.Manifest.DatasetIDs, "")
		if p.Verify(hex.EncodeToString(signature[:])) == nil {
			t.Fatal("one more dataset and it still verifies")
		}
	})
}
