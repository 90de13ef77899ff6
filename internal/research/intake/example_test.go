package intake_test

import (
	"fmt"
	"strings"

	"github.com/prova-dev/prova/internal/research/intake"
)

// The gate is a table: its rows, their statuses and texts, in the order of R§11.3.
// Rows without a text say in each case what is wrong.
func ExampleGate() {
	for _, row := range intake.Gate() {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%-3s %-18s %3d %s", row.Number, row.Name, row.Status, row.Text)))
	}
	// Output:
	// 0   address_limit      429 too many requests from this address
	// 1   content_type       415 the body must be JSON: send Content-Type: application/json
	// 1   size               413 the body is longer than 2097152 bytes
	// 1   read                 0
	// 1   syntax             400
	// 1   types              422
	// 2   miner_hotkey       400 invalid miner_hotkey
	// 2   artifact_digest    400 invalid artifact_digest
	// 3   topic_id           400 topic_id is required
	// 4   topic_known        400 unknown topic
	// 5   topic_open         400 topic is not open
	// 6   flops_budget       400 declared_flops exceeds the topic budget
	// 7   artifact_uri       400 artifact_uri is required for custom topics
	// 7b  signature_required 401 hotkey_signature required
	// 7b  signature_form     401 hotkey_signature invalid
	// 7b  nonce_required     401 submit_nonce required
	// 7b  nonce_form         401 submit_nonce invalid
	// 7b  signature          401 hotkey_signature invalid
	// 8   freeze               0
	// 8a  nonce_reused       409 submit_nonce was used for another submission; sign with a new one
	// 8b  rejoin               0
	// 8c  hotkey_limit       429 too many submissions of this hotkey
	// 8d  in_flight          409 this artefact is being evaluated already; ask for it by its submission digest
	// 8e  epoch              503
	// 9   sealed_topic       503 no open sealed topic; refuse scoring
	// 10  inference_offer    503
	// 11  pinned_digest      503 eval image digest not pinned; refuse live scoring (PROOF_FORCE_SIM=1 is CI only)
	// 12  live_scorer        503 live proof eval is driven by the digest-pinned proof-eval image; no in-process sim
	// 13  harvest_weights    503 PROOF_PROXY_MODEL_DIR missing or empty; refuse live scoring (no HF bake)
	// 13  harvest_shards     503 PROOF_HOLDOUT_STORE missing or incomplete; refuse scoring
	// 13  harvest_ssh_key    503 LIUM_SSH_PUBLIC_KEY_FILE missing or empty; refuse live scoring
	// 14  judge_key          503 inference API key missing; refuse scoring
	// 15  executor_offer     503
	// 16  scorer_ready       503
	// 17  inference_serves   503
	// 18  executor_serves    503
	// 19  judge_config       503
	// 20  baseline           503 no sealed baseline recorded for this topic
	// 21  holdout            503
	// 22  manifest           201
	// 23  plan               503
	// 23a hotkey_running     429 a run of this hotkey is in flight; one at a time
	// 23b queue              503 the queue is full; try again later
}

// What a miner signs with its hotkey, under [intake.Domain].
func ExampleSigned_Payload() {
	p := intake.Signed{
		Hotkey: "aa", TopicID: "topic", ArtifactDigest: "bb", DeclaredFLOPs: 12, Claim: "claim",
		Manifest: intake.Manifest{DatasetIDs: []string{"my-mix-v0"}}, Nonce: "cc",
	}
	fmt.Println(strings.ReplaceAll(string(p.Payload()), "\xff", "|"))
	// Output: aa|topic|bb|12|claim|0|1|my-mix-v0|cc
}
