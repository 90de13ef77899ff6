package issuer

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mathrand "math/rand/v2"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/timestamp"
	"github.com/prova-dev/prova/evidence/tlog"
	"github.com/prova-dev/prova/internal/platform/httpx"
	"github.com/prova-dev/prova/internal/platform/store"
)

const (
	killDirEnv = "PROVA_ISSUER_KILL_DIR"
	killKeyEnv = "PROVA_ISSUER_KILL_KEY"
)

// TestMain lets the test binary be the issuer that TestKill9 kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killDirEnv); dir != "" {
		if err := issueUntilKilled(dir, os.Getenv(killKeyEnv)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// diskIssuer is an issuer whose keys, proofs, authority and log are all on disk.
type diskIssuer struct {
	svc     *Service
	db      *store.DB
	logs    *tlog.FileStore
	log     *tlog.Embedded
	history *History
	cfg     Config
}

func openDiskIssuer(ctx context.Context, dir, upstreamAddr string) (*diskIssuer, error) {
	proofKey, logKey, history, err := diskKeys(dir)
	if err != nil {
		return nil, err
	}
	d := &diskIssuer{history: history}
	id, err := timestamp.LoadLocalIdentity(filepath.Join(dir, "authority"))
	if err != nil {
		return nil, err
	}
	authority, err := id.Open(time.Now)
	if err != nil {
		return nil, err
	}
	if d.logs, err = tlog.OpenFileStore(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	if d.log, err = tlog.OpenEmbedded(ctx, d.logs, logKey, "log.example.test", 7, time.Now); err != nil {
		return nil, err
	}
	signer, err := NewSigner(proofKey, logKey, history, time.Now())
	if err != nil {
		return nil, err
	}
	guard, err := httpx.NewGuard(httpx.GuardOptions{Upstreams: map[string]string{corpusHost: upstreamAddr}})
	if err != nil {
		return nil, err
	}
	if d.db, err = store.Open(ctx, "sqlite:"+filepath.Join(dir, "issuer.db")); err != nil {
		return nil, err
	}
	d.cfg = DefaultConfig()
	d.cfg.BaseURL = "https://trust.example.test"
	d.cfg.Quotas = map[Plan]Quota{PlanInternal: {Daily: 1 << 40}}
	d.cfg.BatchSize, d.cfg.BatchAge, d.cfg.Tick = 5, 30*time.Millisecond, 10*time.Millisecond
	d.cfg.RetryMin, d.cfg.RetryMax = 5*time.Millisecond, 20*time.Millisecond
	d.cfg.Authorities = []timestamp.Authority{authority.Authority("local")}
	d.cfg.Logs = []tlog.Log{d.log.Log()}
	d.svc, err = New(ctx, d.cfg, Deps{
		DB: d.db, Signer: signer, Stampers: timestamp.Pool{authority.Stamper("local")}, Log: d.log, Guard: guard,
		Logger: slog.New(slog.DiscardHandler),
	})
	return d, err
}

func (d *diskIssuer) close(ctx context.Context) error {
	if err := d.svc.Close(ctx); err != nil {
		return err
	}
	if err := d.db.Close(); err != nil {
		return err
	}
	return d.logs.Close()
}

// diskKeys makes or reads the keys in dir.
func diskKeys(dir string) (proof ed25519Key, log *ecdsa.PrivateKey, h *History, err error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	if _, err := os.Stat(path("history.json")); os.IsNotExist(err) {
		proof, log, h, err := GenerateKeys(rand.Reader, "n", time.Now().Add(-time.Hour))
		if err != nil {
			return nil, nil, nil, err
		}
		for name, key := range map[string]any{"proof.pem": proof, "log.pem": log} {
			text, err := MarshalKey(key)
			if err != nil {
				return nil, nil, nil, err
			}
			if err := os.WriteFile(path(name), text, 0o600); err != nil {
				return nil, nil, nil, err
			}
		}
		id, err := timestamp.NewLocalIdentity(rand.Reader, time.Now())
		if err != nil {
			return nil, nil, nil, err
		}
		if err := id.SaveTo(path("authority")); err != nil {
			return nil, nil, nil, err
		}
		return proof, log, h, os.WriteFile(path("history.json"), h.JSON(), 0o600)
	}
	read := func(name string) (any, error) {
		text, err := os.ReadFile(path(name))
		if err != nil {
			return nil, err
		}
		return ParseKey(text)
	}
	p, err := read("proof.pem")
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := read("log.pem")
	if err != nil {
		return nil, nil, nil, err
	}
	text, err := os.ReadFile(path("history.json"))
	if err != nil {
		return nil, nil, nil, err
	}
	h, err = ParseHistory(text)
	return p.(ed25519Key), l.(*ecdsa.PrivateKey), h, err
}

// issueUntilKilled is the child: it serves calls from eight callers, writes each
// acknowledged proof id to standard output, and ends only by being killed or when
// its parent is gone.
func issueUntilKilled(dir, key string) error {
	ctx := context.Background()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"existe":true}`)
	}))
	d, err := openDiskIssuer(ctx, dir, strings.TrimPrefix(up.URL, "http://"))
	if err != nil {
		return err
	}
	go func() { _ = d.svc.Run(ctx) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	handler := d.svc.Handler()
	var out sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				r := httptest.NewRequest("POST", "/v1/proxy", strings.NewReader(entity))
				r.Header.Set("X-Api-Key", key)
				rec := httptest.NewRecorder()
				handler.ServeHTTP(rec, r)
				out.Lock()
				if rec.Code == 200 {
					fmt.Printf("ACK %s\n", rec.Header()[proofIDHeader][0]) //nolint:staticcheck // Written as the source writes it.
				} else {
					fmt.Printf("BAD %s\n", rec.Body.String())
				}
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKill9AtAnyMomentLosesNoAcknowledgedProof kills an issuing process again and
// again, then checks what the last one finds: every acknowledged proof is there,
// every proof is in exactly one batch, every batch is anchored once.
func TestKill9AtAnyMomentLosesNoAcknowledgedProof(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	first, err := openDiskIssuer(ctx, dir, "127.0.0.1:1")
	require.NoError(t, err)
	key, err := first.svc.IssueKey(ctx, PlanInternal, "kill test")
	require.NoError(t, err)
	require.NoError(t, first.close(ctx))

	var acknowledged []string
	for range 8 {
		acknowledged = append(acknowledged, runAndKill(t, dir, key)...)
	}
	require.Greater(t, len(acknowledged), 50, "the children must get something done")

	last, err := openDiskIssuer(ctx, dir, "127.0.0.1:1")
	require.NoError(t, err)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- last.svc.Run(running) }()
	require.Eventually(t, func() bool {
		p, err := last.svc.Pending(ctx)
		return err == nil && p.Proofs == 0 && len(p.Closing) == 0
	}, 20*time.Second, 10*time.Millisecond, "everything is anchored after a restart")
	stop()
	require.NoError(t, <-done)
	last.check(t, acknowledged, counterKeyOf(key))
	require.NoError(t, last.close(ctx))
}

// runAndKill starts a child, lets it issue for a random while and kills it.
func runAndKill(t *testing.T, dir, key string) (acknowledged []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), killDirEnv+"="+dir, killKeyEnv+"="+key)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	var timer *time.Timer
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		id, ok := strings.CutPrefix(lines.Text(), "ACK ")
		if !ok || !validProofID(id) {
			require.False(t, ok, "a whole line or none: %q", lines.Text())
			t.Errorf("child: %s", lines.Text())
			continue
		}
		acknowledged = append(acknowledged, id)
		if timer == nil {
			timer = time.AfterFunc(time.Duration(mathrand.IntN(200_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // killed
	require.NotNil(t, timer, "the child issued nothing: %s", stderr.String())
	return acknowledged
}

// check verifies every batch and every acknowledged proof of an issuer.
func (d *diskIssuer) check(t *testing.T, acknowledged []string, counterKey string) {
	t.Helper()
	ctx := context.Background()
	rows, err := d.db.Reader().QueryContext(ctx, `SELECT seq, chain FROM issuer_proofs ORDER BY seq`)
	require.NoError(t, err)
	defer rows.Close()
	var seqs []int64
	var chains []string
	for rows.Next() {
		var seq int64
		var chain string
		require.NoError(t, rows.Scan(&seq, &chain))
		seqs, chains = append(seqs, seq), append(chains, chain)
	}
	require.NoError(t, rows.Err())

	brows, err := d.db.Reader().QueryContext(ctx, `SELECT `+batchColumns+` FROM issuer_batches ORDER BY first_seq`)
	require.NoError(t, err)
	defer brows.Close()
	var batches []*batchRow
	for brows.Next() {
		b := &batchRow{}
		require.NoError(t, brows.Scan(b.fields()...))
		batches = append(batches, b)
	}
	require.NoError(t, brows.Err())

	at := 0
	for _, b := range batches {
		require.Equal(t, stateAnchored, b.State)
		members := chains[at : at+int(b.Size)]
		require.Equal(t, seqs[at], b.FirstSeq, "batch %s follows the one before it without a gap or an overlap", b.ID)
		require.Equal(t, seqs[at+int(b.Size)-1], b.LastSeq)
		require.Equal(t, strings.Join(members, ""), b.Leaves)
		at += int(b.Size)
	}
	require.Equal(t, len(chains), at, "no proof is left out")
	size, _, err := d.logs.State(ctx)
	require.NoError(t, err)
	require.Equal(t, uint64(len(batches)), size, "the log holds one entry for each batch")

	w := &world{t: t, svc: d.svc, history: d.history}
	checker := receipt.NewChecker(w.trust())
	for _, id := range acknowledged {
		doc, err := d.svc.proof(ctx, id)
		require.NoError(t, err, "acknowledged and lost: %s", id)
		view, err := d.svc.cfg.publicDocument(doc)
		require.NoError(t, err)
		p, err := receipt.Parse(compact(view))
		require.NoError(t, err)
		_, refusal := checker.Admit(p, func(uuid string) ([]byte, bool) {
			entry, err := d.svc.store.entry(ctx, uuid)
			return []byte(entry), err == nil
		}, receipt.Policy{RequireLog: true, AllowLocal: true})
		require.Nil(t, refusal, "%s: %v", id, refusal)
	}
	var used int64 // of all months: the test may run across midnight
	require.NoError(t, d.db.Reader().QueryRowContext(ctx,
		`SELECT SUM(used) FROM issuer_usage WHERE counter_key = $1 AND LENGTH(period) = 7`, counterKey).Scan(&used))
	require.GreaterOrEqual(t, used, int64(len(acknowledged)), "every acknowledged proof has been counted")
}
