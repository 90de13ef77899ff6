package tlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func openStore(t testing.TB, dir string) *FileStore {
	t.Helper()
	s, err := OpenFileStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func testRecord(n int) Record {
	return Record{Body: fmt.Appendf(nil, "body %d", n), IntegratedTime: int64(1000 + n)}
}

// fill appends records one by one, each with the checkpoint "cp <size>".
func fill(t testing.TB, s Store, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := s.Append(t.Context(), uint64(n), []Record{testRecord(n)}, fmt.Sprintf("cp %d\nline", n+1)); err != nil {
			t.Fatal(err)
		}
	}
}

func wantRecords(t testing.TB, s Store, want int, checkpoint string) {
	t.Helper()
	n, cp, err := s.State(t.Context())
	if err != nil || n != uint64(want) || cp != checkpoint {
		t.Fatalf("state: %d records, checkpoint %q, %v; want %d, %q", n, cp, err, want, checkpoint)
	}
	for first := range want + 2 {
		next := first
		err := s.Scan(t.Context(), uint64(first), func(number uint64, r Record) error {
			if number != uint64(next) || !bytes.Equal(r.Body, testRecord(next).Body) || r.IntegratedTime != int64(1000+next) {
				return fmt.Errorf("record %d: got number %d, %s", next, number, r.Body)
			}
			next++
			return nil
		})
		if err != nil || next != max(first, want) {
			t.Fatalf("scan from %d ended at %d: %v", first, next, err)
		}
	}
	for i := range want {
		if r, err := s.Read(t.Context(), uint64(i)); err != nil || !bytes.Equal(r.Body, testRecord(i).Body) || r.IntegratedTime != int64(1000+i) {
			t.Fatalf("read %d: %s, %v", i, r.Body, err)
		}
	}
	if _, err := s.Read(t.Context(), uint64(want)); !errors.Is(err, ErrNotFound) {
		t.Fatalf("read beyond the end: %v, want ErrNotFound", err)
	}
}

func TestFileStoreKeepsEverythingOverARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	for round := range 3 {
		s := openStore(t, dir)
		checkpoint := ""
		if round > 0 {
			checkpoint = fmt.Sprintf("cp %d\nline", 4*round)
		}
		wantRecords(t, s, 4*round, checkpoint)
		fill(t, s, 4*round, 4*round+4)
		if s.Dropped() != 0 {
			t.Errorf("%d bytes dropped", s.Dropped())
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileStoreRefusesUseAfterClose(t *testing.T) {
	s := openStore(t, t.TempDir())
	fill(t, s, 0, 1)
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, stateErr := s.State(t.Context())
	_, readErr := s.Read(t.Context(), 0)
	for name, err := range map[string]error{
		"State": stateErr, "Read": readErr,
		"Scan":   s.Scan(t.Context(), 0, func(uint64, Record) error { return nil }),
		"Append": s.Append(t.Context(), 1, nil, ""),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v, want os.ErrClosed", name, err)
		}
	}
}

func TestFileStoreIsHeldByOneProcess(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	if _, err := OpenFileStore(dir); err == nil || !strings.Contains(err.Error(), "another process holds") {
		t.Fatalf("opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, dir)
}

func TestFileStoreRefusesARecordThatCouldNotBeReadAgain(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := s.Append(t.Context(), 0, []Record{{Body: make([]byte, maxBody+1)}}, "cp"); err == nil {
		t.Fatal("accepted")
	}
	fill(t, s, 0, 2)
	wantRecords(t, s, 2, "cp 2\nline")
}

// contents copies a store's folder into memory; restore writes it somewhere else.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{entriesFile, headFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	return files
}

func restore(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFileStoreKeepsWholeRecordsAndDropsATornOneThatNobodyAcknowledged plays a crash after every byte of an append
// that never came to its acknowledgement.
func TestFileStoreKeepsWholeRecordsAndDropsATornOneThatNobodyAcknowledged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 0, 2)
	before := contents(t, dir)
	if err := s.Append(t.Context(), 2, []Record{testRecord(2), testRecord(3)}, "cp 4"); err != nil {
		t.Fatal(err)
	}
	after := contents(t, dir)
	start := len(before[entriesFile])
	one := start + (len(after[entriesFile])-start)/2
	for cut := start; cut <= len(after[entriesFile]); cut++ {
		want, whole := 2, start
		if cut >= one {
			want, whole = 3, one
		}
		if cut == len(after[entriesFile]) {
			want, whole = 4, cut
		}
		torn := openStore(t, restore(t, map[string][]byte{headFile: before[headFile], entriesFile: after[entriesFile][:cut]}))
		wantRecords(t, torn, want, "cp 2\nline")
		if torn.Dropped() != int64(cut-whole) {
			t.Fatalf("cut at %d: %d bytes dropped, want %d", cut, torn.Dropped(), cut-whole)
		}
		fill(t, torn, want, 5)
		wantRecords(t, torn, 5, "cp 5\nline")
		if err := torn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Blocks that the file system had reserved but not written read as zeros.
	zeros := append(bytes.Clone(before[entriesFile]), make([]byte, 5000)...)
	wantRecords(t, openStore(t, restore(t, map[string][]byte{headFile: before[headFile], entriesFile: zeros})), 2, "cp 2\nline")
}

func TestFileStoreRefusesDamageToWhatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 0, 3)
	good := contents(t, dir)
	refused := func(t *testing.T, files map[string][]byte) {
		t.Helper()
		s, err := OpenFileStore(restore(t, files))
		if err == nil {
			_ = s.Close()
			t.Fatal("opened")
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%v, want ErrCorrupt", err)
		}
	}
	for _, name := range []string{entriesFile, headFile} {
		t.Run("each byte of "+name, func(t *testing.T) {
			for i := range good[name] {
				damaged := map[string][]byte{entriesFile: bytes.Clone(good[entriesFile]), headFile: bytes.Clone(good[headFile])}
				damaged[name][i] ^= 1
				refused(t, damaged)
			}
		})
		t.Run("each length of "+name, func(t *testing.T) {
			for i := range good[name] {
				damaged := map[string][]byte{entriesFile: good[entriesFile], headFile: good[headFile]}
				damaged[name] = good[name][:i]
				refused(t, damaged)
			}
		})
		t.Run("no "+name, func(t *testing.T) {
			for other, data := range good {
				if other != name {
					refused(t, map[string][]byte{other: data})
				}
			}
		})
	}
	t.Run("two records exchanged", func(t *testing.T) {
		size := len(good[entriesFile]) / 3
		e := good[entriesFile]
		refused(t, map[string][]byte{headFile: good[headFile], entriesFile: bytes.Join([][]byte{e[size : 2*size], e[:size], e[2*size:]}, nil)})
	})
	for name, h := range map[string]head{
		"an acknowledged length inside a record":  {Records: 2, Bytes: int64(len(good[entriesFile]))/3*2 + 1},
		"more records than bytes":                 {Records: 3, Bytes: int64(len(good[entriesFile])) / 3 * 2},
		"fewer records than bytes":                {Records: 1, Bytes: int64(len(good[entriesFile])) / 3 * 2},
		"more bytes than there are":               {Records: 3, Bytes: int64(len(good[entriesFile])) + 1},
		"more records than there are, same bytes": {Records: 4, Bytes: int64(len(good[entriesFile]))},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, map[string][]byte{headFile: []byte(h.text()), entriesFile: good[entriesFile]})
		})
	}
	t.Run("of another format", func(t *testing.T) {
		refused(t, map[string][]byte{headFile: []byte("prova-tlog-store/2\nx\n0\n0\n"), entriesFile: nil})
	})
}

func TestFileStoreFindsDamageThatHappensWhileItIsOpen(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 0, 2)
	damaged := contents(t, dir)[entriesFile]
	damaged[len(damaged)-40] ^= 1
	if err := os.WriteFile(filepath.Join(dir, entriesFile), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("read: %v, want ErrCorrupt", err)
	}
	if err := s.Scan(t.Context(), 0, func(uint64, Record) error { return nil }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("scan: %v, want ErrCorrupt", err)
	}
}

// TestFileStoreTakesBackWhatItCouldNotAcknowledge makes writing the head impossible, as a full disk would.
func TestFileStoreTakesBackWhatItCouldNotAcknowledge(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 0, 2)
	size := len(contents(t, dir)[entriesFile])
	obstacle := filepath.Join(dir, headFile+".new")
	if err := os.Mkdir(obstacle, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), 2, []Record{testRecord(2)}, "cp"); err == nil {
		t.Fatal("acknowledged")
	}
	if got := len(contents(t, dir)[entriesFile]); got != size {
		t.Errorf("%d bytes are left of the append that failed", got-size)
	}
	wantRecords(t, s, 2, "cp 2\nline")
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 2, 4)
	wantRecords(t, s, 4, "cp 4\nline")
}

func TestFileStoreStopsWhenItsStateIsUnknown(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	fill(t, s, 0, 2)
	// Writing and taking back both fail on a closed file.
	if err := s.entries.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Append(t.Context(), 2, []Record{testRecord(2)}, "cp"); err == nil || !strings.Contains(err.Error(), "open the log again") {
			t.Fatalf("append: %v", err)
		}
	}
	if _, _, err := s.State(t.Context()); err == nil {
		t.Error("State does not tell")
	}
	_ = s.Close()
	wantRecords(t, openStore(t, dir), 2, "cp 2\nline")
}
