package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/recipe"
)

// newRecipeCmd groups what a miner does with a recipe before it is submitted.
func newRecipeCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recipe",
		Short: "Build, test and pack a recipe for a research topic, and look into one",
		Long: `Build, test and pack a recipe for a research topic, and look into one.

A recipe is a folder with a recipe.json, a program and its source:

  {"format":"prova-recipe/1","entrypoint":"recipe.wasm","args":[],"built_with":"go1.27.3"}

It is submitted as a tar. What the miner signs is the SHA-256 of that tar as it is
served; the tree digest is of the files alone and tells two tars of the same files.`,
		Example: `  prova recipe build ./my-recipe
  prova recipe test ./my-recipe --public ./topic/public
  prova recipe pack ./my-recipe --out my-recipe.tar
  prova recipe show my-recipe.tar`,
	}
	cmd.AddCommand(newRecipeBuildCmd(env), newRecipeTestCmd(env), newRecipePackCmd(env), newRecipeShowCmd(env), newRecipeVerifyCmd(env))
	return cmd
}

func newRecipePackCmd(env *Env) *cobra.Command {
	var out string
	var bare bool
	cmd := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack a folder into the canonical tar of its files",
		Long: `Pack a folder into the canonical tar of its files: the same files give the same
bytes on every machine. Links are refused; what is named .git is left out. The
folder must be a runnable recipe; --no-manifest packs one without recipe.json, for
a topic that takes something else.`,
		Example: "  prova recipe pack ./my-recipe --out my-recipe.tar",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return usageError("--out is missing: name the tar to write")
			}
			inside, err := contains(args[0], out)
			if err != nil {
				return err
			}
			if inside {
				return usageError("--out %s is in the folder that is packed, and would be part of the next recipe; write it elsewhere", out)
			}
			data, err := recipe.Pack(os.DirFS(args[0]))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			s, err := summarize(data)
			if err != nil {
				return err
			}
			if s.Fault != "" && !bare {
				return fmt.Errorf("%s: %s; --no-manifest packs it all the same", args[0], s.Fault)
			}
			if err := replaceFile(out, data); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "recipe       %s\nfiles        %d\nbytes        %d\ndigest       %s\ntree digest  %s\n", out, len(s.Files), s.Bytes, s.Digest, s.TreeDigest)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "tar to write")
	cmd.Flags().BoolVar(&bare, "no-manifest", false, "pack a folder that is no runnable recipe too")
	return cmd
}

// contains reports whether a file to be written is in a folder.
func contains(dir, file string) (bool, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return false, fmt.Errorf("%s is no folder", dir)
	}
	at, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return false, err
	}
	for {
		if here, err := os.Stat(at); err == nil && os.SameFile(info, here) {
			return true, nil
		}
		if at == filepath.Dir(at) {
			return false, nil
		}
		at = filepath.Dir(at)
	}
}

// replaceFile writes a file that readers see whole: the old one or the new one.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".prova-*")
	if err != nil {
		return err
	}
	err = finish(f, data)
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// recipeSummary is what "recipe show" says.
type recipeSummary struct {
	Digest     string   `json:"digest"`
	TreeDigest string   `json:"tree_digest"`
	Bytes      int      `json:"bytes"`
	Canonical  bool     `json:"canonical"`
	Fault      string   `json:"fault"` // why it is no runnable recipe; empty if it is
	Format     string   `json:"format,omitzero"`
	Entrypoint string   `json:"entrypoint,omitzero"`
	Args       []string `json:"args,omitzero"`
	BuiltWith  string   `json:"built_with,omitzero"`
	Files      []struct {
		Path       string `json:"path"`
		Bytes      int    `json:"bytes"`
		Executable bool   `json:"executable"`
	} `json:"files"`
}

func summarize(data []byte) (*recipeSummary, error) {
	tree, err := recipe.Read(data)
	if err != nil {
		return nil, err
	}
	canonical, err := recipe.Write(tree)
	s := &recipeSummary{
		Digest: hexSum(data), TreeDigest: fmt.Sprintf("%x", tree.Digest()), Bytes: len(data),
		Canonical: err == nil && string(canonical) == string(data),
	}
	for _, e := range tree {
		s.Files = append(s.Files, struct {
			Path       string `json:"path"`
			Bytes      int    `json:"bytes"`
			Executable bool   `json:"executable"`
		}{e.Path, len(e.Data), e.Executable})
	}
	m, err := tree.Manifest()
	if err != nil {
		s.Fault = oneLine(err.Error())
		return s, nil
	}
	s.Format, s.Entrypoint, s.Args, s.BuiltWith = m.Format, m.Entrypoint, m.Args, m.BuiltWith
	return s, nil
}

func newRecipeShowCmd(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILE|DIR",
		Short: "Print digests, entry point and files of a recipe",
		Long: `Print digests, entry point and files of a recipe: of a tar as it is, or of a folder
as "prova recipe pack" would pack it. The tar is read as strictly as hosts read it, so
what is refused here is refused there, with the same reason.`,
		Example: "  prova recipe show my-recipe.tar --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := readArtifact(args[0])
			if err != nil {
				return err
			}
			s, err := summarize(a.data)
			if err != nil {
				return err
			}
			if asJSON {
				return printIndented(env, s)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "digest       %s\ntree digest  %s\nbytes        %d\ncanonical    %s\n", s.Digest, s.TreeDigest, s.Bytes, yesNo(s.Canonical, "yes", "no"))
			if s.Fault != "" {
				fmt.Fprintf(&b, "runnable     no: %s\n", s.Fault)
			} else {
				fmt.Fprintf(&b, "runnable     yes, %s\nentrypoint   %s\nargs         %q\nbuilt with   %q\n", s.Format, s.Entrypoint, s.Args, s.BuiltWith)
			}
			for _, f := range s.Files {
				mode := ""
				if f.Executable {
					mode = "  executable"
				}
				fmt.Fprintf(&b, "file         %s  %d%s\n", f.Path, f.Bytes, mode)
			}
			_, err = env.Stdout.Write([]byte(b.String()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printIndented prints a value as JSON for a reader or a program.
func printIndented(env *Env, v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = env.Stdout.Write(append(text, '\n'))
	return err
}
