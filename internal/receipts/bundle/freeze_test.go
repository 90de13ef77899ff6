package bundle_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

const track = "conformite"

// set changes a member by a path of names.
func set(o *canonjson.Object, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, _ := o.Get(name)
		o = next.(*canonjson.Object)
	}
	o.Set(path[len(path)-1], v)
}

func get(t *testing.T, v any, pointer string) any {
	t.Helper()
	found, ok := canonjson.Resolve(v, pointer)
	if !ok {
		t.Fatalf("no %s", pointer)
	}
	return found
}

// editManifest changes the manifest entry of a resource.
func editManifest(t *testing.T, s *bundletest.Season, resource string, change func(o *canonjson.Object)) {
	t.Helper()
	v, err := canonjson.ParseStrict(s.Files[bundle.ManifestPath(track)])
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range v.([]any) {
		if o := e.(*canonjson.Object); get(t, o, "/resource") == resource {
			change(o)
		}
	}
	s.Files[bundle.ManifestPath(track)] = canonjson.Compact(v)
}

// TestSection7ChecksBeforeAnyScore makes each row of the table, in its order.
func TestSection7ChecksBeforeAnyScore(t *testing.T) {
	t.Parallel()
	edit := func(path string, change func(o *canonjson.Object)) func(*testing.T, *bundletest.Season) {
		return func(t *testing.T, s *bundletest.Season) { bundletest.Edit(t, s.Files, path, change) }
	}
	freeze, entity := bundle.FreezePath(track), bundle.CorpusFilePath(track, "entites/ENT-0001.json")
	refrozen := func(resource string, change func(o *canonjson.Object)) func(*testing.T, *bundletest.Season) {
		return func(t *testing.T, s *bundletest.Season) {
			editManifest(t, s, resource, change)
			s.Issuer.Advance(-48 * time.Hour)
			s.Freeze(track)
		}
	}
	for _, c := range []struct {
		name, reason string // reason "" means that everything holds
		change       func(t *testing.T, s *bundletest.Season)
	}{
		{"nothing changed", "", func(*testing.T, *bundletest.Season) {}},
		{"1: no freeze file", "freeze_proof_missing", func(_ *testing.T, s *bundletest.Season) { delete(s.Files, freeze) }},
		{"1: a freeze file that is no strict JSON", "freeze_proof_missing", func(_ *testing.T, s *bundletest.Season) { s.Files[freeze] = []byte("{\"proof\":1,\"proof\":1}") }},
		{"1: a freeze file without a proof", "freeze_proof_missing", edit(freeze, func(o *canonjson.Object) { o.Delete("proof") })},
		{"1: a proof that is no object", "freeze_proof_missing", edit(freeze, func(o *canonjson.Object) { o.Set("proof", "prf") })},
		{"1: another proof than published", "freeze_proof_missing", edit(bundle.SeasonPath, func(o *canonjson.Object) {
			set(o, "prf_20260101_000000_abcdef", "tracks", track, "freeze", "proof_id")
		})},
		{"2: a proof that waits for its batch", "freeze_proof_pending", edit(freeze, func(o *canonjson.Object) { set(o, "pending", "proof", "batch_anchor", "status") })},
		{"3: another signature", "freeze_proof_invalid", edit(freeze, func(o *canonjson.Object) { set(o, "ed25519:AA", "proof", "arkforge_signature") })},
		{"3: hashes.chain without prefix", "freeze_proof_invalid", edit(freeze, func(o *canonjson.Object) {
			set(o, strings.Repeat("0", 64), "proof", "hashes", "chain")
		})},
		{"3: no log entry", "freeze_proof_invalid", func(_ *testing.T, s *bundletest.Season) {
			for name := range s.Files {
				if strings.HasPrefix(name, "log-entries/") {
					delete(s.Files, name)
				}
			}
		}},
		{"3: a pair that opens nothing", "freeze_proof_invalid", edit(freeze, func(o *canonjson.Object) {
			set(o, strings.Repeat("0", 64), "disclosures", "response_hash", "nonce")
		})},
		{"3: no disclosures", "freeze_proof_invalid", edit(freeze, func(o *canonjson.Object) { o.Delete("disclosures") })},
		{"4: a token a second after the opening", "freeze_proof_late", func(_ *testing.T, s *bundletest.Season) {
			s.Issuer.Advance(bundletest.Opens().Add(time.Second).Sub(s.Issuer.Now()))
			s.Freeze(track)
		}},
		{"4: a token exactly at the opening", "", func(_ *testing.T, s *bundletest.Season) {
			s.Issuer.Advance(bundletest.Opens().Sub(s.Issuer.Now()))
			s.Freeze(track)
		}},
		{"5: published hashes that the proof does not anchor", "freeze_statement_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) {
			set(o, strings.Repeat("0", 64), "tracks", track, "freeze", "key_commitment")
		})},
		{"5: another season's number", "freeze_statement_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) { o.Set("season", 2) })},
		{"6: a window that closes later", "rules_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) { o.Set("closes", "2027-01-01T00:00:00Z") })},
		{"6: a witness policy with an unknown member", "rules_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) { set(o, true, "witness_policy", "extra") })},
		{"6: another corpus host", "rules_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) { set(o, "https://other.prova.test", "tracks", track, "corpus_host") })},
		{"6: a higher cap", "rules_mismatch", edit(bundle.SeasonPath, func(o *canonjson.Object) {
			tasks, _ := canonjson.Resolve(o, "/tracks/"+track+"/tasks")
			tasks.([]any)[0].(*canonjson.Object).Set("cap", 40)
		})},
		{"6: another field in the rules", "rules_mismatch", edit(bundle.RulesPath(track), func(o *canonjson.Object) {
			set(o, []any{"/denomination"}, "probative_fields", "/entites/")
		})},
		{"6: another text of the rules", "rules_mismatch", func(_ *testing.T, s *bundletest.Season) {
			s.Files[bundle.RulesTextPath(track)] = append(s.Files[bundle.RulesTextPath(track)], ' ')
		}},
		{"7: white space in the manifest", "manifest_mismatch", func(_ *testing.T, s *bundletest.Season) {
			s.Files[bundle.ManifestPath(track)] = append(s.Files[bundle.ManifestPath(track)], '\n')
		}},
		{"7: another hash in the manifest", "manifest_mismatch", func(t *testing.T, s *bundletest.Season) {
			editManifest(t, s, "/entites/ENT-0001", func(o *canonjson.Object) { o.Set("response_sha256", strings.Repeat("0", 64)) })
		}},
		{"8: another verdict in the key", "key_mismatch", edit(bundle.KeyPath(track), func(o *canonjson.Object) {
			set(o, "non_conforme", "key", "tasks", "conf-01", "verdict")
		})},
		{"8: another salt", "key_mismatch", edit(bundle.KeyPath(track), func(o *canonjson.Object) { o.Set("salt", strings.Repeat("0", 64)) })},
		{"8: white space in the key's file", "", func(_ *testing.T, s *bundletest.Season) {
			s.Files[bundle.KeyPath(track)] = append([]byte("\n "), s.Files[bundle.KeyPath(track)]...)
		}},
		{"9: another byte in a corpus file", "corpus_mismatch", func(_ *testing.T, s *bundletest.Season) {
			s.Files[entity] = bytes.Replace(s.Files[entity], []byte("active"), []byte("Active"), 1)
		}},
		{"9: a corpus file that is missing", "corpus_mismatch", func(_ *testing.T, s *bundletest.Season) { delete(s.Files, entity) }},
		{"9: a corpus file that is no JSON", "corpus_mismatch", func(_ *testing.T, s *bundletest.Season) { s.Files[entity] = []byte("{") }},
		{"9: white space in a corpus file", "", func(_ *testing.T, s *bundletest.Season) { s.Files[entity] = append(s.Files[entity], '\n') }},
		{"9: a url on another host", "corpus_mismatch", refrozen("/entites/ENT-0001", func(o *canonjson.Object) { o.Set("url", "https://other.test/entites/ENT-0001") })},
		{"9: a request hash of another request", "corpus_mismatch", refrozen("/entites/ENT-0001", func(o *canonjson.Object) { o.Set("request_sha256", strings.Repeat("0", 64)) })},
		{"9: no request hash", "corpus_mismatch", refrozen("/entites/ENT-0001", func(o *canonjson.Object) { o.Set("request_sha256", nil) })},
		{"9: a system body with a url", "corpus_mismatch", refrozen("/_systeme/403", func(o *canonjson.Object) { o.Set("url", "https://conformite.corpus.prova.test/_systeme/403") })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := bundletest.New(t, bundletest.Compliance(1))
			c.change(t, s)
			b := s.Open()
			refusal := b.CheckFreeze(receipt.NewChecker(b.Trust))
			switch {
			case refusal == nil && c.reason != "":
				t.Errorf("nothing refused, want %s", c.reason)
			case refusal != nil && (refusal.Reason != c.reason || refusal.Track != track):
				t.Errorf("got %v, want %q of track %s", refusal, c.reason, track)
			case refusal != nil && (refusal.Why == "" || strings.ContainsAny(refusal.Error(), "\n\r")):
				t.Errorf("%q must say why on one line", refusal.Error())
			}
		})
	}
}

func TestSection7TheFirstTrackByNameIsRefused(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Purchasing(), bundletest.Compliance(1))
	delete(s.Files, bundle.FreezePath("generique"))
	s.Files[bundle.RulesTextPath(track)] = nil // a later check of the earlier track
	b := s.Open()
	if r := b.CheckFreeze(receipt.NewChecker(b.Trust)); r == nil || r.Track != track || r.Reason != bundle.ReasonRules {
		t.Errorf("got %v, want %s of %s", r, bundle.ReasonRules, track)
	}
}

// TestSection7TheFreezeNeedsTheSeasonsWitnesses refuses local ones under a policy
// that does.
func TestSection7TheFreezeNeedsTheSeasonsWitnesses(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	b := s.Open()
	r := b.CheckFreeze(receipt.NewChecker(s.Issuer.LocalTrust()))
	if r == nil || r.Reason != bundle.ReasonFreezeInvalid || !strings.Contains(r.Why, receipt.DetailWitnessNotIndependent) {
		t.Errorf("got %v, want %s: %s", r, bundle.ReasonFreezeInvalid, receipt.DetailWitnessNotIndependent)
	}
	if r := b.CheckFreeze(receipt.NewChecker(receipttest.New(t).Trust())); r == nil || r.Reason != bundle.ReasonFreezeInvalid {
		t.Errorf("keys that never signed it: got %v, want %s", r, bundle.ReasonFreezeInvalid)
	}
}

// TestHashesOfSections4To7AgreeWithComputedOnes fixes the formulas by values
// computed apart (python3, hashlib and json.dumps).
func TestHashesOfSections4To7AgreeWithComputedOnes(t *testing.T) {
	t.Parallel()
	if got := bundle.RequestHash("https://corpus.example.test/entites/ENT-0001"); got != "bddf2156fd8aa0075470d98c2d3b51b6882da25be12c8a60106d1373cc4dd896" {
		t.Errorf("request hash %s (T§4.3)", got)
	}
	for body, want := range map[string]string{
		`{}`:                                  "247fb85306c7b6f642aee12a918f957c0b9a12bb7ec0137ac820deb73746f779", // T§4.8: a falsy body
		`[]`:                                  "247fb85306c7b6f642aee12a918f957c0b9a12bb7ec0137ac820deb73746f779",
		`0.0`:                                 "247fb85306c7b6f642aee12a918f957c0b9a12bb7ec0137ac820deb73746f779",
		`{"error":"proxy_timeout"}`:           "19b2dbc9f55a7fbe2f7b1e1f74320785cca4df8ef1ef1fe1bff00da13a74150f",
		`{"error":1,"error":"proxy_timeout"}`: "19b2dbc9f55a7fbe2f7b1e1f74320785cca4df8ef1ef1fe1bff00da13a74150f", // last wins
	} {
		if got, err := bundle.ResponseHash([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", body, got, err, want)
		}
	}
	if _, err := bundle.ResponseHash([]byte("<html>")); err == nil {
		t.Error("a body that is no JSON has no response hash here")
	}
}
