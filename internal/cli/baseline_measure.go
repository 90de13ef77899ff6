package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/topic"
)

// newBaselineMeasureCmd fetches what a topic's RLM measured.
func newBaselineMeasureCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var out string
	cmd := &cobra.Command{
		Use:   "measure TOPIC",
		Short: "Take the baseline that a custom topic's RLM measured, for sealing",
		Long: `Take the newest baseline that the RLM of a custom topic measured in the topic's VM
('prova topic setup' has it measured) and write it as the document of figures that
'prova baseline seal' and 'prova topic seal' read. A custom topic has no other figure
than its own: holdout_nll and the splits are written as 0.

A baseline that was measured under older rules than the topic's newest is refused: it
cannot seal. The figures of nll and throughput topics come out of a run of the pinned
image on a rented machine, and are written down by hand.`,
		Example: "  prova baseline measure my-topic --token-file ~/proof/admin.token --out ~/proof/measured.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usageError("--out is missing: name the file to write the measurement to, outside every git checkout")
			}
			c, err := f.admin(env)
			if err != nil {
				return err
			}
			d, err := c.Topic(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			m, err := measuredBaseline(cmd.Context(), c, d)
			if err != nil {
				return err
			}
			data, err := m.JSON()
			if err != nil {
				return err
			}
			if err := writeSecretOf(out, d.ID, data, topicOfMeasurement); err != nil {
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "topic         %s\ncustom_value  %v\nmeasurement   %s\nnote          'prova topic seal' seals the topic with it\n", d.ID, *m.CustomValue, out)
			return err
		},
	}
	f.add(cmd, true)
	cmd.Flags().StringVar(&out, "out", "", "file to write, mode 0600, outside every git checkout")
	return cmd
}

// topicOfMeasurement names the topic that a file's one measurement is of, "" when the
// file is another one.
func topicOfMeasurement(data []byte) string {
	m, err := baseline.Parse(data)
	if err != nil {
		return ""
	}
	return m.TopicID
}

// measuredBaseline asks for a topic's measurement and refuses one that the host
// would refuse as a seal (decision 11).
func measuredBaseline(ctx context.Context, c *remote.Client, d *topic.Document) (*baseline.Measurement, error) {
	if d.Metric.Family != topic.Custom {
		return nil, fmt.Errorf("topic %s is of the family %s: its figures come out of a run of the pinned image, write them down and name them with --measurement", d.ID, d.Metric.Family)
	}
	measured, err := c.Measurement(ctx, d.ID)
	if remote.IsStatus(err, http.StatusNotFound) {
		return nil, fmt.Errorf("no baseline is measured for %s yet: 'prova topic setup %s --approve --wait' has it measured (%w)", d.ID, d.ID, err)
	}
	if err != nil {
		return nil, err
	}
	rules, _, err := c.Rules(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	if rules.Version != measured.RulesVersion {
		return nil, fmt.Errorf("the baseline of %s was measured under rules version %d, and the newest is %d; measure it again with 'prova topic setup %s --approve --wait'",
			d.ID, measured.RulesVersion, rules.Version, d.ID)
	}
	m := &baseline.Measurement{
		TopicID: d.ID, HoldoutCommitment: d.HoldoutCommitment, CustomValue: measured.PrimaryValue, SplitNLL: map[holdout.Split]float64{},
	}
	for _, split := range holdout.Splits() {
		m.SplitNLL[split] = 0
	}
	return m, m.Check()
}
