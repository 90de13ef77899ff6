package meter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

// BenchmarkMetering runs loops bare and metered, without compiling them again. The
// tightest loop is the worst case; a loop that does more between two operations
// pays less.
func BenchmarkMetering(b *testing.B) {
	load := cat([]byte{0x20, 0}, []byte{0x41, 0xf8, 0xff, 0x01, 0x71, 0x2b, 3, 0}) // f64 at local 0 & 32760
	dot := cat(load, load, []byte{0xa2, 0x20, 1, 0xa0, 0x21, 1})
	llvm, err := os.ReadFile(filepath.Join("testdata", "llvm.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct {
		module []byte
		times  int
	}{
		"dot product in a loop of 16 instructions": {command(repeat(10_000_000, dot)), 1},
		"loop without float operations":            {command(repeat(10_000_000, []byte{0x20, 0, 0x1a})), 1},
		"branch in a loop":                         {command(repeat(10_000_000, cat([]byte{0x20, 0, 0x41, 1, 0x71, 0x04, empty}, add, []byte{0x05}, addTwo, []byte{0x0b}))), 1},
		"LLVM, SIMD":                               {llvm, 1000},
	} {
		metered, err := meter.Instrument(c.module, plenty)
		if err != nil {
			b.Fatal(err)
		}
		for kind, module := range map[string][]byte{"bare": c.module, "metered": metered} {
			b.Run(name+"/"+kind, func(b *testing.B) { execute(b, module, c.times) })
		}
	}
	goModule := compiled(b)
	metered, err := meter.Instrument(goModule, plenty)
	if err != nil {
		b.Fatal(err)
	}
	for kind, module := range map[string][]byte{"bare": goModule, "metered": metered} {
		b.Run("Go, 20 million turns/"+kind, func(b *testing.B) { execute(b, module, 1, "recipe", "loop", "20000000") })
	}
	b.Run("instrument 2.6 MB of Go", func(b *testing.B) {
		b.SetBytes(int64(len(goModule)))
		for b.Loop() {
			if _, err := meter.Instrument(goModule, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func execute(b *testing.B, module []byte, times int, args ...string) {
	ctx := b.Context()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	poll := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = 0 })
	if _, err := r.NewHostModuleBuilder("prova:meter").NewFunctionBuilder().WithGoFunction(poll, nil, []api.ValueType{api.ValueTypeI32}).Export("poll").Instantiate(ctx); err != nil {
		b.Fatal(err)
	}
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithStartFunctions().WithName("").WithArgs(args...))
		if err != nil {
			b.Fatal(err)
		}
		for range times {
			if _, err := m.ExportedFunction("_start").Call(ctx); err != nil && !exited(err) {
				b.Fatal(err)
			}
		}
		if err := m.Close(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// exited reports whether a module ended itself without a fault.
func exited(err error) bool {
	var exit *sys.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 0
}
