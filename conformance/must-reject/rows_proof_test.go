package mustreject_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// retired retires the issuer's key, so much after now, in trust.json only.
func retired(c *scene, after time.Duration) {
	c.s.Issuer.Keys[0].RetiredAt = c.s.Issuer.Now().Add(after)
	c.s.Files[bundle.TrustPath] = c.s.Issuer.Trust().JSON()
}

// at moves the issuer's clock: the batch's token is of that time.
func at(instant time.Time) func(*scene) {
	return func(c *scene) { c.s.Issuer.Advance(instant.Sub(c.s.Issuer.Now())) }
}

// proofRows are checks 1 to 6, 8, 10 and 11 of step 1; tokenRows and logRows are
// checks 7 and 9.
func proofRows() []row {
	proofFile := func(change func(c *scene, data []byte) []byte) func(*scene) {
		return func(c *scene) { c.s.Files[bundle.ProofPath(c.id())] = change(c, c.draft.JSON()) }
	}
	pair := func(name, member, to string) func(*scene) {
		return func(c *scene) {
			set(bundle.SubmissionPath(agent, taskID), "/disclosures/"+c.id()+"/"+name+"/"+member, to)(c)
		}
	}
	rows := []row{
		{name: "missing", rule: "check 1", what: "the cited proof is not there", expect: invalidProof("proof_missing"),
			files: func(c *scene) { remove(bundle.ProofPath(c.id()))(c) }},
		{name: "not-strict", rule: "check 1", what: "bytes after the proof", expect: invalidProof("proof_malformed"),
			files: proofFile(func(_ *scene, data []byte) []byte { return append(data, '{') })},
		{name: "other-id", rule: "check 1", what: "another proof_id than the file's name", expect: invalidProof("proof_malformed"), anchored: nil,
			files: func(c *scene) { set(bundle.ProofPath(c.id()), "/proof_id", proofForm)(c) }},
		{name: "chain-prefix", rule: "check 1", what: "hashes.chain without sha256:", expect: invalidProof("proof_malformed"), anchored: view("/hashes/chain", zeros)},
		{name: "no-commitments", rule: "check 2", what: "commitments null", expect: invalidProof("commitments_missing"), anchored: view("/commitments", nil)},
		{name: "commitment-prefix", rule: "check 2", what: "a commitment without sha256:", expect: invalidProof("commitments_malformed"), anchored: view("/commitments/seller", zeros)},
		{name: "other-commitment", rule: "check 3", what: "another commitment of seller", expect: invalidProof("chain_mismatch"), anchored: view("/commitments/seller", "sha256:"+zeros)},
		{name: "further-commitment", rule: "check 3", what: "one commitment more than the chain covers", expect: invalidProof("chain_mismatch"), anchored: view("/commitments/extra", "sha256:"+zeros)},
		{name: "unknown-kid", rule: "check 4", what: "a kid that trust.json does not list", expect: invalidProof("issuer_key_refused"), anchored: view("/arkforge_kid", "key-9")},
		{name: "other-pubkey", rule: "check 4", what: "a known kid with another arkforge_pubkey", expect: invalidProof("issuer_key_refused"), anchored: flipped("/arkforge_pubkey")},
		{name: "unknown-pubkey", rule: "check 4", what: "no kid and a key that trust.json does not list", expect: invalidProof("issuer_key_refused"), anchored: func(c *scene) {
			view("/arkforge_kid", nil)(c)
			flipped("/arkforge_pubkey")(c)
		}},
		{name: "retired-key", rule: "check 4", what: "the proof's timestamp is the second of the key's retirement", expect: invalidProof("issuer_key_refused"),
			drafted: func(c *scene) { retired(c, 0) }},
		{name: "timestamp-form", rule: "check 4", what: "a bounded key and a timestamp that does not start with YYYY-MM-DDTHH:MM:SS", expect: invalidProof("issuer_key_refused"),
			drafted: func(c *scene) { retired(c, 24*time.Hour) }, anchored: view("/timestamp", "2026-09-23 10:00:00Z")},
		{name: "signature", rule: "check 5", what: "another signature", expect: invalidProof("signature_invalid"), anchored: flipped("/arkforge_signature")},
		{name: "signature-padded", rule: "check 5", what: "the signature in padded base64url", expect: invalidProof("signature_invalid"), anchored: func(c *scene) {
			view("/arkforge_signature", resolve(c.t, c.draft.Doc, "/arkforge_signature").(string)+"==")(c)
		}},
		{name: "batch-null", rule: "check 6", what: "batch_anchor null", expect: invalidProof("batch_malformed"), anchored: view("/batch_anchor", nil)},
		{name: "leaf-index-float", rule: "check 6", what: "leaf_index 0.0", expect: invalidProof("batch_malformed"), anchored: view("/batch_anchor/leaf_index", 0.0)},
		{name: "leaf-index-beyond", rule: "check 6", what: "leaf_index equal to tree_size", expect: invalidProof("batch_malformed"), anchored: view("/batch_anchor/leaf_index", 2)},
		{name: "path-node", rule: "check 6", what: "a node in capitals", expect: invalidProof("batch_malformed"), anchored: view("/batch_anchor/audit_path/0", strings.Repeat("A", 64))},
		{name: "path-short", rule: "check 6", what: "an audit path without its last node", expect: invalidProof("path_length"), anchored: view("/batch_anchor/audit_path", []any{})},
		{name: "path-long", rule: "check 6", what: "an audit path with a node more", expect: invalidProof("path_length"), anchored: func(c *scene) {
			view("/batch_anchor/audit_path", append(resolve(c.t, c.draft.Doc, "/batch_anchor/audit_path").([]any), zeros))(c)
		}},
		{name: "other-root", rule: "check 6", what: "another batch root", expect: invalidProof("path_mismatch"), anchored: view("/batch_anchor/root", "sha256:"+zeros)},
		{name: "late-token-of-retired-key", rule: "check 8", what: "a token 3600 seconds after the key's retirement", expect: invalidProof("issuer_key_refused"),
			drafted: func(c *scene) {
				retired(c, time.Second)
				c.s.Issuer.Advance(time.Hour + time.Second)
			}},
		{name: "nonce", rule: "check 10", what: "a nonce that opens nothing", expect: invalidProof("disclosure_mismatch"), files: pair("response_hash", "nonce", zeros)},
		{name: "value", rule: "check 10", what: "a value that opens nothing", expect: invalidProof("disclosure_mismatch"), files: pair("request_hash", "value", zeros)},
		{name: "after-closes", rule: "check 11", what: "a token one second after closes", expect: invalidProof("token_outside_window"), drafted: at(bundletest.Closes().Add(time.Second))},
		{name: "before-opens", rule: "check 11", what: "a token one second before opens", expect: invalidProof("token_outside_window"), drafted: at(bundletest.Opens().Add(-time.Second))},
	}
	return named("proof-", "10", rows)
}

// named completes the rows of one section.
func named(prefix, section string, rows []row) []row {
	for i := range rows {
		rows[i].name, rows[i].section = prefix+rows[i].name, section
	}
	return rows
}

// batchRoot is the root that the proof's batch anchored.
func batchRoot(c *scene) []byte {
	root, err := hex.DecodeString(strings.TrimPrefix(resolve(c.t, c.draft.Doc, "/batch_anchor/root").(string), "sha256:"))
	if err != nil {
		c.t.Fatal(err)
	}
	return root
}

// stranger is another issuer with witnesses of its own, at the same time.
func stranger(c *scene) *receipttest.Issuer {
	is := receipttest.New(c.t)
	is.Advance(c.s.Issuer.Now().Sub(is.Now()))
	return is
}

const tsr = "/timestamp_authority/tsr_base64"

func tokenRows() []row {
	token := func(from func(c *scene) []byte) func(*scene) {
		return func(c *scene) { view(tsr, base64.StdEncoding.EncodeToString(from(c)))(c) }
	}
	rewritten := func(change func(s string) string) func(*scene) {
		return func(c *scene) { view(tsr, change(resolve(c.t, c.draft.Doc, tsr).(string)))(c) }
	}
	decoded := func(c *scene) []byte {
		der, err := base64.StdEncoding.DecodeString(resolve(c.t, c.draft.Doc, tsr).(string))
		if err != nil {
			c.t.Fatal(err)
		}
		return der
	}
	return named("token-", "10", []row{
		{name: "null", rule: "check 7", what: "tsr_base64 null", expect: invalidProof("token_missing"), anchored: view(tsr, nil)},
		{name: "authority-null", rule: "check 7", what: "timestamp_authority null", expect: invalidProof("token_missing"), anchored: view("/timestamp_authority", nil)},
		{name: "base64-line", rule: "check 7, token", what: "a line feed in the base64", expect: invalidProof("token_invalid"), anchored: rewritten(func(s string) string { return s[:64] + "\n" + s[64:] })},
		{name: "further-bytes", rule: "check 7, token", what: "a byte after the response", expect: invalidProof("token_invalid"),
			anchored: token(func(c *scene) []byte { return append(decoded(c), 0) })},
		{name: "status", rule: "check 7, token", what: "PKIStatus 2, rejection, around a good token", expect: invalidProof("token_invalid"), anchored: token(func(c *scene) []byte {
			der := decoded(c)
			i := strings.Index(string(der), "\x02\x01\x00") // the first INTEGER of the response is its status
			der[i+2] = 2
			return der
		})},
		{name: "signature", rule: "check 7, token", what: "another last byte of the signature", expect: invalidProof("token_invalid"), anchored: token(func(c *scene) []byte {
			der := decoded(c)
			der[len(der)-1] ^= 1
			return der
		})},
		{name: "imprint", rule: "check 7, token", what: "a token over another root", expect: invalidProof("token_invalid"),
			anchored: token(func(c *scene) []byte { return c.s.Issuer.Token(make([]byte, 32)) })},
		{name: "imprint-of-hex", rule: "check 7, token", what: "a token over the root's hex characters", expect: invalidProof("token_invalid"),
			anchored: token(func(c *scene) []byte { return c.s.Issuer.Token([]byte(hex.EncodeToString(batchRoot(c)))) })},
		{name: "unknown-provider", rule: "check 7, token", what: "a provider that trust.json does not list", expect: invalidProof("token_invalid"), anchored: view("/timestamp_authority/provider", "tsa.other.test")},
		{name: "other-chain", rule: "check 7, token", what: "a token of another authority under the listed name", expect: invalidProof("token_invalid"),
			anchored: token(func(c *scene) []byte { return stranger(c).Token(batchRoot(c)) })},
		{name: "local", rule: "check 7", what: "a token of a local authority, listed as such, in a season that refuses local ones", expect: invalidProof("witness_not_independent"), anchored: func(c *scene) {
			local, trust := stranger(c), c.s.Issuer.Trust()
			trust.Authorities = append(trust.Authorities, local.TSA.Authority("local.prova.test"))
			c.s.Files[bundle.TrustPath] = trust.JSON()
			token(func(c *scene) []byte { return local.Token(batchRoot(c)) })(c)
			view("/timestamp_authority/provider", "local.prova.test")(c)
		}},
	})
}

func identityRows() []row {
	unbound := func(detail string) expect { return assertion("unsupported", "identity_not_bound", detail) }
	identity := func(verified, status any) func(*scene) {
		return func(c *scene) {
			c.spec.Identity = map[string]any{"agent_identity": agent, "agent_identity_verified": verified, "did_resolution_status": status, "identity_consistent": true}
		}
	}
	flat := func(name, what, pointer string, to any) row {
		return row{name: "flat-" + name, rule: "flat fields", what: what, expect: flatField(strings.ReplaceAll(pointer[1:], "/", ".")), anchored: view(pointer, to)}
	}
	return named("identity-", "10", []row{
		{name: "version-3.0", rule: "step 2", what: "spec_version 3.0", expect: unbound("spec_version_too_old"), spec: func(c *scene) { c.spec.Version = "3.0" }},
		{name: "version-form", rule: "step 2", what: "spec_version 3.1.0", expect: unbound("spec_version_too_old"), anchored: view("/spec_version", "3.1.0")},
		{name: "three-fields", rule: "step 2", what: "disclosed without identity_consistent (D17)", expect: unbound("disclosed_mismatch"), anchored: func(c *scene) {
			resolve(c.t, c.draft.Doc, "/disclosed").(*canonjson.Object).Delete("identity_consistent")
		}},
		{name: "other-value", rule: "step 2", what: "a disclosed value that opens nothing", expect: unbound("disclosed_mismatch"), anchored: view("/disclosed/agent_identity/value", "did:web:other.prova.test")},
		{name: "further-entry", rule: "step 2", what: "a fifth disclosed entry that opens nothing", expect: unbound("disclosed_mismatch"),
			anchored: view("/disclosed/seller", canonjson.NewObject("nonce", zeros, "value", "corpus.prova.test"))},
		{name: "unverified", rule: "step 2", what: "agent_identity_verified null", expect: unbound("identity_unverified"), spec: identity(nil, "bound")},
		{name: "status", rule: "step 2", what: "did_resolution_status unverified", expect: unbound("identity_unverified"), spec: identity(true, "unverified")},
		{name: "other-did", rule: "step 2", what: "a proof of another bound DID", expect: unbound("identity_other_did"), spec: func(c *scene) { c.spec.DID = "did:web:other.prova.test" }},
		flat("request", "hashes.request is not the opened request hash", "/hashes/request", "sha256:"+zeros),
		flat("response", "hashes.response is not the opened response hash", "/hashes/response", "sha256:"+zeros),
		flat("did", "agent_identity is not the disclosed one", "/agent_identity", "did:web:other.prova.test"),
		flat("consistent", "identity_consistent is not the disclosed one", "/identity_consistent", false),
	})
}

func valueRows() []row {
	resource := assertion("unsupported", "resource_mismatch", "request_hash_differs")
	value := func(detail string) expect { return assertion("unsupported", "value_mismatch", detail) }
	response := func(resource string) func(*scene) {
		return func(c *scene) { c.spec.ResponseHash = c.s.ResponseHash(trackName, resource) }
	}
	// asked is a call whose request differs from that of section 5 in one member.
	asked := func(name string, to any) func(*scene) {
		return func(c *scene) {
			request := canonjson.NewObject("target", c.s.Tracks[trackName].Host+c.claim.Resource, "method", "GET",
				"payload", canonjson.NewObject(), "amount", 0.0, "currency", "eur")
			request.Set(name, to)
			c.spec.RequestHash = fmt.Sprintf("%x", canonjson.Sum(request))
		}
	}
	claim := func(field string, to any) func(*scene) {
		return func(c *scene) { c.claim.Field, c.claim.Value = field, to }
	}
	return named("value-", "10", []row{
		{name: "other-resource", rule: "step 3", what: "a sound proof of another resource", expect: resource, spec: func(c *scene) { c.spec = c.s.Spec(agent, trackName, "/agrements/AGR-0001") }},
		{name: "trailing-slash", rule: "step 3", what: "the URL with a trailing slash", expect: resource, spec: func(c *scene) {
			asked("target", c.s.Tracks[trackName].Host+c.claim.Resource+"/")(c)
		}},
		{name: "method", rule: "step 3", what: "method POST", expect: resource, spec: asked("method", "POST")},
		{name: "amount", rule: "step 3", what: "amount 0 in place of 0.0", expect: resource, spec: asked("amount", canonjson.Int("0"))},
		{name: "fault-403", rule: "instrument fault", what: "the response is the fixed 403", expect: instrumentFault("/_systeme/403"), spec: response("/_systeme/403")},
		{name: "fault-503", rule: "instrument fault", what: "the response is the fixed 503", expect: instrumentFault("/_systeme/503"), spec: response("/_systeme/503")},
		{name: "fault-400", rule: "instrument fault", what: "the response is the fixed 400", expect: instrumentFault("/_systeme/400"), spec: response("/_systeme/400")},
		{name: "fixed-404", rule: "step 4", what: "the response is the fixed 404, which is no instrument fault", expect: value("response_hash_differs"), spec: response("/_systeme/404")},
		{name: "other-response", rule: "step 4", what: "another response than the frozen one", expect: value("response_hash_differs"), spec: func(c *scene) { c.spec.ResponseHash = zeros }},
		{name: "field-absent", rule: "step 4", what: "an index past the end of an own resource's array", expect: value("field_absent"), spec: claim("/agrements/7", "AGR-0001")},
		{name: "other-value", rule: "step 4", what: "another text", expect: value("value_differs"), spec: claim("/statut", "radiee")},
		{name: "other-type", rule: "step 4", what: `"true" in place of true`, expect: value("value_differs"), spec: claim("/existe", "true")},
		{name: "one-for-true", rule: "step 4", what: "1 in place of true", expect: value("value_differs"), spec: claim("/existe", canonjson.Int("1"))},
	})
}
