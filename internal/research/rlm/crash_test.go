package rlm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
)

// childEnv makes the test binary a process that is killed at a write.
const childEnv = "PROVA_TEST_RLM_CRASH"

// crash is what the child does: one step of the engine over a store and a folder,
// killed at the nth point before or after a write.
type crash struct {
	URL, Dir, Key string
	Topic         string
	Do            string // setup, or evaluate
	Flight        ledger.FlightID
	At            int
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(crashAsChild())
	}
	os.Exit(m.Run())
}

// crashAsChild ends with 0 when it came through without reaching its point.
func crashAsChild() int {
	var c crash
	err := json.Unmarshal([]byte(os.Getenv(childEnv)), &c)
	if err == nil {
		err = c.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (c *crash) run(ctx context.Context) error {
	db, err := store.Open(ctx, c.URL)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, db, ledger.Options{})
	if err != nil {
		return err
	}
	root, err := artefact.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	w := &world{id: c.Topic, ledger: l, db: db, root: root, dir: c.Dir, boundary: scripted()}
	if err := w.prepare(c.Key); err != nil {
		return err
	}
	w.options.Holder = fmt.Sprint("child-", c.At)
	// What a killed process leaves is waited for. A lease that has run out and that
	// nobody took is renewed all the same, so a slow machine does no harm.
	w.options.LeaseTTL, w.options.RenewEvery = 60*time.Millisecond, 25*time.Millisecond
	if w.Engine, err = rlm.New(w.options); err != nil {
		return err
	}
	points := 0
	w.SetStep(func(point string) {
		if points++; points == c.At {
			fmt.Println(point)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	})
	if c.Do == "setup" {
		_, err = w.Setup(ctx, c.Topic, &owner{yes: true})
		return err
	}
	_, err = w.Evaluate(ctx, w.outcome("a", hash("artefact", "a")), rlm.Flight{ID: c.Flight, Holder: "worker"}, nil)
	return err
}

func scripted() *rlmtest.Boundary {
	b := &rlmtest.Boundary{Baseline: rlmtest.Script{Primary: ptr(sealed), Flops: 500}}
	b.Script(hash("artefact", "a"), wins(0.6))
	b.Script(hash("artefact", "first"), wins(0.5))
	return b
}

// kill runs a child and returns the point it died at, "" when it came through.
func (c *crash) kill(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$") //nolint:gosec // this test binary
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		return ""
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "the child ended with %v", err)
	require.NotEmpty(t, out)
	return string(out[:len(out)-1])
}

// TestDecision9KilledAtEachWriteOfAnEvaluation: before and after each write there is
// no row or a whole one, and the process that comes after ends with exactly one, its
// zip, its crown and its public files.
func TestDecision9KilledAtEachWriteOfAnEvaluation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.boundary = scripted()
		w.options.Boundary = w.boundary
		seen := map[string]bool{}
		for at := 1; ; at++ {
			// Each life begins with a reigning champion of its own topic.
			w.id = fmt.Sprintf("%s-%d", topicID, at)
			w.seal(t, sealed)
			w.start(t)
			first, err := w.run(t, "first", wins(0.5))
			require.NoError(t, err)
			o := w.outcome("a", hash("artefact", "a"))
			f := w.admit(t, o)
			c := crash{URL: url, Dir: w.dir, Key: w.options.OwnerKeyFile, Topic: w.id, Do: "evaluate", Flight: f.ID, At: at}
			point := c.kill(t)
			if point != "" {
				seen[point] = true
			}
			w.start(t)
			require.NoError(t, w.Recover(t.Context()), point)
			left, err := w.root.Leftovers()
			require.NoError(t, err)
			require.Empty(t, left, point)
			rows, _, err := w.ledger.Rows(t.Context(), ledger.RowQuery{Topic: w.doc.ID})
			require.NoError(t, err)
			row := rows[0]
			if len(rows) == 1 {
				require.Equal(t, first.ID, row.ID)
				require.NotContains(t, []string{"after commit", "before published zip", "after published zip", "before scored event", "after scored event",
					"before promoted event", "after promoted event", "before best", "after best", ""}, point)
				best, err := w.ledger.Best(t.Context(), w.doc.ID)
				require.NoError(t, err)
				require.Equal(t, first.ID, best.SubmissionID, "no crown without its row")
				row, err = w.Evaluate(t.Context(), o, f, nil)
				require.NoError(t, err, point)
			}
			require.Equal(t, family.Champion, row.State)
			for { // the lease of the dead runs out
				l, err := w.ledger.Acquire(t.Context(), w.id, "heir", time.Minute)
				require.NoError(t, err)
				if l != nil {
					require.NoError(t, w.ledger.Release(t.Context(), *l))
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			w.consistent(t)
			if point == "" {
				break
			}
		}
		for _, point := range []string{
			"before move submission_received", "after move submission_received", "before checklist", "after checklist", "before row number", "after row number",
			"before staged zip", "after staged zip", "before commit", "after commit", "before published zip", "after published zip",
			"before scored event", "after scored event", "before promoted event", "after promoted event", "before best", "after best",
		} {
			require.True(t, seen[point], "never killed %s", point)
		}
	})
}

// TestSection18SetupGoesOnFromEachPersistedTransition stops the ceremony before and
// after each write.
func TestSection18SetupGoesOnFromEachPersistedTransition(t *testing.T) {
	storetest.Each(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		w.boundary = scripted()
		w.options.Boundary = w.boundary
		seen := map[string]bool{}
		for at := 1; ; at++ {
			w.id = fmt.Sprintf("%s-%d", topicID, at)
			w.seal(t, sealed)
			w.draft(t)
			c := crash{URL: url, Dir: w.dir, Key: w.options.OwnerKeyFile, Topic: w.id, Do: "setup", At: at}
			point := c.kill(t)
			w.start(t)
			require.NoError(t, w.Recover(t.Context()))
			result := &rlm.SetupResult{}
			for {
				var err error
				if result, err = w.Setup(t.Context(), w.doc.ID, &owner{yes: true}); err == nil {
					break
				}
				require.ErrorIs(t, err, rlm.ErrBusy, point) // until the lease of the dead runs out
				time.Sleep(20 * time.Millisecond)
			}
			require.Equal(t, rlm.Baselining, w.state(t))
			moves, err := w.ledger.Moves(t.Context(), w.doc.ID)
			require.NoError(t, err)
			require.Len(t, moves, 4, "%s: each transition was made once", point)
			rules, err := w.ledger.Rules(t.Context(), w.doc.ID)
			require.NoError(t, err)
			require.Equal(t, rules.Version, result.RulesVersion)
			w.seal(t, sealed)
			require.NoError(t, w.MarkSealed(t.Context(), w.doc, w.sealed), point)
			if point == "" {
				break
			}
			seen[point] = true
		}
		for _, write := range []string{
			"move submit_for_review", "move owner_approved", "move owner_keys_present", "move provisioned", "rules topic_document", "rules rlm", "measurement",
		} {
			for _, side := range []string{"before ", "after "} {
				require.True(t, seen[side+write], "never killed %s%s", side, write)
			}
		}
	})
}
