package remotetest

import (
	"bytes"
	"encoding/hex"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

// What every plane begins with.
const (
	Token    = "operator-token-of-the-test"
	Origin   = "http://judge-origin.invalid/v1" // the judge's; in no answer
	CustomID = "success_rate"
	OpenID   = "open-topic"  // sealed at 0.5, higher is better
	DraftID  = "draft-topic" // not set up yet
	Epoch    = 7
	digest   = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
)

// Result is what a run comes to: a primary and usage, or the text of a 503.
type Result struct {
	Primary *float64 // nil: the recipe ran and failed
	Used    uint64
	Crowned bool
	Fault   string
}

// Plane is one control plane. Its exported members are read under its lock, and
// so is whatever Run and Tamper read of a test: once a request was made, change
// them inside of [Plane.Change] alone.
type Plane struct {
	URL   string
	Key   *sr25519.SecretKey // of the pin's topic_pubkey
	Pin   *pin.Pin
	Looks int // how often a submission is looked at before its run ends; 0: at once

	Run    func(*intake.Submission) Result
	Tamper func(w http.ResponseWriter, r *http.Request, status int, body []byte) (int, []byte)
	// HostRowsOnly leaves the topic's own status out of its readiness.
	HostRowsOnly bool
	// Setups is what each set-up measures; empty: it fails.
	Setups []float64

	mu       sync.Mutex
	host     *intake.Host
	sealed   float64
	flights  map[string]*flight
	rows     []*intake.StoredRow
	nonces   map[string][32]byte
	posts    [][]byte // bodies of submissions, as they came
	rules    map[string][]topic.RuleSet
	moves    map[string][]map[string]string
	measured map[string]map[string]any
	failed   map[string]string
	closed   map[uint64][]byte
}

type flight struct {
	outcome *intake.Outcome
	looks   int
	refusal *intake.Refusal
}

// New starts a plane and stops it with the test.
func New(t testing.TB) *Plane {
	t.Helper()
	p := &Plane{
		Pin: pin.Default(), sealed: 0.5, flights: map[string]*flight{}, nonces: map[string][32]byte{}, rules: map[string][]topic.RuleSet{},
		moves: map[string][]map[string]string{}, measured: map[string]map[string]any{}, failed: map[string]string{}, closed: map[uint64][]byte{},
		Run: func(*intake.Submission) Result { v := 0.9; return Result{Primary: &v, Used: 10} },
	}
	p.Key = Secret(t, 0x42)
	p.Pin.TopicPubkey, p.Pin.EvalImageDigest, p.Pin.AllowedLiumTemplatePrefixes = p.Key.Public().String(), digest, []string{"proof-eval-"}
	p.Pin.Inference.Model = "master-proxy-v0"
	p.host = &intake.Host{
		Pin: p.Pin, Epoch: Epoch, SignatureRequired: true, JudgeKey: true, Topics: map[string]*intake.Topic{},
		Custom: &intake.Custom{Runners: map[string]string{CustomID: ""}},
	}
	p.offers(t)
	p.topic(t, OpenID, topic.Open)
	p.topic(t, DraftID, topic.Draft)
	server := httptest.NewServer(p.routes())
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Secret returns the key whose mini secret begins with a byte.
func Secret(t testing.TB, first byte) *sr25519.SecretKey {
	t.Helper()
	mini := bytes.Repeat([]byte{0x11}, sr25519.SecretSize)
	mini[0] = first
	key, err := sr25519.NewSecretKey(mini)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (p *Plane) offers(t testing.TB) {
	judge := &offer.Inference{
		OfferID: "judge-a", Provider: pin.OpenAICompatible, BaseURL: Origin, Mode: pin.Chat, ModelRef: "master-proxy-v0",
		MaxInputTokens: 32768, MaxOutputTokens: 8192, Status: offer.Open,
	}
	executor := &offer.Executor{
		OfferID: "exec-a", LiumTemplateID: "proof-eval-78b614a1f51c", MachineShape: "1x", MaxProofDeadlineS: 7200, EvalImageDigest: digest, Status: offer.Open,
	}
	var err error
	if judge.ConfigCommitment, err = judge.Commitment(); err != nil {
		t.Fatal(err)
	}
	if executor.ConfigCommitment, err = executor.Commitment(); err != nil {
		t.Fatal(err)
	}
	p.host.Inference, p.host.Executor = judge, executor
}

// Document returns a custom topic whose baseline is sealed at a value, not signed.
func (p *Plane) Document(t testing.TB, id string, status topic.Status) *topic.Document {
	t.Helper()
	records, err := holdout.Synthetic(24, 1)
	if err != nil {
		t.Fatal(err)
	}
	commitment := holdout.Commitment(records)
	d := topic.New()
	d.ID, d.Statement, d.Status, d.FLOPsBudget, d.HoldoutCommitment = id, "Raise the success rate.", status, 1000, hex.EncodeToString(commitment[:])
	d.Metric = topic.Metric{Family: topic.Custom, CustomID: CustomID, Primary: "rate", Direction: topic.Max, Unit: "rate", EpsilonRel: 0.05}
	d.Checklist = []topic.ChecklistItem{{ID: "same_seed", Text: "every run uses the topic's seed"}}
	d.Baseline.FLOPsBudget = d.FLOPsBudget
	if status != topic.Draft {
		seal, err := p.measurement(d).Commitment()
		if err != nil {
			t.Fatal(err)
		}
		d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment = strings.Repeat("1", 64), seal
	}
	return d
}

func (p *Plane) measurement(d *topic.Document) *baseline.Measurement {
	m := &baseline.Measurement{
		EvalImageDigest: p.Pin.EvalImageDigest, TopicID: d.ID, HoldoutCommitment: d.HoldoutCommitment, CustomValue: &p.sealed,
		SplitNLL: map[holdout.Split]float64{},
	}
	for _, split := range holdout.Splits() {
		m.SplitNLL[split] = 0
	}
	return m
}

func (p *Plane) topic(t testing.TB, id string, status topic.Status) {
	d := p.Document(t, id, status)
	if err := d.Sign(nil, p.Key); err != nil {
		t.Fatal(err)
	}
	if refusal := p.store(d); refusal != nil {
		t.Fatal(refusal)
	}
	p.rules[id] = []topic.RuleSet{d.Rules()}
}

// store keeps a document that validates and verifies, with what the host has for it.
func (p *Plane) store(d *topic.Document) *intake.Refusal {
	_, registered := p.host.Custom.Runners[d.Metric.CustomID]
	if err := d.Validate(p.Pin, func(string) bool { return registered }); err != nil {
		return &intake.Refusal{Status: http.StatusBadRequest, Text: err.Error()}
	}
	if err := d.Verify(p.Pin); err != nil {
		return &intake.Refusal{Status: http.StatusBadRequest, Text: err.Error()}
	}
	held := &intake.Topic{Document: d}
	if records, err := holdout.Synthetic(24, 1); err == nil {
		held.Holdout, _ = holdout.Verify(records, d.HoldoutSize, d.HoldoutCommitment) // nil when it is not this topic's
	}
	if m := p.measurement(d); m.Bind(p.Pin, d) == nil {
		held.Baseline = m
	}
	p.host.Topics[d.ID] = held
	return nil
}

// Change runs a change under the plane's lock, between two requests.
func (p *Plane) Change(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Host changes what the host knows, between requests.
func (p *Plane) Host(change func(*intake.Host)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.host)
}

// Posts returns the bodies of the submissions that came in.
func (p *Plane) Posts() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]byte(nil), p.posts...)
}

// CloseEpoch closes the current epoch, and the next one begins.
func (p *Plane) CloseEpoch(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var topics []payout.Topic
	for _, id := range p.host.OpenTopics() {
		d := p.host.Topics[id].Document
		topics = append(topics, payout.Topic{
			ID: id, Mode: payout.Mode(d.PayoutMode), Direction: family.Direction(d.Metric.Direction),
			PassFloorBps: d.Discovery.PassFloorShareBPS, NoveltyBps: d.Discovery.NoveltyPoolShareBPS, Sealed: &p.sealed,
		})
	}
	var rows []payout.Row
	for _, r := range p.rows {
		id, err := intake.ParseID(r.ID)
		if err != nil {
			t.Fatal(err)
		}
		miner, err := payout.ParseHotkey(r.MinerHotkey)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, payout.Row{
			ID: uint64(id), Epoch: r.Epoch, TopicID: r.TopicID, Miner: miner, Pass: r.Verdict.Pass, Primary: r.Verdict.Harness.CustomValue,
			ArtifactDigest: r.ArtifactDigest,
		})
	}
	s, err := payout.Close(p.host.Epoch, topics, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.closed[p.host.Epoch], err = s.Encode(); err != nil {
		t.Fatal(err)
	}
	p.host.Epoch++
}

// answer writes what a handler came to, after the test's tampering.
func (p *Plane) answer(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if p.Tamper != nil {
		if status, body = p.Tamper(w, r, status, body); status == 0 {
			return // the test has answered
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	w.Write(body)
}

func (p *Plane) value(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"`+err.Error()+`"}`)
	}
	p.answer(w, r, status, body)
}

func (p *Plane) refuse(w http.ResponseWriter, r *http.Request, status int, text string) {
	p.value(w, r, status, map[string]string{"error": text})
}
