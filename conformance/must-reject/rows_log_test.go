package mustreject_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// logRows are check 9 of section 10. Who changes what an entry's signature or
// checkpoint covers breaks that as well; the detail is the same.
func logRows() []row {
	missing, invalid := invalidProof("log_entry_missing"), invalidProof("log_entry_invalid")
	const uuid = "/transparency_log/uuid"
	// document changes the file of the proof's entry.
	document := func(change func(c *scene, o *canonjson.Object)) func(*scene) {
		return func(c *scene) {
			edit(bundle.LogEntryPath(c.uuid()), func(_ *testing.T, v any) { change(c, v.(*canonjson.Object)) })(c)
		}
	}
	entry := func(pointer string, to any) func(*scene) {
		return document(func(c *scene, o *canonjson.Object) { put(c.t, o, "/"+c.uuid()+pointer, to) })
	}
	rewritten := func(pointer string, change func(s string) string) func(*scene) {
		return document(func(c *scene, o *canonjson.Object) {
			put(c.t, o, "/"+c.uuid()+pointer, change(resolve(c.t, o, "/"+c.uuid()+pointer).(string)))
		})
	}
	// another names another entry and brings its file.
	another := func(from func(c *scene) (string, []byte)) func(*scene) {
		return func(c *scene) {
			id, data := from(c)
			c.s.Files[bundle.LogEntryPath(id)] = data
			view(uuid, id)(c)
		}
	}
	submitted := func(is *receipttest.Issuer, key *ecdsa.PrivateKey, anchored string) (string, []byte) {
		id, _ := is.LogEntryBy(key, anchored)
		data, _ := is.Entry(id)
		return id, data
	}
	// renamed stores the entry under another uuid, with its member named alike.
	renamed := func(change func(id string) string) func(*scene) {
		return another(func(c *scene) (string, []byte) {
			old, id := c.uuid(), change(c.uuid())
			return id, []byte(strings.Replace(string(c.s.Files[bundle.LogEntryPath(old)]), `"`+old+`"`, `"`+id+`"`, 1))
		})
	}
	return named("log-", "10", []row{
		{name: "null", rule: "check 9", what: "transparency_log null in a season that requires the log", expect: missing, anchored: view("/transparency_log", nil)},
		{name: "uuid-null", rule: "check 9", what: "uuid null in a season that requires the log", expect: missing, anchored: view(uuid, nil)},
		{name: "uuid-form", rule: "check 9", what: "a uuid of 63 hex", expect: missing, anchored: view(uuid, zeros[1:])},
		{name: "no-file", rule: "check 9", what: "the entry's file is not there", expect: missing, files: func(c *scene) { remove(bundle.LogEntryPath(c.uuid()))(c) }},
		{name: "not-strict", rule: "check 9, log entry", what: "bytes after the entry", expect: invalid, files: func(c *scene) {
			path := bundle.LogEntryPath(c.uuid())
			c.s.Files[path] = append(c.s.Files[path], '{')
		}},
		{name: "two-members", rule: "check 9, log entry", what: "a second member beside the uuid", expect: invalid,
			files: document(func(_ *scene, o *canonjson.Object) { o.Set(zeros, canonjson.NewObject()) })},
		{name: "other-member", rule: "check 9, log entry", what: "the member has another name than the file", expect: invalid, files: func(c *scene) {
			text(bundle.LogEntryPath(c.uuid()), `"`+c.uuid()+`"`, `"`+zeros+`"`)(c)
		}},
		{name: "body-kind", rule: "check 9, log entry", what: "a body of kind intoto", expect: invalid, files: rewritten("/body", func(s string) string {
			raw, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return err.Error()
			}
			return base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(raw), `"kind":"hashedrekord"`, `"kind":"intoto"`, 1)))
		})},
		{name: "other-hash", rule: "check 9, log entry", what: "a good entry of another batch root", expect: invalid,
			anchored: another(func(c *scene) (string, []byte) { return submitted(c.s.Issuer, c.s.Issuer.LogKey, zeros) })},
		{name: "submitter", rule: "check 9, log entry", what: "a good entry signed by a key that issuer.log_keys does not list", expect: invalid,
			anchored: another(func(c *scene) (string, []byte) {
				key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
				if err != nil {
					c.t.Fatal(err)
				}
				return submitted(c.s.Issuer, key, hex.EncodeToString(batchRoot(c)))
			})},
		{name: "submitter-retired", rule: "check 9, log entry", what: "the submitter's key was retired before the proof", expect: invalid, drafted: func(c *scene) {
			c.s.Issuer.LogRetiredAt = c.s.Issuer.Now()
			c.s.Files[bundle.TrustPath] = c.s.Issuer.Trust().JSON()
		}},
		{name: "unknown-log", rule: "check 9, log entry", what: "a good entry of a log that trust.json does not list", expect: invalid,
			anchored: another(func(c *scene) (string, []byte) {
				return submitted(stranger(c), c.s.Issuer.LogKey, hex.EncodeToString(batchRoot(c)))
			})},
		{name: "log-id", rule: "check 9, log entry", what: "another logID", expect: invalid, files: entry("/logID", zeros)},
		{name: "integrated-time", rule: "check 9, log entry", what: "another integratedTime than the signedEntryTimestamp covers", expect: invalid, files: entry("/integratedTime", canonjson.Int("1"))},
		{name: "entry-timestamp", rule: "check 9, log entry", what: "another signedEntryTimestamp", expect: invalid, files: rewritten("/verification/signedEntryTimestamp", flip)},
		{name: "no-inclusion", rule: "check 9, log entry", what: "no inclusion proof", expect: invalid, files: document(func(c *scene, o *canonjson.Object) {
			resolve(c.t, o, "/"+c.uuid()+"/verification").(*canonjson.Object).Delete("inclusionProof")
		})},
		{name: "path-short", rule: "check 9, log entry", what: "an inclusion proof without its hash", expect: invalid, files: entry("/verification/inclusionProof/hashes", []any{})},
		{name: "path-other", rule: "check 9, log entry", what: "another hash in the inclusion proof", expect: invalid, files: entry("/verification/inclusionProof/hashes/0", zeros)},
		{name: "leaf-index", rule: "check 9, log entry", what: "a tree-local logIndex equal to treeSize", expect: invalid, files: entry("/verification/inclusionProof/logIndex", canonjson.Int("2"))},
		{name: "root-hash", rule: "check 9, log entry", what: "another rootHash", expect: invalid, files: entry("/verification/inclusionProof/rootHash", zeros)},
		{name: "checkpoint-size", rule: "check 9, log entry", what: "another size in the checkpoint", expect: invalid, files: rewritten("/verification/inclusionProof/checkpoint", func(s string) string {
			return strings.Replace(s, "\n2\n", "\n3\n", 1)
		})},
		{name: "checkpoint-signature", rule: "check 9, log entry", what: "another signature of the checkpoint", expect: invalid, files: rewritten("/verification/inclusionProof/checkpoint", func(s string) string {
			i := len(s) - 24
			return s[:i] + flip(s[i:i+16]) + s[i+16:]
		})},
		{name: "uuid-tree", rule: "check 9, log entry", what: "a uuid of another tree", expect: invalid, anchored: renamed(func(id string) string { return flip(id[:16]) + id[16:] })},
		{name: "uuid-leaf", rule: "check 9, log entry", what: "a uuid of another leaf", expect: invalid, anchored: renamed(func(id string) string { return id[:16] + flip(id[16:]) })},
		{name: "local", rule: "check 9", what: "a good entry of a local log, listed as such, in a season that refuses local ones", expect: invalidProof("witness_not_independent"),
			anchored: another(func(c *scene) (string, []byte) {
				local, trust := stranger(c), c.s.Issuer.Trust()
				log := local.Log.Log()
				log.Name, log.Independent = "local log", false
				trust.Logs = append(trust.Logs, log)
				c.s.Files[bundle.TrustPath] = trust.JSON()
				return submitted(local, c.s.Issuer.LogKey, hex.EncodeToString(batchRoot(c)))
			})},
	})
}
