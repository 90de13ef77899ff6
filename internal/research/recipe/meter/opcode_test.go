package meter_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// validates reports what the runtime says of a module.
func validates(t testing.TB, module []byte) error {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(1<<16))
	defer r.Close(ctx)
	_, err := r.CompileModule(ctx, module)
	return err
}

// ground is a module in which any instruction finds what it names: one function of
// no parameters, a type, a memory, a table, a global, a data and an element segment.
func ground(code []byte) []byte {
	return assembly{start: -1, nglob: 1, globals: cat([]byte{i32, 1}, i32const(0), []byte{0x0b}),
		funcs: []fn{{code: code, locals: []byte{i32}}},
		raw:   map[byte][]byte{4: {1, 0x70, 0, 1}, 9: {1, 1, 0, 1, 0}, 11: {1, 1, 0}, 12: {1}}}.bytes()
}

// TestMethodKnowsTheInstructionsOfTheRuntimeAndNoOther tries each number of each
// prefix, with each form of what can follow, in code that no types bind.
func TestMethodKnowsTheInstructionsOfTheRuntimeAndNoOther(t *testing.T) {
	forms := [][]byte{
		{}, {0}, {0, 0}, {0, 0, 0}, make([]byte, 4), make([]byte, 8), make([]byte, 16),
		{0x70}, {1, i32}, {1, 0, 0}, {empty, 0x0b}, {1}, {2}, {3}, {4, 0}, {3, 0}, {2, 0}, {1, 0}, {4, 0, 0},
	}
	known := 0
	try := func(op []byte) {
		for _, form := range forms {
			module := ground(cat([]byte{0x00}, op, form, []byte{0x00}))
			want := validates(t, module)
			metered, err := meter.Instrument(module, 1)
			if err == nil {
				err = validates(t, metered)
			}
			if (want == nil) != (err == nil) {
				t.Errorf("% x % x: the runtime says %v, the method %v", op, form, want, err)
			}
			if want == nil {
				known++
			}
		}
	}
	for op := range 256 {
		// else has meaning in an if alone, which the counts test has.
		if op != 0x05 {
			try([]byte{byte(op)})
		}
	}
	for n := range uint32(256) {
		if n < 128 {
			try(cat([]byte{0xfc}, u(n)))
		}
		try(cat([]byte{0xfd}, u(n)))
	}
	if known < 430 {
		t.Errorf("only %d forms are instructions", known)
	}
}

// TestMethodLeavesNoSecondReadingOfAnInstruction has encodings of which the runtime
// reads only the first byte of the number: what would be counted is not what runs.
func TestMethodLeavesNoSecondReadingOfAnInstruction(t *testing.T) {
	// 0xfd 256 and beyond, relaxed SIMD among it, is read as a number below it and the
	// instruction 2, 3 …
	for _, n := range []uint32{256, 257, 261, 275, 1 << 20} {
		if _, err := meter.Instrument(ground(cat([]byte{0x00, 0xfd}, u(n), []byte{empty, 0x0b, 0x00})), 1); err == nil {
			t.Errorf("0xfd %d is taken", n)
		}
	}
	if _, err := meter.Instrument(ground([]byte{0x00, 0xfc, 0x88, 0x01, 0, 0, 0x00}), 1); err == nil {
		t.Error("0xfc 136 is taken")
	}
	// f64x2.add of 0xf0 0x01, written with a byte more than it needs.
	vector := cat([]byte{0xfd, 0x8c, 0x80, 0x80, 0x00}, make([]byte, 16))
	long := command(cat(vector, vector, []byte{0xfd, 0xf0, 0x81, 0x00, 0x1a}))
	if r := run(t, long, meter.Options{DeclaredFLOPs: plenty}); r.FlopsUsed != 2 {
		t.Errorf("%+v", r)
	}
}

// counted is what an instruction counts as, by its name: the operations of the
// hardware's own counters, once a lane.
func counted(name string) int {
	switch {
	case regexp.MustCompile(`^f(32|64)\.(add|sub|mul|div|sqrt|min|max)$`).MatchString(name):
		return 1
	case regexp.MustCompile(`^f64x2\.(add|sub|mul|div|sqrt|p?min|p?max)$`).MatchString(name):
		return 2
	case regexp.MustCompile(`^f32x4\.(add|sub|mul|div|sqrt|p?min|p?max)$`).MatchString(name):
		return 4
	}
	return 0
}

func TestMethodTableCountsEachInstructionByItsName(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(meter.Table()) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.Contains(cells[2], "`") {
			continue
		}
		for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(cells[2], -1) {
			name = strings.Trim(name, "`")
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
			if want := counted(name); strings.TrimSpace(cells[1]) != string(rune('0'+want)) {
				t.Errorf("%s counts as %s, want %d", name, cells[1], want)
			}
		}
	}
	if len(seen) != 183+18+236 {
		t.Errorf("%d instructions", len(seen))
	}
}

// TestMethodCountsEachInstructionThatItRuns executes each counted instruction three
// times.
func TestMethodCountsEachInstructionThatItRuns(t *testing.T) {
	vector := func() []byte { return cat([]byte{0xfd, 12}, make([]byte, 16)) }
	f32const := []byte{0x43, 0, 0, 0x80, 0x3f}
	for _, c := range []struct {
		op      []byte
		operand []byte
		unary   bool
		ops     uint64
	}{
		{[]byte{0x91}, f32const, true, 1}, {[]byte{0x92}, f32const, false, 1}, {[]byte{0x93}, f32const, false, 1}, {[]byte{0x94}, f32const, false, 1},
		{[]byte{0x95}, f32const, false, 1}, {[]byte{0x96}, f32const, false, 1}, {[]byte{0x97}, f32const, false, 1}, {[]byte{0x98}, f32const, false, 0},
		{[]byte{0x8b}, f32const, true, 0}, {[]byte{0x90}, f32const, true, 0}, {[]byte{0x5d}, f32const, false, 0}, {[]byte{0xa8}, f32const, true, 0},
		{[]byte{0x9f}, f64const(2), true, 1}, {[]byte{0xa0}, f64const(2), false, 1}, {[]byte{0xa1}, f64const(2), false, 1}, {[]byte{0xa2}, f64const(2), false, 1},
		{[]byte{0xa3}, f64const(2), false, 1}, {[]byte{0xa4}, f64const(2), false, 1}, {[]byte{0xa5}, f64const(2), false, 1}, {[]byte{0xa6}, f64const(2), false, 0},
		{[]byte{0x9a}, f64const(2), true, 0}, {[]byte{0x9e}, f64const(2), true, 0}, {[]byte{0x63}, f64const(2), false, 0}, {[]byte{0xb6}, f64const(2), true, 0},
		{cat([]byte{0xfd}, u(227)), vector(), true, 4}, {cat([]byte{0xfd}, u(228)), vector(), false, 4}, {cat([]byte{0xfd}, u(231)), vector(), false, 4},
		{cat([]byte{0xfd}, u(233)), vector(), false, 4}, {cat([]byte{0xfd}, u(235)), vector(), false, 4}, {cat([]byte{0xfd}, u(224)), vector(), true, 0},
		{cat([]byte{0xfd}, u(239)), vector(), true, 2}, {cat([]byte{0xfd}, u(240)), vector(), false, 2}, {cat([]byte{0xfd}, u(243)), vector(), false, 2},
		{cat([]byte{0xfd}, u(245)), vector(), false, 2}, {cat([]byte{0xfd}, u(247)), vector(), false, 2}, {cat([]byte{0xfd}, u(237)), vector(), true, 0},
		{cat([]byte{0xfd}, u(206)), vector(), false, 0}, {cat([]byte{0xfd}, u(69)), vector(), false, 0}, {cat([]byte{0xfd}, u(250)), vector(), true, 0},
	} {
		once := cat(c.operand, c.op, []byte{0x1a})
		if !c.unary {
			once = cat(c.operand, once)
		}
		if r := run(t, command(cat(once, once, once)), meter.Options{DeclaredFLOPs: plenty}); r.FlopsUsed != 3*c.ops {
			t.Errorf("% x counts %d in three, want %d each", c.op, r.FlopsUsed, c.ops)
		}
	}
}

func TestMethodPageShowsTheTableOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "metering.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), meter.Table()) {
		t.Errorf("docs/metering.md differs from the code; its table should be\n%s", meter.Table())
	}
	if !strings.Contains(string(page), meter.Method) {
		t.Errorf("docs/metering.md does not name %s", meter.Method)
	}
}
