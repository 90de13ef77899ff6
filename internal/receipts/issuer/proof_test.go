package issuer

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
)

const unknownProof = "prf_20260101_000000_abcdef"

func TestT72PublicViewHasItsMembersInOrder(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	want := []string{"proof_id", "is_demo", "spec_version", "hashes", "commitments", "batch_anchor", "timestamp_authority", "timestamp",
		"upstream_timestamp", "verification_algorithm", "arkforge_signature", "arkforge_pubkey", "arkforge_kid", "identity_consistent",
		"views_count", "transaction_success", "upstream_status_code", "disputed", "dispute_id", "transparency_log", "agent_identity",
		"agent_identity_verified", "did_resolution_status", "seller", "disclosed", "provider_payment", "integrity_verified"}
	r := w.get("/v1/proof/" + id)
	require.Equal(t, want, r.object().Names())
	require.Equal(t, false, r.at("/is_demo"))
	require.Equal(t, "3.1", r.at("/spec_version"))
	require.Nil(t, r.at("/transparency_log"))
	require.Equal(t, canonjson.Int("1"), r.at("/views_count"))
	require.Equal(t, canonjson.Int("2"), w.get("/v1/proof/"+id).at("/views_count"))
	require.Equal(t, []string{"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}, r.at("/disclosed").(*canonjson.Object).Names())
	require.Equal(t, "https://github.com/ark-forge/proof-spec/blob/main/SPEC.md#2-chain-hash-algorithm", r.at("/verification_algorithm"))
	require.NotContains(t, r.Body, "\n")
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	w.close()
	require.Equal(t, want, w.get("/v1/proof/"+id).object().Names())
}

func TestT72PublicViewLeaksNoNonceAndNoParty(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	id := w.issue(key)
	view, full := w.get("/v1/proof/"+id), w.get("/v1/proof/"+id+"/full", withKey(key))
	for name, nonce := range full.at("/commitment_nonces").(*canonjson.Object).All() {
		open := false
		for _, f := range identityFields() {
			open = open || f == name
		}
		require.Equal(t, open, strings.Contains(view.Body, nonce.(string)), name)
	}
	require.NotContains(t, view.Body, fingerprintOf(key))
	for _, member := range []string{"parties", "certification_fee", "verification_url", "buyer_reputation_score", "commitment_nonces", "chain_data"} {
		require.False(t, view.object().Has(member), member)
	}
}

func TestT73FullView(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	id := w.issue(key)
	r := w.get("/v1/proof/"+id+"/full", withKey(key))
	require.Equal(t, 200, r.Status)
	names := r.object().Names()
	require.Equal(t, []string{"parties", "certification_fee", "buyer_reputation_score", "buyer_profile_url", "commitment_nonces", "chain_data", "integrity_verified"}, names[len(names)-7:])
	require.Equal(t, []string{"buyer_fingerprint", "seller", "agent_identity", "agent_identity_verified", "did_resolution_status", "agent_version"}, r.at("/parties").(*canonjson.Object).Names())
	require.Equal(t, r.at("/commitments").(*canonjson.Object).Names(), r.at("/commitment_nonces").(*canonjson.Object).Names())
	require.Equal(t, r.at("/commitments").(*canonjson.Object).Names(), r.at("/chain_data").(*canonjson.Object).Names())
	require.Equal(t, canonjson.Int("0"), r.at("/views_count"), "the full view counts no view")
	for _, n := range names {
		require.False(t, strings.HasPrefix(n, "_"), n)
	}
}

func TestT36StatusesOfTheFullView(t *testing.T) {
	w := newWorld(t)
	key, other := w.key(PlanFree), w.key(PlanFree)
	id := w.issue(key)
	for name, c := range map[string]struct {
		id            string
		key           string
		status        int
		code, message string
	}{
		"no key":        {"nonsense", "", 401, "auth_required", "API key required"},
		"unknown key":   {"nonsense", "mcp_free_x", 403, "invalid_key", "Invalid API key"},
		"bad id":        {"nonsense", key, 400, "invalid_request", "Invalid proof ID format"},
		"unknown proof": {unknownProof, key, 404, "not_found", "Proof '" + unknownProof + "' not found"},
		"not the owner": {id, other, 403, "forbidden", "You are not the owner of this proof"},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []option
			if c.key != "" {
				opts = append(opts, withKey(c.key))
			}
			r := w.get("/v1/proof/"+c.id+"/full", opts...)
			require.Equal(t, fmt.Sprintf(`{"error":{"code":"%s","message":"%s","status":%d}}`, c.code, c.message, c.status), r.Body)
			require.Equal(t, c.status, r.Status)
		})
	}
}

func TestT1ProofIDForm(t *testing.T) {
	require.True(t, validProofID(unknownProof))
	for _, bad := range []string{"", "prf_", "prf_20260101_000000_abcdeF", "prf_20260101_000000_abcdefg", "prf_20260101_000000_abcdef\n", "prf_2026010١_000000_abcde",
		"../../../etc/passwd", "prf_20260101-000000_abcdef", "PRF_20260101_000000_abcdef"} {
		require.False(t, validProofID(bad), bad)
	}
	w := newWorld(t)
	for _, path := range []string{"", "/full", "/verify", "/tsr"} {
		r := w.get("/v1/proof/prf_bad"+path, withKey(w.key(PlanFree)))
		require.Equal(t, `{"error":{"code":"invalid_request","message":"Invalid proof ID format","status":400}}`, r.Body, path)
	}
}

func TestT35TheHundredAndSecondReadIsRefused(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	ip := fromIP("203.0.113.5")
	for i := range 101 {
		path := "/v1/proof/" + id
		if i%2 == 1 {
			path = "/v1/proof/" + unknownProof
		}
		require.NotEqual(t, 429, w.get(path, ip).Status, "read %d", i+1)
	}
	r := w.get("/v1/proof/"+id, ip)
	require.Equal(t, `{"error":{"code":"rate_limited","message":"Too many proof requests. Try again later.","status":429}}`, r.Body)
	require.Equal(t, 429, w.post("/v1/proofs", `{"proof_ids":["`+id+`"]}`, ip).Status, "the counter is shared with the batch read")
	require.Equal(t, 200, w.get("/v1/proof/"+id+"/verify", ip).Status, "the summary has no limit")
	require.Equal(t, 200, w.get("/v1/proof/"+id, fromIP("203.0.113.6")).Status)
	w.clock.advance(time.Hour)
	require.Equal(t, 200, w.get("/v1/proof/"+id, ip).Status)
}

func TestT37BatchRead(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	id := w.issue(key)
	elsewhere := w.call(key, `{"target":"https://`+otherHost+`/a","method":"GET"}`).at("/proof/proof_id").(string)
	list := func(n int) string {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprintf(`"prf_20260101_000000_%06x"`, i)
		}
		return `{"proof_ids":[` + strings.Join(ids, ",") + `]}`
	}
	for name, body := range map[string]string{
		"traversal": `{"proof_ids":["../etc/passwd"]}`, "number": `{"proof_ids":[7]}`, "empty list": `{"proof_ids":[]}`, "string": `{"proof_ids":"` + id + `"}`,
		"missing": `{}`, "51 ids": list(51), "array": `[]`, "one bad among good": `{"proof_ids":["` + id + `",null]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := w.post("/v1/proofs", body)
			require.Equal(t, `{"error":{"code":"invalid_request","message":"'proof_ids' must list 1 to 50 valid proof IDs","status":400}}`, r.Body)
		})
	}
	require.Equal(t, "Body must be JSON", w.post("/v1/proofs", `{`).at("/error/message"))
	require.Equal(t, 200, w.post("/v1/proofs", list(50)).Status)
	r := w.post("/v1/proofs", `{"proof_ids":["`+elsewhere+`","`+id+`","`+unknownProof+`","`+id+`"]}`)
	require.Equal(t, []string{elsewhere, id, unknownProof}, r.at("/proofs").(*canonjson.Object).Names(), "doubles merge into the first position")
	require.Nil(t, r.at("/proofs/"+elsewhere), "another seller reads as absent")
	require.Nil(t, r.at("/proofs/"+unknownProof))
	batch := r.at("/proofs/" + id).(*canonjson.Object)
	require.Equal(t, canonjson.Int("0"), valueOf(batch, "views_count"), "a batch read counts no view")
	single := w.get("/v1/proof/" + id).object()
	single.Set("views_count", canonjson.Int("0"))
	require.Equal(t, string(canonjson.Compact(single)), string(canonjson.Compact(batch)))

	trusted := w.do(w.internal, "POST", "/internal/v1/proofs", `{"proof_ids":["`+elsewhere+`","`+id+`"]}`)
	require.NotNil(t, trusted.at("/proofs/"+elsewhere), "the trusted reader sees every seller")
	require.Equal(t, 200, w.do(w.internal, "POST", "/internal/v1/proofs", list(1000)).Status)
}

func TestT38VerifyT39TsrT310Short(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	base := "/v1/proof/" + id
	chain := w.get(base).at("/hashes/chain").(string)
	stamp := w.get(base).at("/timestamp").(string)
	require.Equal(t, `{"proof_id":"`+id+`","integrity_verified":true,"chain_hash":"`+chain+`","timestamp":"`+stamp+`","spec_version":"3.1","timestamp_authority":{"status":"pending_batch","provider":null},"transparency_log":{"status":"none"},"batch_anchor":{"status":"pending","batch_id":null},"signature_present":true,"verification_url":"https://trust.example.test/v1/proof/`+id+`"}`,
		w.get(base+"/verify").Body)
	r := w.get(base + "/tsr")
	require.Equal(t, `{"error":{"code":"not_found","message":"TSR file for '`+id+`' not found","status":404}}`, r.Body)
	batch := w.close()[0]
	require.Contains(t, w.get(base+"/verify").Body, `"timestamp_authority":{"status":"verified","provider":"local"},"transparency_log":{"status":"verified"},"batch_anchor":{"status":"anchored","batch_id":"`+batch.ID+`"}`)
	r = w.get(base + "/tsr")
	require.Equal(t, "application/timestamp-reply", r.Header.Get("Content-Type"))
	require.Equal(t, "attachment; filename="+id+".tsr", r.Header.Get("Content-Disposition"))
	require.Equal(t, w.get(base).at("/timestamp_authority/tsr_base64"), base64.StdEncoding.EncodeToString([]byte(r.Body)))
	require.Equal(t, 404, w.get("/v1/proof/"+unknownProof+"/tsr").Status)

	r = w.get("/v/" + id)
	require.Equal(t, 302, r.Status)
	require.Equal(t, "https://trust.example.test/v1/proof/"+id, r.Header.Get("Location"))
	require.Equal(t, "public, max-age=86400", r.Header.Get("Cache-Control"))
	require.Equal(t, 404, w.get("/v/"+unknownProof).Status)
	require.Equal(t, 400, w.get("/v/x").Status)
}

func TestT311PubkeyT312DIDDocumentT315Health(t *testing.T) {
	w := newWorld(t)
	w.history.Keys = append(w.history.Keys, HistoryKey{Kid: "key-0", Public: "ed25519:ZLlGE0eN0eTNUE9vaK1tStf6AuoFUWqJBvqx7QgxfEY", Node: "old", ValidFrom: "2026-01-01T00:00:00Z", RetiredAt: "2026-02-01T00:00:00Z"})
	r := w.get("/v1/pubkey")
	require.Equal(t, []string{"pubkey", "algorithm", "kid", "rekor_pubkey", "rekor_algorithm", "rekor_kid", "keys", "rekor_keys"}, r.object().Names())
	require.Equal(t, []string{"kid", "type", "public", "node", "valid_from", "retired_at"}, r.at("/keys/0").(*canonjson.Object).Names())
	require.Equal(t, []string{"kid", "type", "public_pem", "node", "valid_from", "retired_at"}, r.at("/rekor_keys/0").(*canonjson.Object).Names())
	require.Nil(t, r.at("/keys/0/retired_at"))
	require.Equal(t, r.at("/pubkey"), r.at("/keys/0/public"))

	r = w.get("/.well-known/did.json")
	require.Equal(t, "did:web:trust.example.test", r.at("/id"))
	require.Equal(t, "did:web:trust.example.test#key-1", r.at("/verificationMethod/0/id"))
	require.Equal(t, "did:web:trust.example.test#key-0", r.at("/verificationMethod/1/id"))
	require.Equal(t, []any{"did:web:trust.example.test#key-1"}, r.at("/authentication"), "a retired key authenticates nothing")
	require.Equal(t, r.at("/authentication"), r.at("/assertionMethod"))

	for _, path := range []string{"/health", "/v1/health"} {
		r = w.get(path)
		require.Equal(t, 200, r.Status)
		require.Equal(t, "ok", r.at("/status"))
		require.Equal(t, "ok", r.at("/signing/self_test"))
		require.Equal(t, "key-1", r.at("/signing/kid"))
	}
	require.Equal(t, 200, w.get("/v1/pricing").Status)
}

func TestT1HeadOptionsAndUnknownRoutes(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, 200, w.do(w.public, "HEAD", "/v1/pubkey", "").Status)
	r := w.do(w.public, "OPTIONS", "/v1/proxy", "")
	require.Equal(t, 200, r.Status)
	require.Equal(t, "GET, POST, OPTIONS", r.Header.Get("Access-Control-Allow-Methods"))
	require.Equal(t, "Authorization, X-Api-Key, X-Idempotency-Key, X-Agent-Identity, X-Agent-Version, Content-Type", r.Header.Get("Access-Control-Allow-Headers"))
	require.Empty(t, r.Header.Get("Access-Control-Allow-Credentials"))
	require.Equal(t, `{"error":{"code":"not_found","message":"No such route","status":404}}`, w.get("/v1/nothing").Body)
	r = w.do(w.public, "DELETE", "/v1/proxy", "")
	require.Equal(t, 405, r.Status)
	require.Equal(t, "OPTIONS, POST", r.Header.Get("Allow"))
}

func TestT63IntegrityNoticesEveryRestatedValue(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.bind(key)
	id := w.issue(key)
	row, err := w.svc.store.proof(context.Background(), id)
	require.NoError(t, err)
	doc, err := parseProof(row)
	require.NoError(t, err)
	require.True(t, doc.intact())
	for name, change := range map[string]func(*proofDoc){
		"agent_identity restated":          func(d *proofDoc) { d.data.Set("agent_identity", "did:key:zOther") },
		"agent_identity_verified restated": func(d *proofDoc) { d.data.Set("agent_identity_verified", nil) },
		"did_resolution_status restated":   func(d *proofDoc) { d.data.Set("did_resolution_status", "unverified") },
		"identity_consistent restated":     func(d *proofDoc) { d.data.Set("identity_consistent", false) },
		"request_hash restated":            func(d *proofDoc) { d.data.Set("request_hash", strings.Repeat("0", 64)) },
		"a nonce replaced":                 func(d *proofDoc) { d.nonces.Set("seller", strings.Repeat("0", 64)) },
		"a nonce too short":                func(d *proofDoc) { d.nonces.Set("seller", "00") },
		"a commitment replaced":            func(d *proofDoc) { child(d.record, "commitments").Set("seller", "sha256:"+strings.Repeat("0", 64)) },
		"a commitment malformed":           func(d *proofDoc) { child(d.record, "commitments").Set("seller", 7) },
		"commitments emptied":              func(d *proofDoc) { d.record.Set("commitments", canonjson.NewObject()) },
		"the four dropped together": func(d *proofDoc) {
			for _, f := range identityFields() {
				child(d.record, "commitments").Delete(f)
				d.nonces.Delete(f)
				d.data.Delete(f)
			}
		},
		"the chain hash replaced": func(d *proofDoc) { child(d.record, "hashes").Set("chain", "sha256:"+strings.Repeat("0", 64)) },
	} {
		t.Run(name, func(t *testing.T) {
			d, err := parseProof(row)
			require.NoError(t, err)
			change(d)
			require.False(t, d.intact())
		})
	}
	t.Run("editing parties changes no public member", func(t *testing.T) {
		d, err := parseProof(row)
		require.NoError(t, err)
		before, err := w.svc.cfg.publicDocument(d)
		require.NoError(t, err)
		child(d.record, "parties").Set("agent_identity", "somebody")
		after, err := w.svc.cfg.publicDocument(d)
		require.NoError(t, err)
		require.Equal(t, string(canonjson.Compact(before)), string(canonjson.Compact(after)))
	})
}

func TestT61VectorCommitments(t *testing.T) {
	data, err := os.ReadFile("testdata/hashes.json")
	require.NoError(t, err)
	var v struct {
		Batch []struct {
			Size  int                 `json:"tree_size"`
			Root  string              `json:"root"`
			Paths map[string][]string `json:"paths"`
		} `json:"batch_merkle"`
	}
	require.NoError(t, json.Unmarshal(data, &v))
	require.NotEmpty(t, v.Batch)
	for _, tree := range v.Batch {
		chains := make([]string, tree.Size)
		for i := range chains {
			chains[i] = sha256Hex([]byte(fmt.Sprintf("leaf:%d", i)))
		}
		b := &batchRow{Leaves: strings.Join(chains, ""), Size: int64(tree.Size)}
		for index, want := range tree.Paths {
			var i int
			_, err := fmt.Sscan(index, &i)
			require.NoError(t, err)
			at, path, err := b.place(chains[i])
			require.NoError(t, err)
			require.Equal(t, i, at)
			got := make([]string, len(path))
			for j, p := range path {
				got[j] = p.(string)
			}
			require.Equal(t, strings.Join(want, " "), strings.Join(got, " "), "size %d leaf %d", tree.Size, i)
		}
	}
}

func TestT1ProofIDsOfOneSecondNeverRepeat(t *testing.T) {
	ids := newProofIDs(&counterReader{})
	now := time.Now()
	seen := map[string]bool{}
	for range 1000 {
		id, err := ids.next(now)
		require.NoError(t, err)
		require.True(t, validProofID(id))
		require.False(t, seen[id])
		seen[id] = true
	}
	stuck := newProofIDs(constant{})
	_, err := stuck.next(now)
	require.NoError(t, err)
	_, err = stuck.next(now)
	require.Error(t, err, "a source that repeats itself is noticed")
}

// counterReader gives each value twice, so that every second draw collides.
type counterReader struct{ n int }

func (c *counterReader) Read(p []byte) (int, error) {
	v := c.n / 2
	c.n++
	p[0], p[1], p[2] = byte(v>>16), byte(v>>8), byte(v)
	return 3, nil
}

type constant struct{}

func (constant) Read(p []byte) (int, error) { return len(p), nil }

func TestAProofIDDrawnByAnotherProcessIsDrawnAgain(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	w.svc.ids = newProofIDs(&counterReader{})
	first := w.issue(key)
	w.svc.ids = newProofIDs(&counterReader{}) // as a second process would start
	second := w.issue(key)
	require.NotEqual(t, first, second)
	r := w.get("/v1/proof/" + second)
	require.Equal(t, "https://trust.example.test/v1/proof/"+second+"/tsr", r.at("/timestamp_authority/tsr_url"))
	var n int
	require.NoError(t, w.db.Reader().QueryRow(`SELECT COUNT(*) FROM issuer_proofs`).Scan(&n))
	require.Equal(t, 2, n)
}

func TestADamagedRecordIsA500WithoutDetails(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	require.NoError(t, w.db.Tx(context.Background(), func(tx *sql.Tx) error {
		_, err := tx.Exec(`UPDATE issuer_proofs SET private = '{}' WHERE proof_id = $1`, id)
		return err
	}))
	r := w.get("/v1/proof/" + id)
	require.Equal(t, `{"error":{"code":"internal_error","message":"Something failed on our side; nothing is acknowledged","status":500}}`, r.Body)
}

func TestT1AReadOnlyNodeRefusesWritesAndKeepsReading(t *testing.T) {
	w := newWorld(t)
	key := w.key(PlanFree)
	id := w.issue(key)
	w.svc.cfg.ReadOnly = true
	w.public = w.svc.Handler()
	for _, path := range []string{"/v1/proxy", "/v1/keys/free-signup", "/v1/keys/bind-did", "/v1/keys/bind-did/confirm"} {
		r := w.post(path, entity, withKey(key))
		require.Equal(t, 503, r.Status)
		require.Equal(t, `{"error":{"code":"service_degraded","message":"This node is read-only for now; reading proofs keeps working","status":503,"failover_mode":true}}`, r.Body)
	}
	require.Equal(t, 200, w.get("/v1/proof/"+id+"/full", withKey(key)).Status)
	require.Equal(t, 200, w.post("/v1/proofs", `{"proof_ids":["`+id+`"]}`).Status)
	require.Equal(t, false, w.get("/health").at("/write_enabled"))
}

func TestT1AProofIsShownWhereItsViewCannotBeCounted(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	require.Equal(t, number(1), w.get("/v1/proof/"+id).at("/views_count"))
	_, err := w.db.Writer().Exec(`ALTER TABLE issuer_views RENAME TO issuer_views_away`) // Any write to it fails, and any read too.
	require.NoError(t, err)
	_, err = w.db.Writer().Exec(`CREATE VIEW issuer_views AS SELECT * FROM issuer_views_away`)
	require.NoError(t, err)
	r := w.get("/v1/proof/" + id)
	require.Equal(t, 200, r.Status, r.Body)
	require.Equal(t, number(1), r.at("/views_count"), "the count as it stands")
	_, err = w.db.Writer().Exec(`DROP VIEW issuer_views`)
	require.NoError(t, err)
	_, err = w.db.Writer().Exec(`ALTER TABLE issuer_views_away RENAME TO issuer_views`)
	require.NoError(t, err)
	w.svc.cfg.ReadOnly = true
	require.Equal(t, number(1), w.get("/v1/proof/"+id).at("/views_count"))
	w.svc.cfg.ReadOnly = false
	require.Equal(t, number(2), w.get("/v1/proof/"+id).at("/views_count"))
}
