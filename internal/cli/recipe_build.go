package cli

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/recipe/meter"
)

func newRecipeBuildCmd(env *Env) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "build DIR",
		Short: "Build a recipe's WebAssembly module from its source in Go",
		Long: `Build a recipe's WebAssembly module from its source in Go, and write it and recipe.json
into the folder. The source is a Go module in DIR or DIR/src; it is built from the files
that "prova recipe pack" would pack and from nothing else, so modules that it needs
belong into its vendor folder. The same files and the same Go give the same bytes on
every machine; "prova recipe verify" holds that.

An entry point and arguments that recipe.json names already are kept. Other languages
build a module of WASI preview 1 by their own means; see docs/metering.md.`,
		Example: "  prova recipe build ./my-recipe",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if version != "" && !goVersion.MatchString(version) {
				return usageError("--toolchain %q: want a release of Go, such as go1.27.3", version)
			}
			dir := args[0]
			a, err := readArtifact(dir)
			if err != nil {
				return err
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return usageError("%s is a tar: build the folder that it was packed from", dir)
			}
			tree, err := recipe.Read(a.data)
			if err != nil {
				return err
			}
			m := &recipe.Manifest{Format: recipe.Format, Entrypoint: "recipe.wasm", Args: []string{}}
			if data, found := tree.File(recipe.ManifestName); found {
				if m, err = recipe.ParseManifest(data); err != nil {
					return fmt.Errorf("%s: %w", dir, err)
				}
			}
			module, used, err := goBuild(cmd.Context(), env, sourceOf(tree, m.Entrypoint), version)
			if err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
			if _, err := meter.Instrument(module, math.MaxInt64); err != nil {
				return fmt.Errorf("%s: what go built cannot be metered: %w", dir, err)
			}
			m.BuiltWith = used
			manifest, err := m.JSON()
			if err != nil {
				return err
			}
			entry := filepath.Join(dir, filepath.FromSlash(m.Entrypoint))
			if err := os.MkdirAll(filepath.Dir(entry), 0o755); err != nil {
				return err
			}
			if err := replaceFile(entry, module); err != nil {
				return err
			}
			if err := replaceFile(filepath.Join(dir, recipe.ManifestName), manifest); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "module      %s\nbytes       %d\nsha256      %s\nbuilt with  %s\n", entry, len(module), hexSum(module), used)
			return err
		},
	}
	cmd.Flags().StringVar(&version, "toolchain", "", "release of Go to build with, such as go1.27.3 (default: what the source and GOTOOLCHAIN choose)")
	return cmd
}

func newRecipeVerifyCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE|DIR",
		Short: "Build a recipe's module again from the source beside it, and compare",
		Long: `Build a recipe's module again from the source beside it, with the Go that recipe.json
names, and compare the bytes. Nothing of the recipe is run. Go fetches that release if
it is not here and GOTOOLCHAIN allows it.`,
		Example: "  prova recipe verify my-recipe.tar",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, m, module, err := readRecipe(args[0])
			if err != nil {
				return err
			}
			if !goVersion.MatchString(m.BuiltWith) {
				return fmt.Errorf("%s: recipe.json: built_with is %q; only what a release of Go built can be built again, such as go1.27.3", args[0], m.BuiltWith)
			}
			again, used, err := goBuild(cmd.Context(), env, sourceOf(tree, m.Entrypoint), m.BuiltWith)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if !bytes.Equal(module, again) {
				return fmt.Errorf("%s: %s is not what %s makes of the source beside it: %d bytes with SHA-256 %s, built again %d bytes with %s",
					args[0], m.Entrypoint, used, len(module), hexSum(module), len(again), hexSum(again))
			}
			_, err = fmt.Fprintf(env.Stdout, "verified    %s is what %s makes of the source beside it\nsha256      %s\n", m.Entrypoint, used, hexSum(module))
			return err
		},
	}
}

// readRecipe reads a runnable recipe from a tar or a folder.
func readRecipe(path string) (recipe.Tree, *recipe.Manifest, []byte, error) {
	a, err := readArtifact(path)
	if err != nil {
		return nil, nil, nil, err
	}
	tree, err := recipe.Read(a.data)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	m, err := tree.Manifest()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	module, _ := tree.File(m.Entrypoint)
	return tree, m, module, nil
}

// measured is what "recipe test" says.
type measured struct {
	Primary     *float64         `json:"primary"` // nil: no evaluator, or nothing to evaluate
	FlopsUsed   uint64           `json:"flops_used"`
	FlopsMethod string           `json:"flops_method"`
	Limited     bool             `json:"limited"`
	ExitCode    uint32           `json:"exit_code"`
	Trap        string           `json:"trap"`
	Outputs     []measuredOutput `json:"outputs"`
	Stdout      string           `json:"stdout"`
}

type measuredOutput struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// trial is what "recipe test" was asked for.
type trial struct {
	evaluator, public, holdout, out string
	flops, seed                     uint64
	pages                           uint32
}

func (t trial) run(ctx context.Context, path string) (*measured, *meter.Result, error) {
	_, m, module, err := readRecipe(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := meter.Run(ctx, module, meter.Options{
		Args: m.Args, Input: folder(t.public), Seed: t.seed, DeclaredFLOPs: t.flops, MemoryPages: t.pages, OutputBytes: recipe.MaxTar,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &measured{
		FlopsUsed: r.FlopsUsed, FlopsMethod: meter.Method, Limited: r.Limited, ExitCode: r.ExitCode, Trap: r.Trap,
		Outputs: []measuredOutput{}, Stdout: string(bytes.ToValidUTF8(r.Stdout, []byte("�"))),
	}
	for _, e := range r.Outputs {
		s.Outputs = append(s.Outputs, measuredOutput{e.Path, len(e.Data)})
	}
	if t.evaluator == "" || r.ExitCode != 0 {
		return s, r, nil
	}
	evaluator, err := readBounded(t.evaluator, meter.MaxModule)
	if err != nil {
		return nil, nil, err
	}
	primary, err := meter.Evaluate(ctx, evaluator, meter.Evaluation{Public: folder(t.public), Holdout: folder(t.holdout), Outputs: r.Outputs, Seed: t.seed})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.evaluator, err)
	}
	s.Primary = &primary
	return s, r, nil
}
