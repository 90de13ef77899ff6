package issuer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"encoding/hex"
	"encoding/pem"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/receipt"
)

// TestAProofOfABoundKeyPassesEveryCheckOfTheScorer goes the whole way: sign-up,
// binding, call, batch, witnesses, public view, Admit and Identity.
func TestAProofOfABoundKeyPassesEveryCheckOfTheScorer(t *testing.T) {
	w := newWorld(t)
	r := w.post("/v1/keys/free-signup", `{"email":"Agent@Agents.Example "}`)
	require.Equal(t, 200, r.Status, r.Body)
	key := r.at("/api_key").(string)
	name := w.bind(key)
	ids := []string{w.issue(key), w.issue(key), w.issue(key)}

	before := w.get("/v1/proof/" + ids[0])
	p, err := receipt.Parse([]byte(before.Body))
	require.NoError(t, err)
	require.True(t, receipt.Pending(p), "a proof is pending until its batch is anchored")

	batches := w.close()
	require.Len(t, batches, 1)
	require.True(t, batches[0].Anchored, batches[0].LastError)

	checker := receipt.NewChecker(w.trust())
	entry := func(uuid string) ([]byte, bool) {
		r := w.do(w.internal, "GET", "/internal/v1/log-entries/"+uuid, "")
		return []byte(r.Body), r.Status == 200
	}
	for i, id := range ids {
		view := w.get("/v1/proof/" + id)
		p, err := receipt.Parse([]byte(view.Body))
		require.NoError(t, err)
		evidence, refusal := checker.Admit(p, entry, receipt.Policy{RequireLog: true, AllowLocal: true})
		require.Nil(t, refusal, "%v", refusal)
		_, refusal = checker.Admit(p, entry, receipt.Policy{RequireLog: true})
		require.NotNil(t, refusal)
		require.Equal(t, "witness_not_independent", refusal.Detail)
		identity, refusal := checker.Identity(p, evidence)
		require.Nil(t, refusal, "%v", refusal)
		require.Equal(t, name, identity.DID)
		require.Empty(t, receipt.FlatDivergences(p, receipt.Opened(p, evidence)))
		require.Equal(t, true, view.at("/integrity_verified"))
		require.Equal(t, canonjson.Int(string(rune('0'+i))), view.at("/batch_anchor/leaf_index"))

		report := checker.Verify(p, receipt.VerifyOptions{Require: "local", Entry: func(uuid string) ([]byte, error) {
			doc, _ := entry(uuid)
			return doc, nil
		}})
		require.Equal(t, receipt.Verdict("valid"), report.Verdict, "%+v", report)

		full := w.get("/v1/proof/"+id+"/full", withKey(key))
		for _, field := range []string{"request_hash", "response_hash"} {
			require.True(t, commit.Opens(evidence.Commitments[field], field,
				full.at("/commitment_nonces/"+field).(string), full.at("/chain_data/"+field)))
		}
	}
}

// TestT9TheTokenServedPassesOpenSSL runs what the proof page tells its reader to.
func TestT9TheTokenServedPassesOpenSSL(t *testing.T) {
	w := newWorld(t)
	id := w.issue(w.key(PlanFree))
	w.close()
	dir := t.TempDir()
	r := w.get("/v1/proof/" + id + "/tsr")
	require.Equal(t, 200, r.Status)
	root, err := hex.DecodeString(w.get("/v1/proof/" + id).at("/batch_anchor/root").(string)[len("sha256:"):])
	require.NoError(t, err)
	var roots []byte
	for _, c := range w.authority.Authority("local").Roots {
		roots = append(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	files := map[string][]byte{"a.tsr": []byte(r.Body), "root.bin": root, "cacert.pem": roots}
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	cmd := exec.Command("openssl", "ts", "-verify", "-data", "root.bin", "-in", "a.tsr", "-CAfile", "cacert.pem")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "openssl: %s", out)
}
