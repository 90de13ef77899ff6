package meter_test

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// Types and instructions as bytes, for modules written by hand.
const (
	i32, i64, f32, f64, v128 = 0x7f, 0x7e, 0x7d, 0x7c, 0x7b
	empty                    = 0x40
)

// fn is a function of an assembled module.
type fn struct {
	params, results, locals []byte
	code                    []byte // without the last end
}

// assembly is a module written by hand. Its functions have the types of their
// numbers, behind the imported ones.
type assembly struct {
	imports []string // functions of WASI of the type i32 -> nothing
	funcs   []fn
	globals []byte // ready-made, with their initial values
	nglob   int
	start   int // -1: none
	exports map[string]int
	raw     map[byte][]byte // sections as they are, by id
}

func u(v uint32) []byte { return binary.AppendUvarint(nil, uint64(v)) }

func s(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func vec(items ...[]byte) []byte { return cat(u(uint32(len(items))), cat(items...)) }

func str(t string) []byte { return cat(u(uint32(len(t))), []byte(t)) }

func bytesOf(b []byte) []byte { return cat(u(uint32(len(b))), b) }

func f64const(v float64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(v))
}

func i32const(v int32) []byte { return cat([]byte{0x41}, s(int64(v))) }

// bytes assembles the module, with a memory of one page.
func (a assembly) bytes() []byte {
	var types, imports, funcs, exports, code [][]byte
	for _, name := range a.imports {
		types = append(types, []byte{0x60, 1, i32, 0})
		imports = append(imports, cat(str("wasi_snapshot_preview1"), str(name), []byte{0}, u(uint32(len(types)-1))))
	}
	for _, f := range a.funcs {
		types = append(types, cat([]byte{0x60}, bytesOf(f.params), bytesOf(f.results)))
		funcs = append(funcs, u(uint32(len(types)-1)))
		var locals [][]byte
		for _, t := range f.locals {
			locals = append(locals, []byte{1, t})
		}
		code = append(code, bytesOf(cat(vec(locals...), f.code, []byte{0x0b})))
	}
	exports = append(exports, cat(str("memory"), []byte{2, 0}))
	names := a.exports
	if names == nil {
		names = map[string]int{"_start": 0}
	}
	for name, f := range names {
		exports = append(exports, cat(str(name), []byte{0}, u(uint32(len(a.imports)+f))))
	}
	sections := map[byte][]byte{1: vec(types...), 3: vec(funcs...), 5: {1, 0, 1}, 7: vec(exports...), 10: vec(code...)}
	if len(imports) > 0 {
		sections[2] = vec(imports...)
	}
	if a.nglob > 0 {
		sections[6] = cat(u(uint32(a.nglob)), a.globals)
	}
	if a.start >= 0 {
		sections[8] = u(uint32(len(a.imports) + a.start))
	}
	for id, raw := range a.raw {
		sections[id] = raw
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11} {
		if body, found := sections[id]; found {
			out = cat(out, []byte{id}, bytesOf(body))
		}
	}
	return out
}

// command assembles a WASI command of one function and some more.
func command(code []byte, more ...fn) []byte {
	return assembly{start: -1, funcs: append([]fn{{locals: []byte{i32, f64}, code: code}}, more...)}.bytes()
}

// run executes a module compiled and interpreted and fails if they differ.
func run(t testing.TB, module []byte, o meter.Options) *meter.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := meter.Run(ctx, module, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Interpret = true
	other, err := meter.Run(ctx, module, o)
	if err != nil {
		t.Fatal(err)
	}
	if got.FlopsUsed != other.FlopsUsed || got.Limited != other.Limited || got.ExitCode != other.ExitCode || got.Trap != other.Trap ||
		string(got.Stdout) != string(other.Stdout) || got.Outputs.Digest() != other.Outputs.Digest() {
		t.Fatalf("compiled %+v, interpreted %+v", got, other)
	}
	return got
}

const plenty = 1 << 40

// Instructions of the programs below.
var (
	add     = cat([]byte{0x20, 1}, f64const(1.5), []byte{0xa0, 0x21, 1}) // local 1 += 1.5
	addTwo  = cat(add, add)
	addFive = cat(addTwo, addTwo, add)
)

// repeat is a loop of n turns over code, which counts in local 0.
func repeat(n int32, code []byte) []byte {
	return cat(i32const(n), []byte{0x21, 0, 0x03, empty}, code,
		[]byte{0x20, 0}, i32const(1), []byte{0x6b, 0x22, 0, 0x0d, 0, 0x0b})
}
