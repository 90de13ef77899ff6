package meter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

func TestDesignSection3CountsModulesOfOtherCompilers(t *testing.T) {
	for name, ops := range map[string]uint64{
		"llvm.wasm": 100*2*4 + 1000*2 + 10*2,
		"rust.wasm": 10*20*30*2 + 500*2,
	} {
		module, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, module, meter.Options{DeclaredFLOPs: ops}); r.FlopsUsed != ops || r.ExitCode != 0 {
			t.Errorf("%s: %+v, want %d", name, r, ops)
		}
		if r := run(t, module, meter.Options{DeclaredFLOPs: ops - 1}); !r.Limited {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// compiled builds testdata/src/wasip1 as a recipe is built.
func compiled(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "go.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = filepath.Join("testdata", "src", "wasip1")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// TestDesignSection3AModuleOfGo builds one program, and lets it do many things.
func TestDesignSection3AModuleOfGo(t *testing.T) {
	module := compiled(t)
	t.Run("counts its loop and the same few operations of its runtime each time", func(t *testing.T) { countsItsLoop(t, module) })
	t.Run("sees the same world each time", func(t *testing.T) { seesTheSameWorld(t, module) })
	t.Run("ends in every way that a run tells", func(t *testing.T) { endsInEveryWay(t, module) })
}

func countsItsLoop(t *testing.T, module []byte) {
	used := func(args ...string) uint64 {
		t.Helper()
		r, err := meter.Run(t.Context(), module, meter.Options{Args: args, DeclaredFLOPs: plenty, Interpret: true})
		if err != nil || r.ExitCode != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.FlopsUsed
	}
	// Go's own runtime has a few operations, the same each time; a turn has three.
	base := used("loop", "0")
	if base > 1000 {
		t.Errorf("a program that does nothing counts %d", base)
	}
	for _, turns := range []uint64{1000, 50_000} {
		if got := used("loop", strconv.FormatUint(turns, 10)); got != base+3*turns {
			t.Errorf("%d turns count %d, want %d and %d of the runtime", turns, got, 3*turns, base)
		}
	}
}

// seesTheSameWorld runs a program that prints what it
// finds: times, random numbers, the order of a map, folders, files, arguments.
func seesTheSameWorld(t *testing.T, module []byte) {
	input := fstest.MapFS{"points.csv": {Data: []byte("1,2\n")}, "deep/er/file": {Data: []byte("x")}, "b": {}, "a": {}}
	o := meter.Options{Args: []string{"world", "two words"}, Input: input, Seed: 7, DeclaredFLOPs: plenty}
	r := run(t, module, o) // Interpreted and compiled.
	want := `args [recipe world two words]
env []
1999-01-01: false, 2001-01-01: true
slept 1h0m0s at most 1s more
/in [a b deep points.csv]
/in/points.csv "1,2\n"
write /in: read-only
write /: refused
/out [kept.txt model moved]
up: refused
stdin 0
`
	got, random, _ := strings.Cut(string(r.Stdout), "random ")
	if got != want {
		t.Errorf("it saw\n%s\nwant\n%s", got, want)
	}
	if len(r.Outputs) != 3 || r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	if data, _ := r.Outputs.File("model/weights"); string(data) != "0.5\n0.25\n" {
		t.Errorf("model/weights is %q of %+v", data, r.Outputs)
	}
	o.Seed = 8
	o.Interpret = true
	other, err := meter.Run(t.Context(), module, o)
	if err != nil || strings.HasSuffix(string(other.Stdout), random) || random == "" {
		t.Errorf("another seed gives the same %q, %v", random, err)
	}
}

func endsInEveryWay(t *testing.T, module []byte) {
	for _, c := range []struct {
		arg  string
		code uint32
		says string
	}{{"exit", 3, "leaving"}, {"panic", 2, "panic: no"}, {"deadlock", 2, "all goroutines are asleep"}, {"memory", 2, "created by "}, {"full", 1, "I/O error"}, {"flood", 0, "last line\n"}} {
		r, err := meter.Run(t.Context(), module, meter.Options{Args: []string{c.arg}, DeclaredFLOPs: plenty, OutputBytes: 1 << 20, StdoutTail: 1000, MemoryPages: 1024, Interpret: true})
		if err != nil || r.ExitCode != c.code || !strings.Contains(string(r.Stdout), c.says) || r.Trap != "" {
			t.Errorf("%s: exit %d, trap %q, %v, %s", c.arg, r.ExitCode, r.Trap, err, r.Stdout)
		}
		if len(r.Stdout) > 1000 {
			t.Errorf("%s: %d bytes are kept", c.arg, len(r.Stdout))
		}
		if r.Outputs.Bytes() > 1<<20 {
			t.Errorf("%s: %d bytes in /out", c.arg, r.Outputs.Bytes())
		}
	}
}
