package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/cli"
)

// prova runs a command in this process, where go finds its own cache.
func prova(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(t.Context(), args, &cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: os.Getenv})
	return out.String(), errs.String(), code
}

// example is a copy of examples/recipe-fit without what was built in it.
func example(t *testing.T) (dir, readme string) {
	t.Helper()
	from, dir := filepath.Join("..", "..", "examples", "recipe-fit"), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"recipe/recipe.wasm", "evaluate/evaluate.wasm"} {
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, string(text)
}

// TestDesignSection3TheExampleIsBuiltTestedPackedAndVerifiedAsItsPageSays types the
// page, and what it says must come.
func TestDesignSection3TheExampleIsBuiltTestedPackedAndVerifiedAsItsPageSays(t *testing.T) {
	dir, readme := example(t)
	t.Chdir(dir)
	commands := regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(readme, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has %d blocks of commands", len(commands))
	}
	last := ""
	for i, block := range commands {
		for line := range strings.Lines(block[1]) {
			stdout, stderr, code := prova(t, strings.Fields(line)[1:]...)
			if code != 0 {
				t.Fatalf("%s: status %d: %s", line, code, stderr)
			}
			last = stdout
		}
		if i == 0 && !strings.Contains(readme, "```text\n"+last+"```") {
			t.Errorf("the page shows something else than\n%s", last)
		}
	}
	if !strings.HasPrefix(last, "verified    recipe.wasm is what go1.") {
		t.Errorf("verify says %q", last)
	}

	// A second build, from a folder of another name, gives the same bytes.
	first, err := os.ReadFile("recipe/recipe.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("recipe", "renamed"); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := prova(t, "recipe", "build", "renamed"); code != 0 {
		t.Fatal(stderr)
	}
	second, err := os.ReadFile("renamed/recipe.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("two builds of one source differ")
	}
	if bytes.Contains(first, []byte(dir)) {
		t.Error("the module holds the path of its folder")
	}

	// A source that is not that of the module is found.
	main, err := os.ReadFile("renamed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("renamed/main.go", bytes.Replace(main, []byte("a[i][j] += powers"), []byte("a[i][j] += 2 * powers"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := prova(t, "recipe", "verify", "renamed"); code != 1 || !strings.Contains(stderr, "recipe.wasm is not what go1.") {
		t.Errorf("status %d: %s", code, stderr)
	}

	// What the evaluator cannot judge has no value.
	stdout, stderr, code := prova(t, "recipe", "test", "renamed", "--public", "public", "--evaluator", "evaluate/evaluate.wasm")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "the evaluator gave no value: it ended with code 1") || !strings.Contains(stderr, "holdout/points.csv") {
		t.Errorf("status %d: %s%s", code, stdout, stderr)
	}
}

func TestRecipeBuildSaysWhatTheSourceLacks(t *testing.T) {
	write := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	const module = "module x\n\ngo 1.27.0\n"
	for name, c := range map[string]struct {
		files map[string]string
		why   string
	}{
		"no module":               {map[string]string{"main.go": "package main\nfunc main() {}\n"}, "it has neither go.mod nor src/go.mod"},
		"no program":              {map[string]string{"go.mod": module, "x.go": "package x\n"}, "cannot be metered: wasm module: byte 0: it is no WebAssembly"},
		"an error":                {map[string]string{"go.mod": module, "main.go": "package main\nfunc main() { x }\n"}, "undefined: x"},
		"a module that is absent": {map[string]string{"src/go.mod": module + "require example.com/y v1.0.0\n", "src/main.go": "package main\nimport _ \"example.com/y\"\nfunc main() {}\n"}, "belong into its folder, by go mod vendor"},
		"a manifest of another":   {map[string]string{"go.mod": module, "main.go": "package main\nfunc main() {}\n", "recipe.json": "{}"}, "recipe.json: format"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(c.files)
			if _, stderr, code := prova(t, "recipe", "build", dir); code != 1 || !strings.Contains(stderr, c.why) {
				t.Errorf("status %d: %s; want %q", code, stderr, c.why)
			}
			if _, err := os.Stat(filepath.Join(dir, "recipe.wasm")); err == nil {
				t.Error("a module was written")
			}
		})
	}
}

func TestRecipeBuildWithoutGoSaysSo(t *testing.T) {
	dir, _ := example(t)
	t.Setenv("PATH", t.TempDir())
	_, stderr, code := prova(t, "recipe", "build", filepath.Join(dir, "recipe"))
	if code != 1 || !strings.Contains(stderr, "install Go to build a recipe") {
		t.Errorf("status %d: %s", code, stderr)
	}
}
