package ledger

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/platform/store/storetest"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// These make the test binary a process that dies: of kill -9 at its nth write, or
// from outside while it works.
const (
	childURL    = "PROVA_LEDGER_TEST_CHILD"
	childAction = "PROVA_LEDGER_TEST_ACTION"
	childStep   = "PROVA_LEDGER_TEST_STEP"
	childFlight = "PROVA_LEDGER_TEST_FLIGHT"
	childRow    = "PROVA_LEDGER_TEST_ROW"
	childFirst  = "PROVA_LEDGER_TEST_FIRST"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		if err := child(url); err != nil {
			fmt.Println("error", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// child opens what the parent has migrated.
func child(url string) error {
	db, err := store.Open(context.Background(), url)
	if err != nil {
		return err
	}
	l := &Ledger{db: db, clock: newClock().now, wrote: func() {}}
	if os.Getenv(childAction) == "work" {
		return l.workUntilKilled(number(childFirst))
	}
	writes := 0
	l.wrote = func() {
		if writes++; writes == number(childStep) {
			die()
		}
	}
	if err := actions()[os.Getenv(childAction)](context.Background(), l); err != nil {
		return err
	}
	fmt.Println("done")
	die()
	return nil
}

// miners of the crash test: 1 has the crown, 2 has a flight that runs, 3 and 4 are
// to be admitted.
func actions() map[string]func(context.Context, *Ledger) error {
	return map[string]func(context.Context, *Ledger) error{
		"commit": func(ctx context.Context, l *Ledger) error {
			best := intake.ID(1).String()
			c, err := leave(intake.ID(number(childRow)), submission("topic-a", 2, 2), FlightID(number(childFlight)), "w1", 3, crownOf(&best, 3))
			if err != nil {
				return err
			}
			c.Lease = &Lease{TopicID: "topic-a", Fence: 1, Holder: "w1"}
			c.Moves = []Move{move("evaluating", "promotion_candidate", "promoting"), move("promoting", "promoted", "open")}
			return l.Commit(ctx, c)
		},
		"refuse": func(ctx context.Context, l *Ledger) error {
			return l.Refuse(ctx, FlightID(number(childFlight)), "w1", 503, "no")
		},
		"admit a run": func(ctx context.Context, l *Ledger) error {
			s := submission("topic-a", 3, 1)
			_, err := l.Admit(ctx, s, options(), gate(s, intake.Run))
			return err
		},
		"admit a reject": func(ctx context.Context, l *Ledger) error {
			s := submission("topic-a", 4, 1)
			_, err := l.Admit(ctx, s, options(), gate(s, intake.Reject))
			return err
		},
		"publish": func(ctx context.Context, l *Ledger) error {
			return l.Publish(ctx, version("topic-a", 1), move("evaluating", "verdict_recorded", "open"), move("open", "close", "closed"))
		},
		"close": func(ctx context.Context, l *Ledger) error {
			return l.CloseEpoch(ctx, 0, bytes.Repeat([]byte("x"), 2*snapshotPart+1))
		},
	}
}

// TestKill9BetweenAnyTwoWritesLeavesAllOrNothing runs each use case in a process
// that kills itself at its first write, its second, and so on, until it gets
// through; after each death the database is as it was before.
func TestKill9BetweenAnyTwoWritesLeavesAllOrNothing(t *testing.T) {
	writes := map[string]int{"commit": 7, "refuse": 2, "admit a run": 3, "admit a reject": 4, "publish": 3, "close": 4}
	require.Len(t, actions(), len(writes))
	each(t, func(t *testing.T, f *fixture) {
		for action := range actions() {
			t.Run(action, func(t *testing.T) {
				f := newFixture(t, freshLike(t, f.owner))
				f.crowned(t, "topic-a", 1, 2, nil)
				env := []string{childURL + "=" + f.app, childAction + "=" + action}
				if action != "close" {
					_, c := f.run(t, "topic-a", 2, 3)
					env = append(env, fmt.Sprintf("%s=%d", childFlight, c.Flight), fmt.Sprintf("%s=%d", childRow, c.Attempt.Row))
				}
				lease, err := f.Acquire(t.Context(), "topic-a", "w1", time.Hour)
				require.NoError(t, err)
				require.Equal(t, uint64(1), lease.Fence)
				require.NoError(t, f.Apply(t.Context(), move("open", "submission_received", "evaluating")))
				before := dump(t, f.db)
				for step := 1; ; step++ {
					out, killed := dying(t, append(env, fmt.Sprintf("%s=%d", childStep, step)))
					require.True(t, killed, out)
					wholeness(t, f.Ledger)
					if out == "done\n" {
						require.Equal(t, writes[action], step-1, "each write was died at")
						require.NotEqual(t, before, dump(t, f.db), "what was acknowledged is there")
						return
					}
					require.Empty(t, out)
					require.Equal(t, before, dump(t, f.db), "died at write %d", step)
				}
			})
		}
	})
}

// freshLike is the address of another empty database beside one.
func freshLike(t *testing.T, url string) string {
	t.Helper()
	if strings.HasPrefix(url, "sqlite:") {
		return "sqlite:" + t.TempDir() + "/crash.db"
	}
	return storetest.Postgres(t)
}

// dying runs the binary as a child and tells what it said and whether kill -9 ended
// it.
func dying(t *testing.T, env []string) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return string(text), false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return string(text), ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// workUntilKilled runs submissions on four workers and says which rows were
// acknowledged.
func (l *Ledger) workUntilKilled(first int) error {
	failed := make(chan error)
	for w := range 4 {
		go func() {
			for i := first + w; ; i += 4 {
				row, err := l.workOnce(context.Background(), fmt.Sprintf("child-%d-%d", first, w), i)
				if err != nil {
					failed <- err
					return
				}
				_, _ = fmt.Fprintln(os.Stdout, "kept", row) // one write each, so that lines do not mix
			}
		}()
	}
	return <-failed
}

func (l *Ledger) workOnce(ctx context.Context, holder string, i int) (string, error) {
	s := submission("topic-a", i, 1)
	if _, err := l.Admit(ctx, s, options(), gate(s, intake.Run)); err != nil {
		return "", err
	}
	flight, err := l.Claim(ctx, holder, time.Hour)
	if err != nil {
		return "", err
	}
	if flight == nil {
		return "", errors.New("nothing to claim")
	}
	return l.finish(ctx, flight, holder)
}

// finish ends a flight of workUntilKilled with a row, crowned when it can be.
func (l *Ledger) finish(ctx context.Context, flight *Flight, holder string) (string, error) {
	s := submission(flight.TopicID, 0, 0)
	s.Hotkey, s.Digest, s.ArtifactDigest = flight.Hotkey, flight.Digest, flight.ArtifactDigest
	primary := 2 + float64(flight.ID%7) + float64(flight.ID)/1000
	best, err := l.Best(ctx, flight.TopicID)
	if err != nil {
		return "", err
	}
	var crown *Crown
	if best == nil {
		crown = crownOf(nil, primary)
	} else if family.Max.Better(primary, best.Primary) {
		crown = crownOf(&best.SubmissionID, primary)
	}
	for {
		id, err := l.ReserveRow(ctx)
		if err != nil {
			return "", err
		}
		c, err := leave(id, s, flight.ID, holder, primary, crown)
		if err != nil {
			return "", err
		}
		err = l.Commit(ctx, c)
		if errors.Is(err, ErrLostSwap) && crown != nil {
			crown = nil
			continue
		}
		return c.Row.ID, err
	}
}

// TestKill9KeepsEveryAcknowledgedRow kills a working process from outside, several
// times; another one then ends the flights that it left behind.
func TestKill9KeepsEveryAcknowledgedRow(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		kept := map[string]bool{}
		for round := range 3 {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), childURL+"="+f.app, childAction+"=work", fmt.Sprintf("%s=%d", childFirst, 100_000*(round+1)))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			for lines := bufio.NewScanner(out); lines.Scan(); {
				id, ok := strings.CutPrefix(lines.Text(), "kept ")
				if !ok {
					t.Errorf("the child said: %s", lines.Text())
					_ = cmd.Process.Kill()
					break
				}
				if kept[id] = true; len(kept) == 30*(round+1) {
					time.AfterFunc(time.Duration(round)*time.Millisecond, func() { _ = cmd.Process.Kill() })
				}
			}
			require.Error(t, cmd.Wait(), "the child was killed")
			wholeness(t, f.Ledger)
		}
		f.advance(2 * time.Hour)
		for {
			flight, err := f.Claim(t.Context(), "survivor", time.Hour)
			require.NoError(t, err)
			if flight == nil {
				break
			}
			row, err := f.finish(t.Context(), flight, "survivor")
			require.NoError(t, err)
			kept[row] = true
		}
		left, err := f.Flights(t.Context())
		require.NoError(t, err)
		require.Empty(t, left)
		for id := range kept {
			number, err := intake.ParseID(id)
			require.NoError(t, err)
			row, _, err := f.Row(t.Context(), number)
			require.NoError(t, err)
			require.NotNil(t, row, "row %s was acknowledged and is gone", id)
		}
		wholeness(t, f.Ledger)
	})
}
