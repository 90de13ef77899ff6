package cli

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// The exit statuses of topic verify. Among several files the worst counts.
const (
	topicInvalid    = 1
	topicUnreadable = 2
)

// newTopicCmd is an operator's way from a draft to a signed topic.
func newTopicCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topic",
		Short: "Draft, sign and check research topics",
		Long: `Draft, sign and check the topics of the research challenge. A topic is a YAML or
JSON document, signed over its sorted compact form, so that a draft and its twin in
the other format sign alike.`,
		Example: `  prova topic new --family custom --id my-topic > my-topic.yaml
  prova topic sign my-topic.yaml --secret ~/proof/topic.key --holdout ~/proof/holdout.json --pin proof-pin.toml --out ~/proof/my-topic.signed.json
  prova topic verify ~/proof/my-topic.signed.json --pin proof-pin.toml`,
	}
	cmd.AddCommand(newTopicNewCmd(env), newTopicSignCmd(env), newTopicVerifyCmd(env), newTopicCanonicalCmd(env))
	cmd.AddCommand(newTopicRemoteCmds(env)...)
	return cmd
}

func newTopicNewCmd(env *Env) *cobra.Command {
	var family, id, out string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Print a commented draft to start from",
		Long: `Print a draft in YAML with a comment on every choice. It lacks its holdout
commitment only, which "prova topic sign" fills in.`,
		Example: `  prova topic new --family custom --id my-topic --out ~/proof/my-topic.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if id == "" {
				return usageError("--id is missing: name the topic, such as --id my-topic")
			}
			text, err := topic.NewDraft(topic.Family(family), id)
			if err != nil {
				return usageError("%w", hinted(err))
			}
			if out == "" {
				_, err = env.Stdout.Write(text)
				return err
			}
			return writeNewSecret(out, text)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&family, "family", string(topic.Custom), "metric family: `nll|throughput|custom`")
	flags.StringVar(&id, "id", "", "id of the topic: lower-case letters, digits and hyphens")
	flags.StringVar(&out, "out", "", "file to write, mode 0600, outside every git checkout; without it, standard output")
	return cmd
}

// hinted adds to a refusal of a topic what may have been meant.
func hinted(err error) error {
	var refusal *topic.Refusal
	switch {
	case !errors.As(err, &refusal):
		return err
	case refusal.Hint != "":
		return fmt.Errorf("%w; %s", err, refusal.Hint)
	case refusal.Kind == topic.IncompleteInference:
		return fmt.Errorf("%w; set inference.model, in the topic or in the pin, to the judge's model, such as vendor/model; inference.base_url, where it is set, must be an http(s) origin", err)
	}
	return err
}

// openingNotes say what would stop a draft from opening, or what it would open with
// although nobody meant it; empty for a topic that is no draft.
func openingNotes(p *pin.Pin, d *topic.Document) (string, error) {
	if d.Status != topic.Draft {
		return "", nil
	}
	model := p.Inference.Model
	if d.Inference.Model != nil {
		model = *d.Inference.Model
	}
	var b strings.Builder
	note := func(text string) { fmt.Fprintf(&b, "to open     %s\n", text) }
	left, err := d.LeftOfDraft()
	if err != nil {
		return "", err
	}
	for _, field := range left {
		note(field + " is still the template's: " + map[string]string{
			"statement":       "say what a finding must achieve",
			"inference.model": "name the judge's model, or delete the line where the pin names it",
		}[field])
	}
	if strings.TrimSpace(model) == "" {
		note("inference.model is empty in the topic and in the pin: name the judge's model, as vendor/model")
	}
	if d.Metric.Family == topic.Custom && !shape.Hex64(d.Baseline.ScriptSHA256) {
		note("baseline.script_sha256 is not set: put in the SHA-256 that 'prova recipe pack' prints of the baseline")
	}
	return b.String(), nil
}

// anyRunner stands for the registry of the host, which only the host knows.
func anyRunner(string) bool { return true }

// registryNote is said of an open custom topic, which only its host can open.
func registryNote(d *topic.Document) string {
	if d.Metric.Family != topic.Custom || d.Status != topic.Open {
		return ""
	}
	return fmt.Sprintf("note        whether a runner is registered under %s is for the host to say\n", d.Metric.CustomID)
}

type topicSignFlags struct {
	secret, pinFile, holdout, out string
	synthetic, dryRun             bool
}

func newTopicSignCmd(env *Env) *cobra.Command {
	var f topicSignFlags
	cmd := &cobra.Command{
		Use:   "sign DRAFT",
		Short: "Fill in the holdout commitment, validate and sign a draft",
		Long: `Fill in the holdout commitment of a draft, validate it against the pin as a host
does, sign it and write it as JSON. "-" is standard input.

The commitment is that of the records of --holdout, or of synthetic records that
anyone can compute (--synthetic, for development only); without either the draft
has it. The secret must be that of the pin's topic_pubkey. Nothing is written when
the topic would be refused; --dry-run stops short of signing. Of a draft, what would
stop it from opening is listed on standard error.`,
		Example: `  prova topic sign my-topic.yaml --secret ~/proof/topic.key --holdout ~/proof/holdout.json --pin proof-pin.toml --out ~/proof/my-topic.signed.json
  prova topic sign my-topic.yaml --synthetic --pin proof-pin.toml --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.holdout != "" && f.synthetic:
				return usageError("--holdout and --synthetic exclude each other")
			case !f.dryRun && f.secret == "":
				return usageError("--secret is missing: name the file of the topic key's secret, or say --dry-run")
			case !f.dryRun && f.out == "":
				return usageError("--out is missing: name the file to write the signed topic to, outside every git checkout")
			}
			return runTopicSign(env, f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.secret, "secret", "", "file of the secret, 32 raw bytes or 64 hex characters, mode 0600")
	flags.StringVar(&f.pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.StringVar(&f.holdout, "holdout", "", "holdout file with the topic's records")
	flags.BoolVar(&f.synthetic, "synthetic", false, "commit to synthetic records, for development only")
	flags.BoolVar(&f.dryRun, "dry-run", false, "validate and say what would be signed")
	flags.StringVar(&f.out, "out", "", "file to write, mode 0600, outside every git checkout")
	return cmd
}

func runTopicSign(env *Env, f topicSignFlags, file string) error {
	p, err := loadPinFile(env, f.pinFile)
	if err != nil {
		return err
	}
	d, err := readTopic(env, file)
	if err != nil {
		return err
	}
	if err := topic.CheckID(d.ID); err != nil {
		return fmt.Errorf("%s: %w", file, hinted(err))
	}
	if err := fillHoldout(f, p, d); err != nil {
		return err
	}
	if err := d.Validate(p, anyRunner); err != nil {
		return fmt.Errorf("%s: %w", file, hinted(err))
	}
	written := f.out
	if f.dryRun {
		written = "not written (dry run)"
	} else if err := signAndWrite(f, p, d); err != nil {
		return err
	}
	payload, err := d.Payload()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	notes, err := openingNotes(p, d)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "topic       %s\nstatus      %s\nfamily      %s\npayload     %d bytes, sha256 %x\nholdout     %s\nsigned      %s\n%s",
		d.ID, d.Status, d.Metric.Family, len(payload), sha256.Sum256(payload), d.HoldoutCommitment, written, registryNote(d))
	fmt.Fprint(env.Stderr, notes)
	if f.synthetic {
		fmt.Fprintln(env.Stdout, "note        synthetic records, which anyone can compute: for development only")
	}
	return nil
}

func fillHoldout(f topicSignFlags, p *pin.Pin, d *topic.Document) error {
	var records []holdout.Record
	var err error
	switch {
	case f.synthetic:
		records, err = holdout.Synthetic(p.StratumSize, 1)
	case f.holdout != "":
		records, err = readHoldout(f.holdout, d.ID)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if err := holdout.Check(records, p.HoldoutSize); err != nil {
		return err
	}
	d.HoldoutCommitment = fmt.Sprintf("%x", holdout.Commitment(records))
	return nil
}

func signAndWrite(f topicSignFlags, p *pin.Pin, d *topic.Document) error {
	key, err := sr25519.ReadSecret(f.secret)
	if err != nil {
		return err
	}
	want, err := p.TopicKey()
	if err != nil {
		return err
	}
	if !key.Public().Equal(want) {
		return fmt.Errorf("%s is the secret of %s, and the pin's topic_pubkey is %s; no host would take the topic", f.secret, key.Public(), want)
	}
	if err := d.Sign(rand.Reader, key); err != nil {
		return err
	}
	if err := d.Verify(p); err != nil {
		return err
	}
	text, err := d.JSON()
	if err != nil {
		return err
	}
	return writeSecretOf(f.out, d.ID, append(text, '\n'), topicOfDocument)
}

// topicOfDocument names the topic that a document is of, "" when it is none.
func topicOfDocument(data []byte) string {
	d, err := topic.Parse(data)
	if err != nil {
		return ""
	}
	return d.ID
}

func newTopicVerifyCmd(env *Env) *cobra.Command {
	var pinFile, key string
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check signature and content of topics as a host does",
		Long: `Check the signature of topics under the pin's topic key and their content against
the pin, in the order of a host and with its words. "-" is standard input.

--key checks the signature under another key than the pin's, of a topic that was
signed before a key was replaced. Whether a runner is registered for a custom topic
is for its host to say.

Exit status, the worst of all files: 0 valid, 1 invalid, 2 unreadable.`,
		Example:               `  prova topic verify ~/proof/my-topic.signed.json --pin proof-pin.toml`,
		Args:                  cobra.MinimumNArgs(1),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := loadPinFile(env, pinFile)
			if err != nil {
				return err
			}
			if key != "" {
				if _, err := sr25519.ParsePublicKey(key); err != nil {
					return usageError("--key: %w", err)
				}
				p.TopicPubkey = key
			}
			worst := 0
			for _, file := range args {
				worst = max(worst, verifyTopic(env, p, file))
			}
			if worst != 0 {
				return &ExitError{Code: worst}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.StringVar(&key, "key", "", "public key, 64 hex characters, instead of the pin's topic_pubkey")
	return cmd
}

func verifyTopic(env *Env, p *pin.Pin, file string) int {
	d, err := readTopic(env, file)
	if err != nil {
		fmt.Fprintf(env.Stdout, "%s: unreadable\n", file)
		fmt.Fprintf(env.Stderr, "prova: %s\n", oneLine(err.Error()))
		return topicUnreadable
	}
	// A host answers for the content first, then for the signature (R§5.6).
	if err := errors.Join(d.Validate(p, anyRunner), d.Verify(p)); err != nil {
		fmt.Fprintf(env.Stdout, "%s: invalid: %s\n", file, oneLine(hinted(err).Error()))
		return topicInvalid
	}
	fmt.Fprintf(env.Stdout, "%s: valid, topic %s, %s, %s, signed by %s\n", file, d.ID, d.Metric.Family, d.Status, p.TopicPubkey)
	fmt.Fprint(env.Stderr, registryNote(d))
	return 0
}

func newTopicCanonicalCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "canonical FILE",
		Short: "Print exactly the bytes that are signed",
		Long: `Print exactly the bytes that a topic's signature covers, with no line feed behind
them: after parsing, without validating. "-" is standard input.`,
		Example: `  prova topic canonical my-topic.yaml | sha256sum`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := readTopic(env, args[0])
			if err != nil {
				return err
			}
			payload, err := d.Payload()
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = env.Stdout.Write(payload)
			return err
		},
	}
}

// readTopic reads a topic or a draft from a file, or from standard input.
func readTopic(env *Env, file string) (*topic.Document, error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	var text bytes.Buffer
	if _, err := io.Copy(&text, io.LimitReader(in, topic.MaxSize+1)); err != nil {
		return nil, err
	}
	d, err := topic.Parse(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}
