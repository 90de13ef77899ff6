package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

func newRecipeTestCmd(env *Env) *cobra.Command {
	t := trial{flops: math.MaxInt64, pages: meter.DefaultMemoryPages}
	var asJSON bool
	var timeout time.Duration
	var memory uint32
	cmd := &cobra.Command{
		Use:   "test FILE|DIR",
		Short: "Run a recipe as a host would, and count its operations",
		Long: `Run a recipe as a host would, and print its primary value and the floating-point
operations that it used, by the method of docs/metering.md. The recipe sees the files of
--public in /in and writes to /out; it sees nothing else of this machine, and its figures
are the same on every other. An evaluator, a module too, turns its outputs into the
primary value: that of a topic's public files, or one of your own.

The exit status is 0 if the recipe ended with 0 within --flops, and 1 if not.`,
		Example: `  prova recipe test ./my-recipe --public ./topic/public --evaluator ./topic/evaluate.wasm
  prova recipe test my-recipe.tar --flops 2000000 --seed 7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case t.holdout != "" && t.evaluator == "":
				return usageError("--holdout is for an evaluator: name one with --evaluator")
			case timeout <= 0:
				return usageError("--timeout %s: want a time above zero, such as 10m", timeout)
			case memory < 1 || memory > 4096:
				return usageError("--memory %d: want 1 to 4096 MiB", memory)
			}
			for flag, path := range map[string]string{"public": t.public, "holdout": t.holdout} {
				if info, err := os.Stat(path); path != "" && (err != nil || !info.IsDir()) {
					return fmt.Errorf("--%s %s: there is no such folder", flag, path)
				}
			}
			t.pages = memory << 4
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			m, r, err := t.run(ctx, args[0])
			if errors.Is(err, context.DeadlineExceeded) && cmd.Context().Err() == nil {
				return fmt.Errorf("%s: it was still running after %s (--timeout); a host would have no figure of it", args[0], timeout)
			}
			if err != nil {
				return err
			}
			if t.out != "" {
				if err := writeTree(t.out, r.Outputs); err != nil {
					return err
				}
			}
			if err := m.print(env, asJSON); err != nil {
				return err
			}
			switch {
			case m.Limited:
				return fmt.Errorf("%s: it would have used more than the %d operations of --flops; a host rejects it (flops_under_declared)", args[0], t.flops)
			case m.ExitCode != 0:
				return fmt.Errorf("%s: it ended with code %d%s; a host rejects it (unreproduced)", args[0], m.ExitCode, because(m.Trap))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.public, "public", "", "folder that the recipe finds in /in")
	f.StringVar(&t.evaluator, "evaluator", "", "module that turns outputs into the primary value")
	f.StringVar(&t.holdout, "holdout", "", "folder that the evaluator alone finds in /in/holdout")
	f.StringVar(&t.out, "out", "", "new folder for the files that the recipe wrote")
	f.Uint64Var(&t.flops, "flops", t.flops, "declared operations; the run stops before it uses more")
	f.Uint64Var(&t.seed, "seed", 0, "seed of all randomness")
	f.Uint32Var(&memory, "memory", meter.DefaultMemoryPages>>4, "MiB that the recipe may have")
	f.DurationVar(&timeout, "timeout", 10*time.Minute, "end of the run, with its evaluation")
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func because(trap string) string {
	if trap == "" {
		return ""
	}
	return " (" + trap + ")"
}

func (m *measured) print(env *Env, asJSON bool) error {
	if asJSON {
		return printIndented(env, m)
	}
	var b strings.Builder
	if m.Primary != nil {
		fmt.Fprintf(&b, "primary     %s\n", strconv.FormatFloat(*m.Primary, 'g', -1, 64))
	}
	fmt.Fprintf(&b, "operations  %d  (%s)\nexit code   %d%s\n", m.FlopsUsed, m.FlopsMethod, m.ExitCode, because(m.Trap))
	for _, o := range m.Outputs {
		fmt.Fprintf(&b, "output      %s  %d\n", o.Path, o.Bytes)
	}
	for line := range strings.Lines(m.Stdout) {
		fmt.Fprintf(&b, "| %s\n", printable(strings.TrimRight(line, "\r\n")))
	}
	_, err := env.Stdout.Write([]byte(b.String()))
	return err
}

// printable keeps what a recipe wrote from moving the cursor of a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return '·'
	}, line)
}

// folder is a folder as a file system, nil for none.
func folder(path string) fs.FS {
	if path == "" {
		return nil
	}
	return os.DirFS(path)
}

// writeTree writes files into a new folder.
func writeTree(dir string, tree recipe.Tree) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, e := range tree {
		path := filepath.Join(dir, filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, e.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
