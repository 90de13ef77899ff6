package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// newBaselineCmd groups the ceremonies around the number that a topic must beat.
func newBaselineCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Seal the measurement that submissions of a research topic must beat",
		Long: `Seal the measurement that submissions of a research topic must beat. Nobody is
paid for beating a number that nobody measured: a topic opens only with the hash of
the baseline's script and the commitment of its figures.`,
		Example: "  prova baseline seal --measurement measured.json --script adamw.py --topic my-topic.yaml --pin proof-pin.toml --out ~/proof/baseline.json",
	}
	cmd.AddCommand(newBaselineSealCmd(env), newBaselineMeasureCmd(env))
	return cmd
}

func newBaselineSealCmd(env *Env) *cobra.Command {
	var measurement, script, topicFile, pinFile, out string
	cmd := &cobra.Command{
		Use:   "seal",
		Short: "Bind a measurement to its topic and print the two hashes of the seal",
		Long: `Bind a measurement to its topic and print the two hashes of the seal.

The measurement is a JSON document of figures: holdout_nll, split_nll with the five
scored splits, and tokens_per_sec, step_latency_ms or custom_value as the topic's
metric asks. eval_image_digest, topic_id and holdout_commitment are filled in from
pin and topic; where the measurement names them, they must be the same. The written
file is what PROOF_BASELINE_FILE names. Put both hashes under baseline: of the
topic, set its status to open and sign it. A file that is there keeps what it holds
of other topics.

--script is the baseline's script, byte for byte as it is in the pinned image.`,
		Example: "  prova baseline seal --measurement measured.json --script adamw.py --topic my-topic.yaml --pin proof-pin.toml --out ~/proof/baseline.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, flag := range []struct{ name, value, what string }{
				{"measurement", measurement, "the figures that were measured"}, {"script", script, "the baseline's script"},
				{"topic", topicFile, "the topic or its draft"}, {"out", out, "the file to write, outside every git checkout"},
			} {
				if flag.value == "" {
					return usageError("--%s is missing: name %s", flag.name, flag.what)
				}
			}
			p, err := loadPinFile(env, pinFile)
			if err != nil {
				return err
			}
			d, err := readNamedTopic(env, topicFile)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(measurement)
			if err != nil {
				return err
			}
			m, err := baseline.Parse(data)
			if err != nil {
				return fmt.Errorf("%s: %w", measurement, err)
			}
			code, err := os.ReadFile(script)
			if err != nil {
				return err
			}
			if len(code) == 0 {
				return fmt.Errorf("%s is empty; --script is the baseline's script", script)
			}
			commitment, err := sealBaseline(m, p, d)
			if err != nil {
				return err
			}
			if err := putBaseline(out, m); err != nil {
				return err
			}
			note := "put both hashes under baseline: of the topic, then sign it"
			if d.Baseline.Sealed() && (!shape.SameHex(d.Baseline.MetricsCommitment, commitment) || !shape.SameHex(d.Baseline.ScriptSHA256, baseline.ScriptSHA256(code))) {
				note = "the topic is sealed with other hashes: put these under baseline: and sign it again"
			}
			_, err = fmt.Fprintf(env.Stdout, "baseline            %s\nscript_sha256       %s\nmetrics_commitment  %s\nnote                %s\n",
				out, baseline.ScriptSHA256(code), commitment, note)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&measurement, "measurement", "", "JSON file of the measured figures")
	flags.StringVar(&script, "script", "", "script of the baseline, the exact bytes inside the pinned image")
	flags.StringVar(&topicFile, "topic", "", "topic document or draft")
	flags.StringVar(&pinFile, "pin", "", "pin file; without it the one of "+pinVariable)
	flags.StringVar(&out, "out", "", "file to write, mode 0600")
	return cmd
}

// putBaseline writes a measurement into the file of PROOF_BASELINE_FILE, where those
// of other topics stay.
func putBaseline(path string, m *baseline.Measurement) error {
	return putSecret(path, func(old []byte) ([]byte, error) { return baseline.Put(old, m) })
}

// sealBaseline fills in what a measurement leaves to pin and topic, and returns
// its commitment when it binds to a topic sealed with it.
func sealBaseline(m *baseline.Measurement, p *pin.Pin, d *topic.Document) (string, error) {
	if !p.CanRent() {
		return "", fmt.Errorf("the pin has no eval_image_digest; a baseline is measured inside the pinned image")
	}
	if !shape.Hex64(d.HoldoutCommitment) {
		return "", fmt.Errorf("the topic has no holdout_commitment; run 'prova holdout select' or 'prova holdout commit' first")
	}
	for _, field := range []struct {
		value  *string
		filled string
	}{{&m.EvalImageDigest, p.EvalImageDigest}, {&m.TopicID, d.ID}, {&m.HoldoutCommitment, d.HoldoutCommitment}} {
		if *field.value == "" {
			*field.value = field.filled
		}
	}
	if m.Figure(d.Metric) == nil {
		name := d.Metric.Primary
		if d.Metric.Family == topic.Custom {
			name = "custom_value"
		}
		return "", fmt.Errorf("the measurement has no %s, which the topic's metric is compared with", name)
	}
	if err := m.Check(); err != nil {
		return "", err
	}
	commitment, err := m.Commitment()
	if err != nil {
		return "", err
	}
	sealed := *d
	sealed.Baseline.MetricsCommitment = commitment
	return commitment, m.Bind(p, &sealed)
}
