package mustreject_test

import (
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// entryOf changes the manifest entry of a resource and freezes anew.
func entryOf(resource, name string, to any) func(*scene) {
	return refrozen(edit(bundle.ManifestPath(trackName), func(t *testing.T, v any) {
		for i := range v.([]any) {
			if o := v.([]any)[i].(*canonjson.Object); resolve(t, o, "/resource") == resource {
				o.Set(name, to)
				return
			}
		}
		t.Fatalf("no entry of %s", resource)
	}))
}

// frozenLate freezes the track again, so much after the opening.
func frozenLate(after time.Duration) func(*scene) {
	return func(c *scene) {
		c.s.Issuer.Advance(bundletest.Opens().Add(after).Sub(c.s.Issuer.Now()))
		c.s.Freeze(trackName)
	}
}

// freezeRows are the nine checks of section 7.
func freezeRows() []row {
	const p = bundle.SeasonPath
	freeze, rules, key := bundle.FreezePath(trackName), bundle.RulesPath(trackName), bundle.KeyPath(trackName)
	manifest, entity := bundle.ManifestPath(trackName), bundle.CorpusFilePath(trackName, "entites/ENT-0001.json")
	var rows []row
	for _, r := range []struct {
		name, check, reason, what string
		files                     func(*scene)
	}{
		{"file-missing", "1", "freeze_proof_missing", "no freeze/conformite.json", remove(freeze)},
		{"not-strict", "1", "freeze_proof_missing", "a freeze file with a member twice", text(freeze, "{", `{"proof":1,`)},
		{"other-proof", "1", "freeze_proof_missing", "season.json names another proof", set(p, track0+"/freeze/proof_id", proofForm)},
		{"pending", "2", "freeze_proof_pending", "the freeze proof waits for its batch", set(freeze, "/proof/batch_anchor", canonjson.NewObject("status", "pending"))},
		{"signature", "3", "freeze_proof_invalid", "another signature of the freeze proof", set(freeze, "/proof/arkforge_signature", "ed25519:AA")},
		{"log-entry", "3", "freeze_proof_invalid", "the freeze proof's log entry is not there", func(c *scene) {
			v, err := canonjson.ParseStrict(c.s.Files[freeze])
			if err != nil {
				c.t.Fatal(err)
			}
			remove(bundle.LogEntryPath(resolve(c.t, v, "/proof/transparency_log/uuid").(string)))(c)
		}},
		{"disclosure", "3", "freeze_proof_invalid", "a nonce that opens nothing", set(freeze, "/disclosures/response_hash/nonce", zeros)},
		{"local-witness", "3", "freeze_proof_invalid", "trust.json calls the time-stamping authority local, the season refuses local ones",
			set(bundle.TrustPath, "/timestamp_authorities/0/independent", false)},
		{"late", "4", "freeze_proof_late", "a freeze one second after the opening", frozenLate(time.Second)},
		{"statement-hash", "5", "freeze_statement_mismatch", "season.json states another key commitment", set(p, track0+"/freeze/key_commitment", zeros)},
		{"statement-season", "5", "freeze_statement_mismatch", "season.json says season 2", set(p, "/season", 2)},
		{"window", "6", "rules_mismatch", "the window closes a day later", set(p, "/closes", "2026-10-23T10:00:00Z")},
		{"policy", "6", "rules_mismatch", "local witnesses are allowed after the freeze", set(p, "/witness_policy/local", "allowed")},
		{"policy-unknown-member", "6", "rules_mismatch", "an unknown member in witness_policy, which is hashed", set(p, "/witness_policy/extra", true)},
		{"corpus-host", "6", "rules_mismatch", "another corpus host", set(p, track0+"/corpus_host", "https://other.prova.test")},
		{"probative-field", "6", "rules_mismatch", "another probative field", edit(rules, func(t *testing.T, v any) {
			resolve(t, v, "/probative_fields").(*canonjson.Object).Set("/entites/", []any{"/statut", "/denomination"})
		})},
		{"rules-text", "6", "rules_mismatch", "a space at the end of the rules' text", func(c *scene) {
			c.s.Files[bundle.RulesTextPath(trackName)] = append(c.s.Files[bundle.RulesTextPath(trackName)], ' ')
		}},
		{"manifest-white-space", "7", "manifest_mismatch", "a line feed at the end of the manifest (D6)", func(c *scene) {
			c.s.Files[manifest] = append(c.s.Files[manifest], '\n')
		}},
		{"manifest-hash", "7", "manifest_mismatch", "another response hash in the manifest", set(manifest, "/0/response_sha256", zeros)},
		{"key-verdict", "8", "key_mismatch", "another verdict in the key", set(key, "/key/tasks/conf-01/verdict", "non_conforme")},
		{"key-salt", "8", "key_mismatch", "another salt", set(key, "/salt", zeros)},
		{"key-unknown-member", "8", "key_mismatch", "an unknown member in the key, which is hashed", set(key, "/key/extra", 1)},
		{"corpus-byte", "9", "corpus_mismatch", "another value in a corpus file", text(entity, "active", "Active")},
		{"corpus-file-missing", "9", "corpus_mismatch", "a corpus file is not there", remove(entity)},
		{"corpus-url", "9", "corpus_mismatch", "a url on another host, committed", entryOf("/entites/ENT-0001", "url", "https://other.test/entites/ENT-0001")},
		{"corpus-request-hash", "9", "corpus_mismatch", "the hash of another request, committed", entryOf("/entites/ENT-0001", "request_sha256", zeros)},
		{"corpus-system-url", "9", "corpus_mismatch", "a system body with a url, committed", entryOf("/_systeme/403", "url", "https://conformite.corpus.prova.test/_systeme/403")},
	} {
		rows = append(rows, row{name: "freeze-" + r.name, section: "7", rule: "check " + r.check, what: r.what, expect: refused(r.reason), files: r.files})
	}
	return rows
}
