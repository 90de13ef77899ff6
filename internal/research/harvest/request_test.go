package harvest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/holdout"
)

func TestSection156TheRequestHasItsMembersInOrder(t *testing.T) {
	w := newWorld(t)
	s := w.outcome.Submission
	text, err := newRequest(w.options.Pin, w.outcome, []holdout.Plain{{ID: 1, Split: holdout.WebOOD, DatasetID: "set", ContentSHA256: "00", TokenCount: 9}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema_version":1,"challenge_id":"proof","submission_digest":"` + s.Digest + `","artifact_digest":"` + s.ArtifactDigest +
		`","topic_id":"` + topicID + `","family":"nll","inference_offer_id":"judge-a","provider_kind":"openai_compatible","base_url":"` + judgeOrigin +
		`","mode":"chat","model_ref":"master-proxy-v0","max_input_tokens":32768,"max_output_tokens":8192,"config_commitment":"` +
		s.Inference.ConfigCommitment + `","executor_offer_id":"exec-a","executor_offer_commitment":"` + s.Executor.ConfigCommitment +
		`","executor_commitment":"` + w.outcome.Plan.ConfigCommitment + `","max_proof_deadline_s":600,"eval_image_digest":"` + pinnedDigest +
		`","holdout_commitment":"` + s.Topic.Document.HoldoutCommitment +
		`","constraints":{"max_inter_node_gbps":12.5,"no_infiniband":false,"no_nccl_fast_fabric":false,"no_nvlink":false},` +
		`"flops_budget":2000,"wall_budget_s":0,"claim":"beats the reference","holdout":[{"id":1,"split":"web_ood","dataset_id":"set","content_sha256":"00","token_count":9}]}`
	if string(text) != want {
		t.Errorf("request %s\nwant    %s", text, want)
	}
}

func TestTheRequestKeepsIntegersExact(t *testing.T) {
	w := newWorld(t)
	w.outcome.Submission.Topic.Document.FLOPsBudget = 2_000_000_000_000_000_001
	text, err := newRequest(w.options.Pin, w.outcome, nil)
	if err != nil || !strings.Contains(string(text), `"flops_budget":2000000000000000001,`) {
		t.Errorf("%v in %s", err, text)
	}
	if !json.Valid(text) {
		t.Error("the request is no JSON")
	}
}

// TestSection156AShellReadsTheKeyAsItIs has the shell of this machine read the file.
func TestSection156AShellReadsTheKeyAsItIs(t *testing.T) {
	for _, key := range []string{"sk-1", judgeKeyText, `a'b''c`, `"$(id)" \ ` + "`id`" + ` # ; & é`} {
		env, err := teacherEnv(key)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), teacherFile)
		write(t, file, env)
		out, err := exec.CommandContext(t.Context(), "sh", "-c",
			"set -a && . "+quote(file)+` && sh -c 'printf "%s|%s|%s|%s" "$OPENAI_API_KEY" "$PROOF_INFERENCE_API_KEY" "$PROOF_PROXY_MODEL_DIR" "$PROOF_HOLDOUT_STORE"'`).Output()
		if want := key + "|" + key + "|/tmp/proof_eval/weights|/tmp/proof_eval/holdout"; err != nil || string(out) != want {
			t.Errorf("the shell read %q (%v), want %q", out, err, want)
		}
	}
	if _, err := teacherEnv("a\nb"); err == nil {
		t.Error("a key of two lines")
	}
}
