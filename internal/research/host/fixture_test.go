package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

const (
	pinned   = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
	customID = "harness_success_rate"
	custom0  = "agent-harness-v0" // the custom topic, open
	nll0     = "muon-v0"          // the nll topic, open
	sealed0  = 0.40               // sealed primary of the custom topic; its bar is 0.42
	nllSeal  = 3.0

	// Planted secrets. None of them may be in a reply or a log line.
	secretOrigin  = "https://planted-judge.internal:8443/v1"
	secretKey     = "sk-planted-judge-key"
	secretDataset = "planted-dataset"
	secretFolder  = "planted-folder"
	secretBearer  = "planted-vm-bearer"
	secretLeaf    = "the planted leaf key" // the key that the name leads to
)

func ptr[T any](v T) *T { return &v }

func hash(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

func newKey(name string) *sr25519.SecretKey {
	seed := sha256.Sum256([]byte(name))
	key, err := sr25519.NewSecretKey(seed[:])
	if err != nil {
		return nil
	}
	return key
}

var operatorKey = sync.OnceValue(func() *sr25519.SecretKey { return newKey("the topic key of tests") })

// records are no synthetic ones: a production host takes them.
func records(first uint32) []holdout.Record {
	var list []holdout.Record
	for _, split := range holdout.Splits() {
		for range 24 {
			id := first + uint32(len(list))
			list = append(list, holdout.Seal(holdout.Plain{
				ID: id, Split: split, DatasetID: fmt.Sprintf("%s-%d", secretDataset, id), ContentSHA256: hash("shard", id), TokenCount: 9000,
			}))
		}
	}
	return list
}

// clock is a clock that tests move; it also runs by itself.
type clock struct {
	mu   sync.Mutex
	base time.Time
	from time.Time
}

func newClock() *clock {
	return &clock{base: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), from: time.Now()}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.from))
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = c.base.Add(d)
}

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// scripted is a harvest that does what a test says.
type scripted struct {
	facts intake.Harvest
	run   func(ctx context.Context, o *intake.Outcome) (intake.Result, error)

	mu   sync.Mutex
	runs []*intake.Outcome
}

func (s *scripted) Facts() intake.Harvest { return s.facts }

func (s *scripted) Run(ctx context.Context, o *intake.Outcome, progress func(string)) (intake.Result, error) {
	s.mu.Lock()
	s.runs = append(s.runs, o)
	s.mu.Unlock()
	progress("measuring")
	return s.run(ctx, o)
}

func (s *scripted) seen() []*intake.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*intake.Outcome(nil), s.runs...)
}

// world is a host with everything that it needs.
type world struct {
	*Host
	t        testing.TB
	url      string
	dir      string // of the operator's files; its path is a secret
	db       *store.DB
	ledger   *ledger.Ledger
	root     *artefact.Root
	boundary *rlmtest.Boundary
	harvest  *scripted
	clock    *clock
	log      *lines
	options  Options
	engine   rlm.Options
	pin      *pin.Pin
	n        int // lives of the host so far
	stop     func()

	mu    sync.Mutex
	shown []string      // every reply that was given
	held  chan struct{} // runs of custom topics wait here; nil: they go on
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.start(t)
		fn(t, w)
	})
}

// alone opens a world on the database that needs no server.
func alone(tb testing.TB, edits ...func(*world)) *world {
	tb.Helper()
	w := newWorld(tb, "sqlite:"+filepath.Join(tb.TempDir(), "prova.db"), edits...)
	w.start(tb)
	return w
}

// newWorld lays out the operator's files, with two topics that are open and can be
// scored, and opens no host yet.
func newWorld(tb testing.TB, url string, edits ...func(*world)) *world {
	tb.Helper()
	w := &world{
		t: tb, url: url, dir: filepath.Join(tb.TempDir(), secretFolder), clock: newClock(), log: &lines{},
		boundary: &rlmtest.Boundary{}, harvest: &scripted{facts: intake.Harvest{Weights: true, Shards: true, SSHKey: true}},
	}
	require.NoError(tb, os.Mkdir(w.dir, 0o700))
	var err error
	w.root, err = artefact.OpenRoot(filepath.Join(tb.TempDir(), "artefacts"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, w.root.Close()) })
	w.pin = pin.Default()
	w.pin.TopicPubkey, w.pin.EvalImageDigest = operatorKey().Public().String(), pinned
	w.pin.AllowedLiumTemplatePrefixes = []string{"proof-eval-"}
	require.NoError(tb, w.pin.Validate())
	w.harvest.run = func(_ context.Context, o *intake.Outcome) (intake.Result, error) { return simulate(o, pinned, true) }
	w.boundary.Baseline.Primary = ptr(sealed0)
	w.boundary.At = w.at
	w.files()
	w.options = Options{
		Pin: w.pin, Artefacts: w.root, Harvest: w.harvest, Now: w.clock.now, Store: "sqlite",
		Files: Files{
			Topics: w.path("topics.json"), Holdout: w.path("holdout.json"), Baseline: w.path("baseline.json"),
			InferenceOffer: w.path("inference.json"), InferenceKey: w.path("judge.key"), ExecutorOffer: w.path("executor.json"),
		},
		Log:  slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Poll: 5 * time.Millisecond, Stale: 300 * time.Millisecond, Limits: Limits{Workers: 3},
	}
	w.engine = rlm.Options{
		Boundary: w.boundary, Artefacts: w.root, Pin: w.pin, Now: w.clock.now,
		Template: wire.Template{ImageDigest: pinned, VCPUs: 4, MemMiB: 8192}, CustomIDs: []string{customID},
		OwnerKeyFile: w.path("judge.key"), LeaseTTL: 2 * time.Second, LeasePoll: 2 * time.Millisecond, RenewEvery: 100 * time.Millisecond,
		Log: w.options.Log,
	}
	for _, edit := range edits {
		edit(w)
	}
	tb.Cleanup(w.secrets)
	return w
}

// hold lets runs of custom topics wait, between inspection and evaluation, until
// they are released.
func (w *world) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := make(chan struct{})
	w.held = held
	release = sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = nil
		close(held)
	})
	w.t.Cleanup(release)
	return release
}

func (w *world) at(ctx context.Context, call, _ string) error {
	w.mu.Lock()
	held := w.held
	w.mu.Unlock()
	if held == nil || call != string(wire.Evaluate) {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return &wire.Error{Code: wire.CodeBackend, Text: "cancelled"}
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name string, v any) {
	w.t.Helper()
	text, is := v.([]byte)
	if !is {
		var err error
		text, err = json.Marshal(v)
		require.NoError(w.t, err)
	}
	// As the commands write: a reader finds the old file or the new one, never a half.
	require.NoError(w.t, os.WriteFile(w.path(name)+".new", text, 0o600))
	require.NoError(w.t, os.Rename(w.path(name)+".new", w.path(name)))
}

// files writes the operator's files.
func (w *world) files() {
	w.t.Helper()
	first := records(1)
	commitment := holdout.Commitment(first)
	var topics []json.RawMessage
	measured := map[string]json.RawMessage{}
	for _, d := range []*topic.Document{newTopic(custom0, topic.Custom), newTopic(nll0, topic.NLL)} {
		d.HoldoutCommitment = hex.EncodeToString(commitment[:])
		m := w.seal(d)
		text, err := m.JSON()
		require.NoError(w.t, err)
		measured[d.ID] = text
		topics = append(topics, signed(w.t, d))
	}
	w.write("topics.json", topics)
	w.write("baseline.json", measured)
	byTopic := map[string]json.RawMessage{}
	for id := range measured {
		text, err := holdout.Write(id, first)
		require.NoError(w.t, err)
		var one map[string]json.RawMessage
		require.NoError(w.t, json.Unmarshal(text, &one))
		if inner, nested := one["topics"]; nested {
			require.NoError(w.t, json.Unmarshal(inner, &one))
		}
		byTopic[id] = one[id]
	}
	w.write("holdout.json", byTopic)
	w.write("judge.key", []byte(secretKey+"\n"))
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: secretOrigin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	w.writeInference(judge)
	w.write("executor.json", w.executor(7200, offer.Open))
}

func (w *world) writeInference(judge *offer.Inference) {
	w.t.Helper()
	var err error
	judge.ConfigCommitment, err = judge.Commitment()
	require.NoError(w.t, err)
	text, err := judge.JSON()
	require.NoError(w.t, err)
	w.write("inference.json", text)
}

func (w *world) executor(deadline uint64, status offer.Status) []byte {
	w.t.Helper()
	e := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: "proof-eval-78b614a1f51c", MachineShape: "1x", MaxProofDeadlineS: deadline,
		EvalImageDigest: pinned, Status: status,
	}
	var err error
	e.ConfigCommitment, err = e.Commitment()
	require.NoError(w.t, err)
	text, err := e.JSON()
	require.NoError(w.t, err)
	return text
}

// newTopic is an open document that lacks holdout, seal and signature.
func newTopic(id string, f topic.Family) *topic.Document {
	d := topic.New()
	d.ID, d.Status, d.Statement, d.FLOPsBudget = id, topic.Open, "Improve it without touching the evaluator.", 2000
	d.Baseline.FLOPsBudget = 2000
	d.Inference.Model = ptr("master-proxy-v0")
	if f == topic.Custom {
		d.Metric = topic.Metric{Family: f, CustomID: customID, Primary: "success_rate", Direction: topic.Max, EpsilonRel: 0.05}
		d.Checklist = []topic.ChecklistItem{{ID: "same_seed", Text: "every paid call uses the seed of the topic"}}
	}
	return d
}

// seal measures a topic's baseline and commits the document to it.
func (w *world) seal(d *topic.Document) *baseline.Measurement {
	w.t.Helper()
	m := &baseline.Measurement{
		EvalImageDigest: w.pin.EvalImageDigest, TopicID: d.ID, HoldoutCommitment: d.HoldoutCommitment,
		HoldoutNLL: nllSeal, SplitNLL: map[holdout.Split]float64{},
	}
	for _, split := range holdout.Splits() {
		m.SplitNLL[split] = nllSeal
	}
	if d.Metric.Family == topic.Custom {
		m.CustomValue = ptr(sealed0)
	}
	var err error
	d.Baseline.MetricsCommitment, err = m.Commitment()
	require.NoError(w.t, err)
	d.Baseline.ScriptSHA256 = hash("baseline script")
	return m
}

// signed signs a document and returns its JSON.
func signed(tb testing.TB, d *topic.Document) []byte {
	tb.Helper()
	require.NoError(tb, d.Sign(nil, operatorKey()))
	text, err := d.JSON()
	require.NoError(tb, err)
	return text
}

// open opens the database, the engine and the host, and runs nothing.
func (w *world) open(tb testing.TB) error {
	tb.Helper()
	w.n++
	ctx := context.Background()
	var err error
	w.db, err = store.Open(ctx, w.url)
	require.NoError(tb, err)
	w.ledger, err = ledger.Open(ctx, w.db, ledger.Options{Now: w.clock.now})
	require.NoError(tb, err)
	o := w.options
	o.Ledger, o.Holder = w.ledger, fmt.Sprintf("host-%d", w.n)
	if w.boundary != nil {
		e := w.engine
		e.Ledger, e.Holder = w.ledger, fmt.Sprintf("engine-%d", w.n)
		o.Engine, err = rlm.New(e)
		require.NoError(tb, err)
	}
	w.Host, err = Open(ctx, o)
	return err
}

// start opens the host and runs it until the test ends or halt.
func (w *world) start(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, w.open(tb))
	w.run(tb)
}

func (w *world) run(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	host, db := w.Host, w.db
	ended := make(chan error, 1)
	go func() { ended <- host.Run(ctx) }()
	once := sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				tb.Errorf("Run: %v", err)
			}
		case <-time.After(20 * time.Second):
			tb.Error("the host does not stop")
		}
		if err := db.Close(); err != nil {
			tb.Errorf("database: %v", err)
		}
	})
	w.stop = once
	tb.Cleanup(once)
	require.Eventually(tb, func() bool {
		host.setups.mu.Lock()
		defer host.setups.mu.Unlock()
		return host.setups.life != nil
	}, 10*time.Second, time.Millisecond)
}

// restart ends the host as a process ends, and starts another one on what is stored.
func (w *world) restart(tb testing.TB) {
	tb.Helper()
	w.stop()
	w.start(tb)
}

// sent is a submission of the nth miner with the nth artefact, signed.
func (w *world) sent(topicID string, miner int, artifact byte, edits ...func(fields map[string]any)) Sent {
	w.t.Helper()
	key := newKey(fmt.Sprint("miner ", miner))
	fields := map[string]any{
		"miner_hotkey": key.Public().String(), "artifact_digest": rlmtest.Digest(artifact), "topic_id": topicID,
		"artifact_uri": "https://example.invalid/recipe.tar", "claim": "beats the reference by a tenth", "declared_flops": 1000,
		"submit_nonce": hash("nonce", miner, artifact), "manifest": map[string]any{"train_dataset_ids": []string{"my-mix-v0"}},
	}
	for _, edit := range edits {
		edit(fields)
	}
	if _, is := fields["hotkey_signature"]; !is {
		text, err := json.Marshal(fields)
		require.NoError(w.t, err)
		r, err := intake.Parse(text)
		require.NoError(w.t, err)
		signature, err := key.Sign(nil, intake.Domain, intake.Signed{
			Hotkey: key.Public().String(), TopicID: topicID, ArtifactDigest: rlmtest.Digest(artifact), DeclaredFLOPs: r.DeclaredFLOPs,
			Claim: r.Claim, Manifest: r.Manifest, Nonce: *r.SubmitNonce,
		}.Payload())
		require.NoError(w.t, err)
		fields["hotkey_signature"] = hex.EncodeToString(signature[:])
	}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(fields)
	require.NoError(w.t, err)
	return Sent{Address: fmt.Sprintf("192.0.2.%d", miner%250), ContentType: "application/json", Body: text}
}

// submit sends and wants a status; the body of the reply comes back as a map.
func (w *world) submit(status int, s Sent) map[string]any {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	reply, err := w.Submit(ctx, s)
	require.NoError(w.t, err)
	got := w.saw(reply.JSON)
	require.Equal(w.t, status, reply.Status, "%s", reply.JSON)
	return got
}

// async sends without waiting and returns the digest.
func (w *world) async(s Sent) string {
	w.t.Helper()
	s.Async = true
	return w.submit(accepted, s)["submission_digest"].(string)
}

func (w *world) byDigest(digest string) map[string]any {
	w.t.Helper()
	reply, err := w.ByDigest(context.Background(), digest)
	require.NoError(w.t, err)
	return w.saw(reply.JSON)
}

// until polls by digest until the state, or the state of the row, is wanted.
func (w *world) until(digest, state string) (got map[string]any) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		got = w.byDigest(digest)
		return got["state"] == state
	}, 15*time.Second, 3*time.Millisecond, "%v", got)
	return got
}

// saw keeps a reply for the search for secrets.
func (w *world) saw(text []byte) map[string]any {
	w.t.Helper()
	w.mu.Lock()
	w.shown = append(w.shown, string(text))
	w.mu.Unlock()
	var got map[string]any
	require.NoError(w.t, json.Unmarshal(text, &got), "%s", text)
	return got
}

// sawValue keeps what a use case returned as it would be written.
func (w *world) sawValue(v any) {
	w.t.Helper()
	text, err := json.Marshal(v)
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, string(text))
}

// sawError keeps the text of a refusal and returns it.
func (w *world) sawError(err error) *Error {
	w.t.Helper()
	refusal, is := refused(err)
	require.True(w.t, is, "%v", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, refusal.Text)
	return refusal
}

// leafSeed is the secret half of the leaf key, as its file holds it.
func leafSeed() string {
	seed := sha256.Sum256([]byte(secretLeaf))
	return hex.EncodeToString(seed[:])
}

// planted are the texts that no reply and no log line may hold.
func planted() []string {
	list := []string{secretOrigin, "planted-judge", secretKey, secretDataset, secretFolder, secretBearer, leafSeed()}
	for id := range uint32(130) {
		list = append(list, hash("shard", id))
	}
	return list
}

// secrets searches every reply that was given and everything that was logged.
func (w *world) secrets() {
	w.mu.Lock()
	defer w.mu.Unlock()
	logged := w.log.String()
	for _, secret := range planted() {
		if i := strings.Index(logged, secret); i >= 0 {
			w.t.Errorf("the log shows %q: %.300s", secret, logged[max(0, i-200):])
		}
		for _, reply := range w.shown {
			if strings.Contains(reply, secret) {
				w.t.Errorf("a reply shows %q: %s", secret, reply)
			}
		}
	}
}

// rows is the number of stored rows.
func (w *world) rows() int {
	w.t.Helper()
	page, err := w.Rows(context.Background(), ledger.RowQuery{})
	require.NoError(w.t, err)
	w.sawValue(page)
	return len(page.Items)
}

// hourly lets the epochs of a world last an hour, from the full hour of its clock.
func hourly(w *world) {
	epochs, err := payout.EpochsFrom(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), 3600)
	require.NoError(w.t, err)
	w.options.Epochs = epochs
}

func decode(tb testing.TB, text []byte, into any) {
	tb.Helper()
	require.NoError(tb, json.Unmarshal(text, into))
}

func contains(l *lines, text string) bool { return strings.Contains(l.String(), text) }
