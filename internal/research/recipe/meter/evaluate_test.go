package meter_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// writer is a command that opens a path of /out and writes text to it: WASI's
// path_open and fd_write by hand.
func writer(name, text string, exit int32) []byte {
	const wasi = "wasi_snapshot_preview1"
	types := vec(
		cat([]byte{0x60}, bytesOf([]byte{i32, i32, i32, i32, i32, i64, i64, i32, i32}), []byte{1, i32}),
		cat([]byte{0x60}, bytesOf([]byte{i32, i32, i32, i32}), []byte{1, i32}),
		[]byte{0x60, 1, i32, 0}, []byte{0x60, 0, 0})
	imports := vec(cat(str(wasi), str("path_open"), []byte{0, 0}), cat(str(wasi), str("fd_write"), []byte{0, 1}), cat(str(wasi), str("proc_exit"), []byte{0, 2}))
	// Memory: 0 the vector {64, len}; 16 the descriptor; 32 bytes written; 64 the text; 8192 the name.
	code := cat(
		i32const(4), i32const(0), i32const(8192), i32const(int32(len(name))), i32const(1|8), // create, truncate
		[]byte{0x42}, s(1<<6|1<<5), []byte{0x42, 0}, i32const(0), i32const(16), []byte{0x10, 0, 0x1a},
		i32const(0), i32const(64), []byte{0x36, 2, 0}, i32const(4), i32const(int32(len(text))), []byte{0x36, 2, 0},
		i32const(16), []byte{0x28, 2, 0}, i32const(0), i32const(1), i32const(32), []byte{0x10, 1, 0x1a},
		i32const(exit), []byte{0x10, 2})
	return assembly{start: -1, funcs: []fn{{code: code}}, raw: map[byte][]byte{1: types, 2: imports, 3: {1, 3},
		7:  cat([]byte{2}, str("memory"), []byte{2, 0}, str("_start"), []byte{0, 3}),
		11: vec(cat([]byte{0}, i32const(64), []byte{0x0b}, str(text)), cat([]byte{0}, i32const(8192), []byte{0x0b}, str(name)))}}.bytes()
}

func TestDesignSection3AnEvaluatorGivesOneFiniteNumberOrNone(t *testing.T) {
	value, err := meter.Evaluate(t.Context(), writer("primary.json", `{"primary_value": 0.25}`, 0), meter.Evaluation{
		Public: fstest.MapFS{"a": {}}, Outputs: recipe.Tree{{Path: "deep/er/b", Data: []byte("1")}, {Path: "deep/c", Data: []byte("2")}},
	})
	if err != nil || value != 0.25 {
		t.Errorf("%v, %v", value, err)
	}
	for name, c := range map[string]struct {
		module []byte
		why    string
	}{
		"nothing written":      {command(nil), "it wrote no /out/primary.json"},
		"another file":         {writer("value.json", `{"primary_value": 0.25}`, 0), "it wrote no /out/primary.json"},
		"no JSON":              {writer("primary.json", `0,25`, 0), "/out/primary.json: "},
		"text":                 {writer("primary.json", `{"primary_value": "0.25"}`, 0), "want a number"},
		"beyond every float":   {writer("primary.json", `{"primary_value": 1e999}`, 0), "primary_value"},
		"null":                 {writer("primary.json", `{"primary_value": null}`, 0), "has no primary_value"},
		"no member":            {writer("primary.json", `{}`, 0), "has no primary_value"},
		"one member too many":  {writer("primary.json", `{"primary_value": 1, "note": 2}`, 0), "note"},
		"the member twice":     {writer("primary.json", `{"primary_value": 1, "primary_value": 2}`, 0), "primary_value"},
		"a code that is not 0": {writer("primary.json", `{"primary_value": 0.25}`, 3), "it ended with code 3"},
		"a trap":               {command([]byte{0x00}), "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := meter.Evaluate(t.Context(), c.module, meter.Evaluation{})
			if !errors.Is(err, meter.ErrEvaluator) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
	if _, err := meter.Evaluate(t.Context(), []byte("no module"), meter.Evaluation{}); !errors.Is(err, meter.ErrModule) || errors.Is(err, meter.ErrEvaluator) {
		t.Error(err)
	}
	many := recipe.Tree{}
	for range meter.MaxInputFiles + 1 {
		many = append(many, recipe.Entry{Path: "a"})
	}
	if _, err := meter.Evaluate(t.Context(), command(nil), meter.Evaluation{Outputs: many}); err == nil || !strings.Contains(err.Error(), "more than 65536 files") {
		t.Error(err)
	}
}

func TestRunRefusesAnInputThatIsNotAllFiles(t *testing.T) {
	_, err := meter.Run(t.Context(), command(nil), meter.Options{Input: fstest.MapFS{"a": {Data: []byte("b"), Mode: 0o777 | 1<<27}}})
	if err == nil || errors.Is(err, meter.ErrModule) || !strings.Contains(err.Error(), `"a" is neither a file nor a folder`) {
		t.Error(err)
	}
}
