package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources parses the files of some folders that go into a program: tests, and
// packages that serve tests alone, are left out.
func sources(t *testing.T, folders ...string) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			out[filepath.ToSlash(rel)] = file
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d files found in %v", len(out), folders)
	}
	return out
}

// literals are the strings that a file holds, each as it is written out.
func literals(t *testing.T, file *ast.File) []string {
	t.Helper()
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text)
		}
		return true
	})
	return out
}

// TestNothingOfAChallengeIsCompiledIn (P12, P54, P67, P70): the names of the
// specification's examples stand in documents. Code that decides anything by one of
// them would hold it as a string of its own.
func TestNothingOfAChallengeIsCompiledIn(t *testing.T) {
	names := []string{
		"dt-no-ib-v0", "muon-vs-adamw-10m-v0", "agent-harness-improve-v0", "harness_success_rate", "success_rate", "same_seed",
		"no_eval_short_circuit", "vendor/model", "master-proxy-v0", "operator-label", "muon", "infiniband",
	}
	for name, file := range sources(t, "internal/research", "internal/sandbox") {
		for _, text := range literals(t, file) {
			if slices.Contains(names, strings.ToLower(text)) {
				t.Errorf("%s holds %q, which belongs in a topic", name, text)
			}
		}
	}
}

// TestTheControlPlaneRunsNoProgramAndNoJudge (P53, P77, P155): the packages of the
// control plane start no process, link no hypervisor and no judge. What runs is behind
// the boundary's client or on a rented machine.
func TestTheControlPlaneRunsNoProgramAndNoJudge(t *testing.T) {
	const module = "github.com/prova-dev/prova/internal/"
	forbidden := []string{"os/exec", "plugin", module + "research/judge", module + "sandbox/agentd", module + "sandbox/fake"}
	boundary := 0
	for name, file := range sources(t, "internal/research", "internal/sandbox/client") {
		if strings.HasPrefix(name, "internal/research/judge/") {
			continue // a library of guests
		}
		for _, spec := range file.Imports {
			at, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(forbidden, at) {
				t.Errorf("%s imports %s", name, at)
			}
			if at == module+"sandbox/wire" {
				boundary++
			}
		}
	}
	// Whatever the program links: the rooms above the control plane wire it.
	for name, file := range sources(t, "internal/app", "internal/cli", "cmd/prova") {
		for _, spec := range file.Imports {
			if at, err := strconv.Unquote(spec.Path.Value); err != nil || at == module+"research/judge" {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
	if boundary == 0 {
		t.Error("nothing speaks to the boundary; the test looks at the wrong files")
	}
}

// TestVariablesWithoutEffectAreReadNowhere (P81, P82): left-overs of the first
// implementation.
func TestVariablesWithoutEffectAreReadNowhere(t *testing.T) {
	for name, file := range sources(t, "internal", "cmd") {
		for _, text := range literals(t, file) {
			for _, variable := range []string{"PROOF_SIM_STUB_WIN", "BASELINE_SKILL"} {
				if strings.Contains(text, variable) {
					t.Errorf("%s reads %s", name, variable)
				}
			}
		}
	}
}

// TestNoFileOfTheRepositoryIsASecret (P83): keys that the commands write are 64
// hexadecimal digits on a line, alone; PEM says what it is. Tests make theirs.
func TestNoFileOfTheRepositoryIsASecret(t *testing.T) {
	looked := 0
	for _, folder := range []string{"examples", "docs", "conformance", "scripts", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".zst") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			looked++
			text := strings.TrimSpace(string(data))
			if _, err := strconv.ParseUint(text[:min(len(text), 16)], 16, 64); err == nil && len(text) == 64 {
				t.Errorf("%s holds what a secret key looks like", path)
			}
			if strings.Contains(text, "PRIVATE"+" KEY-----") {
				t.Errorf("%s holds a private key", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 40 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// TestNoHostedFunctionServiceIsUsed (P83): the first implementation's rule names one;
// neither a dependency nor an import is of it.
func TestNoHostedFunctionServiceIsUsed(t *testing.T) {
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "\nrequire (") {
		t.Fatal("go.mod has no requirements; the test reads the wrong file")
	}
	for _, line := range strings.Split(string(module), "\n") {
		if strings.Contains(strings.ToLower(line), "modal") {
			t.Errorf("go.mod: %s", line)
		}
	}
	for name, file := range sources(t, "internal", "cmd", "evidence") {
		for _, text := range literals(t, file) {
			if strings.Contains(strings.ToLower(text), "modal.com") || strings.HasPrefix(text, "MODAL_") {
				t.Errorf("%s holds %q", name, text)
			}
		}
	}
}
