package recipe_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

func TestDesignSection3PackDoesNotDependOnTimesModesOrTheFolder(t *testing.T) {
	want, err := recipe.Pack(example())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, f := range example() {
		path := filepath.Join(dir, name)
		if f.Mode.IsDir() {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600|f.Mode&0o100); err != nil {
			t.Fatal(err)
		}
	}
	got, err := recipe.Pack(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the same files in a folder of this machine give another tar")
	}
}

func TestDesignSection3PackRefusesWhatNoReaderWouldTake(t *testing.T) {
	file := func(data string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(data), Mode: 0o644} }
	many := fstest.MapFS{}
	for i := range recipe.MaxEntries + 1 {
		many["f"+strconv.Itoa(i)] = file("x")
	}
	deep := fstest.MapFS{}
	for i := range recipe.MaxEntries/2 + 1 {
		deep["d"+strconv.Itoa(i)+"/f"] = file("x")
	}
	for name, c := range map[string]struct {
		dir fstest.MapFS
		why string
	}{
		"a symbolic link":                        {fstest.MapFS{"a": file("1"), "b": {Mode: fs.ModeSymlink | 0o777, Data: []byte("a")}}, `"b": it is a symbolic link`},
		"a pipe":                                 {fstest.MapFS{"a": file("1"), "b": {Mode: fs.ModeNamedPipe}}, `"b": it is neither a file nor a folder`},
		"a name with a space":                    {fstest.MapFS{"a b": file("1")}, "the name has the byte 0x20"},
		"a name that is too long":                {fstest.MapFS{strings.Repeat("d/", 120) + strings.Repeat("a", 8): file("1")}, "at most 247"},
		"a name that ustar has no room for":      {fstest.MapFS{strings.Repeat("a", 101): file("1")}, "does not fit a ustar header"},
		"a folder without a file":                {fstest.MapFS{"d": {Mode: fs.ModeDir | 0o755}}, "no file content"},
		"nothing but a git folder":               {fstest.MapFS{".git/HEAD": file("x")}, "no file content"},
		"more files than allowed":                {many, "more than 4096 files"},
		"more files and folders than allowed":    {deep, "it has 4098 files and folders"},
		"more bytes than allowed":                {fstest.MapFS{"a": {Data: make([]byte, recipe.MaxTar/2), Mode: 0o644}, "b": {Data: make([]byte, recipe.MaxTar/2+1), Mode: 0o644}}, "have more than 67108864 bytes"},
		"as many bytes, and no room for headers": {fstest.MapFS{"a": {Data: make([]byte, recipe.MaxTar), Mode: 0o644}}, "the archive would have more than 67108864 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := recipe.Pack(c.dir)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Fatalf("%d bytes, error %v, want it to contain %q", len(data), err, c.why)
			}
			if refused := (*recipe.Error)(nil); !errors.As(err, &refused) {
				t.Errorf("%T is no *recipe.Error", err)
			}
		})
	}
}

func TestDesignSection3TheLargestTarIsReadWithoutACopy(t *testing.T) {
	const headers = 3 * 512
	tree := recipe.Tree{{Path: "a", Data: make([]byte, recipe.MaxTar-headers)}}
	data := mustWrite(t, tree)
	if len(data) != recipe.MaxTar {
		t.Fatalf("%d bytes", len(data))
	}
	got, err := recipe.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	data[512] = 7
	if got[0].Data[0] != 7 {
		t.Error("the content was copied")
	}
}

func TestR16_6FilesOfAnInspectionAreATree(t *testing.T) {
	tree, err := recipe.FromFiles([]wire.File{{Path: "b", Bytes: []byte("2"), Executable: true}, {Path: "a/c", Bytes: []byte("1")}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := recipe.FromFiles(tree.Files())
	if err != nil || again.Digest() != tree.Digest() || tree[0].Path != "a/c" || !tree[1].Executable {
		t.Errorf("%v, %v, %v", tree, again, err)
	}
	for name, files := range map[string][]wire.File{
		"a name that climbs":  {{Path: "../a"}},
		"a name twice":        {{Path: "a"}, {Path: "a"}},
		"a file below a file": {{Path: "a"}, {Path: "a/b"}, {Path: "a-b"}},
		"no name":             {{}},
		"too many":            make([]wire.File, recipe.MaxEntries+1),
	} {
		if tree, err := recipe.FromFiles(files); err == nil {
			t.Errorf("%s: %v", name, tree)
		}
	}
}

func TestDesignSection3ManifestIsStrict(t *testing.T) {
	const good = `{"format":"prova-recipe/1","entrypoint":"bin/recipe.wasm","args":["-x",""],"built_with":"go1.27.3"}`
	m, err := recipe.ParseManifest([]byte(good))
	if err != nil || m.Entrypoint != "bin/recipe.wasm" || len(m.Args) != 2 || m.BuiltWith != "go1.27.3" {
		t.Fatalf("%+v, %v", m, err)
	}
	if text, err := m.JSON(); err != nil || string(text) != good+"\n" {
		t.Errorf("written as %s, %v", text, err)
	}
	for name, c := range map[string]struct{ old, with, why string }{
		"another format":            {"recipe/1", "recipe/2", `format: is "prova-recipe/2", this build reads "prova-recipe/1"`},
		"no format":                 {`"format":"prova-recipe/1",`, "", `format: is ""`},
		"no entry point":            {`"entrypoint":"bin/recipe.wasm",`, "", "entrypoint: the name is empty"},
		"an entry point that is up": {"bin/recipe.wasm", "../bin", `entrypoint: the name has the segment ".."`},
		"a wrong case":              {"entrypoint", "entryPoint", "did you mean entrypoint?"},
		"an unknown member":         {"built_with", "build", "build: unknown key"},
		"a member twice":            {`"args":["-x",""]`, `"format":"prova-recipe/1"`, "format"},
		"args that are no list":     {`["-x",""]`, `"-x"`, "args: is a string, want an array"},
		"an argument that is none":  {`""`, `1`, "args[1]: is an integer"},
		"an argument with a zero":   {`""`, `"a\u0000"`, "args[1]: want text without a zero character"},
		"too many arguments":        {`""`, strings.Repeat(`"",`, recipe.MaxArgs) + `""`, "args: has 66 arguments, at most 64"},
		"an argument too long":      {`""`, `"` + strings.Repeat("x", recipe.MaxArg+1) + `"`, "args[1]: want text"},
		"built with two lines":      {"go1.27.3", `go\n1`, "built_with: want one line"},
		"no JSON":                   {"{", "", "recipe.json: "},
		"more than it may be":       {"go1.27.3", strings.Repeat("x", recipe.MaxManifest), "at most 65536 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("the manifest has no %q", c.old)
			}
			m, err := recipe.ParseManifest([]byte(strings.Replace(good, c.old, c.with, 1)))
			if err == nil || !strings.Contains(err.Error(), c.why) || !strings.HasPrefix(err.Error(), "recipe.json: ") {
				t.Errorf("%+v, error %v, want it to contain %q", m, err, c.why)
			}
		})
	}
}

func TestDesignSection3AManifestsEntryPointMustBeThere(t *testing.T) {
	entry := func(path, data string) recipe.Entry { return recipe.Entry{Path: path, Data: []byte(data)} }
	manifest := entry("recipe.json", `{"format":"prova-recipe/1","entrypoint":"recipe.wasm"}`)
	for name, c := range map[string]struct {
		entries []recipe.Entry
		why     string
	}{
		"a whole recipe":        {[]recipe.Entry{manifest, entry("recipe.wasm", "\x00asm")}, ""},
		"no manifest":           {[]recipe.Entry{entry("recipe.wasm", "\x00asm")}, "it has no recipe.json"},
		"no program":            {[]recipe.Entry{manifest}, `entrypoint: "recipe.wasm" is not in the recipe`},
		"a folder as program":   {[]recipe.Entry{manifest, entry("recipe.wasm/x", "y")}, `"recipe.wasm" is not in the recipe`},
		"a program of no bytes": {[]recipe.Entry{manifest, entry("recipe.wasm", "")}, `"recipe.wasm" is empty`},
	} {
		tree, err := recipe.FromEntries(c.entries)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tree.Manifest()
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: error %v, want %q", name, err, c.why)
		}
	}
}

func FuzzRead(f *testing.F) {
	packed, err := recipe.Pack(example())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add(packed[:len(packed)-512])
	f.Add(archive(f, global("comment", "c"), file("./a", "1"), file("b/c", "2")))
	f.Add(paxTar("b", "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.realsize=0\n", "0\n"))
	f.Add(paxTar("a", "13 size=9999\n", "x"))
	f.Add(append(raw("a", '0', "77777777777"), make([]byte, 1024)...))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := recipe.Read(data)
		if err != nil {
			return
		}
		if tree.Bytes() > int64(len(data)) {
			t.Fatalf("%d bytes came out of %d", tree.Bytes(), len(data))
		}
		canonical, err := recipe.Write(tree)
		if err != nil { // ustar has no room for some name, or the folders are too many
			return
		}
		again, err := recipe.Read(canonical)
		if err != nil || again.Digest() != tree.Digest() {
			t.Fatalf("the canonical tar of a tree that was read is another: %v", err)
		}
		if twice := mustWrite(t, again); !bytes.Equal(twice, canonical) {
			t.Fatal("two canonical tars of one tree")
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"format":"prova-recipe/1","entrypoint":"recipe.wasm","args":["a"],"built_with":"go"}`))
	f.Add([]byte(`{"format":"prova-recipe/1","entrypoint":"../x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := recipe.ParseManifest(data)
		if err != nil {
			return
		}
		text, err := m.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := recipe.ParseManifest(text)
		if err != nil || again.Entrypoint != m.Entrypoint || len(again.Args) != len(m.Args) || again.BuiltWith != m.BuiltWith {
			t.Fatalf("%s is read as %+v, %v", text, again, err)
		}
	})
}
