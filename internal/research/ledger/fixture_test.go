package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/topic"
)

func ptr[T any](v T) *T { return &v }

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// fixture is a ledger on a database of its own, opened as the service opens it: on
// PostgreSQL as an account that owns nothing.
type fixture struct {
	*Ledger
	*clock
	owner string // address as the owner of the tables
	app   string // and as the service
	n     int    // submissions made so far
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, url string) { fn(t, newFixture(t, url)) })
}

func newFixture(tb testing.TB, url string) *fixture {
	tb.Helper()
	f := &fixture{clock: newClock(), owner: url, app: storetest.AppRole(tb, url)}
	_ = openLedger(tb, f.owner, f.clock)
	f.Ledger = openLedger(tb, f.app, f.clock)
	return f
}

func openLedger(tb testing.TB, url string, c *clock) *Ledger {
	tb.Helper()
	db, err := store.Open(context.Background(), url)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	l, err := Open(context.Background(), db, Options{Now: c.now})
	require.NoError(tb, err)
	return l
}

func hash(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

// document is an open custom topic.
func document(id string) *topic.Document {
	d := topic.New()
	d.ID, d.Status, d.FLOPsBudget = id, topic.Open, 2000
	d.Metric = topic.Metric{Family: topic.Custom, CustomID: "score", Primary: "score", Direction: topic.Max, EpsilonRel: 0.05}
	return d
}

// submission is a frozen, signed submission: the nth of its miner, to a topic.
func submission(topicID string, miner, nth int) *intake.Submission {
	s := &intake.Submission{
		Request: intake.Request{
			Claim: "better <&> \u2028 é", DeclaredFLOPs: 1 << 63, ArtifactURI: ptr("https://example.invalid/a.tar"),
			Manifest: intake.Manifest{DatasetIDs: []string{"mix"}}, SubmitNonce: ptr(hash("nonce", miner, nth)),
		},
		Hotkey: hash("miner", miner), ArtifactDigest: hash("artefact", miner, nth), TopicID: topicID,
		Signed: true, Topic: &intake.Topic{Document: document(topicID)},
	}
	s.Nonce = intake.Nonce(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Digest = intake.Digest(s.Hotkey, s.TopicID, s.ArtifactDigest)
	s.Body = sha256.Sum256([]byte(s.Digest))
	return s
}

func options() AdmitOptions {
	return AdmitOptions{ContentType: "application/json", Body: []byte(`{"a":1}`), QueueCap: 1000}
}

// gate is the part of intake's gate that looks at the store.
func gate(s *intake.Submission, kind intake.Kind) func(intake.Miner) (*intake.Outcome, *intake.Refusal) {
	return func(m intake.Miner) (*intake.Outcome, *intake.Refusal) {
		switch {
		case m.Nonce == intake.NonceOtherBody:
			return nil, &intake.Refusal{Row: "8a", Status: 409, Text: "nonce"}
		case m.Nonce == intake.NonceSameBody:
			return &intake.Outcome{Kind: intake.Rejoin, Submission: s}, nil
		case m.Limited:
			return nil, &intake.Refusal{Row: "8c", Status: 429, Text: "limited"}
		case m.InFlight:
			return nil, &intake.Refusal{Row: "8d", Status: 409, Text: "in flight"}
		case kind == intake.Reject:
			return &intake.Outcome{Kind: kind, Submission: s}, nil
		case m.Running:
			return nil, &intake.Refusal{Row: "23a", Status: 429, Text: "running"}
		case m.QueueFull:
			return nil, &intake.Refusal{Row: "23b", Status: 503, Text: "full"}
		}
		return &intake.Outcome{Kind: kind, Submission: s}, nil
	}
}

// admit fails unless the gate lets the submission through.
func (f *fixture) admit(tb testing.TB, s *intake.Submission, kind intake.Kind, a AdmitOptions) *Admission {
	tb.Helper()
	got, err := f.Admit(tb.Context(), s, a, gate(s, kind))
	require.NoError(tb, err)
	require.Nil(tb, got.Refusal)
	return got
}

// refused fails unless the gate refuses at this row.
func (f *fixture) refused(tb testing.TB, s *intake.Submission, row string, a AdmitOptions) {
	tb.Helper()
	got, err := f.Admit(tb.Context(), s, a, gate(s, intake.Run))
	require.NoError(tb, err)
	require.NotNil(tb, got.Refusal, "outcome %+v", got.Outcome)
	require.Equal(tb, row, got.Refusal.Row)
	require.Zero(tb, got.Flight)
	require.Nil(tb, got.Row)
}

// leave makes what a run leaves that measured primary, on a row that was reserved;
// it passes when it beats 1, and is crowned when a crown is given.
func leave(id intake.ID, s *intake.Submission, flight FlightID, holder string, primary float64, crown *Crown) (Commit, error) {
	v, err := family.JudgeRun(intake.Scored(s.Topic.Document), family.Metrics{CustomValue: ptr(1.0)}, family.Run{
		DeclaredFlops: 1000, FlopsUsed: ptr(uint64(10)), PrimaryValue: &primary, ClaimHolds: true, RulesVersion: 1,
	})
	if err != nil {
		return Commit{}, err
	}
	o := &intake.Outcome{Kind: intake.Run, Submission: s}
	row, attempt, err := o.Persist(id, intake.Result{Verdict: v, Crowned: crown != nil, Receipt: ptr(`{"provider":"vm"}`)})
	if err != nil {
		return Commit{}, err
	}
	return Commit{
		Row: row, Attempt: attempt, TreeDigest: hash("tree", s.ArtifactDigest), Flight: flight, Holder: holder, Crown: crown,
		Artefact: &Artefact{Path: row.TopicID + "/" + row.ID + ".zip", SHA256: hash("zip", row.ID), Bytes: 1000, ChecklistGreen: true, Promoted: crown != nil, PrimaryValue: &primary},
	}, nil
}

// run brings a new submission of a miner up to its commit.
func (f *fixture) run(tb testing.TB, topicID string, miner int, primary float64) (*intake.Submission, Commit) {
	tb.Helper()
	f.n++
	s := submission(topicID, miner, f.n)
	f.admit(tb, s, intake.Run, options())
	flight, err := f.Claim(tb.Context(), "w1", time.Hour)
	require.NoError(tb, err)
	require.NotNil(tb, flight)
	require.Equal(tb, s.Digest, flight.Digest)
	return s, f.commitOf(tb, s, flight.ID, "w1", primary, nil)
}

// commitOf is leave on a row that is reserved now.
func (f *fixture) commitOf(tb testing.TB, s *intake.Submission, flight FlightID, holder string, primary float64, crown *Crown) Commit {
	tb.Helper()
	id, err := f.ReserveRow(tb.Context())
	require.NoError(tb, err)
	c, err := leave(id, s, flight, holder, primary, crown)
	require.NoError(tb, err)
	return c
}

// sameRow compares rows by what is stored of them.
func sameRow(tb testing.TB, want, got *intake.StoredRow) {
	tb.Helper()
	require.NotNil(tb, got)
	a, err := want.JSON()
	require.NoError(tb, err)
	b, err := got.JSON()
	require.NoError(tb, err)
	require.Equal(tb, string(a), string(b))
}
