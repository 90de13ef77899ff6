package meter_test

import (
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// statement is a piece of a random program, which this file both assembles and
// executes by itself.
type statement struct {
	kind string // ops, loop, if, block, call, table, trap, fill
	n    int    // operations, turns, taken or not, function, label
	body []statement
	alt  []statement
}

func statements(depth, callees int) *rapid.Generator[[]statement] {
	return rapid.Custom(func(t *rapid.T) []statement {
		kinds := []string{"ops", "ops", "fill"}
		if depth > 0 {
			kinds = append(kinds, "loop", "if", "block", "table")
		}
		if callees > 0 {
			kinds = append(kinds, "call")
		}
		var out []statement
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			s := statement{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
			switch s.kind {
			case "ops":
				s.n = rapid.IntRange(1, 3).Draw(t, "ops")
			case "loop":
				s.n = rapid.IntRange(1, 4).Draw(t, "turns")
				s.body = statements(depth-1, callees).Draw(t, "loop")
			case "if":
				s.n = rapid.IntRange(0, 1).Draw(t, "taken")
				s.body, s.alt = statements(depth-1, callees).Draw(t, "then"), statements(depth-1, callees).Draw(t, "else")
			case "block":
				s.n = rapid.IntRange(0, 1).Draw(t, "left")
				s.body, s.alt = statements(depth-1, callees).Draw(t, "first"), statements(depth-1, callees).Draw(t, "rest")
			case "table":
				s.n = rapid.IntRange(0, 3).Draw(t, "entry")
				s.body, s.alt = statements(depth-1, callees).Draw(t, "near"), statements(depth-1, callees).Draw(t, "far")
			case "call":
				s.n = rapid.IntRange(0, callees-1).Draw(t, "callee")
			}
			out = append(out, s)
		}
		if rapid.IntRange(0, 30).Draw(t, "trap") == 0 {
			out = append(out, statement{kind: "trap"})
		}
		return out
	})
}

// assembled is the code of statements; each loop counts in a local of its own.
func assembled(list []statement, f *fn) []byte {
	var out []byte
	for _, st := range list {
		switch st.kind {
		case "ops":
			for range st.n {
				// global 0 = global 0 * 1.25 + 1: two operations whose order matters.
				out = cat(out, []byte{0x23, 0}, f64const(1.25), []byte{0xa2}, f64const(1), []byte{0xa0, 0x24, 0})
			}
		case "fill":
			out = cat(out, i32const(0), i32const(7), i32const(16), []byte{0xfc, 11, 0})
		case "loop":
			f.locals = append(f.locals, i32)
			local := u(uint32(len(f.locals) - 1))
			out = cat(out, i32const(int32(st.n)), []byte{0x21}, local, []byte{0x03, empty}, assembled(st.body, f),
				[]byte{0x20}, local, i32const(1), []byte{0x6b, 0x22}, local, []byte{0x0d, 0, 0x0b})
		case "if":
			out = cat(out, i32const(int32(st.n)), []byte{0x04, empty}, assembled(st.body, f), []byte{0x05}, assembled(st.alt, f), []byte{0x0b})
		case "block":
			// A loop without turns stands between, so that the branch crosses it.
			out = cat(out, []byte{0x02, empty, 0x03, empty}, assembled(st.body, f), i32const(int32(st.n)), []byte{0x0d, 1}, assembled(st.alt, f), []byte{0x0b, 0x0b})
		case "table":
			out = cat(out, []byte{0x02, empty, 0x02, empty, 0x02, empty}, i32const(int32(st.n)), []byte{0x0e, 2, 0, 1, 2, 0x0b},
				assembled(st.body, f), []byte{0x0b}, assembled(st.alt, f), []byte{0x0b})
		case "call":
			out = cat(out, []byte{0x10}, u(uint32(st.n+1)))
		case "trap":
			out = append(out, 0x00)
		}
	}
	return out
}

// model executes statements as they are meant.
type model struct {
	funcs [][]statement
	ops   uint64
	value float64
	ended bool // by a trap
}

func (m *model) execute(list []statement) {
	for _, st := range list {
		if m.ended {
			return
		}
		switch st.kind {
		case "ops":
			for range st.n {
				m.ops += 2
				m.value = float64(m.value*1.25) + 1
			}
		case "loop":
			for range st.n {
				m.execute(st.body)
			}
		case "if":
			if st.n == 1 {
				m.execute(st.body)
			} else {
				m.execute(st.alt)
			}
		case "block":
			if m.execute(st.body); st.n == 0 {
				m.execute(st.alt)
			}
		case "table":
			switch st.n {
			case 0:
				m.execute(st.body)
				m.execute(st.alt)
			case 1:
				m.execute(st.alt)
			}
		case "call":
			m.execute(m.funcs[st.n])
		case "trap":
			m.ended = true
		}
	}
}

// TestDesignSection3ARandomProgramDoesAndCountsWhatItsModelDoes compares programs
// of loops, branches, tables, calls and traps with an execution of what they mean,
// compiled, interpreted, and without a meter.
func TestDesignSection3ARandomProgramDoesAndCountsWhatItsModelDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{}
		var funcs []fn
		for i := range rapid.IntRange(0, 3).Draw(rt, "functions") {
			m.funcs = append(m.funcs, statements(2, i).Draw(rt, fmt.Sprintf("function %d", i)))
		}
		program := statements(3, len(m.funcs)).Draw(rt, "program")
		for _, list := range append([][]statement{program}, m.funcs...) {
			var f fn
			f.code = assembled(list, &f)
			funcs = append(funcs, f)
		}
		m.execute(program)
		module := assembly{start: -1, nglob: 1, globals: cat([]byte{f64, 1}, f64const(1), []byte{0x0b}), funcs: funcs,
			raw: map[byte][]byte{7: cat([]byte{3}, str("memory"), []byte{2, 0}, str("_start"), []byte{0, 0}, str("value"), []byte{3, 0})}}.bytes()

		r := run(t, module, meter.Options{DeclaredFLOPs: plenty})
		if r.FlopsUsed != m.ops || (r.Trap == "unreachable") != m.ended || r.Limited {
			rt.Fatalf("counted %d, trap %q; the model %d, ended %t", r.FlopsUsed, r.Trap, m.ops, m.ended)
		}
		if m.ops > 0 {
			r = run(t, module, meter.Options{DeclaredFLOPs: m.ops - 1})
			if !r.Limited || r.FlopsUsed != m.ops {
				rt.Fatalf("with one less declared: %+v, the model %d", r, m.ops)
			}
			if r = run(t, module, meter.Options{DeclaredFLOPs: m.ops}); r.Limited || r.FlopsUsed != m.ops {
				rt.Fatalf("with as much declared: %+v", r)
			}
		}
		metered, err := meter.Instrument(module, plenty)
		if err != nil {
			rt.Fatal(err)
		}
		if bare, same := value(t, module), value(t, metered); bare != same {
			rt.Fatalf("the module computes %v, metered %v", bare, same)
		}
	})
}

// value runs a module without WASI and returns its global.
func value(t testing.TB, module []byte) uint64 {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	_, err := r.NewHostModuleBuilder("prova:meter").NewFunctionBuilder().WithFunc(func() uint32 { return 0 }).Export("poll").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.ExportedFunction("_start").Call(ctx); err != nil && !trapped(err) {
		t.Fatal(err)
	}
	return m.ExportedGlobal("value").Get()
}
