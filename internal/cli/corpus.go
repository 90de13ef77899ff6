package cli

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// newCorpusCmd groups the commands that make and check a track's frozen corpus.
func newCorpusCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "corpus",
		Short: "Build, check and list the frozen corpus of a track",
		Long: `Build, check and list the frozen corpus of a track.

The seed of a corpus is as secret as its answer key: whoever has it can compute
the key. Built-in corpora are practice corpora.`,
		Example: "  prova corpus build --practice --out ./corpus\n  prova corpus lint ./corpus",
	}
	cmd.AddCommand(newCorpusBuildCmd(env), newCorpusLintCmd(env), newCorpusManifestCmd(env))
	return cmd
}

// corpusFlags are the flags that say what a corpus is built from.
type corpusFlags struct {
	track, seed, composition string
	practice                 bool
	size, season             int
}

func (f *corpusFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.track, "track", track.Conformite, "track whose corpus it is")
	flags.StringVar(&f.seed, "seed", "", "secret seed, 64 hex digits; - reads it from standard input")
	flags.BoolVar(&f.practice, "practice", false, "use the public seed of the practice corpus")
	flags.StringVar(&f.composition, "composition", "", "composition file (TOML); without it the practice composition")
	flags.IntVar(&f.size, "size", 0, "number of entities, 12 to 100000; 0 takes the composition's")
	flags.IntVar(&f.season, "season", 1, "number of the season")
}

// options reads seed and composition. No error names the seed.
func (f *corpusFlags) options(env *Env) (corpus.Options, error) {
	o := corpus.Practice(f.track)
	if err := corpus.Generated(f.track); err != nil {
		return o, usageError("--track: %w", err)
	}
	if f.practice && f.seed != "" {
		return o, usageError("--seed and --practice exclude each other: the practice seed is public")
	}
	o.Season, o.Size = f.season, f.size
	if f.composition != "" {
		data, err := os.ReadFile(f.composition)
		if err != nil {
			return o, fmt.Errorf("reading the composition: %w", err)
		}
		if o.Composition, err = corpus.ParseComposition(data); err != nil {
			return o, fmt.Errorf("%s: %w", f.composition, err)
		}
	}
	if f.practice {
		return o, nil
	}
	text := f.seed
	if text == "-" {
		// A seed has 64 characters; more than a line of them is not one.
		data, err := io.ReadAll(io.LimitReader(env.Stdin, 256))
		if err != nil {
			return o, fmt.Errorf("reading the seed: %w", err)
		}
		text = string(bytes.TrimSpace(data))
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(o.Seed) || strings.ToLower(text) != text {
		return o, usageError("--seed must be 64 lower-case hex digits, such as those of 'openssl rand -hex 32'")
	}
	copy(o.Seed[:], raw)
	return o, nil
}

func (f *corpusFlags) seeded() bool { return f.practice || f.seed != "" }

func newCorpusBuildCmd(env *Env) *cobra.Command {
	var from corpusFlags
	var out string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build a corpus from a seed and a composition",
		Long: `Build a corpus from a seed and a composition, check it, and write it to a
new folder: files/, manifest.json, tasks.json, rules.json, rules.md and key.json,
which only its owner can read. The same seed and composition give the same bytes.

The seed is as secret as the key. Pass it on standard input to keep it out of the
list of processes.`,
		Example: `  prova corpus build --practice --out ./corpus
  openssl rand -hex 32 | (umask 077; tee seed.hex) | prova corpus build --seed - --composition season.toml --out ./corpus`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				return usageError("--out is missing: name the folder to write the corpus to")
			}
			if !from.seeded() {
				return usageError("give --seed for a season's corpus or --practice for the built-in one")
			}
			o, err := from.options(env)
			if err != nil {
				return err
			}
			c, err := corpus.Build(o)
			if err != nil {
				return err
			}
			if faults := corpus.Lint(c); len(faults) > 0 {
				return fmt.Errorf("the composition breaks its rules (lint faults: %d), the first: %s", len(faults), faults[0])
			}
			if err := c.Write(out); err != nil {
				return err
			}
			return describeCorpus(env.Stdout, c, out)
		},
	}
	from.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "folder to write, empty or not there yet")
	return cmd
}

// describeCorpus says what was built, without anything of the key.
func describeCorpus(w io.Writer, c *corpus.Corpus, dir string) error {
	urls, err := c.Catalogue()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "corpus    %s\ntrack     %s, season %d\nhost      %s\nresources %d\nmanifest  %s\n",
		dir, c.Track, c.Season, c.Host, len(urls), corpus.ManifestHash(c.Manifest))
	if err != nil {
		return err
	}
	note := "seed, composition and key.json stay secret until the season is closed"
	if c.Practice {
		note = "a practice corpus: anyone can compute its key"
	}
	_, err = fmt.Fprintf(w, "note      %s\n", note)
	return err
}

func newCorpusLintCmd(env *Env) *cobra.Command {
	var from corpusFlags
	cmd := &cobra.Command{
		Use:   "lint DIR",
		Short: "Check everything that a composition promises",
		Long: `Check a corpus with its key before it is frozen. Each fault is one line with the
task, the resource and pointer, the rule, and what it must be; faults may speak of
the key. With --seed or --practice the corpus is also built again and compared.`,
		Example: "  prova corpus lint ./corpus",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := corpus.Load(args[0])
			if err != nil {
				return err
			}
			faults := corpus.Lint(c)
			if from.seeded() {
				o, err := from.options(env)
				if err != nil {
					return err
				}
				o.Host = c.Host
				again, err := corpus.LintBuild(c, o)
				if err != nil {
					return err
				}
				faults = append(faults, again...)
			}
			for _, f := range faults {
				if _, err := fmt.Fprintln(env.Stdout, f); err != nil {
					return err
				}
			}
			if len(faults) > 0 {
				return fmt.Errorf("%s: lint faults: %d", args[0], len(faults))
			}
			_, err = fmt.Fprintf(env.Stdout, "%s: no fault\n", args[0])
			return err
		},
	}
	from.add(cmd)
	return cmd
}

func newCorpusManifestCmd(env *Env) *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "manifest DIR",
		Short: "Compute the manifest of a corpus from its files",
		Long: `Compute manifest.json from the files of a corpus, write it, and print its hash,
which a season's freeze anchors. With --check nothing is written, and the status is
1 when the manifest there is another.`,
		Example: "  prova corpus manifest ./corpus --check",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := corpus.Load(args[0])
			if err != nil {
				return err
			}
			data, err := corpus.ManifestFor(c.Files, c.Host, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if check && !bytes.Equal(data, c.Manifest) {
				return fmt.Errorf("%s is not the manifest of the files: run 'prova corpus manifest %s'", filepath.Join(args[0], "manifest.json"), args[0])
			}
			if !check {
				if err := os.WriteFile(filepath.Join(args[0], "manifest.json"), data, 0o644); err != nil {
					return fmt.Errorf("writing the manifest: %w", err)
				}
			}
			_, err = fmt.Fprintf(env.Stdout, "%s  manifest.json\n", corpus.ManifestHash(data))
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "compare with the manifest there instead of writing it")
	return cmd
}
