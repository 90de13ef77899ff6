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

// agree holds that what is made of a module that the runtime takes is taken too, and
// what is made of one that it refuses is refused. The runtime reads one byte of the
// number of a vector instruction, and the 1 that follows in the shortest encoding as
// an instruction that does nothing; of other encodings it says nothing of worth.
func agree(t *testing.T, module, metered []byte) {
	t.Helper()
	for i := range len(module) - 2 {
		if module[i] == 0xfd && module[i+1] >= 0x80 && module[i+2] != 1 {
			return
		}
	}
	want, got := validates(t, module), validates(t, metered)
	if want != nil && strings.Contains(want.Error(), "custom section") {
		return // Names and the like, which are dropped unread.
	}
	if (want == nil) != (got == nil) {
		t.Errorf("the runtime says %v of the module, %v of the metered one", want, got)
	}
}

// FuzzInstrument holds that any bytes are refused with a place and a reason, or become
// a module that the runtime takes if and only if it takes the first.
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
		agree(t, module, metered)
		again, err := meter.Instrument(module, 1000)
		if err != nil || string(again) != string(metered) {
			t.Error("the same module becomes another")
		}
	})
}

// FuzzInstrumentBody has the bytes in a function of a module that is valid around
// them, so that they get further.
func FuzzInstrumentBody(f *testing.F) {
	for _, code := range [][]byte{
		addFive, {0x23, 0, 0x24, 0}, {0x02, empty, 0x03, empty, 0x0c, 1, 0x0b, 0x0b}, {0x41, 0, 0x04, empty, 0x05, 0x0b},
		{0x02, i32, 0x41, 1, 0x41, 2, 0x0e, 1, 0, 0, 0x0b, 0x1a}, {0xd2, 0, 0x1a, 0xd0, 0x70, 0xd1, 0x1a}, {0x10, 0}, {0x41, 0, 0x11, 0, 0},
		cat([]byte{0xfd, 12}, make([]byte, 16), []byte{0xfd, 0xe3, 0x01, 0x1a}), {0x41, 0, 0x28, 2, 4, 0x1a}, {0x41, 0, 0xfd, 84, 0, 0, 0},
		{0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 10, 0, 0}, {0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 14, 0, 0}, {0x41, 1, 0x40, 0, 0x1a},
	} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > 1<<12 {
			return
		}
		module := ground(code)
		metered, err := meter.Instrument(module, 1000)
		if err != nil {
			return
		}
		agree(t, module, metered)
	})
}
