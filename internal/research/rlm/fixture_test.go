package rlm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

const (
	customID = "harness_success_rate"
	topicID  = "agent-harness-v0"
	image    = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
	judgeKey = "sk-planted-owner-key"
	origin   = "http://127.0.0.1:8000/planted-origin"
	sealed   = 0.40 // the baseline; the bar is 0.42
)

func ptr[T any](v T) *T { return &v }

func hash(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

var ownerKey = sync.OnceValue(func() *sr25519.SecretKey {
	seed := sha256.Sum256([]byte("the topic key of tests"))
	key, err := sr25519.NewSecretKey(seed[:])
	if err != nil {
		return nil
	}
	return key
})

// world is an engine over a ledger, an artefact root and a scripted boundary.
type world struct {
	*rlm.Engine
	t        testing.TB
	id       string // of the topic
	ledger   *ledger.Ledger
	db       *store.DB
	root     *artefact.Root
	dir      string // of the root
	boundary *rlmtest.Boundary
	options  rlm.Options
	pin      *pin.Pin
	doc      *topic.Document
	sealed   *baseline.Measurement
	log      *bytes.Buffer
	n        int
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, url string) { fn(t, newWorld(t, url)) })
}

// alone runs a test on the database that needs no server, where what is tested does
// not depend on it.
func alone(t *testing.T) *world {
	t.Helper()
	return newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "prova.db"))
}

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	l, err := ledger.Open(ctx, db, ledger.Options{})
	require.NoError(t, err)
	w := &world{t: t, id: topicID, ledger: l, db: db, dir: t.TempDir(), boundary: &rlmtest.Boundary{}, log: &bytes.Buffer{}}
	w.root, err = artefact.OpenRoot(w.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.root.Close()) })
	key := filepath.Join(t.TempDir(), "planted-key-path")
	require.NoError(t, os.WriteFile(key, []byte(judgeKey+"\n"), 0o600))
	require.NoError(t, w.prepare(key))
	w.options.Log = slog.New(slog.NewTextHandler(&locked{w: w.log}, nil))
	w.start(t)
	return w
}

// prepare fills in everything that needs no test.
func (w *world) prepare(key string) error {
	w.pin = pin.Default()
	w.pin.TopicPubkey, w.pin.EvalImageDigest = ownerKey().Public().String(), image
	w.options = rlm.Options{
		Ledger: w.ledger, Boundary: w.boundary, Artefacts: w.root, Pin: w.pin, Now: time.Now, Holder: "test",
		Template:  wire.Template{ImageDigest: image, VCPUs: 4, MemMiB: 8192},
		CustomIDs: []string{customID}, OwnerKeyFile: key, SpendCapUSD: 12.5,
		LeaseTTL: 10 * time.Second, LeasePoll: 5 * time.Millisecond, RenewEvery: time.Second,
	}
	return w.sealing(sealed)
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// start makes the engine anew, as a process does that takes the place of another.
func (w *world) start(t testing.TB, edits ...func(*rlm.Options)) {
	t.Helper()
	w.n++
	w.options.Holder = fmt.Sprintf("test-%d", w.n)
	o := w.options
	for _, edit := range edits {
		edit(&o)
	}
	var err error
	w.Engine, err = rlm.New(o)
	require.NoError(t, err)
}

// seal makes the world's topic an open one with this sealed value, signed, with the
// measurement behind it.
func (w *world) seal(t testing.TB, value float64) {
	t.Helper()
	require.NoError(t, w.sealing(value))
}

func (w *world) sealing(value float64) error {
	w.sealed = &baseline.Measurement{
		EvalImageDigest: image, TopicID: w.id, HoldoutCommitment: hash("holdout"), SplitNLL: map[holdout.Split]float64{}, CustomValue: &value,
	}
	for _, s := range holdout.Splits() {
		if s.Scored() {
			w.sealed.SplitNLL[s] = 0
		}
	}
	commitment, err := w.sealed.Commitment()
	if err != nil {
		return err
	}
	w.doc = document()
	w.doc.ID, w.doc.Baseline.MetricsCommitment = w.id, commitment
	return w.doc.Sign(randomness(), ownerKey())
}

func (w *world) sign(t testing.TB) {
	t.Helper()
	require.NoError(t, w.doc.Sign(randomness(), ownerKey()))
}

func randomness() *strings.Reader { return strings.NewReader(strings.Repeat("r", 64)) }

// document is an open custom topic.
func document() *topic.Document {
	d := topic.New()
	d.ID, d.Statement, d.Status, d.FLOPsBudget = topicID, "raise the success rate", topic.Open, 2000
	d.Metric = topic.Metric{Family: topic.Custom, CustomID: customID, Primary: "success_rate", Direction: topic.Max, Unit: "share", EpsilonRel: 0.05}
	d.Inference.Model = ptr("master-proxy-v0")
	d.Constraints.FirecrackerRequired = true
	d.Constraints.ModelPin = ptr("vendor/model")
	d.Constraints.Params = map[string]string{"entrypoint": "main"}
	d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(3600))
	d.Checklist = []topic.ChecklistItem{
		{ID: "same_seed", Text: "every paid call uses the topic baseline seed"},
		{ID: "no_eval_short_circuit", Text: "the evaluator and the metric path are untouched"},
	}
	d.HoldoutCommitment = hash("holdout")
	d.Baseline.FLOPsBudget, d.Baseline.ScriptSHA256 = 2000, hash("baseline.tar")
	return d
}

// outcome is a submission of the nth miner that the gate let through.
func (w *world) outcome(miner string, artifact string) *intake.Outcome {
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: origin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, ConfigCommitment: hash("judge"), Status: offer.Open,
	}
	executor := &offer.Executor{OfferID: "exec-a", ConfigCommitment: hash("offer"), MaxProofDeadlineS: 7200}
	s := &intake.Submission{
		Request: intake.Request{
			Claim: "beats it by a tenth", DeclaredFLOPs: 1000, ArtifactURI: ptr(" https://example.invalid/recipe.tar "),
			Manifest: intake.Manifest{DatasetIDs: []string{"mix"}},
		},
		Hotkey: hash("miner", miner), ArtifactDigest: artifact, TopicID: w.doc.ID, ArtifactURI: "https://example.invalid/recipe.tar", Epoch: 7,
		Topic:     &intake.Topic{Document: w.doc, Baseline: w.sealed},
		Inference: judge, Executor: executor,
	}
	s.Nonce = intake.Nonce(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Digest = intake.Digest(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Body = sha256.Sum256([]byte(s.Digest))
	return &intake.Outcome{
		Kind: intake.Run, Submission: s,
		Judge: offer.Judge{Origin: origin, Model: "master-proxy-v0"},
		Plan:  &offer.Plan{DeadlineS: 1800, ConfigCommitment: hash("plan"), OfferCommitment: hash("offer"), GPUCount: 1},
	}
}

// admit puts an outcome into the queue and claims it.
func (w *world) admit(t testing.TB, o *intake.Outcome) rlm.Flight {
	t.Helper()
	a, err := w.ledger.Admit(t.Context(), o.Submission, ledger.AdmitOptions{ContentType: "application/json", Body: []byte("{}"), QueueCap: 100},
		func(intake.Miner) (*intake.Outcome, *intake.Refusal) { return o, nil })
	require.NoError(t, err)
	require.Nil(t, a.Refusal)
	f, err := w.ledger.Claim(t.Context(), "worker", time.Hour)
	require.NoError(t, err)
	require.NotNil(t, f)
	require.Equal(t, a.Flight, f.ID)
	return rlm.Flight{ID: f.ID, Holder: "worker"}
}

// run evaluates a submission whose recipe is scripted.
func (w *world) run(t testing.TB, miner string, s rlmtest.Script) (*intake.StoredRow, error) {
	t.Helper()
	artifact := hash("artefact", miner)
	w.boundary.Script(artifact, s)
	o := w.outcome(miner, artifact)
	f := w.admit(t, o)
	row, err := w.Evaluate(t.Context(), o, f, nil)
	if err != nil {
		if refused, ok := err.(*intake.Refusal); ok { //nolint:errorlint // the contract is the type itself
			require.NoError(t, w.ledger.Refuse(t.Context(), f.ID, f.Holder, refused.Status, refused.Text))
		}
	}
	return row, err
}

// wins is a script that measures a primary within the declaration.
func wins(primary float64) rlmtest.Script {
	return rlmtest.Script{Primary: &primary, Flops: 900, Claim: true}
}

// state is where the topic stands.
func (w *world) state(t testing.TB) rlm.State {
	t.Helper()
	s, err := w.State(t.Context(), w.doc)
	require.NoError(t, err)
	return s
}

// events are the recorded moves of the topic, as words.
func (w *world) events(t testing.TB) []string {
	t.Helper()
	moves, err := w.ledger.Moves(t.Context(), w.id)
	require.NoError(t, err)
	var out []string
	for _, m := range moves {
		out = append(out, m.Event)
	}
	return out
}

// free fails unless nobody has the topic's lease.
func (w *world) free(t testing.TB) {
	t.Helper()
	l, err := w.ledger.Acquire(t.Context(), w.id, "probe", time.Minute)
	require.NoError(t, err)
	require.NotNil(t, l, "somebody still has the lease")
	require.NoError(t, w.ledger.Release(t.Context(), *l))
}

// refused is the refusal of an evaluation without a row.
func refused(t testing.TB, err error, status int) *intake.Refusal {
	t.Helper()
	var r *intake.Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, status, r.Status, r.Text)
	return r
}

func (w *world) rows(t testing.TB) []*intake.StoredRow {
	t.Helper()
	rows, _, err := w.ledger.Rows(t.Context(), ledger.RowQuery{Topic: w.id})
	require.NoError(t, err)
	return rows
}

// zip reads the published artefact of a row.
func (w *world) zip(t testing.TB, row string) *artefact.Contents {
	t.Helper()
	data, err := w.root.Open(w.id, row)
	require.NoError(t, err)
	c, err := artefact.Read(data)
	require.NoError(t, err)
	return c
}

// public reads one of the public files of the topic.
func (w *world) public(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, w.id, name))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	return string(data)
}
