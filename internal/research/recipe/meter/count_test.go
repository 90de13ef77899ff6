package meter_test

import (
	"testing"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// TestDesignSection3CountsWhatABlockExecutes holds figures that a reader can work
// out from the code.
func TestDesignSection3CountsWhatABlockExecutes(t *testing.T) {
	call := func(f uint32) []byte { return cat([]byte{0x10}, u(f)) }
	trap := []byte{0x00}
	divideByZero := cat(i32const(1), i32const(0), []byte{0x6d, 0x1a})
	one := fn{locals: []byte{i32, f64}, code: add}
	for name, c := range map[string]struct {
		module []byte
		ops    uint64
		trap   string
	}{
		"nothing":                       {command(nil), 0, ""},
		"two in a row":                  {command(addTwo), 2, ""},
		"a loop of 1000 turns":          {command(repeat(1000, addTwo)), 2000, ""},
		"before, in and behind a loop":  {command(cat(add, repeat(10, addTwo), addFive)), 26, ""},
		"a loop that is left in turn 1": {command(repeat(1, addTwo)), 2, ""},
		"the branch that is taken":      {command(cat(i32const(1), []byte{0x04, empty}, add, []byte{0x05}, addFive, []byte{0x0b})), 1, ""},
		"the branch that is not":        {command(cat(i32const(0), []byte{0x04, empty}, add, []byte{0x05}, addFive, []byte{0x0b})), 5, ""},
		"an if without an else":         {command(cat(i32const(0), []byte{0x04, empty}, add, []byte{0x0b}, addTwo)), 2, ""},
		"a block that is left early": {
			command(cat([]byte{0x02, empty}, add, i32const(1), []byte{0x0d, 0}, addFive, []byte{0x0b}, addTwo)), 3, ""},
		"a block that is not left early": {
			command(cat([]byte{0x02, empty}, add, i32const(0), []byte{0x0d, 0}, addFive, []byte{0x0b}, addTwo)), 8, ""},
		"code behind a branch is dead": {
			command(cat([]byte{0x02, empty}, add, []byte{0x0c, 0}, addFive, []byte{0x0b})), 1, ""},
		"a return": {command(cat(addTwo, []byte{0x0f}, addFive)), 2, ""},
		"br_table to the second of three blocks": {
			command(cat([]byte{0x02, empty, 0x02, empty, 0x02, empty}, i32const(1), []byte{0x0e, 2, 0, 1, 2, 0x0b}, add, []byte{0x0b}, addTwo, []byte{0x0b}, addFive)), 7, ""},
		"br_table by default": {
			command(cat([]byte{0x02, empty, 0x02, empty, 0x02, empty}, i32const(99), []byte{0x0e, 2, 0, 1, 2, 0x0b}, add, []byte{0x0b}, addTwo, []byte{0x0b}, addFive)), 5, ""},
		"br_table out of a loop of three turns": {
			command(cat(i32const(3), []byte{0x21, 0, 0x02, empty, 0x03, empty}, add,
				[]byte{0x20, 0}, i32const(1), []byte{0x6b, 0x22, 0, 0x0e, 1, 1, 0, 0x0b, 0x0b})), 3, ""},
		"calls":            {command(cat(add, call(1), add, call(1), add), one), 5, ""},
		"a call in a loop": {command(repeat(7, cat(call(1), add)), one), 14, ""},
		"a call through a table": {assembly{start: -1, funcs: []fn{{locals: []byte{i32, f64}, code: cat(add, i32const(0), []byte{0x11, 1, 0}, add)}, {code: nil, locals: []byte{i32, f64}}},
			raw: map[byte][]byte{4: {1, 0x70, 0, 1}, 9: cat([]byte{1, 0}, i32const(0), []byte{0x0b, 1, 1})}}.bytes(), 2, ""},
		"a trap at the end of a block": {command(cat(addTwo, trap)), 2, "unreachable"},
		"a block that a trap leaves counts whole": {
			command(cat(add, divideByZero, addFive)), 6, "integer divide by zero"},
		"blocks behind a trap do not count": {
			command(cat(add, divideByZero, addFive, []byte{0x03, empty}, addTwo, []byte{0x0b})), 6, "integer divide by zero"},
		"what follows a call that traps does not count": {
			command(cat(add, call(1), addFive), fn{code: trap}), 1, "unreachable"},
		"a start function counts": {
			assembly{start: 1, funcs: []fn{{locals: []byte{i32, f64}, code: add}, {locals: []byte{i32, f64}, code: addFive}}}.bytes(), 6, ""},
		"a start function that traps counts": {
			assembly{start: 1, funcs: []fn{{locals: []byte{i32, f64}, code: add}, {locals: []byte{i32, f64}, code: cat(addFive, trap)}}}.bytes(), 5, "unreachable"},
		"memory that grows counts as nothing and works": {
			command(cat(i32const(1), []byte{0x40, 0}, i32const(1), []byte{0x47, 0x04, empty}, trap, []byte{0x0b}, add)), 1, ""},
		"a loop with a parameter keeps it": {
			assembly{start: -1, funcs: []fn{
				{locals: []byte{i32, f64}, code: cat(i32const(5), []byte{0x03, 1}, []byte{0x22, 0}, add, i32const(1), []byte{0x6b, 0x22, 0, 0x20, 0, 0x0d, 0, 0x0b}, []byte{0x04, empty}, trap, []byte{0x0b})},
				{params: []byte{i32}, results: []byte{i32}, code: []byte{0x20, 0}}}}.bytes(), 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.module, meter.Options{DeclaredFLOPs: plenty})
			if r.FlopsUsed != c.ops || r.Trap != c.trap || r.Limited {
				t.Errorf("counted %d, trap %q, limited %t; want %d, %q", r.FlopsUsed, r.Trap, r.Limited, c.ops, c.trap)
			}
			want := uint32(0)
			if c.trap != "" {
				want = meter.TrapExit
			}
			if r.ExitCode != want {
				t.Errorf("exit code %d, want %d", r.ExitCode, want)
			}
		})
	}
}

func TestDesignSection3WhatFollowsACallThatNeverReturnsDoesNotCount(t *testing.T) {
	module := assembly{start: -1, imports: []string{"proc_exit"}, funcs: []fn{
		{locals: []byte{i32, f64}, code: cat(add, i32const(7), []byte{0x10, 0}, addFive)},
	}}.bytes()
	r := run(t, module, meter.Options{DeclaredFLOPs: plenty})
	if r.FlopsUsed != 1 || r.ExitCode != 7 || r.Trap != "" {
		t.Errorf("%+v", r)
	}
	module = assembly{start: 1, imports: []string{"proc_exit"}, funcs: []fn{
		{locals: []byte{i32, f64}, code: addFive}, {locals: []byte{i32, f64}, code: cat(addTwo, i32const(0), []byte{0x10, 0})},
	}}.bytes()
	if r := run(t, module, meter.Options{DeclaredFLOPs: plenty}); r.FlopsUsed != 2 || r.ExitCode != 0 {
		t.Errorf("a start function that exits is the whole run: %+v", r)
	}
}

func TestDesignSection3StopsBeforeTheBlockThatWouldUseMoreThanDeclared(t *testing.T) {
	// Each turn counts 2 and then exits with what it reached, at turn 10.
	module := command(repeat(10, addTwo))
	for _, c := range []struct {
		declared, used uint64
		limited        bool
	}{{20, 20, false}, {19, 20, true}, {18, 20, true}, {17, 18, true}, {1, 2, true}, {0, 2, true}, {21, 20, false}, {1<<64 - 1, 20, false}, {1 << 63, 20, false}, {1<<63 - 1, 20, false}} {
		r := run(t, module, meter.Options{DeclaredFLOPs: c.declared})
		if r.FlopsUsed != c.used || r.Limited != c.limited || r.Trap != "" {
			t.Errorf("declared %d: %+v, want %d, limited %t", c.declared, r, c.used, c.limited)
		}
		if c.limited != (r.FlopsUsed > c.declared) || c.limited != (r.ExitCode == meter.TrapExit) {
			t.Errorf("declared %d: a gate could not tell: %+v", c.declared, r)
		}
	}
	if r := run(t, command(nil), meter.Options{}); r.Limited || r.FlopsUsed != 0 {
		t.Errorf("a module without operations needs none declared: %+v", r)
	}
}

func TestDesignSection3TheBlockThatIsStoppedDoesNotRun(t *testing.T) {
	// proc_exit(1) stands in the block that needs more than is declared.
	module := assembly{start: -1, imports: []string{"proc_exit"}, funcs: []fn{
		{locals: []byte{i32, f64}, code: cat(add, []byte{0x03, empty, 0x0b}, i32const(1), addTwo, []byte{0x10, 0})},
	}}.bytes()
	if r := run(t, module, meter.Options{DeclaredFLOPs: 3}); r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
	if r := run(t, module, meter.Options{DeclaredFLOPs: 2}); r.ExitCode != meter.TrapExit || !r.Limited || r.FlopsUsed != 3 {
		t.Errorf("%+v", r)
	}
}
