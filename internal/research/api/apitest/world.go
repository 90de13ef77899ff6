package apitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/host"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// What every world begins with.
const (
	Token    = "operator-token-of-the-test"
	CustomID = "harness_success_rate"
	OpenID   = "agent-harness-v0" // custom, open, higher is better
	DraftID  = "draft-harness-v0" // custom, not set up yet
	Sealed   = 0.40               // sealed primary of OpenID; its bar is 0.42
	pinned   = "sha256:78b614a1f51ce5dd80076c4e343a2b31b85d6c36025e02836cb83929867e7009"
)

// World is one control plane and what it stands on.
type World struct {
	Host     *host.Host
	DB       *store.DB // of the ledger; a test may close it early
	Boundary *rlmtest.Boundary
	Log      *Lines // of host and engine; routes may log there too
	Clock    *Clock
	Options  host.Options // change them in an edit
	Pin      *pin.Pin
	Key      *sr25519.SecretKey // of the topics
	Vacant   bool               // no executor offer is made; an edit says so

	t   testing.TB
	dir string
}

// Genesis is the begin of epoch 0 of every world; epochs last an hour.
func Genesis() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Clock is a clock that tests move; it also runs by itself.
type Clock struct {
	mu   sync.Mutex
	base time.Time
	from time.Time
}

// Now is the instant that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.from))
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = c.base.Add(d)
}

// Lines is a log that several goroutines write.
type Lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Logger writes everything to the log of the world.
func (w *World) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// New opens a world and runs it until the test ends.
func New(tb testing.TB, edits ...func(*World)) *World {
	tb.Helper()
	w := &World{
		t: tb, Boundary: &rlmtest.Boundary{}, Log: &Lines{}, Clock: &Clock{base: Genesis(), from: time.Now()},
		Key: Secret(tb, "the topic key of tests"), Pin: pin.Default(), dir: filepath.Join(tb.TempDir(), Folder),
	}
	require.NoError(tb, os.Mkdir(w.dir, 0o700))
	w.Pin.TopicPubkey, w.Pin.EvalImageDigest = w.Key.Public().String(), pinned
	w.Pin.AllowedLiumTemplatePrefixes = []string{"proof-eval-"}
	require.NoError(tb, w.Pin.Validate())
	sealed := Sealed
	w.Boundary.Baseline.Primary = &sealed
	root, err := artefact.OpenRoot(filepath.Join(tb.TempDir(), "artefacts"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, root.Close()) })
	epochs, err := payout.EpochsFrom(Genesis(), 3600)
	require.NoError(tb, err)
	w.files()
	w.Options = host.Options{
		Pin: w.Pin, Artefacts: root, Now: w.Clock.Now, Store: "sqlite", Epochs: epochs, Log: w.Logger(), Holder: "host-of-the-test",
		LeafKey: Secret(tb, LeafKey),
		Files: host.Files{
			Topics: w.Path("topics.json"), Holdout: w.Path("holdout.json"), Baseline: w.Path("baseline.json"),
			InferenceOffer: w.Path("inference.json"), InferenceKey: w.Path("judge.key"),
		},
		Poll: 5 * time.Millisecond, Limits: host.Limits{Workers: 3},
	}
	for _, edit := range edits {
		edit(w)
	}
	w.open(tb, root)
	return w
}

func (w *World) open(tb testing.TB, root *artefact.Root) {
	tb.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, "sqlite:"+filepath.Join(tb.TempDir(), "prova.db"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	w.DB = db
	w.Options.Ledger, err = ledger.Open(ctx, db, ledger.Options{Now: w.Clock.Now})
	require.NoError(tb, err)
	if w.Boundary != nil {
		w.Options.Engine, err = rlm.New(rlm.Options{
			Ledger: w.Options.Ledger, Boundary: w.Boundary, Artefacts: root, Pin: w.Pin, Now: w.Clock.Now, Holder: "engine-of-the-test",
			Template: wire.Template{ImageDigest: pinned, VCPUs: 4, MemMiB: 8192}, CustomIDs: []string{CustomID}, OwnerKeyFile: w.Path("judge.key"),
			LeaseTTL: 10 * time.Second, LeasePoll: 2 * time.Millisecond, RenewEvery: time.Second, Log: w.Options.Log,
		})
		require.NoError(tb, err)
	}
	w.Host, err = host.Open(ctx, w.Options)
	require.NoError(tb, err)
	if !w.Vacant {
		_, err = w.Host.SetExecutor(ctx, Executor(tb, 7200))
		require.NoError(tb, err)
	}
	life, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Host.Run(life) }()
	tb.Cleanup(func() {
		stop()
		// A host that is stopped while it still recovers says so.
		if err := <-ended; !errors.Is(err, context.Canceled) {
			require.NoError(tb, err)
		}
	})
	if w.Boundary == nil {
		return
	}
	// The first probe of the orchestrator comes when the host runs.
	require.Eventually(tb, func() bool {
		status, err := w.Host.Status(ctx)
		return err == nil && status.Sandbox != nil
	}, 20*time.Second, time.Millisecond, "the host does not run")
}

// Path is where a file of the operator is.
func (w *World) Path(name string) string { return filepath.Join(w.dir, name) }

// Write replaces a file of the operator.
func (w *World) Write(name string, v any) {
	w.t.Helper()
	text, is := v.([]byte)
	if !is {
		var err error
		text, err = json.Marshal(v)
		require.NoError(w.t, err)
	}
	require.NoError(w.t, os.WriteFile(w.Path(name), text, 0o600))
}

// Secret is a key that a name leads to.
func Secret(tb testing.TB, name string) *sr25519.SecretKey {
	tb.Helper()
	seed := sha256.Sum256([]byte(name))
	key, err := sr25519.NewSecretKey(seed[:])
	require.NoError(tb, err)
	return key
}

// Hash is 64 hex digits that some values lead to.
func Hash(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:])
}

// CloseEpoch lets the epoch of now end and waits until it is closed.
func (w *World) CloseEpoch() {
	w.t.Helper()
	n := w.Host.Epochs().Current
	w.Clock.Advance(time.Hour + 11*time.Second)
	require.Eventually(w.t, func() bool {
		for _, e := range w.Host.Epochs().Closed {
			if e.Epoch == n {
				return true
			}
		}
		return false
	}, 20*time.Second, 2*time.Millisecond, "epoch %d does not close", n)
}

// Sign signs a document with the key of topics and returns its JSON.
func (w *World) Sign(d *topic.Document) []byte {
	w.t.Helper()
	require.NoError(w.t, d.Sign(nil, w.Key))
	text, err := d.JSON()
	require.NoError(w.t, err)
	return text
}
