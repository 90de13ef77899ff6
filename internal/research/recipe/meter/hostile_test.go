package meter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// TestDesignSection3NoModuleReachesWhatTheMethodBrings names, in every place that
// takes an index, the first one behind the module's own: in the metered module that
// is the counter, the question to the host, or its type.
func TestDesignSection3NoModuleReachesWhatTheMethodBrings(t *testing.T) {
	one := func(code []byte, raw map[byte][]byte) []byte {
		return assembly{start: -1, nglob: 1, globals: cat([]byte{i64, 1, 0x42, 0, 0x0b}), funcs: []fn{{code: code}}, raw: raw}.bytes()
	}
	null := func(expr []byte) map[byte][]byte { return map[byte][]byte{4: {1, 0x70, 0, 1}, 9: expr} }
	for name, module := range map[string][]byte{
		"global.get of the counter":     one([]byte{0x23, 1, 0x1a}, nil),
		"global.get of the steps":       one([]byte{0x23, 2, 0x1a}, nil),
		"global.set of the counter":     one([]byte{0x42, 0, 0x24, 1}, nil),
		"an export of the counter":      one(nil, map[byte][]byte{7: cat([]byte{1}, str("x"), []byte{3, 1})}),
		"a global that begins as it":    one(nil, map[byte][]byte{6: {1, i64, 0, 0x23, 0, 0x0b}}),
		"a segment at its value":        one(nil, map[byte][]byte{11: {1, 0, 0x23, 1, 0x0b, 0}}),
		"an element at its value":       one(nil, null([]byte{1, 0, 0x23, 1, 0x0b, 0})),
		"a call of the question":        one([]byte{0x10, 1, 0x1a}, nil),
		"ref.func of it":                one([]byte{0xd2, 1, 0x1a}, nil),
		"an element of it":              one(nil, null([]byte{1, 0, 0x41, 0, 0x0b, 1, 1})),
		"an element expression of it":   one(nil, null([]byte{1, 5, 0x70, 1, 0xd2, 1, 0x0b})),
		"an export of it":               one(nil, map[byte][]byte{7: cat([]byte{1}, str("x"), []byte{0, 1})}),
		"it as the start function":      one(nil, map[byte][]byte{8: {1}}),
		"a function of its type":        one(nil, map[byte][]byte{3: {1, 1}}),
		"a block of its type":           one([]byte{0x02, 1, 0x00, 0x0b, 0x1a}, nil),
		"a call_indirect of its type":   one([]byte{0x41, 0, 0x11, 1, 0, 0x1a}, null([]byte{0})),
		"an import from its module":     one(nil, map[byte][]byte{2: cat([]byte{1}, str("prova:meter"), str("poll"), []byte{0, 0})}),
		"an export of its name":         one(nil, map[byte][]byte{7: cat([]byte{1}, str("prova:meter/left"), []byte{3, 0})}),
		"an export of its start's name": one(nil, map[byte][]byte{7: cat([]byte{1}, str("prova:meter/start"), []byte{0, 0})}),
	} {
		if _, err := meter.Instrument(module, 1); err == nil {
			t.Errorf("%s: taken", name)
		} else if fault := (*meter.Error)(nil); !errors.As(err, &fault) || fault.Offset <= 8 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := meter.Run(t.Context(), module, meter.Options{}); !errors.Is(err, meter.ErrModule) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInstrumentSaysWhatIsWrongAndWhere(t *testing.T) {
	head := "\x00asm\x01\x00\x00\x00"
	for name, c := range map[string]struct {
		module []byte
		why    string
	}{
		"nothing":                      {nil, "byte 0: it is no WebAssembly"},
		"an ELF program":               {[]byte("\x7fELF\x02\x01\x01\x00"), "it is no WebAssembly"},
		"a component":                  {[]byte("\x00asm\x0d\x00\x01\x00"), "byte 4: it is not version 1"},
		"a section cut off":            {[]byte(head + "\x01\x05\x00"), "byte 8: the type section has 5 bytes, 1 are left"},
		"a section that says too much": {[]byte(head + "\x01\x02\x00\x00"), "byte 11: the type section has 1 bytes more than it says"},
		"a section too late":           {[]byte(head + "\x03\x01\x00\x01\x01\x00"), "byte 11: the type section stands after the function section"},
		"a section twice":              {[]byte(head + "\x01\x01\x00\x01\x01\x00"), "stands after the type section"},
		"an unknown section":           {[]byte(head + "\x0d\x01\x00"), "section 13 does not exist"},
		"functions without code":       {[]byte(head + "\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00"), "it names 1 functions and has no code"},
		"code without functions":       {[]byte(head + "\x0a\x04\x01\x02\x00\x0b"), "it has 1 bodies for 0 functions"},
		"a number too long":            {[]byte(head + "\x01\x80\x80\x80\x80\x80\x00"), "the size of a section is no number of 32 bits"},
		"a number too large":           {[]byte(head + "\x01\xff\xff\xff\xff\x7f"), "the size of a section is no number of 32 bits"},
		"more items than bytes":        {[]byte(head + "\x01\x05\xff\xff\xff\xff\x0f"), "it names 4294967295 types, 0 bytes are left"},
		"a name that is not UTF-8":     {[]byte(head + "\x02\x05\x01\x01\xff\x00\x00"), "the module of an import is not UTF-8"},
		"a shared memory":              {[]byte(head + "\x05\x04\x01\x03\x01\x01"), "the limits of a memory is 0x03, which this method does not take"},
		"a tail call":                  {command([]byte{0x12, 0}), "the instruction 0x12 does not exist, or is of a feature"},
		"an atomic instruction":        {command([]byte{0xfe, 0x03, 0}), "the instruction 0xfe does not exist"},
		"an exception":                 {command([]byte{0x06, 0x40, 0x0b}), "the instruction 0x06 does not exist"},
		"a second memory":              {command([]byte{0x3f, 1, 0x1a}), "the memory of memory.size is 0x01"},
		"a branch beyond the function": {command([]byte{0x0c, 1}), "the label of br is 1, there are 1"},
		"a body without its end":       {command([]byte{0x02, empty}), "it ends where an instruction should stand"},
		"code behind the end":          {command([]byte{0x0b, 0x01}), "a function has 2 bytes after its end"},
		"too many locals": {assembly{start: -1, funcs: []fn{{code: nil}}, raw: map[byte][]byte{
			10: {1, 8, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, i32, 0x0b}}}.bytes(), "more than 50000 locals"},
		"too many locals in all": {assembly{start: -1, funcs: make([]fn, 81), raw: map[byte][]byte{
			10: cat([]byte{81}, []byte(strings.Repeat("\x06\x01\xd0\x86\x03\x7f\x0b", 81)))}}.bytes(), "more than 4000000 locals together"},
		"a huge table":    {assembly{start: -1, funcs: []fn{{}}, raw: map[byte][]byte{4: cat([]byte{1, 0x70, 0}, u(1<<31))}}.bytes(), "a table has 2147483648 entries, at most 1048576"},
		"too many tables": {assembly{start: -1, funcs: []fn{{}}, raw: map[byte][]byte{4: append([]byte{17}, []byte(strings.Repeat("\x70\x00\x01", 17))...)}}.bytes(), "more than 16 tables"},
		"blocks too deep": {command([]byte(strings.Repeat("\x02\x40", meter.MaxNesting+1))), "nested more than 32768 deep"},
		"a huge function": {command(make([]byte, meter.MaxBody+1)), "at most 8388608 are allowed"},
		"a huge module":   {make([]byte, meter.MaxModule+1), "at most 33554432 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := meter.Instrument(c.module, 1)
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %v, want %q", err, c.why)
			}
		})
	}
}

func TestRunRefusesWhatIsNoCommand(t *testing.T) {
	for name, c := range map[string]struct {
		module []byte
		why    string
	}{
		"wrong types":       {command([]byte{0x6a}), "cannot be run: invalid function"},
		"no _start":         {assembly{start: -1, funcs: []fn{{}}, exports: map[string]int{"main": 0}}.bytes(), "it exports no function _start"},
		"_start of numbers": {assembly{start: -1, funcs: []fn{{params: []byte{i32}}}}.bytes(), "it exports no function _start"},
		"an unknown import": {assembly{start: -1, funcs: []fn{{}}, raw: map[byte][]byte{
			2: cat([]byte{1}, str("env"), str("socket"), []byte{0, 0})}}.bytes(), "module[env] not instantiated"},
		"too much memory": {assembly{start: -1, funcs: []fn{{}}, raw: map[byte][]byte{5: {1, 0, 17}}}.bytes(), "17 pages"},
		"data nowhere":    {assembly{start: -1, funcs: []fn{{}}, raw: map[byte][]byte{11: cat([]byte{1, 0}, i32const(65536), []byte{0x0b, 1, 0})}}.bytes(), "out of bounds"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, interpret := range []bool{false, true} {
				r, err := meter.Run(t.Context(), c.module, meter.Options{MemoryPages: 16, Interpret: interpret})
				if !errors.Is(err, meter.ErrModule) || !strings.Contains(err.Error(), c.why) || r != nil {
					t.Errorf("got %v, %+v; want %q", err, r, c.why)
				}
			}
		})
	}
}

// TestRunEndsWithItsContext has every way to go on without end.
func TestRunEndsWithItsContext(t *testing.T) {
	fill := cat(i32const(0), i32const(1), i32const(1<<16), []byte{0xfc, 11, 0})
	for name, module := range map[string][]byte{
		"an empty loop":               command([]byte{0x03, empty, 0x0c, 0, 0x0b}),
		"a loop that is declared":     command(cat([]byte{0x03, empty}, addTwo, []byte{0x0c, 0, 0x0b})),
		"loops in loops":              command([]byte{0x03, empty, 0x03, empty, 0x0c, 1, 0x0b, 0x0b}),
		"a loop that fills memory":    command(cat([]byte{0x03, empty}, fill, []byte{0x0c, 0, 0x0b})),
		"calls that double each time": command(cat(i32const(62), []byte{0x10, 1}), fn{params: []byte{i32}, code: cat([]byte{0x20, 0, 0x04, empty, 0x20, 0}, i32const(1), []byte{0x6b, 0x10, 1, 0x20, 0}, i32const(1), []byte{0x6b, 0x10, 1, 0x0b})}),
		"a start function":            assembly{start: 0, funcs: []fn{{code: []byte{0x03, empty, 0x0c, 0, 0x0b}}}}.bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, interpret := range []bool{false, true} {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				began := time.Now()
				r, err := meter.Run(ctx, module, meter.Options{DeclaredFLOPs: 1 << 62, Interpret: interpret})
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) || r != nil {
					t.Errorf("got %+v, %v", r, err)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %s", took)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := meter.Run(ctx, command(nil), meter.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRunEndsAModuleThatCallsItselfWithoutEnd(t *testing.T) {
	module := command([]byte{0x10, 1}, fn{code: cat([]byte{0x10, 1}), locals: []byte{i32}})
	for _, interpret := range []bool{false, true} {
		r, err := meter.Run(t.Context(), module, meter.Options{Interpret: interpret})
		if err != nil || r.Trap != "stack overflow" || r.ExitCode != meter.TrapExit || r.FlopsUsed != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}
