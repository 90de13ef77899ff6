package meter_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

func trapped(err error) bool { return strings.HasPrefix(err.Error(), "wasm error: unreachable") }

// FuzzInstrument holds two promises on any bytes: what is made of a module that the
// runtime takes is taken too, and what is made of one that it refuses is refused.
func FuzzInstrument(f *testing.F) {
	f.Add(command(repeat(3, addTwo)))
	f.Add(command(cat([]byte{0x02, empty, 0x02, empty}, i32const(1), []byte{0x0e, 1, 0, 1, 0x0b}, add, []byte{0x0b})))
	f.Add(ground([]byte{0xd2, 0, 0x1a, 0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 12, 0, 0}))
	f.Add(ground(cat([]byte{0xfd, 12}, make([]byte, 16), []byte{0xfd, 0xe3, 0x01, 0x1a})))
	f.Add(assembly{start: 0, imports: []string{"proc_exit"}, nglob: 1, globals: cat([]byte{i64, 1, 0x42, 0, 0x0b}), funcs: []fn{{code: cat(i32const(3), []byte{0x10, 0})}}}.bytes())
	for _, name := range []string{"llvm.wasm", "rust.wasm"} {
		module, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(module)
	}
	f.Fuzz(func(t *testing.T, module []byte) {
		if len(module) > 1<<16 {
			return
		}
		metered, err := meter.Instrument(module, 1000)
		if err != nil {
			if fault := (*meter.Error)(nil); !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(module) || fault.Reason == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if len(metered) > 64*len(module)+1024 {
			t.Errorf("%d bytes became %d", len(module), len(metered))
		}
		// The runtime is looser than the format in places that no compiler uses, so a
		// module that only it takes proves nothing: what is metered must agree with it.
		if want, got := validates(t, module), validates(t, metered); (want == nil) != (got == nil) {
			t.Errorf("the runtime says %v of the module, %v of the metered one", want, got)
		}
		again, err := meter.Instrument(module, 1000)
		if err != nil || string(again) != string(metered) {
			t.Error("the same module becomes another")
		}
	})
}
