package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/recipe"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// newArtefactCmd groups what anyone can do with the zip that a scored row leaves.
func newArtefactCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "artefact",
		Short: "Check and read the zips that scored rows of a research topic leave",
		Example: `  prova artefact verify pf_00000000000000a1.zip
  prova artefact show pf_00000000000000a1.zip`,
	}
	cmd.AddCommand(newArtefactVerifyCmd(env), newArtefactShowCmd(env))
	return cmd
}

func newArtefactVerifyCmd(env *Env) *cobra.Command {
	var sum, tar string
	cmd := &cobra.Command{
		Use:   "verify FILE|DIR...",
		Short: "Compute a row's zip again from what it holds, and compare byte for byte",
		Long: `Compute a row's zip again from what it holds, and compare byte for byte. Checklist,
report and manifest must be about one submission and agree.

--sha256 compares with the hash that the host publishes for the row, --tar with the
tar that the miner served: its hash and each of its files. Of a topic's folder all
zips are checked, and best.json and events.jsonl against them.

Exit status: 0 all is as it must be, 1 something is not, 64 wrong usage.`,
		Example: `  prova artefact verify pf_00000000000000a1.zip --tar recipe.tar
  prova artefact verify /var/lib/proof/artefacts/my-topic`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (sum != "" || tar != "") && len(args) != 1 {
				return usageError("--sha256 and --tar are about one zip, and %d are named", len(args))
			}
			if sum != "" && !shape.Hex64(sum) {
				return usageError("--sha256 %q is not 64 hexadecimal digits", sum)
			}
			v := &artefactVerifier{out: env.Stdout, sum: sum, tar: tar}
			for _, path := range args {
				info, err := os.Stat(path)
				switch {
				case err != nil:
					v.fail(path, err)
				case !info.IsDir():
					v.zip(path)
				case sum != "" || tar != "":
					return usageError("--sha256 and --tar are about one zip, and %s is a folder", path)
				default:
					v.folder(path)
				}
			}
			if v.failed > 0 {
				return fmt.Errorf("%d of %d checks failed", v.failed, v.failed+v.passed)
			}
			return v.err
		},
	}
	cmd.Flags().StringVar(&sum, "sha256", "", "hash that the host publishes for the zip")
	cmd.Flags().StringVar(&tar, "tar", "", "tar that the miner served")
	return cmd
}

// artefactVerifier checks one thing after the other and says what came of each.
type artefactVerifier struct {
	out            io.Writer
	sum, tar       string
	passed, failed int
	err            error // of writing to out
}

func (v *artefactVerifier) say(format string, args ...any) {
	if _, err := fmt.Fprintf(v.out, format+"\n", args...); err != nil && v.err == nil {
		v.err = err
	}
}

func (v *artefactVerifier) fail(path string, err error) {
	v.failed++
	v.say("FAILED  %s: %s", path, oneLine(strings.TrimPrefix(err.Error(), "artefact: ")))
}

// zip checks one zip and returns its contents, nil when it fails.
func (v *artefactVerifier) zip(path string) *artefact.Contents {
	c, sum, err := readZip(path)
	if err == nil && v.sum != "" && !shape.SameHex(v.sum, sum) {
		err = fmt.Errorf("its sha256 is %s, not %s", sum, v.sum)
	}
	if err == nil && v.tar != "" {
		err = compareTar(v.tar, c)
	}
	if err != nil {
		v.fail(path, err)
		return nil
	}
	v.passed++
	m := &c.Manifest
	v.say("ok      %s  %s  %s  sha256 %s", path, m.TopicID, outcomeOf(m), sum)
	return c
}

func readZip(path string) (*artefact.Contents, string, error) {
	data, err := readBounded(path, artefact.MaxZip)
	if err != nil {
		return nil, "", err
	}
	c, err := artefact.Read(data)
	if err != nil {
		return nil, "", err
	}
	return c, hexSum(data), nil
}

// readBounded reads a file of at most most bytes, and one more, which the reader of
// its format refuses.
func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

func hexSum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// compareTar holds the tar that a miner served against what was inspected.
func compareTar(path string, c *artefact.Contents) error {
	data, err := readBounded(path, recipe.MaxTar)
	if err != nil {
		return err
	}
	served, err := recipe.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if sum := hexSum(data); sum != c.Manifest.ArtifactDigest {
		return fmt.Errorf("%s has the sha256 %s, the row's artefact %s", path, sum, c.Manifest.ArtifactDigest)
	}
	inspected, err := recipe.FromFiles(c.Files)
	if err != nil {
		return err
	}
	if served.Digest() != inspected.Digest() {
		return fmt.Errorf("the files of %s are not those that the zip has", path)
	}
	return nil
}

func outcomeOf(m *artefact.Manifest) string {
	switch {
	case !m.ChecklistGreen:
		return "red checklist"
	case m.PrimaryValue == nil:
		return "ran and failed"
	case m.Promoted:
		return fmt.Sprintf("promoted with %v", *m.PrimaryValue)
	}
	return fmt.Sprintf("scored %v", *m.PrimaryValue)
}

// folder checks the folder of a topic.
func (v *artefactVerifier) folder(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		v.fail(dir, err)
		return
	}
	before := v.failed
	rows := map[string]*artefact.Manifest{}
	topics := map[string]bool{}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".zip")
		if !ok {
			continue
		}
		path := filepath.Join(dir, f.Name())
		c := v.zip(path)
		if c == nil {
			continue
		}
		if c.Manifest.SubmissionID != id {
			v.fail(path, fmt.Errorf("it is the zip of %s", c.Manifest.SubmissionID))
			continue
		}
		topics[c.Manifest.TopicID] = true
		rows[id] = &c.Manifest
	}
	if len(topics) > 1 {
		v.fail(dir, fmt.Errorf("its zips are of %d topics", len(topics)))
	}
	if v.failed > before {
		return // what is missing would be told twice
	}
	events, best, err := publicFiles(dir)
	if err != nil {
		v.fail(dir, err)
		return
	}
	faults := artefact.CheckTopic(rows, events, best)
	for _, fault := range faults {
		v.fail(dir, errors.New(fault))
	}
	if len(faults) == 0 {
		v.passed++
		v.say("ok      %s  %d zips, %d events, %s", dir, len(rows), len(events), championOf(best))
	}
}

func championOf(best *artefact.Best) string {
	if best == nil {
		return "no champion"
	}
	return fmt.Sprintf("champion %s with %v", best.SubmissionID, best.PrimaryValue)
}

// publicFiles reads the two public files of a topic; one that is not there is as if
// it were empty.
func publicFiles(dir string) (events []artefact.Event, best *artefact.Best, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if events, err = artefact.ParseEvents(data); err != nil {
		return nil, nil, err
	}
	data, err = os.ReadFile(filepath.Join(dir, "best.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return events, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	best, err = artefact.ParseBest(data)
	return events, best, err
}

func newArtefactShowCmd(env *Env) *cobra.Command {
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Print what a row's zip holds",
		Long: `Print what a row's zip holds, after it was verified: what was decided, each rule with
its evidence, and the files. --entry prints one entry as it is, such as
artifact/src/main.go or logs/stdout.log.`,
		Example: `  prova artefact show pf_00000000000000a1.zip
  prova artefact show pf_00000000000000a1.zip --entry report.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON && file != "" {
				return usageError("--json and --entry exclude each other")
			}
			c, sum, err := readZip(args[0])
			if err != nil {
				return fmt.Errorf("%s: %s", args[0], strings.TrimPrefix(err.Error(), "artefact: "))
			}
			if file != "" {
				return printEntry(env, c, file)
			}
			if asJSON {
				return showArtefactJSON(env, c, sum)
			}
			return showArtefact(env, c, sum)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print manifest, checklist, report, baseline and digests as one JSON object")
	cmd.Flags().StringVar(&file, "entry", "", "print this entry of the zip, and nothing else")
	return cmd
}

func printEntry(env *Env, c *artefact.Contents, name string) error {
	entries, err := artefact.Entries(c)
	if err != nil {
		return err
	}
	data, found := entries[name]
	if !found {
		return usageError("--entry %q is not in the zip; it has %s", name, strings.Join(c.Manifest.Entries, ", "))
	}
	_, err = env.Stdout.Write(data)
	return err
}

// treeOf returns the digest of the inspected files, and whether the miner's tar can
// be made of them again: then it was canonical, and its digest is recomputed.
func treeOf(c *artefact.Contents) (digest string, again bool, err error) {
	tree, err := recipe.FromFiles(c.Files)
	if err != nil {
		return "", false, err
	}
	tar, err := recipe.Write(tree)
	return fmt.Sprintf("%x", tree.Digest()), err == nil && hexSum(tar) == c.Manifest.ArtifactDigest, nil
}

func showArtefact(env *Env, c *artefact.Contents, sum string) error {
	tree, again, err := treeOf(c)
	if err != nil {
		return err
	}
	m := &c.Manifest
	note := "of the tar that the miner served; compare it with --tar of verify"
	if again {
		note = "recomputed from the files"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "topic              %s\nrunner             %s\nrow                %s\noutcome            %s\n", m.TopicID, m.CustomID, m.SubmissionID, outcomeOf(m))
	fmt.Fprintf(&b, "submission digest  %s\nartefact digest    %s, %s\ntree digest        %s\nzip sha256         %s\n", m.SubmissionDigest, m.ArtifactDigest, note, tree, sum)
	if r := c.Report; r != nil {
		flops := "not measured"
		if r.FlopsUsed != nil {
			flops = fmt.Sprint(*r.FlopsUsed)
		}
		fmt.Fprintf(&b, "sandboxed          %s\noperations         %s\nclaim holds        %s\n", yesNo(r.Sandboxed, "yes", "no"), flops, yesNo(r.ClaimHolds, "yes", "no"))
		if r.Failure != "" {
			fmt.Fprintf(&b, "failure            %q\n", r.Failure)
		}
	}
	fmt.Fprintf(&b, "rules              version %d, digest %q\n", m.RulesVersion, c.Checklist.RulesDigest)
	for _, item := range c.Checklist.Items {
		tick := "kept"
		if !item.Pass {
			tick = "broken"
		}
		// Evidence is a guest's text: quoted, so that it cannot move the cursor.
		fmt.Fprintf(&b, "rule               %q %s: %q\n", item.ID, tick, item.Evidence)
	}
	for _, f := range c.Files {
		mode := ""
		if f.Executable {
			mode = "  executable"
		}
		fmt.Fprintf(&b, "file               %s  %d%s\n", f.Path, len(f.Bytes), mode)
	}
	for _, l := range c.Logs {
		fmt.Fprintf(&b, "log                %s  %d\n", l.Name, len(l.Bytes))
	}
	_, err = io.WriteString(env.Stdout, b.String())
	return err
}

func showArtefactJSON(env *Env, c *artefact.Contents, sum string) error {
	tree, again, err := treeOf(c)
	if err != nil {
		return err
	}
	entries, err := artefact.Entries(c)
	if err != nil {
		return err
	}
	report := jsontext.Value("null")
	if c.Report != nil {
		report = entries["report.json"]
	}
	paths := func(files []wire.File) []string {
		out := []string{}
		for _, f := range files {
			out = append(out, f.Path)
		}
		slices.Sort(out)
		return out
	}
	text, err := json.Marshal(struct {
		SHA256         string         `json:"sha256"`
		TreeDigest     string         `json:"tree_digest"`
		DigestComputed bool           `json:"artifact_digest_recomputed"`
		Files          []string       `json:"files"`
		Manifest       jsontext.Value `json:"manifest"`
		Checklist      jsontext.Value `json:"checklist"`
		BaselineRef    jsontext.Value `json:"baseline_ref"`
		Report         jsontext.Value `json:"report"`
	}{sum, tree, again, paths(c.Files), entries["manifest.json"], entries["checklist.json"], entries["baseline_ref.json"], report})
	if err != nil {
		return err
	}
	value := jsontext.Value(text)
	if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err = env.Stdout.Write(append(bytes.TrimSpace(value), '\n'))
	return err
}
