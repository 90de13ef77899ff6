package intake

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

const (
	pinnedDigest = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
	customID     = "harness_success_rate"
	origin       = "http://127.0.0.1:8000/v1"
)

var (
	artifact = strings.Repeat("ab", 32)
	nonce    = strings.Repeat("0123456789abcdef", 4)
	other    = strings.Repeat("cd", 32)
)

func ptr[T any](v T) *T { return &v }

// miner is the key of the round trip among the vectors.
var miner = sync.OnceValue(func() *sr25519.SecretKey {
	seed, _ := hex.DecodeString("42" + strings.Repeat("11", 31))
	key, err := sr25519.NewSecretKey(seed)
	if err != nil {
		return nil
	}
	return key
})

// records is a verified holdout of synthetic records.
var records = sync.OnceValue(func() *holdout.Set {
	list, err := holdout.Synthetic(24, 1)
	if err != nil {
		return nil
	}
	sum := holdout.Commitment(list)
	set, err := holdout.Verify(list, 120, hex.EncodeToString(sum[:]))
	if err != nil {
		return nil
	}
	return set
})

// fixture is a host that takes and runs one signed submission to a custom topic.
type fixture struct {
	facts  *Facts
	host   *Host
	doc    *topic.Document // of topic-a, which the submission is for
	fields map[string]any  // of the body; null leaves a member out
	raw    []byte          // the body, when it is not of the fields
}

func newFixture(edits ...func(*fixture)) *fixture {
	p := pin.Default()
	p.EvalImageDigest, p.AllowedLiumTemplatePrefixes = pinnedDigest, []string{"proof-eval-"}
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: origin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	judge.ConfigCommitment, _ = judge.Commitment()
	executor := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: "proof-eval-78b614a1f51c", MachineShape: "1x", MaxProofDeadlineS: 7200,
		EvalImageDigest: pinnedDigest, Status: offer.Open,
	}
	executor.ConfigCommitment, _ = executor.Commitment()
	a, b := openTopic("topic-a"), openTopic("topic-b")
	h := &Host{
		Pin: p, Epoch: 7, SignatureRequired: true,
		Topics: map[string]*Topic{
			"topic-a": {Document: a, Holdout: records(), Baseline: &baseline.Measurement{TopicID: "topic-a"}},
			"topic-b": {Document: b, Holdout: records(), Baseline: &baseline.Measurement{TopicID: "topic-b"}},
		},
		Inference: judge, Executor: executor, JudgeKey: true,
		Harvest: &Harvest{Weights: true, Shards: true, SSHKey: true},
		Custom:  &Custom{Runners: map[string]string{customID: ""}},
	}
	f := &fixture{
		host: h, doc: a, facts: &Facts{ContentType: "application/json", Host: h},
		fields: map[string]any{
			"miner_hotkey": miner().Public().String(), "artifact_digest": artifact, "topic_id": "topic-a",
			"artifact_uri": "https://example.invalid/recipe.tar", "claim": "beats the reference by a tenth",
			"declared_flops": 1000, "submit_nonce": nonce,
			"manifest": map[string]any{"train_content_hashes": []string{}, "train_dataset_ids": []string{"my-mix-v0"}},
		},
	}
	for _, edit := range edits {
		edit(f)
	}
	return f
}

func openTopic(id string) *topic.Document {
	d := topic.New()
	d.ID, d.Status, d.FLOPsBudget = id, topic.Open, 2000
	d.Metric = topic.Metric{Family: topic.Custom, CustomID: customID, Primary: "success_rate", Direction: topic.Max, EpsilonRel: 0.05}
	d.Inference.Model = ptr("master-proxy-v0")
	d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment = strings.Repeat("1", 64), strings.Repeat("2", 64)
	return d
}

// body writes the fields, signed unless they say otherwise.
func (f *fixture) body() []byte {
	if f.raw != nil {
		return f.raw
	}
	fields := maps.Clone(f.fields)
	if _, set := fields["hotkey_signature"]; !set {
		fields["hotkey_signature"] = f.sign()
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return text
}

// sign signs what the fields come to, with whatever nonce they have. Fields that
// do not even parse are not signed.
func (f *fixture) sign() any {
	fields := maps.Clone(f.fields)
	delete(fields, "hotkey_signature")
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	text, _ := json.Marshal(fields)
	r, err := Parse(text)
	if err != nil {
		return nil
	}
	hotkey, _ := Hex64(r.MinerHotkey)
	digest, _ := Hex64(r.ArtifactDigest)
	signature, err := miner().Sign(nil, Domain, Signed{
		hotkey, strings.TrimSpace(r.TopicID), digest, r.DeclaredFLOPs, r.Claim, r.Manifest, value(r.SubmitNonce),
	}.Payload())
	if err != nil {
		return nil
	}
	return hex.EncodeToString(signature[:])
}

func (f *fixture) decide() (*Outcome, *Refusal) {
	f.facts.Body = f.body()
	return Decide(f.facts)
}

// passes fails unless the submission gets through with this kind.
func (f *fixture) passes(t *testing.T, kind Kind) *Outcome {
	t.Helper()
	out, refusal := f.decide()
	if refusal != nil {
		t.Fatalf("refused at row %s %s: %d %s", refusal.Row, refusal.Name, refusal.Status, refusal.Text)
	}
	if out.Kind != kind {
		t.Fatalf("outcome %q, want %q", out.Kind, kind)
	}
	return out
}

// refused fails unless the submission is refused with this status and text.
func (f *fixture) refused(t *testing.T, status int, text string) {
	t.Helper()
	out, refusal := f.decide()
	if refusal == nil {
		t.Fatalf("outcome %q, want the refusal %d %s", out.Kind, status, text)
	}
	if refusal.Status != status || refusal.Text != text {
		t.Fatalf("got  %d %s\nwant %d %s", refusal.Status, refusal.Text, status, text)
	}
}

func load(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
