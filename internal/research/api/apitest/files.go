package apitest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Planted secrets. None of them may be in an answer or a line of a log.
const (
	Origin   = "https://planted-judge.internal:8443/v1"
	JudgeKey = "sk-planted-judge-key"
	Dataset  = "planted-dataset"
	Folder   = "planted-folder"
	LeafKey  = "the planted leaf key" // the key that [Secret] leads to
)

// Planted lists every secret, the operator's token among them.
func Planted() []string {
	leaf := sha256.Sum256([]byte(LeafKey))
	list := []string{Origin, "planted-judge", JudgeKey, Dataset, Folder, Token, hex.EncodeToString(leaf[:])}
	for id := range uint32(130) {
		list = append(list, Hash("shard", id))
	}
	return list
}

func records() []holdout.Record {
	var list []holdout.Record
	for _, split := range holdout.Splits() {
		for range 24 {
			id := 1 + uint32(len(list))
			list = append(list, holdout.Seal(holdout.Plain{
				ID: id, Split: split, DatasetID: fmt.Sprintf("%s-%d", Dataset, id), ContentSHA256: Hash("shard", id), TokenCount: 9000,
			}))
		}
	}
	return list
}

// Topic is a custom document that lacks its seal and its signature.
func (w *World) Topic(id string, status topic.Status) *topic.Document {
	d := topic.New()
	d.ID, d.Status, d.FLOPsBudget = id, status, 2000
	d.Statement = "Raise the success rate on the sealed episodes without touching the evaluator."
	d.Baseline.FLOPsBudget, d.Baseline.ScriptSHA256 = 2000, Hash("baseline script")
	model := "master-proxy-v0"
	d.Inference.Model = &model
	d.Metric = topic.Metric{Family: topic.Custom, CustomID: CustomID, Primary: "success_rate", Unit: "share of episodes", Direction: topic.Max, EpsilonRel: 0.05}
	d.Checklist = []topic.ChecklistItem{
		{ID: "same_seed", Text: "every paid call uses the seed of the topic"},
		{ID: "no_eval_short_circuit", Text: "the evaluator and the metric path are untouched"},
	}
	commitment := holdout.Commitment(records())
	d.HoldoutCommitment = hex.EncodeToString(commitment[:])
	return d
}

// Seal commits a document to a measured baseline and returns it.
func (w *World) Seal(d *topic.Document, primary float64) *baseline.Measurement {
	w.t.Helper()
	m := &baseline.Measurement{
		EvalImageDigest: w.Pin.EvalImageDigest, TopicID: d.ID, HoldoutCommitment: d.HoldoutCommitment,
		HoldoutNLL: 3, SplitNLL: map[holdout.Split]float64{}, CustomValue: &primary,
	}
	for _, split := range holdout.Splits() {
		m.SplitNLL[split] = 3
	}
	var err error
	d.Baseline.MetricsCommitment, err = m.Commitment()
	require.NoError(w.t, err)
	d.Baseline.ScriptSHA256 = Hash("baseline script")
	return m
}

// files writes the operator's files.
func (w *World) files() {
	w.t.Helper()
	open := w.Topic(OpenID, topic.Open)
	m := w.Seal(open, Sealed)
	draft := w.Topic(DraftID, topic.Draft)
	w.Write("topics.json", []json.RawMessage{w.Sign(open), w.Sign(draft)})
	text, err := m.JSON()
	require.NoError(w.t, err)
	w.Write("baseline.json", map[string]json.RawMessage{OpenID: text})
	byTopic := map[string]json.RawMessage{}
	for _, id := range []string{OpenID, DraftID} {
		text, err := holdout.Write(id, records())
		require.NoError(w.t, err)
		var one map[string]json.RawMessage
		require.NoError(w.t, json.Unmarshal(text, &one))
		if inner, nested := one["topics"]; nested {
			require.NoError(w.t, json.Unmarshal(inner, &one))
		}
		byTopic[id] = one[id]
	}
	w.Write("holdout.json", byTopic)
	w.Write("judge.key", []byte(JudgeKey+"\n"))
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: Origin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	judge.ConfigCommitment, err = judge.Commitment()
	require.NoError(w.t, err)
	text, err = judge.JSON()
	require.NoError(w.t, err)
	w.Write("inference.json", text)
}

// Executor is an executor offer that is open, with a deadline in seconds.
func Executor(tb testing.TB, deadline uint64) []byte {
	tb.Helper()
	e := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: "proof-eval-78b614a1f51c", MachineShape: "1x", MaxProofDeadlineS: deadline,
		EvalImageDigest: pinned, Status: offer.Open,
	}
	var err error
	e.ConfigCommitment, err = e.Commitment()
	require.NoError(tb, err)
	text, err := e.JSON()
	require.NoError(tb, err)
	return text
}

// Submission is the body of a submission of the nth miner with the nth artefact to
// OpenID, signed. Edits may change what is sent; a nil value takes the member away.
func Submission(tb testing.TB, miner int, artifact byte, edits ...func(fields map[string]any)) []byte {
	tb.Helper()
	key := Secret(tb, fmt.Sprint("miner ", miner))
	fields := map[string]any{
		"miner_hotkey": key.Public().String(), "artifact_digest": rlmtest.Digest(artifact), "topic_id": OpenID,
		"artifact_uri": "https://artefacts.invalid/recipe.tar", "claim": "beats the reference by a tenth", "declared_flops": 1000,
		"submit_nonce": Hash("nonce", miner, artifact), "manifest": map[string]any{"train_dataset_ids": []string{"my-mix-v0"}},
	}
	for _, edit := range edits {
		edit(fields)
	}
	if _, is := fields["hotkey_signature"]; !is && fields["submit_nonce"] != nil {
		text, err := json.Marshal(fields)
		require.NoError(tb, err)
		r, err := intake.Parse(text)
		require.NoError(tb, err)
		signature, err := key.Sign(nil, intake.Domain, intake.Signed{
			Hotkey: key.Public().String(), TopicID: r.TopicID, ArtifactDigest: rlmtest.Digest(artifact), DeclaredFLOPs: r.DeclaredFLOPs,
			Claim: r.Claim, Manifest: r.Manifest, Nonce: *r.SubmitNonce,
		}.Payload())
		require.NoError(tb, err)
		fields["hotkey_signature"] = hex.EncodeToString(signature[:])
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(fields)
	require.NoError(tb, err)
	return text
}

// Digest is the digest of the submission that Submission makes.
func Digest(tb testing.TB, miner int, artifact byte) string {
	tb.Helper()
	return intake.Digest(Secret(tb, fmt.Sprint("miner ", miner)).Public().String(), OpenID, rlmtest.Digest(artifact))
}

// Script says what a run of the nth artefact measures.
func (w *World) Script(artifact byte, primary float64) {
	w.Boundary.Script(rlmtest.Digest(artifact), rlmtest.Script{Primary: &primary, Flops: 10})
}
