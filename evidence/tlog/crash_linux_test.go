package tlog

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashFolder names the folder of the log that this binary, started as a child, fills until it is killed.
const crashFolder = "PROVA_TLOG_CRASH_FOLDER"

func TestMain(m *testing.M) {
	for variable, work := range map[string]func(string) error{crashFolder: fillUntilKilled, fullFolder: fillUntilFull} {
		dir := os.Getenv(variable)
		if dir == "" {
			continue
		}
		if err := work(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fillUntilKilled submits entries from several goroutines and prints "<n> <uuid>" for each once it is acknowledged.
func fillUntilKilled(dir string) error {
	s, err := OpenFileStore(dir)
	if err != nil {
		return err
	}
	e, err := OpenEmbedded(context.Background(), s, testKey(21), "log.prova.local", testTree, testClock)
	if err != nil {
		return err
	}
	base := int(openedSize(e)) * 1000
	const writers = 4
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for n := base + w; ; n += writers {
				uuid, _, err := e.Submit(context.Background(), anchoredHash(n), testKey(7))
				if err == nil {
					_, err = fmt.Fprintf(os.Stdout, "%d %s\n", n, uuid)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

func openedSize(e *Embedded) uint64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.size
}

// TestKillNineNeverLosesAnAcknowledgedEntry kills a process that writes the log, again and again, and looks for every
// entry that it had acknowledged.
func TestKillNineNeverLosesAnAcknowledgedEntry(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	acknowledged := map[int]string{}
	var lastCheckpoint *Checkpoint
	for round := range 8 {
		last := runUntilKilled(t, program, dir, time.Duration(random.IntN(60_000))*time.Microsecond)
		s, err := OpenFileStore(dir)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		e := openLog(t, s)
		for n, uuid := range last {
			if acknowledged[n] != "" {
				t.Fatalf("entry %d was submitted in two rounds", n)
			}
			acknowledged[n] = uuid
		}
		check := last
		if round == 7 {
			check = acknowledged
		}
		for n, uuid := range check {
			document, err := e.Entry(t.Context(), uuid)
			if err != nil {
				t.Fatalf("round %d: acknowledged entry %d: %v", round, n, err)
			}
			verify(t, uuid, document, n, e.Log())
		}
		if size := openedSize(e); size < uint64(len(acknowledged)) {
			t.Fatalf("round %d: %d entries, %d were acknowledged", round, size, len(acknowledged))
		}
		if lastCheckpoint != nil && e.tree.root(lastCheckpoint.Size) != lastCheckpoint.Root {
			t.Fatalf("round %d: the log is not the one of the round before, continued", round)
		}
		lastCheckpoint = openedCheckpoint(t, e)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acknowledged) < 16 {
		t.Fatalf("only %d entries were acknowledged in all rounds", len(acknowledged))
	}
}

// runUntilKilled starts the child, lets it work for a while after its first acknowledgements, kills it, and returns
// what it had acknowledged.
func runUntilKilled(t *testing.T, program, dir string, while time.Duration) map[int]string {
	t.Helper()
	var complaints bytes.Buffer
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), crashFolder+"="+dir)
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() { _ = child.Process.Kill() })
	defer kill()
	acknowledged := map[int]string{}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line without end was on its way when the child died
		}
		var n int
		var uuid string
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "%d %s", &n, &uuid); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		acknowledged[n] = uuid
		if len(acknowledged) == 2 {
			time.AfterFunc(while, kill)
		}
	}
	_ = child.Wait()
	if complaints.Len() > 0 {
		t.Fatalf("the child said: %s", complaints.String())
	}
	if len(acknowledged) < 2 {
		t.Fatalf("the child acknowledged %d entries", len(acknowledged))
	}
	return acknowledged
}
