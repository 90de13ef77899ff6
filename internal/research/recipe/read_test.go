package recipe_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe"
)

var update = flag.Bool("update", false, "write the golden files again")

// header is one entry of a tar under test.
type header struct {
	tar.Header
	content string
}

func file(name, content string) header {
	return header{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, content}
}

func entry(kind byte, name string) header {
	return header{tar.Header{Typeflag: kind, Name: name, Mode: 0o755}, ""}
}

// archive writes a tar with the library, in its default format.
func archive(t testing.TB, entries ...header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		e.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// raw is one block of a header, written by hand, with its checksum.
func raw(name string, kind byte, size string) []byte {
	b := make([]byte, 512)
	copy(b, name)
	copy(b[100:], "0000644\x000000000\x000000000\x00")
	copy(b[124:], size+"\x00")
	copy(b[136:], "00000000000\x00        ")
	b[156] = kind
	copy(b[257:], "ustar\x0000")
	return checksummed(b)
}

func checksummed(b []byte) []byte {
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], []byte{'0' + byte(sum>>15&7), '0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0, ' '})
	return b
}

// paxTar is a tar of one file with pax records written by hand; the library drops
// some of these.
func paxTar(name, records, content string) []byte {
	padded := func(s string) []byte { return append([]byte(s), make([]byte, 512-len(s))...) }
	octal := func(s string) string { return fmt.Sprintf("%011o", len(s)) }
	return slices.Concat(raw("PaxHeader", 'x', octal(records)), padded(records), raw(name, '0', octal(content)), padded(content), make([]byte, 1024))
}

func global(key, value string) header {
	return header{tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{key: value}}, ""}
}

func link(kind byte, name, target string) header {
	h := entry(kind, name)
	h.Linkname = target
	return h
}

func TestDesignSection3AHostileOrUnclearTarIsRefusedWithItsReason(t *testing.T) {
	good := archive(t, file("a", "1"), file("b", "2"))
	many := make([]header, recipe.MaxEntries+1)
	for i := range many {
		many[i] = file("f"+hex.EncodeToString([]byte{byte(i >> 8), byte(i)}), "x")
	}
	old := raw("s", 'S', "00000000001")
	copy(old[257:], "ustar  \x00")
	copy(old[386:], "00000000000\x0000000000001\x00")
	copy(old[483:], "00000000001\x00")
	sparse := slices.Concat(checksummed(old), make([]byte, 512), make([]byte, 1024))
	for name, c := range map[string]struct {
		tar []byte
		why string
	}{
		"nothing":                           {nil, "the archive is empty"},
		"a byte more than the limit":        {make([]byte, recipe.MaxTar+1), "the archive has 67108865 bytes, at most 67108864 are allowed"},
		"gzip":                              {[]byte("\x1f\x8b\x08\x00"), "the archive is gzip, not an uncompressed tar"},
		"bzip2":                             {[]byte("BZh9"), "the archive is bzip2"},
		"xz":                                {[]byte("\xfd7zXZ\x00\x00"), "the archive is xz"},
		"zstd":                              {[]byte("\x28\xb5\x2f\xfd\x00"), "the archive is zstd"},
		"zip":                               {[]byte("PK\x03\x04"), "the archive is a zip"},
		"prose":                             {[]byte(strings.Repeat("not a tar ", 100)), "not a tar, or cut off, after byte 0"},
		"no entries":                        {make([]byte, 1024), "no file content"},
		"an empty file alone":               {archive(t, file("a", "")), "no file content"},
		"folders alone":                     {archive(t, entry(tar.TypeDir, "a/")), "no file content"},
		"a symbolic link":                   {archive(t, file("a", "1"), link(tar.TypeSymlink, "b", "/etc/passwd")), `"b": it is a symbolic link`},
		"a hard link":                       {archive(t, file("a", "1"), link(tar.TypeLink, "b", "a")), `"b": it is a hard link`},
		"a character device":                {archive(t, entry(tar.TypeChar, "null")), `"null": it is a device or pipe`},
		"a block device":                    {archive(t, entry(tar.TypeBlock, "disk")), "it is a device or pipe"},
		"a pipe":                            {archive(t, entry(tar.TypeFifo, "pipe")), "it is a device or pipe"},
		"a sparse file of GNU":              {sparse, "sparse"},
		"a sparse file of pax":              {paxTar("b", "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.realsize=0\n", "0\n"+strings.Repeat("\x00", 510)), `"b": it is a sparse file`},
		"a sparse file of a later pax":      {paxTar("b", "22 GNU.sparse.major=9\n", "x"), `"b": it is a sparse file`},
		"a contiguous file":                 {slices.Concat(raw("c", '7', "00000000000"), make([]byte, 1024)), `its type is "7"`},
		"a pax header that names all files": {archive(t, global("path", "b"), file("a", "1")), `a pax header for the whole archive sets "path"`},
		"an absolute name":                  {archive(t, file("/etc/passwd", "1")), `"/etc/passwd": the name is absolute`},
		"a name that climbs":                {archive(t, file("a/../../b", "1")), `the name has the segment ".."`},
		"a name that climbs after ./":       {archive(t, file("./../b", "1")), `the name has the segment ".."`},
		"./ twice":                          {archive(t, file("././b", "1")), `the name has the segment "."`},
		"an empty segment":                  {archive(t, file("a//b", "1")), "the name has an empty segment"},
		"a backslash":                       {archive(t, file(`a\b`, "1")), "the name has the byte 0x5c"},
		"a space":                           {archive(t, file("a b", "1")), "the name has the byte 0x20"},
		"a letter outside ASCII":            {archive(t, file("é", "1")), "the name has the byte 0xc3"},
		"a line feed":                       {archive(t, file("a\nb", "1")), `"a\nb": the name has the byte 0x0a`},
		"a file whose name ends in a slash": {slices.Concat(raw("a/", '0', "00000000001"), make([]byte, 512), make([]byte, 1024)), "the name of a file ends in a slash"},
		"a name longer than the zip's":      {archive(t, file(strings.Repeat("a", recipe.MaxPath+1), "1")), "the name has 248 bytes, at most 247 are allowed"},
		"a file twice":                      {archive(t, file("a", "1"), file("a", "1")), `"a": the name is twice in the recipe`},
		"a file twice, once with ./":        {archive(t, file("a", "1"), file("./a", "2")), `"a": the name is twice in the recipe`},
		"a folder twice":                    {archive(t, entry(tar.TypeDir, "d/"), entry(tar.TypeDir, "d/"), file("a", "1")), `"d/": the name is twice`},
		"a folder with an unsafe name":      {archive(t, entry(tar.TypeDir, "../"), file("a", "1")), `"../": the name has the segment ".."`},
		"a folder named /":                  {archive(t, entry(tar.TypeDir, "/"), file("a", "1")), `"/": the name is empty`},
		"a name that is file and folder":    {archive(t, file("a", "1"), entry(tar.TypeDir, "a/")), `"a": it is a file and a folder`},
		"a file below a file":               {archive(t, file("a", "1"), file("a/b/c", "1")), `"a": it is a file, and the folder of "a/b/c"`},
		"more entries than allowed":         {archive(t, many...), "it has more than 4096 entries"},
		"a size beyond the end":             {slices.Concat(raw("a", '0', "00000010000"), make([]byte, 1024)), `"a": it says that it has 4096 bytes, and the archive ends before`},
		"a size of 8 GiB":                   {slices.Concat(raw("a", '0', "77777777777"), make([]byte, 1024)), "the archive ends before"},
		"a folder with content":             {slices.Concat(raw("d/", '5', "00000000001"), make([]byte, 1024)), "it is a folder with 1 bytes of content"},
		"cut off between entries":           {good[:1024], "the archive is cut off: the two blocks of zeros at byte 1024"},
		"one block of zeros at the end":     {good[:len(good)-512], "the archive is cut off"},
		"cut off within content":            {good[:512], `"a": it says that it has 1 bytes, and the archive ends before`},
		"cut off within padding":            {good[:1000], `"a": the archive ends within the padding of it`},
		"a second archive after the end":    {slices.Concat(good, archive(t, file("c", "3"))), "something follows the end of the archive, at byte 3072"},
		"a byte after the end":              {append(slices.Clone(good), 1), "something follows the end of the archive, at byte 3072"},
		"a checksum that is wrong":          {append([]byte("b"), good[1:]...), "not a tar, or cut off, after byte 0"},
		"a pax header that nothing follows": {slices.Concat(good[:1024], raw("x", 'x', "00000000000"), make([]byte, 1024)), "cut off"},
		"a size beyond the end, of pax":     {paxTar("a", "13 size=9999\n", "x"), `"a": it says that it has 9999 bytes`},
		"a size below zero, of pax":         {paxTar("a", "10 size=-1\n", "x"), "not a tar, or cut off"},
		"a pax record that is cut off":      {paxTar("a", "99 path=b\n", "x"), "not a tar, or cut off"},
		"a pax path that climbs":            {paxTar("a", "13 path=../b\n", "x"), `"../b": the name has the segment ".."`},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := recipe.Read(c.tar)
			if err == nil {
				t.Fatalf("read %d files, want an error with %q", len(tree), c.why)
			}
			if !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %q, want it to contain %q", err, c.why)
			}
			if refused := (*recipe.Error)(nil); !errors.As(err, &refused) {
				t.Errorf("%T is no *recipe.Error", err)
			}
		})
	}
}

func TestDesignSection3EachDialectOfTarIsOneTree(t *testing.T) {
	files := func(h ...header) []header {
		return append(h, file("recipe.json", "{}"), header{tar.Header{Typeflag: tar.TypeReg, Name: "src/run.sh", Mode: 0o755}, "#!/bin/sh\n"})
	}
	want, err := recipe.Read(archive(t, files()...))
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != 2 || want[0].Path != "recipe.json" || want[1].Path != "src/run.sh" || want[0].Executable || !want[1].Executable || string(want[1].Data) != "#!/bin/sh\n" {
		t.Fatalf("read %v", want)
	}
	owned := files(entry(tar.TypeDir, "./"), entry(tar.TypeDir, "./src/"))
	for i := range owned {
		owned[i].Uid, owned[i].Uname, owned[i].ModTime = 1000, "miner", time.Unix(1700000000, 5)
		owned[i].Format = tar.FormatPAX
		if i >= 2 {
			owned[i].Name = "./" + owned[i].Name
		}
	}
	slices.Reverse(owned)
	gnu := files()
	for i := range gnu {
		gnu[i].Format = tar.FormatGNU
	}
	for name, tarred := range map[string][]byte{
		"pax with owners, times, folders and ./": archive(t, owned...),
		"gnu":                                    archive(t, gnu...),
		"padded to a record, as tar(1) does":     append(archive(t, files()...), make([]byte, 10240)...),
		"with the commit of git archive":         archive(t, files(global("comment", "62acdb48f1"))...),
		"with an empty folder":                   archive(t, files(entry(tar.TypeDir, "empty"))...),
		"with another order of its files":        archive(t, files()[1], files()[0]),
		"in the canonical form":                  mustWrite(t, want),
		"with the executable bit of a group":     archive(t, files()[0], header{tar.Header{Typeflag: tar.TypeReg, Name: "src/run.sh", Mode: 0o654}, "#!/bin/sh\n"}),
		"with an old header of no type":          archive(t, files()[0], header{tar.Header{Typeflag: '\x00', Name: "src/run.sh", Mode: 0o755}, "#!/bin/sh\n"}), //nolint:staticcheck // That is the case under test.
		"with a pax comment on a single file":    archive(t, files()[0], header{tar.Header{Typeflag: tar.TypeReg, Name: "src/run.sh", Mode: 0o755, PAXRecords: map[string]string{"comment": "x"}}, "#!/bin/sh\n"}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := recipe.Read(tarred)
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest() != want.Digest() || !slices.EqualFunc(got, want, same) {
				t.Errorf("another tree: %v", got)
			}
		})
	}
}

// TestDesignSection3GNUTarIsRead asks the tar of this machine, which miners use.
func TestDesignSection3GNUTarIsRead(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("d", 120) + "/" + strings.Repeat("f", 120)
	for name, content := range map[string]string{"recipe.json": "{}", "src/main.go": "package main\n", long: "deep"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"gnu", "pax", "oldgnu"} {
		out := filepath.Join(t.TempDir(), "r.tar")
		if text, err := exec.Command("tar", "--format="+format, "-cf", out, "-C", dir, ".").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := recipe.Read(data)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if got, _ := tree.File(long); string(got) != "deep" || len(tree) != 3 {
			t.Errorf("%s: %d files, the deep one holds %q", format, len(tree), got)
		}
	}
}

func same(a, b recipe.Entry) bool {
	return a.Path == b.Path && a.Executable == b.Executable && bytes.Equal(a.Data, b.Data)
}

func mustWrite(t testing.TB, tree recipe.Tree) []byte {
	t.Helper()
	data, err := recipe.Write(tree)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// example is a recipe with every kind of name and mode.
func example() fstest.MapFS {
	return fstest.MapFS{
		"recipe.json":      {Data: []byte(`{"format":"prova-recipe/1","entrypoint":"recipe.wasm","args":["--epochs","3"],"built_with":"go1.27.3"}` + "\n"), Mode: 0o600},
		"recipe.wasm":      {Data: []byte("\x00asm\x01\x00\x00\x00"), Mode: 0o755, ModTime: time.Unix(1e9, 0)},
		"src/main.go":      {Data: []byte("package main\n\nfunc main() {}\n"), Mode: 0o664},
		"src/go.mod":       {Data: []byte("module recipe\n"), Mode: 0o444},
		"src-old/empty":    {Mode: 0o644},
		".git/HEAD":        {Data: []byte("ref: refs/heads/main\n"), Mode: 0o644},
		"src/vendor/.git":  {Data: []byte("gitdir: ../.git\n"), Mode: 0o644},
		"src/.gitignore":   {Data: []byte("*.tmp\n"), Mode: 0o644},
		"nothing/in/there": {Mode: os.ModeDir | 0o755},
	}
}

func TestDesignSection3PackIsTheCanonicalTarByteForByte(t *testing.T) {
	data, err := recipe.Pack(example())
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "canonical.tar")
	if *update {
		if err := os.WriteFile(golden, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("the canonical tar changed: %x, golden %x; every recipe's digest changes with it", sha256.Sum256(data), sha256.Sum256(want))
	}
	tree, err := recipe.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := mustWrite(t, tree); !bytes.Equal(again, data) {
		t.Error("the tree that was read is written otherwise")
	}
	if got := hex.EncodeToString(digest(tree)); got != goldenTree {
		t.Errorf("tree digest %s, want %s", got, goldenTree)
	}
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
		if h.Format != tar.FormatUSTAR || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: %+v", h.Name, h)
		}
		if want := map[bool]int64{true: 0o755, false: 0o644}[h.Typeflag == tar.TypeDir || h.Name == "recipe.wasm"]; h.Mode != want {
			t.Errorf("%s: mode %o, want %o", h.Name, h.Mode, want)
		}
	}
	if want := []string{"recipe.json", "recipe.wasm", "src-old/", "src-old/empty", "src/", "src/.gitignore", "src/go.mod", "src/main.go"}; !slices.Equal(names, want) {
		t.Errorf("entries %q, want %q", names, want)
	}
}

func digest(t recipe.Tree) []byte { d := t.Digest(); return d[:] }

const goldenTree = "60eed0ccc9ca969ed1f6c89b3bb0b11c0b297f18c4a251f69b4c970d09eafd1a"

// TestDecision4TreeDigestFollowsItsFraming computes the digest from the comment of
// Tree.Digest alone.
func TestDecision4TreeDigestFollowsItsFraming(t *testing.T) {
	framed := []byte("prova-recipe-tree-v1\xff")
	for _, f := range []struct {
		path, data string
		x          byte
	}{{"a", "1", 0}, {"b/c", "", 1}} {
		content := sha256.Sum256([]byte(f.data))
		framed = append(framed, 0, 0, 0, byte(len(f.path)))
		framed = append(framed, f.path...)
		framed = append(framed, f.x)
		framed = append(framed, content[:]...)
	}
	tree := recipe.Tree{{Path: "b/c", Executable: true}, {Path: "a", Data: []byte("1")}} // unsorted
	if got, want := tree.Digest(), sha256.Sum256(framed); got != want {
		t.Errorf("digest %x, want %x", got, want)
	}
}

func TestDecision4TreeDigestCoversPathBitAndContentOfEachFile(t *testing.T) {
	base := func() recipe.Tree {
		return recipe.Tree{{Path: "a", Data: []byte("1")}, {Path: "ab", Data: []byte("2")}}
	}
	seen := map[[32]byte]string{base().Digest(): "unchanged"}
	for name, change := range map[string]func(recipe.Tree) recipe.Tree{
		"another path":             func(t recipe.Tree) recipe.Tree { t[0].Path = "c"; return t },
		"the executable bit":       func(t recipe.Tree) recipe.Tree { t[1].Executable = true; return t },
		"another content":          func(t recipe.Tree) recipe.Tree { t[0].Data = []byte("3"); return t },
		"a file more":              func(t recipe.Tree) recipe.Tree { return append(t, recipe.Entry{Path: "b"}) },
		"a file less":              func(t recipe.Tree) recipe.Tree { return t[:1] },
		"two contents swapped":     func(t recipe.Tree) recipe.Tree { t[0].Data, t[1].Data = t[1].Data, t[0].Data; return t },
		"a byte moved to its path": func(t recipe.Tree) recipe.Tree { t[0].Path, t[0].Data = "a1", nil; return t },
	} {
		d := change(base()).Digest()
		if other, twice := seen[d]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
	if got := slices.Collect(maps.Keys(seen)); len(got) != 8 {
		t.Errorf("%d digests", len(got))
	}
}
