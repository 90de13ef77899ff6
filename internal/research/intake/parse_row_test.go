package intake

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/family"
)

func storedRow(t interface{ Fatal(args ...any) }, r *StoredRow) string {
	text, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSection11Point4ARowReadsBackByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\u2028<&>\"\\é\x7f", "\U0001F600"}))
		list := rapid.SliceOfN(words, 0, 3)
		s := func(name string) string { return words.Draw(t, name) }
		r := &StoredRow{
			ID: ID(rapid.Uint64().Draw(t, "id")).String(), TopicID: s("topic"), MinerHotkey: s("hotkey"), ArtifactDigest: s("artefact"),
			ArtifactURI: rapid.Ptr(words, true).Draw(t, "uri"), Claim: s("claim"), DeclaredFLOPs: rapid.Uint64().Draw(t, "flops"),
			Architecture: s("architecture"), InferenceOfferID: s("judge"), ConfigCommitment: s("commitment"), ExecutorOfferID: s("executor"),
			ExecutorCommitment: s("executor_commitment"), Manifest: StoredManifest{list.Draw(t, "hashes"), list.Draw(t, "datasets")},
			Nonce: s("nonce"), SubmissionDigest: s("digest"), State: rapid.SampledFrom([]family.State{family.Champion, family.AwaitingAdmin, family.Rejected}).Draw(t, "state"),
			ReceiptJSON: rapid.Ptr(words, true).Draw(t, "receipt"), Verdict: family.PreEvalReject(family.Topic{ID: s("id"), Family: family.NLL}, list.Draw(t, "hits")),
			Detail: rapid.Ptr(words, true).Draw(t, "detail"), Epoch: rapid.Uint64().Draw(t, "epoch"),
		}
		stored := storedRow(t, r)
		back, err := ParseRow([]byte(stored))
		if err != nil {
			t.Fatalf("%v\n%s", err, stored)
		}
		if again := storedRow(t, back); again != stored {
			t.Fatalf("stored %s\nagain  %s", stored, again)
		}
	})
}

func TestParseRowRefusesWhatIsNoStoredRow(t *testing.T) {
	row, _, err := newFixture().passes(t, Run).Persist(7, Result{Verdict: family.Verdict{Pass: true}})
	if err != nil {
		t.Fatal(err)
	}
	stored := storedRow(t, row)
	for _, c := range []struct{ name, old, new string }{
		{"empty", stored, ""},
		{"null", stored, "null"},
		{"something after it", stored, stored + "{}"},
		{"an unknown member", `{"id"`, `{"more":1,"id"`},
		{"a member twice", `{"id"`, `{"epoch":7,"id"`},
		{"a missing member", `,"epoch":7`, ``},
		{"a member of another case", `"epoch":7`, `"Epoch":7`},
		{"a space", `"epoch":7`, `"epoch": 7`},
		{"an id of another form", `"pf_0000000000000007"`, `"pf_7"`},
		{"an unknown state", `"state":"awaiting_admin"`, `"state":"accepted"`},
		{"a float for an integer", `"declared_flops":1000`, `"declared_flops":1e3`},
		{"a verdict that is none", `"lattice":0`, `"lattice":"0"`},
		{"an escape that was not written", `"topic_id":"topic-a"`, `"topic_id":"\u0074opic-a"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(stored, c.old, c.new, 1)
			if text == stored {
				t.Fatal("nothing was replaced in", stored)
			}
			if _, err := ParseRow([]byte(text)); !errors.Is(err, ErrRow) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParseRow(f *testing.F) {
	row := &StoredRow{ID: ID(0).String(), State: family.Rejected, Verdict: family.PreEvalReject(family.Topic{ID: "t"}, nil)}
	f.Add([]byte(storedRow(f, row)))
	row.ArtifactURI, row.Detail, row.Manifest.TrainDatasetIDs = ptr(""), ptr("gates=[]"), []string{"é"}
	f.Add([]byte(storedRow(f, row)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := ParseRow(data); err == nil && storedRow(t, r) != string(data) {
			t.Errorf("%s reads as %s", data, storedRow(t, r))
		}
	})
}

func BenchmarkParseRow(b *testing.B) {
	row := &StoredRow{ID: ID(0).String(), State: family.Rejected, Claim: strings.Repeat("x", 500), Verdict: family.PreEvalReject(family.Topic{ID: "t"}, nil)}
	stored := []byte(storedRow(b, row))
	b.SetBytes(int64(len(stored)))
	for b.Loop() {
		if _, err := ParseRow(stored); err != nil {
			b.Fatal(err)
		}
	}
}
