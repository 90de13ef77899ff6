package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
)

// written writes a made-up season to a folder and returns it.
func written(t *testing.T) (dir string, files map[string][]byte) {
	t.Helper()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01")...)
	dir = filepath.Join(t.TempDir(), "season", "bundle")
	w, err := bundle.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for name, data := range s.Files {
		wg.Go(func() {
			if err := w.Put(name, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there before the commit: %v", err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir, s.Files
}

func TestWriterTheFolderAppearsWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir, files := written(t)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := bundle.Create(dir); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second bundle under the name: %v", err)
	}
	aborted := filepath.Join(filepath.Dir(dir), "aborted")
	w, err := bundle.Create(aborted)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.PutJSON(bundle.SeasonPath, canonjson.NewObject("season", 1)), w.Abort(), w.Abort()); err != nil {
		t.Error(err)
	}
	if err := w.Put(bundle.TrustPath, nil); err == nil {
		t.Error("an aborted writer wrote")
	}
	if err := w.Commit(t.Context()); err == nil {
		t.Error("an aborted writer committed")
	}
	cancelled, err := bundle.Create(aborted)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(cancelled.Put(bundle.SeasonPath, []byte("{}"))); err != nil {
		t.Error(err)
	}
	if err := cancelled.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled commit: %v", err)
	}
	names, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(names) != 1 || names[0].Name() != "bundle" {
		t.Errorf("left beside the bundle: %v, %v", names, err)
	}
}

func TestWriterRefusesNamesThatNoReaderLooksFor(t *testing.T) {
	t.Parallel()
	w, err := bundle.Create(filepath.Join(t.TempDir(), "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, name := range []string{"../x.json", "/etc/passwd", "other.json", "", "proofs/x.json", "submissions/did:a/../../x.json"} {
		if err := w.Put(name, nil); err == nil {
			t.Errorf("%q was written", name)
		}
		if err := bundle.Replace(t.TempDir(), name, func(io.Writer) error { return nil }); err == nil {
			t.Errorf("%q was replaced", name)
		}
	}
	full := errors.New("disk full")
	if err := w.Stream(bundle.ResultsPath, func(io.Writer) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestReplaceKeepsTheOldFileWhenTheNewOneFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(text string, fail error) error {
		return bundle.Replace(dir, bundle.ResultsPath, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		})
	}
	full := errors.New("disk full")
	if err := put("first\n", nil); err != nil {
		t.Fatal(err)
	}
	if err := put("half", full); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, bundle.ResultsPath)); err != nil || string(got) != "first\n" {
		t.Errorf("%q, %v", got, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// TestPackIsDeterministic packs the same files from folders that were written in
// another order, at other times, with other permissions and stray files.
func TestPackIsDeterministic(t *testing.T) {
	t.Parallel()
	dir, files := written(t)
	out := t.TempDir()
	first := filepath.Join(out, "first.tar.zst")
	if err := bundle.Pack(t.Context(), dir, first); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	names := slices.Sorted(maps.Keys(files))
	slices.Reverse(names)
	for i, name := range names {
		path := filepath.Join(other, filepath.FromSlash(name))
		when := time.Unix(int64(i)*1000, 0)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, files[name], 0o600), os.Chtimes(path, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(other, "notes.txt"), nil, 0o600), os.Symlink("season.json", filepath.Join(other, "results.json"))); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(out, "second.tar.zst")
	if err := bundle.Pack(t.Context(), other, second); err != nil {
		t.Fatal(err)
	}
	a, errA := os.ReadFile(first)
	b, errB := os.ReadFile(second)
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%d and %d bytes differ (%v)", len(a), len(b), err)
	}
	packed, err := bundle.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Error(err)
	}
	if err := bundle.Pack(t.Context(), t.TempDir(), filepath.Join(out, "empty.tar.zst")); err == nil {
		t.Error("a folder without a bundle was packed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bundle.Pack(ctx, dir, filepath.Join(out, "third.tar.zst")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
