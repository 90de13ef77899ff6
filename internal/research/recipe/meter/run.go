package meter

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/prova-dev/prova/internal/research/recipe"
)

// What a run has when its options do not say.
const (
	DefaultMemoryPages = 4096 // of 64 KiB: 256 MiB
	DefaultStdoutTail  = 64 << 10
	DefaultOutputBytes = 16 << 20
)

// Bounds of a run that no option moves.
const (
	MaxOutputFiles = 1024      // files and folders
	MaxInputBytes  = 256 << 20 // of the files of /in together
	MaxInputFiles  = 1 << 16   // files and folders
)

// TrapExit is the exit code of a run that a trap or the limit ended, as a shell
// says it of a program that aborted.
const TrapExit = 134

// ErrModule is in the error of a module that cannot be run at all: it is no valid
// module of this method, or asks for what no recipe gets. Nothing of it was
// executed.
var ErrModule = errors.New("the module cannot be run")

// Options say what a module sees and may use. Beyond them it sees nothing: no
// environment, no network, no clock and no randomness of the machine.
type Options struct {
	Args          []string // after the program's name, which is "recipe"
	Input         fs.FS    // read-only at /in; nil: an empty folder
	Seed          uint64   // of all randomness
	DeclaredFLOPs uint64   // stops before the block that would use more

	MemoryPages uint32 // of 64 KiB, the most that the module may have; at most 65536
	OutputBytes int64  // of all files in /out together, at most recipe.MaxTar
	StdoutTail  int    // bytes of its output that are kept
	Interpret   bool   // interpret the module instead of compiling it; for comparison
}

// Result is what came of a run that ended by itself or by its limit.
type Result struct {
	// FlopsUsed is the operations of all blocks that were begun. After a stop it has
	// those of the block that was not, so that it is above what was declared.
	FlopsUsed uint64
	Limited   bool        // it would have used more than declared
	ExitCode  uint32      // of the module, or [TrapExit]
	Trap      string      // what ended it, empty unless it was a trap
	Stdout    []byte      // the end of what it wrote to stdout and stderr
	Outputs   recipe.Tree // the files of /out
}

// Run executes a module under the meter. Its result depends on the module and the
// options alone, whatever the machine and its load: see [Method].
//
// When ctx ends, the module is stopped and the error is that of ctx; what was
// counted is of no use then, and not told. That is looked at each 65536 turns of
// loops and calls, so usually within a millisecond; a hostile module can delay it,
// and the compiler is not interrupted at all. A caller who must be sure runs it in a
// process of its own, and ends that.
//
// The error has [ErrModule] when the fault is the module's.
func Run(ctx context.Context, module []byte, o Options) (*Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	input, err := load(o.Input)
	if err != nil {
		return nil, fmt.Errorf("input of the module: %w", err)
	}
	return run(ctx, module, o, input)
}

// run is [Run] with what the module finds in /in.
func run(ctx context.Context, module []byte, o Options, input *volume) (result *Result, err error) {
	metered, err := Instrument(module, o.DeclaredFLOPs)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, fmt.Errorf("the WebAssembly runtime failed: %v", p)
		}
	}()
	config := wazero.NewRuntimeConfig()
	if o.Interpret {
		config = wazero.NewRuntimeConfigInterpreter()
	}
	config = config.WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false).
		WithMemoryLimitPages(min(cmp.Or(o.MemoryPages, DefaultMemoryPages), 1<<16))
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer r.Close(context.WithoutCancel(ctx))
	stopped := false
	if err := hosts(ctx, r, &stopped); err != nil {
		return nil, fmt.Errorf("the WebAssembly runtime failed: %w", err)
	}
	compiled, err := r.CompileModule(ctx, metered)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModule, err)
	}
	out := newVolume(min(cmp.Or(o.OutputBytes, DefaultOutputBytes), recipe.MaxTar), MaxOutputFiles, recipe.SafePath)
	stdout := &tail{most: cmp.Or(o.StdoutTail, DefaultStdoutTail)}
	instance, err := r.InstantiateModule(ctx, compiled, surroundings(o, input, out, stdout))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrModule, firstLine(err))
	}
	entry := instance.ExportedFunction("_start")
	if entry == nil || len(entry.Definition().ParamTypes()) != 0 || len(entry.Definition().ResultTypes()) != 0 {
		return nil, fmt.Errorf("%w: it exports no function _start without parameters and results, as a WASI command does", ErrModule)
	}
	left := instance.ExportedGlobal(counterName)
	if start := instance.ExportedFunction(startName); start != nil {
		_, err = start.Call(ctx)
	}
	if err == nil {
		_, err = entry.Call(ctx)
	}
	if stopped {
		return nil, fmt.Errorf("the module was stopped: %w", context.Cause(ctx))
	}
	result = &Result{Stdout: stdout.bytes()}
	rest := int64(left.Get())
	result.FlopsUsed = uint64(int64(min(o.DeclaredFLOPs, math.MaxInt64)) - rest)
	result.Limited = rest < 0
	if exit := (*sys.ExitError)(nil); errors.As(err, &exit) {
		result.ExitCode = exit.ExitCode()
	} else if err != nil {
		result.ExitCode = TrapExit
		if !result.Limited {
			result.Trap = firstLine(err)
		}
	}
	result.Outputs, err = out.tree()
	if err != nil {
		return nil, fmt.Errorf("output of the module: %w", err)
	}
	return result, nil
}

// hosts gives the runtime what a module may import: WASI, and the question whether
// to go on.
func hosts(ctx context.Context, r wazero.Runtime, stopped *bool) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return err
	}
	ask := func(_ context.Context, stack []uint64) {
		stack[0] = 0
		if ctx.Err() != nil {
			*stopped = true
			stack[0] = 1
		}
	}
	_, err := r.NewHostModuleBuilder(hostName).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(ask), nil, []api.ValueType{api.ValueTypeI32}).Export(pollName).Instantiate(ctx)
	return err
}

// surroundings is all that a module sees.
func surroundings(o Options, input, out *volume, stdout *tail) wazero.ModuleConfig {
	folders := wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(input, "/in").(sysfs.FSConfig).WithSysFSMount(out, "/out")
	c := &clock{}
	return wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithArgs(append([]string{"recipe"}, o.Args...)...).
		WithFSConfig(folders).
		WithStdout(stdout).WithStderr(stdout).
		WithRandSource(randomness(o.Seed)).
		WithWalltime(c.walltime, sys.ClockResolution(time.Microsecond)).
		WithNanotime(c.nanotime, sys.ClockResolution(time.Microsecond)).
		WithNanosleep(c.sleep)
}

// randomness returns the bytes that a module gets for a seed: ChaCha8 with the key
//
//	SHA-256("prova wasm-metered/1 seed" 0xff seed in 8 bytes, big-endian)
func randomness(seed uint64) *rand.ChaCha8 {
	key := binary.BigEndian.AppendUint64([]byte("prova "+Method+" seed\xff"), seed)
	return rand.NewChaCha8(sha256.Sum256(key))
}

// clock is the time in a module: it begins at 2000-01-01 00:00:00 UTC, each look
// takes a microsecond, and sleep takes what it says without waiting. What happens
// between costs no time, so a module cannot tell a fast machine from a slow one.
type clock struct{ ns int64 }

const clockStart = 946_684_800

func (c *clock) nanotime() int64 {
	c.ns += int64(time.Microsecond)
	return c.ns
}

func (c *clock) walltime() (sec int64, nsec int32) {
	ns := c.nanotime()
	return clockStart + ns/int64(time.Second), int32(ns % int64(time.Second))
}

// sleep may be asked for any number; time stays in the range of a century.
func (c *clock) sleep(ns int64) {
	const most = int64(100 * 365 * 24 * time.Hour)
	c.ns = min(c.ns+min(max(ns, 0), most), most)
}

// tail keeps the end of what is written to it.
type tail struct {
	most int
	kept bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > t.most {
		p = p[n-t.most:]
	}
	// Half more is kept than asked for, so that not every write moves all.
	if t.kept.Len()+len(p) > t.most+t.most/2 {
		t.kept.Next(t.kept.Len() + len(p) - t.most)
	}
	t.kept.Write(p)
	return n, nil
}

func (t *tail) bytes() []byte {
	b := t.kept.Bytes()
	return bytes.Clone(b[max(0, len(b)-t.most):])
}

// firstLine is an error of the runtime without the names of functions that follow:
// these are the module's, and as long as it likes.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "wasm error: ")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}
