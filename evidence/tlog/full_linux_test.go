package tlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// fullFolder names the folder of the log that this binary, started as a child, fills up to a limit of its file size.
const fullFolder = "PROVA_TLOG_FULL_FOLDER"

// fillUntilFull submits entries until a file may not grow any more, which breaks a write off in its middle as a full
// disk does, then lifts the limit and submits once more. It prints "<n> <uuid>" for each entry acknowledged.
func fillUntilFull(dir string) error {
	// Without this the kernel kills the process instead of failing the write.
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 5000, Max: limit.Max}); err != nil {
		return err
	}
	s, err := OpenFileStore(dir)
	if err != nil {
		return err
	}
	e, err := OpenEmbedded(context.Background(), s, testKey(21), "log.prova.local", testTree, testClock)
	if err != nil {
		return err
	}
	n := 0
	for ; ; n++ {
		uuid, _, err := e.Submit(context.Background(), anchoredHash(n), testKey(7))
		if errors.Is(err, syscall.EFBIG) {
			break
		}
		if err != nil || n > 100 {
			return fmt.Errorf("entry %d: %w, want a write that finds no room", n, err)
		}
		fmt.Fprintf(os.Stdout, "%d %s\n", n, uuid)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	uuid, _, err := e.Submit(context.Background(), anchoredHash(n), testKey(7))
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%d %s\n", n, uuid)
	return s.Close()
}

func TestFullDiskRefusesEntriesAndLosesNone(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), program)
	child.Env = append(os.Environ(), fullFolder+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[int]string{}
	for {
		var n int
		var uuid string
		if _, err := fmt.Fscanf(out, "%d %s\n", &n, &uuid); err != nil {
			break
		}
		acknowledged[n] = uuid
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, dir)
	e := openLog(t, s)
	if size := openedSize(e); size != uint64(len(acknowledged)) || size < 3 || s.Dropped() != 0 {
		t.Fatalf("%d entries of %d acknowledged, %d bytes dropped", size, len(acknowledged), s.Dropped())
	}
	for n, uuid := range acknowledged {
		document, err := e.Entry(t.Context(), uuid)
		if err != nil {
			t.Fatal(err)
		}
		verify(t, uuid, document, n, e.Log())
	}
}
