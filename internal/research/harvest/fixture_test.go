package harvest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

const (
	pinnedDigest  = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
	templateName  = "proof-eval-78b614a1f51c"
	judgeOrigin   = "https://planted-origin.example/v1"
	judgeKeyText  = `sk-planted'key$(reboot)`
	liumKey       = "planted-lium-key"
	plantedSet    = "planted-dataset"
	topicID       = "muon-vs-adamw-10m-v0"
	weightContent = "weights of a small model"
)

func ptr[T any](v T) *T { return &v }

// world is a host with everything staged, an account at the provider and one accepted
// submission.
type world struct {
	t       *testing.T
	lium    *fakeLium
	options Options
	outcome *intake.Outcome
	records []holdout.Plain
	mu      sync.Mutex
	phases  []string
}

// newWorld makes a world; edits change topic, offer and overrides before the gate.
func newWorld(t *testing.T, edits ...func(h *intake.Host, d *topic.Document)) *world {
	t.Helper()
	w := &world{t: t, lium: newFakeLium(t)}
	dir := t.TempDir()

	store := filepath.Join(dir, "planted-store")
	var sealed []holdout.Record
	for i, split := range holdout.Splits() {
		for n := range 24 {
			content := fmt.Appendf(nil, "content of shard %s %d", split, n)
			sum := sha256.Sum256(content)
			r := holdout.Plain{
				ID: uint32(i*24 + n + 1), Split: split, DatasetID: fmt.Sprintf("%s-%d", plantedSet, n),
				ContentSHA256: hex.EncodeToString(sum[:]), TokenCount: 9000,
			}
			w.records = append(w.records, r)
			sealed = append(sealed, holdout.Seal(r))
			write(t, filepath.Join(store, r.ContentSHA256), content)
		}
	}
	sum := holdout.Commitment(sealed)
	set, err := holdout.Verify(sealed, 120, hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "planted-weights")
	write(t, filepath.Join(model, "config.json"), []byte("{}"))
	write(t, filepath.Join(model, "shards", "model-1.bin"), []byte(weightContent))
	if err := os.Symlink(filepath.Join(model, "config.json"), filepath.Join(model, "shards", "link.json")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "judge.key"), []byte(judgeKeyText+"\n"))
	public := writeSSHKey(t, filepath.Join(dir, "id_lium"))

	p := pin.Default()
	p.EvalImageDigest, p.AllowedLiumTemplatePrefixes = pinnedDigest, []string{"proof-eval-"}
	d := topic.New()
	d.ID, d.Status, d.FLOPsBudget = topicID, topic.Open, 2000
	d.Metric = topic.Metric{Family: topic.NLL, Primary: "holdout_nll", Direction: topic.Min, EpsilonRel: 0.05}
	d.EpsilonNLL, d.EpsilonTopicMaxRegress = 0.02, 0.05
	d.Constraints.MaxInterNodeGbps = ptr(12.5)
	d.Inference.Model = ptr("master-proxy-v0")
	d.HoldoutCommitment = hex.EncodeToString(sum[:])
	d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment = strings.Repeat("1", 64), strings.Repeat("2", 64)
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: judgeOrigin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	judge.ConfigCommitment, _ = judge.Commitment()
	executor := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: templateName, MachineShape: "1x", MaxProofDeadlineS: 600,
		EvalImageDigest: pinnedDigest, Status: offer.Open,
	}
	executor.ConfigCommitment, _ = executor.Commitment()
	measured := &baseline.Measurement{TopicID: topicID, HoldoutNLL: 3, SplitNLL: map[holdout.Split]float64{}}
	for _, split := range holdout.Splits() {
		measured.SplitNLL[split] = 3
	}
	host := &intake.Host{
		Pin: p, Epoch: 7, Topics: map[string]*intake.Topic{topicID: {Document: d, Holdout: set, Baseline: measured}},
		Inference: judge, Executor: executor, JudgeKey: true,
		Harvest: &intake.Harvest{Weights: true, Shards: true, SSHKey: true},
	}
	for _, edit := range edits {
		edit(host, d)
	}
	body, err := json.Marshal(map[string]any{
		"miner_hotkey": strings.Repeat("11", 32), "artifact_digest": strings.Repeat("ab", 32), "topic_id": topicID,
		"claim": "beats the reference", "declared_flops": 1000,
		"manifest": map[string]any{"train_content_hashes": []string{}, "train_dataset_ids": []string{"my-mix-v0"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, refusal := intake.Decide(&intake.Facts{ContentType: "application/json", Body: body, Host: host})
	if refusal != nil {
		t.Fatalf("the gate refuses: %v", refusal)
	}
	w.outcome = outcome
	client, err := NewLium(LiumOptions{URL: w.lium.URL + "/api", Key: liumKey, Timeout: 2 * time.Second, Wait: noWait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w.options = Options{
		Provider: client, Pin: p, WeightsDir: model, HoldoutStore: store, JudgeKeyFile: filepath.Join(dir, "judge.key"),
		SSHPublicKeyFile: public, EvalTimeoutS: 60,
		Limits: Limits{
			Template: time.Second, Boot: time.Second, Stage: 5 * time.Second, Terminate: time.Second,
			Settle: 50 * time.Millisecond, Poll: 5 * time.Millisecond, Stdout: 8 << 20,
		},
	}
	return w
}

// harvest makes the harvest of the world as it stands.
func (w *world) harvest() *Harvest {
	w.t.Helper()
	h, err := New(w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

func (w *world) run() (intake.Result, error) {
	w.t.Helper()
	return w.harvest().Run(w.t.Context(), w.outcome, func(phase string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.phases = append(w.phases, phase)
	})
}

// at reports whether the run is in a phase.
func (w *world) at(phase string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.phases) > 0 && w.phases[len(w.phases)-1] == phase
}

// refused runs and fails unless the run is refused with this status and a text with
// each part, without showing anything planted and without leaving a pod.
func (w *world) refused(status int, parts ...string) *intake.Refusal {
	w.t.Helper()
	res, err := w.run()
	refusal, ok := err.(*intake.Refusal)
	if !ok {
		w.t.Fatalf("got %v, %v, want a refusal", res, err)
	}
	if refusal.Status != status {
		w.t.Errorf("status %d (%s), want %d", refusal.Status, refusal.Text, status)
	}
	for _, part := range parts {
		if !strings.Contains(refusal.Text, part) {
			w.t.Errorf("%q does not say %q", refusal.Text, part)
		}
	}
	w.silent(refusal.Text)
	if n := w.lium.live(); n != 0 && status != statusIntegrity {
		w.t.Errorf("%d pods are left", n)
	}
	return refusal
}

// silent fails when a text shows something that was planted.
func (w *world) silent(text string) {
	w.t.Helper()
	shown := []string{
		"planted", judgeKeyText, judgeOrigin, "127.0.0.1", hex.EncodeToString([]byte(judgeKeyText)), w.options.WeightsDir,
		filepath.Dir(w.options.SSHPublicKeyFile),
	}
	for _, r := range w.records {
		shown = append(shown, r.ContentSHA256)
	}
	for _, secret := range shown {
		if secret != "" && strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			w.t.Errorf("%q shows %q", text, secret)
		}
	}
}

// neverRented fails unless nothing was rented.
func (w *world) neverRented() {
	w.t.Helper()
	if n := w.lium.count("POST /api/executors/"); n != 0 {
		w.t.Errorf("%d rents", n)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeSSHKey writes a pair and returns the name of the public half.
func writeSSHKey(t *testing.T, path string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, pem.EncodeToMemory(block))
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".pub", ssh.MarshalAuthorizedKey(key))
	return path + ".pub"
}
