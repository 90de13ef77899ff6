package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/receipts/agent"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

const (
	// childEnv makes the test binary serve a data directory until it is killed.
	childEnv  = "PROVA_TEST_SERVE"
	crashRuns = 8
)

// serveAsChild is the process that the crash test kills: the real services on a
// data directory, addresses on standard output.
func serveAsChild() int {
	var c Config
	if err := json.Unmarshal([]byte(os.Getenv(childEnv)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := Start(ctx, c, nil, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.Public, s.Corpus, s.Internal)
	if err := s.Wait(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is one life of the services.
type child struct {
	cmd    *exec.Cmd
	stderr *syncBuffer
}

func startChild(t *testing.T, c *Config) *child {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	stderr := &syncBuffer{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the services did not start: %v\n%s", err, stderr.String())
	}
	_, err = fmt.Sscan(line, &c.Listen.Public, &c.Listen.Corpus, &c.Listen.Internal)
	require.NoError(t, err)
	ch := &child{cmd: cmd, stderr: stderr}
	t.Cleanup(ch.kill)
	return ch
}

// kill is kill -9: nothing of the process gets to say goodbye.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// acknowledged is what the services promised to keep.
type acknowledged struct {
	mu          sync.Mutex
	proofs      map[string]bool
	submissions map[string]string // task → the verdicts that may stand, last acknowledged first
	attempted   map[string]map[string]bool
}

// TestKill9KeepsEveryAcknowledgedProofAndSubmission kills the services at random
// moments of proxy calls, batch closes and submissions, again and again, and
// during the close of the season too.
func TestKill9KeepsEveryAcknowledgedProofAndSubmission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := practiceConfig(filepath.Join(dir, "data"))
	c.Issuer.BatchSize, c.Issuer.BatchAge = 7, time.Second // batches close all the time
	require.NoError(t, buildPracticeCorpus("conformite", filepath.Join(dir, "corpus")))
	life := startChild(t, &c)
	operator := crashOperator(t, c)
	_, err := operator.freezeSoon(t.Context(), map[string]string{"conformite": filepath.Join(dir, "corpus")}, time.Hour)
	require.NoError(t, err)
	access, work, err := agent.Join(t.Context(), agent.JoinOptions{
		IssuerURL: "http://" + c.Listen.Public, SeasonURL: "http://" + c.Listen.Public, Season: 1,
		Name: "Crash", Email: "crash@agents.prova.test", Rand: rand.Reader,
	})
	require.NoError(t, err)
	require.NoError(t, agent.NewClient(access).AwaitOpen(t.Context()))

	acked := &acknowledged{proofs: map[string]bool{}, submissions: map[string]string{}, attempted: map[string]map[string]bool{}}
	for range crashRuns {
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		for range 4 {
			load.Go(func() { acked.consult(ctx, c.Listen.Public, access, work) })
		}
		load.Go(func() { acked.submit(ctx, c.Listen.Public, access, work) })
		time.Sleep(time.Duration(100+mathrand.IntN(700)) * time.Millisecond)
		life.kill()
		stop()
		load.Wait()
		life = startChild(t, &c)
	}
	require.NotEmpty(t, acked.proofs)
	require.NotEmpty(t, acked.submissions)

	closed := make(chan error, 1)
	go func() { closed <- operator.CloseSeason(t.Context()) }()
	time.Sleep(30 * time.Millisecond)
	life.kill()
	startChild(t, &c)
	if err := <-closed; err != nil {
		require.Eventually(t, func() bool { return operator.CloseSeason(t.Context()) == nil }, time.Minute, 200*time.Millisecond)
	}
	checkProofs(t, operator, acked)
	checkSubmissions(t, operator, acked, access.AgentDID)
}

func crashOperator(t *testing.T, c Config) *Operator {
	t.Helper()
	c.Issuer.BaseURL = "http://" + c.Listen.Public
	o, done, err := OpenOperator(t.Context(), &c, slog.New(slog.DiscardHandler), func(string, ...any) {})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, done()) })
	return o
}

// consult makes proxied calls until the services go away, and notes each proof
// whose answer arrived whole.
func (a *acknowledged) consult(ctx context.Context, addr string, access *agent.Access, work *agent.Work) {
	urls := work.Tracks["conformite"].Catalogue
	for ctx.Err() == nil {
		body := fmt.Sprintf(`{"target":%q,"method":"GET","payload":{}}`, urls[mathrand.IntN(len(urls))])
		answer, err := crashPost(ctx, "http://"+addr+"/v1/proxy", body, "X-Api-Key", access.APIKey)
		if err != nil {
			return
		}
		var made struct {
			Proof struct {
				ProofID string `json:"proof_id"`
			} `json:"proof"`
		}
		if json.Unmarshal(answer, &made) == nil && made.Proof.ProofID != "" {
			a.mu.Lock()
			a.proofs[made.Proof.ProofID] = true
			a.mu.Unlock()
		}
	}
}

// submit replaces one task's submission again and again. Each carries a mark, so
// that what stands after a crash tells which one it is.
func (a *acknowledged) submit(ctx context.Context, addr string, access *agent.Access, work *agent.Work) {
	for i := 0; ctx.Err() == nil; i++ {
		task := work.Tracks["conformite"].Tasks[i%len(work.Tracks["conformite"].Tasks)].TaskID
		mark := fmt.Sprintf("%s-%d-%d", task, i, mathrand.Int64())
		body := fmt.Sprintf(`{"season":1,"track":"conformite","task_id":%q,"agent_did":%q,"verdict":"conforme","assertions":[],"disclosures":{},"narrative":%q}`,
			task, access.AgentDID, mark)
		a.mu.Lock()
		if a.attempted[task] == nil {
			a.attempted[task] = map[string]bool{}
		}
		a.attempted[task][mark] = true
		a.mu.Unlock()
		if _, err := crashPost(ctx, "http://"+addr+"/v1/season/1/submit", body, "Authorization", "Bearer "+access.SeasonToken); err != nil {
			return
		}
		a.mu.Lock()
		a.submissions[task] = mark
		// What was attempted before an acknowledged one cannot stand any more.
		a.attempted[task] = map[string]bool{mark: true}
		a.mu.Unlock()
	}
}

func crashPost(ctx context.Context, url, body, header, value string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, answer)
	}
	return answer, nil
}

// checkProofs wants every acknowledged proof, anchored, in exactly one place of
// exactly one batch, and one token and one log entry a batch.
func checkProofs(t *testing.T, o *Operator, a *acknowledged) {
	t.Helper()
	type view struct {
		ProofID string `json:"proof_id"`
		Batch   struct {
			Status string `json:"status"`
			ID     string `json:"batch_id"`
			Leaf   int    `json:"leaf_index"`
			Root   string `json:"root"`
		} `json:"batch_anchor"`
		Token struct {
			TSR string `json:"tsr_base64"`
		} `json:"timestamp_authority"`
		Log struct {
			UUID string `json:"uuid"`
		} `json:"transparency_log"`
	}
	ids := make([]string, 0, len(a.proofs))
	for id := range a.proofs {
		ids = append(ids, id)
	}
	places, witnesses := map[string]string{}, map[string]string{}
	seen := 0
	for len(ids) > 0 {
		n := min(len(ids), 400)
		err := o.source().Proofs(t.Context(), ids[:n], func(id string, data []byte) error {
			var v view
			require.NoError(t, json.Unmarshal(data, &v))
			if v.Batch.Status != "anchored" {
				_, data, err := o.anchored(t.Context(), id)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(data, &v))
			}
			seen++
			place := fmt.Sprintf("%s/%d", v.Batch.ID, v.Batch.Leaf)
			require.Empty(t, places[place], "two proofs stand in one place of a batch")
			places[place] = id
			witness := v.Batch.Root + v.Token.TSR + v.Log.UUID
			if w, ok := witnesses[v.Batch.ID]; ok {
				require.Equal(t, w, witness, "a batch has two roots, tokens or log entries")
			}
			witnesses[v.Batch.ID] = witness
			return nil
		})
		require.NoError(t, err)
		ids = ids[n:]
	}
	require.Equal(t, len(a.proofs), seen, "an acknowledged proof is lost")
}

// checkSubmissions wants, for each task, the last acknowledged submission or one
// that was under way after it.
func checkSubmissions(t *testing.T, o *Operator, a *acknowledged, did string) {
	t.Helper()
	b, err := bundle.Open(o.BundleDir())
	require.NoError(t, err)
	defer b.Close()
	for task, mark := range a.submissions {
		data, ok, err := b.Submission(did, task)
		require.NoError(t, err)
		require.True(t, ok, "the acknowledged submission of %s is lost", task)
		var s struct {
			Narrative string `json:"narrative"`
		}
		require.NoError(t, json.Unmarshal(data, &s))
		require.True(t, a.attempted[task][s.Narrative], "%s holds %q, acknowledged last was %q", task, s.Narrative, mark)
	}
	var out bytes.Buffer
	require.NoError(t, scoring.Score(b, nil, &out))
}
