package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// member is one entry of an archive made by a test.
type member struct {
	header tar.Header
	body   string
}

func file(name, body string) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, body}
}

// pack compresses a tar of these entries.
func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	encoder, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(encoder)
	for _, m := range members {
		m.header.Size = int64(len(m.body))
		if err := w.WriteHeader(&m.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), encoder.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSection1AnArchiveReadsAsTheFolderItIsOf(t *testing.T) {
	t.Parallel()
	long := "did:web:" + strings.Repeat("a", 200) + ".test"
	a, err := readArchive(bytes.NewReader(pack(t,
		member{tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}, ""},
		member{tar.Header{Typeflag: tar.TypeDir, Name: "submissions/did:web:a.test/", Mode: 0o755}, ""},
		file("season.json", "{}"), file("README", "ignored"), file("submissions/"+long+"/conf-01.json", "long"),
		file("submissions/did:web:B.test/Conf-01.json", "B"), file("submissions/did:web:b.test/conf-01.json", "b"),
		file("proofs/prf_20260921_101233_ab12cd.json", "p"))), DefaultArchiveLimits())
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for name, want := range map[string]string{
		"season.json": "{}", "submissions/" + long + "/conf-01.json": "long", "submissions/did:web:b.test/conf-01.json": "b",
		"submissions/did:web:B.test/Conf-01.json": "B", "proofs/prf_20260921_101233_ab12cd.json": "p",
	} {
		if got, err := readAll(a, name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"README", "submissions", "proofs/none.json", "", "."} {
		if _, err := readAll(a, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v, want fs.ErrNotExist", name, err)
		}
	}
	folders, err := a.list("submissions")
	if err != nil || len(folders) != 4 {
		t.Errorf("%v, %v: want 4 folders", folders, err)
	}
	for _, f := range folders {
		if f.kind != folderEntry {
			t.Errorf("%v is a folder", f)
		}
	}
	if files, err := a.list("submissions/did:web:a.test"); err != nil || len(files) != 0 {
		t.Errorf("an empty folder: %v, %v", files, err)
	}
	if _, err := a.list("submissions/did:web:c.test"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}
}

func TestSection1WhatAnArchiveMustNotHold(t *testing.T) {
	t.Parallel()
	small := ArchiveLimits{Files: 3, Bytes: 1 << 20, Name: 64, Window: 8 << 20}
	link := func(kind byte, name, to string) member {
		return member{tar.Header{Typeflag: kind, Name: name, Linkname: to}, ""}
	}
	for _, c := range []struct {
		name, want string
		archive    []byte
	}{
		{"a symbolic link", "neither a regular file nor a folder", pack(t, link(tar.TypeSymlink, "season.json", "/etc/passwd"))},
		{"a hard link", "neither a regular file nor a folder", pack(t, file("trust.json", ""), link(tar.TypeLink, "season.json", "trust.json"))},
		{"a device", "neither a regular file nor a folder", pack(t, link(tar.TypeChar, "season.json", ""))},
		{"a named pipe", "neither a regular file nor a folder", pack(t, link(tar.TypeFifo, "season.json", ""))},
		{"an absolute name", "must be relative", pack(t, file("/season.json", ""))},
		{"a leading ./", "without leading ./", pack(t, file("./season.json", ""))},
		{"the root itself", "must be relative", pack(t, link(tar.TypeDir, "./", ""))},
		{"a name that climbs", "must be relative", pack(t, file("proofs/../../season.json", ""))},
		{"a name with an empty segment", "must be relative", pack(t, file("proofs//x.json", ""))},
		{"a file twice", "twice", pack(t, file("season.json", "1"), file("season.json", "2"))},
		{"a file below a file", "both as a file and as a folder", pack(t, file("season.json", ""), file("season.json/x", ""))},
		{"a file that is a folder", "both as a file and as a folder", pack(t, link(tar.TypeDir, "season.json/", ""), file("season.json", ""))},
		{"more files than accepted", "more than 3 files", pack(t, file("a", ""), file("b", ""), file("c", ""), file("d", ""))},
		{"a longer name than accepted", "a name of 65 bytes", pack(t, file(strings.Repeat("n", 65), ""))},
		{"more bytes than accepted", "more bytes than are accepted", pack(t, file("season.json", strings.Repeat("0", 1<<20)))},
		{"bytes that are no zstd", "no readable tar.zst", []byte("PK\x03\x04")},
		{"no bytes", "", nil},
		{"a tar that ends early", "cannot be unpacked", truncated(t)},
		{"a file of holes", "sparse", sparseFile(t, "0.1")},
		{"a file of holes in the newer form", "sparse", sparseFile(t, "1.0")},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := readArchive(bytes.NewReader(c.archive), small)
			if c.want == "" { // an empty stream is an empty archive; season.json is then missing
				if err != nil {
					t.Fatal(err)
				}
				if _, err := open(a); err == nil || !strings.Contains(err.Error(), "season.json: is missing") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q on one line", err, c.want)
			}
		})
	}
}

// truncated is a valid compression of a tar cut in the middle of a file.
func truncated(t *testing.T) []byte {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	whole, err := decoder.DecodeAll(pack(t, file("season.json", strings.Repeat("x", 2000))), nil)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll(whole[:1000], nil)
}

// sparseFile is an archive of some hundred bytes that claims 2^62 bytes of zeros.
func sparseFile(t *testing.T, version string) []byte {
	t.Helper()
	const size = "4611686018427387904"
	records := map[string]string{
		"GNU_sparse.size": size, "GNU_sparse.numblocks": "1", "GNU_sparse.map": size + ",0", "GNU_sparse.name": "submissions/x.json",
	}
	body := ""
	if version == "1.0" {
		records = map[string]string{
			"GNU_sparse.major": "1", "GNU_sparse.minor": "0", "GNU_sparse.realsize": size, "GNU_sparse.name": "submissions/x.json",
		}
		body = "1\n" + size + "\n0\n"
		body += strings.Repeat("\x00", 512-len(body))
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	whole, err := decoder.DecodeAll(pack(t, member{tar.Header{Typeflag: tar.TypeReg, Name: "submissions/x.json", PAXRecords: records}, body}), nil)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The writer would leave the real names of these records out; no checksum covers them.
	return encoder.EncodeAll(bytes.ReplaceAll(whole, []byte("GNU_sparse."), []byte("GNU.sparse.")), nil)
}

func TestSection1AnArchiveLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	a, err := readArchive(bytes.NewReader(pack(t, file("season.json", "{}"))), DefaultArchiveLimits())
	if err != nil {
		t.Fatal(err)
	}
	if data, err := readAll(a, "season.json"); err != nil || string(data) != "{}" {
		t.Errorf("%q, %v", data, err)
	}
	if err := a.close(); err != nil {
		t.Error(err)
	}
	if _, err := readArchive(strings.NewReader("no archive"), DefaultArchiveLimits()); err == nil {
		t.Error("bytes that are no archive were read")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOpenSaysWhatIsWrongWithAPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	garbage := filepath.Join(dir, "bundle.tar.zst")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "none: cannot be opened: no such file or directory",
		dir:                        "season.json: is missing",
		garbage:                    "bundle.tar.zst: is no readable tar.zst",
		os.DevNull:                 "is neither a folder nor a tar.zst",
	} {
		b, err := Open(path)
		var unreadable *UnreadableError
		if b != nil || !errors.As(err, &unreadable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}

// TestSection1LinksAndPipesInAFolderAreNotThere puts a link where a file is
// expected: nothing is read through it.
func TestSection1LinksAndPipesInAFolderAreNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "season.json")
	if err := errors.Join(os.WriteFile(outside, []byte("{}"), 0o600), os.Symlink(outside, filepath.Join(dir, "season.json"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || err.Error() != "season.json: is missing" {
		t.Errorf("got %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	src := folder{fsys: root.FS()}
	// Below a link that leads outside: an error, whoever put it there must know.
	if _, err := readAll(src, "season.json/x"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that leaves the folder: %v", err)
	}
	for _, name := range []string{strings.Repeat("n", 300), "../x", "", "a\x00b"} {
		if _, err := readAll(src, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v, want fs.ErrNotExist", name, err)
		}
	}
}

// FuzzOpenTar reads outside bytes as an archive, and as the tar inside one: a
// mutated compression seldom reaches the tar.
func FuzzOpenTar(f *testing.F) {
	whole := pack(f, file("season.json", "{}"), file("submissions/did:web:a.test/conf-01.json", "{}"))
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer decoder.Close()
	inner, err := decoder.DecodeAll(whole, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(inner, true)
	f.Add([]byte("\x28\xb5\x2f\xfd"), false)
	f.Fuzz(func(t *testing.T, data []byte, isTar bool) {
		if isTar {
			encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
			if err != nil {
				t.Fatal(err)
			}
			data = encoder.EncodeAll(data, nil)
		}
		limits := ArchiveLimits{Files: 64, Bytes: 1 << 20, Name: 256, Window: 8 << 20}
		a, err := readArchive(bytes.NewReader(data), limits)
		if err != nil {
			return
		}
		var total int64
		for name, s := range a.files {
			if !fs.ValidPath(name) {
				t.Fatalf("name %q", name)
			}
			got, err := readAll(a, name)
			if err != nil || int64(len(got)) != s.size {
				t.Fatalf("%s: %d bytes, %v", name, len(got), err)
			}
			total += s.size
		}
		if total > limits.Bytes {
			t.Fatalf("%d bytes unpacked", total)
		}
		if _, err := open(a); err == nil { // which closes it
			t.Fatal("no such small archive is a bundle")
		}
	})
}

func TestSection1NamesOfTheLayout(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"season.json": true, "results.json": true, "corrections.json": true, "rules/conformite.md": true, "rules/conformite.json": true,
		"corpora/generique/manifest.json": true, "corpora/generique/files/a/B_c-1.json": true, "keys/a.json": true, "freeze/a-1.json": true,
		"proofs/prf_20260921_101233_ab12cd.json": true, "submissions/did:key:z6Mk/conf-01.json": true,
		"log-entries/" + strings.Repeat("a", 80) + ".json": true, "log-entries/" + strings.Repeat("a", 64) + ".json": true,
		"": false, ".": false, "season.json/": false, "/season.json": false, "../season.json": false, "other.json": false, "rules/A.md": false,
		"rules/a.txt": false, "rules/a/b.json": false, "corpora/a/files/": false, "corpora/a/files/../x": false, "corpora/a/files/é": false, "corpora/a/other": false,
		"corpora/a": false, "proofs/prf_20260921_101233_AB12CD.json": false, "proofs/prf_20260921_101233_ab12cd": false, "submissions/did:a/b/c.json": false,
		"submissions/did:a": false, "submissions/did:a/Conf.json": false, "log-entries/" + strings.Repeat("a", 65) + ".json": false,
		"keys/" + strings.Repeat("a", 33) + ".json": false, "keys/1a.json": false,
	} {
		if got := ValidPath(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	for id, want := range map[string]bool{"conf-01": true, "1": true, strings.Repeat("a", 64): true, "": false, "-a": false, "a_b": false, strings.Repeat("a", 65): false, "A": false} {
		if got := ValidTaskID(id); got != want {
			t.Errorf("task id %q: %v, want %v", id, got, want)
		}
	}
}

func TestSection8Instants(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-09-21T10:12:33Z": "2026-09-21T10:12:33Z", "2026-09-21T10:12:33.1Z": "2026-09-21T10:12:33.1Z", "2026-09-21T10:12:33.000001Z": "2026-09-21T10:12:33.000001Z",
		"2026-09-21T10:12:33.123456Z": "2026-09-21T10:12:33.123456Z", "2026-09-21T10:12:33.Z": "", "2026-09-21T10:12:33.1234567Z": "", "2026-09-21T10:12:33,1Z": "",
		"2026-09-21T10:12:60Z": "", "2026-09-21t10:12:33z": "", "2026-9-21T10:12:33Z": "", "+026-09-21T10:12:33Z": "", "2026-09-21T10:12:33.1": "", "2026-02-30T00:00:00Z": "", "": "",
	} {
		got, ok := parseFineInstant(text)
		if printed := fmt.Sprint(got.Format("2006-01-02T15:04:05.999999Z")); ok != (want != "") || ok && printed != want {
			t.Errorf("%q: %s, %v, want %q", text, printed, ok, want)
		}
	}
}
