package scoring_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

// TestSection8OneByteOfWhatWasCommittedIsRefused changes one place of the
// independent example; each must be refused, for the reason of the page.
func TestSection8OneByteOfWhatWasCommittedIsRefused(t *testing.T) {
	t.Parallel()
	sound := exampleFiles(t)
	for _, c := range []struct{ name, path, old, new, reason string }{
		{"key: a verdict", "keys/conformite.json", `"verdict":"non_conforme"`, `"verdict":"non_conformf"`, bundle.ReasonKey},
		{"key: a fact", "keys/conformite.json", `"value":"AGR-4391"`, `"value":"AGR-4392"`, bundle.ReasonKey},
		{"salt", "keys/conformite.json", `"salt":"b4f6`, `"salt":"b4f7`, bundle.ReasonKey},
		{"corpus", "corpora/conformite/files/agrements/AGR-4391.json", `2026-07-17`, `2027-07-17`, bundle.ReasonCorpus},
		{"manifest", "corpora/conformite/manifest.json", `8e0f713e`, `8e0f713f`, bundle.ReasonManifest},
		{"rules: a field", "rules/conformite.json", `"/existe"`, `"/exista"`, bundle.ReasonRules},
		{"rules: the text", "rules/conformite.md", `figée`, `figée `, bundle.ReasonRules},
		{"a cap", "season.json", `"cap":4`, `"cap":5`, bundle.ReasonRules},
		{"the window", "season.json", `2026-11-21T23:59:59Z`, `2026-11-22T23:59:59Z`, bundle.ReasonRules},
		{"a published hash", "season.json", `"key_commitment":"90da`, `"key_commitment":"90db`, bundle.ReasonFreezeStatement},
		{"the freeze's signature", "freeze/conformite.json", `"arkforge_signature":"ed25519:`, `"arkforge_signature":"ed25519:A`, bundle.ReasonFreezeInvalid},
		{"the freeze's opened statement", "freeze/conformite.json", `"value":"96e4f2a3`, `"value":"96e4f2a4`, bundle.ReasonFreezeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(sound)
			files[c.path] = bytes.Replace(sound[c.path], []byte(c.old), []byte(c.new), 1)
			if bytes.Equal(files[c.path], sound[c.path]) {
				t.Fatal("the case changes nothing")
			}
			var out bytes.Buffer
			var refusal *bundle.Refusal
			err := scoring.Score(openFiles(t, files), nil, &out)
			if !errors.As(err, &refusal) || refusal.Reason != c.reason || out.Len() > 0 {
				t.Errorf("got %v and %d bytes, want %s and none", err, out.Len(), c.reason)
			}
		})
	}
}

// TestSection10OneByteOfAProofNeverHelps changes one byte of a proof, a log entry
// or a submission: the assertions that were supported stay or lose, none gains.
func TestSection10OneByteOfAProofNeverHelps(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	claims := s.Claims("conf-01", 3)
	claims[2].Value = "2030-01-01" // unsupported from the start
	s.Submit(did, "conf-01", "conforme", claims...)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.Files)), func(name string) bool {
		return !strings.HasPrefix(name, "proofs/") && !strings.HasPrefix(name, "log-entries/")
	})
	before := taskOf(t, row(t, scored(t, s.Files), "conformite", did), "conf-01")
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "file")
		data := slices.Clone(s.Files[name])
		i := rapid.IntRange(0, len(data)-1).Draw(rt, "byte")
		data[i] = rapid.Byte().Draw(rt, "to")
		files := maps.Clone(s.Files)
		files[name] = data
		b, err := bundle.OpenFS(bundletest.FS(files))
		if err != nil {
			rt.Fatalf("%s: %v: a proof never makes a bundle unreadable", name, err)
		}
		var out bytes.Buffer
		err = scoring.Score(b, nil, &out)
		var refusal *bundle.Refusal
		if errors.As(err, &refusal) && strings.HasPrefix(name, "log-entries/") {
			return // the freeze's own entry
		}
		if err != nil {
			rt.Fatal(err)
		}
		r, err := results.Parse(out.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		after := r.Tracks["conformite"].Participants[0].Tasks[0]
		for i, a := range after.Assertions {
			if a.Status == bundle.StatusSupported && before.Assertions[i].Status != bundle.StatusSupported {
				rt.Fatalf("%s byte %d: assertion %s became supported", name, i, a.ID)
			}
		}
	})
}
