package cli

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/topic"
)

type topicSealFlags struct {
	remoteFlags
	measurement, script, secret, pinFile string
	baselineOut, out                     string
	publish                              bool
}

// newTopicSealCmd is the step from a measured baseline to a topic that may open.
func newTopicSealCmd(env *Env) *cobra.Command {
	var f topicSealFlags
	cmd := &cobra.Command{
		Use:   "seal FILE",
		Short: "Seal a topic with its measured baseline, set it open and sign it",
		Long: `Seal a topic with the baseline that was measured: fill in script_sha256 and
metrics_commitment, set its status to open, sign it. FILE is the draft or the signed
draft. Two files are written, mode 0600: the measurement for PROOF_BASELINE_FILE, and
the signed topic to publish. A baseline file that is there keeps the measurements of
other topics; the signed topic replaces an earlier one of the same topic alone.

--measurement is what 'prova baseline measure' wrote. Without it the measurement is
asked from the control plane, which needs --token-file; one that was made under older
rules is refused, as the host would.`,
		Example: `  prova topic seal my-topic.yaml --measurement measured.json --script baseline.tar --secret ~/proof/topic.key --pin proof-pin.toml --baseline-out ~/proof/baseline.json --out ~/proof/my-topic.signed.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []struct{ name, value, what string }{
				{"script", f.script, "the baseline's script, or its tar on a custom topic"}, {"secret", f.secret, "the file of the topic key's secret"},
				{"baseline-out", f.baselineOut, "the file of the measurement to write"}, {"out", f.out, "the file of the signed topic to write"},
			} {
				if flag.value == "" {
					return usageError("--%s is missing: name %s", flag.name, flag.what)
				}
			}
			return runTopicSeal(cmd, env, &f, args[0])
		},
	}
	f.add(cmd, true)
	flags := cmd.Flags()
	flags.StringVar(&f.measurement, "measurement", "", "JSON file of the measured figures; without it the control plane's measurement")
	flags.StringVar(&f.script, "script", "", "script of the baseline, or its tar on a custom topic: the exact bytes")
	flags.StringVar(&f.secret, "secret", "", "file of the topic key's secret, mode 0600")
	flags.StringVar(&f.pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.StringVar(&f.baselineOut, "baseline-out", "", "file to write the measurement to, for PROOF_BASELINE_FILE")
	flags.StringVar(&f.out, "out", "", "file to write the signed topic to, outside every git checkout")
	flags.BoolVar(&f.publish, "publish", false, "publish the topic too; the host must have the baseline file by then")
	return cmd
}

func runTopicSeal(cmd *cobra.Command, env *Env, f *topicSealFlags, file string) error {
	p, err := loadPinFile(env, f.pinFile)
	if err != nil {
		return err
	}
	d, err := readNamedTopic(env, file)
	if err != nil {
		return err
	}
	if d.Status == topic.Closed {
		return fmt.Errorf("%s is closed, and a closed topic does not open again", file)
	}
	code, err := os.ReadFile(f.script)
	if err != nil {
		return err
	}
	if len(code) == 0 {
		return fmt.Errorf("%s is empty; --script is the baseline's script", f.script)
	}
	m, err := f.measured(cmd, env, d)
	if err != nil {
		return err
	}
	commitment, err := sealBaseline(m, p, d)
	if err != nil {
		return err
	}
	d.Baseline.ScriptSHA256, d.Baseline.MetricsCommitment, d.Status = baseline.ScriptSHA256(code), commitment, topic.Open
	if err := d.Validate(p, anyRunner); err != nil {
		return fmt.Errorf("%s: %w", file, hinted(err))
	}
	if err := signAndWrite(topicSignFlags{secret: f.secret, out: f.out}, p, d); err != nil {
		return err
	}
	if err := putBaseline(f.baselineOut, m); err != nil {
		return err
	}
	payload, err := d.Payload()
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "topic               %s\nstatus              %s\nscript_sha256       %s\nmetrics_commitment  %s\npayload             %d bytes, sha256 %x\nbaseline            %s\nsigned              %s\n%s",
		d.ID, d.Status, d.Baseline.ScriptSHA256, commitment, len(payload), sha256.Sum256(payload), f.baselineOut, f.out, registryNote(d))
	if !f.publish {
		return nil
	}
	c, err := f.admin(env)
	if err != nil {
		return err
	}
	return publish(cmd.Context(), env, c, d)
}

// measured reads the measurement of the file, or asks the control plane for it.
func (f *topicSealFlags) measured(cmd *cobra.Command, env *Env, d *topic.Document) (*baseline.Measurement, error) {
	if f.measurement == "" {
		c, err := f.admin(env)
		if err != nil {
			return nil, err
		}
		return measuredBaseline(cmd.Context(), c, d)
	}
	data, err := os.ReadFile(f.measurement)
	if err != nil {
		return nil, err
	}
	m, err := baseline.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.measurement, err)
	}
	return m, nil
}
