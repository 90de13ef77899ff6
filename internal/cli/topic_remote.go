package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/evidence/sr25519"
	"github.com/prova-dev/prova/internal/research/remote"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

// newTopicRemoteCmds are the steps of a topic's way that a control plane takes
// part in.
func newTopicRemoteCmds(env *Env) []*cobra.Command {
	rules := &cobra.Command{
		Use:     "rules",
		Short:   "Show or replace the rules that submissions to a topic are checked against",
		Example: "  prova topic rules show my-topic\n  prova topic rules edit my-topic --rules rules.yaml --token-file ~/proof/admin.token",
	}
	rules.AddCommand(newTopicRulesShowCmd(env), newTopicRulesEditCmd(env))
	return []*cobra.Command{
		newTopicPublishCmd(env), newTopicListCmd(env), newTopicShowCmd(env), newTopicSetupCmd(env), rules, newTopicSealCmd(env), newTopicCloseCmd(env),
	}
}

func newTopicPublishCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var pinFile string
	cmd := &cobra.Command{
		Use:   "publish FILE",
		Short: "Send a signed topic to its control plane",
		Long: `Send a signed topic to its control plane, which validates and verifies it, reads
its holdout and baseline again and stores it as a new version. With --pin, or
` + pinVariable + `, the same checks are made here first.

A topic whose baseline was measured by its RLM opens with this: the host compares
the seal with its own measurement before anything is written.`,
		Example: "  prova topic publish ~/proof/my-topic.signed.json --token-file ~/proof/admin.token --server https://proof.example",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := readNamedTopic(env, args[0])
			if err != nil {
				return err
			}
			if d.Signature == "" {
				return fmt.Errorf("%s is not signed; run 'prova topic sign %s' first", args[0], args[0])
			}
			if pinFile != "" || env.Getenv(pinVariable) != "" {
				p, err := loadPinFile(env, pinFile)
				if err != nil {
					return err
				}
				if err := errors.Join(d.Validate(p, anyRunner), d.Verify(p)); err != nil {
					return fmt.Errorf("%s: %w", args[0], hinted(err))
				}
			}
			c, err := f.admin(env)
			if err != nil {
				return err
			}
			return publish(cmd.Context(), env, c, d)
		},
	}
	f.add(cmd, true)
	cmd.Flags().StringVar(&pinFile, "pin", "", "pin file to check against first; without it the one of "+pinVariable+", if any")
	return cmd
}

func publish(ctx context.Context, env *Env, c *remote.Client, d *topic.Document) error {
	stored, err := c.Publish(ctx, d)
	if err != nil {
		return err
	}
	if stored.Signature != d.Signature {
		return fmt.Errorf("%s answers with another document than was sent: its signature differs", c.URL())
	}
	fmt.Fprintf(env.Stdout, "topic       %s\nstatus      %s\npublished   %s\n", stored.ID, stored.Status, c.URL())
	if stored.Status == topic.Draft && stored.Metric.Family == topic.Custom && stored.Baseline.ScriptSHA256 == "" {
		fmt.Fprintf(env.Stderr, "note        its baseline.script_sha256 is not set, and 'prova topic setup' needs it: put the SHA-256 of the baseline's tar into the draft, sign and publish it again\n")
	}
	if stored.Status != topic.Open {
		return nil
	}
	r, err := c.Readiness(ctx, stored.ID)
	switch {
	case err != nil:
		fmt.Fprintf(env.Stderr, "note        its readiness could not be read: %s\n", oneLine(err.Error()))
	case !r.Scorable:
		fmt.Fprintf(env.Stderr, "note        open, and not scorable yet: 'prova research doctor %s' names what is missing\n", stored.ID)
	}
	return nil
}

func newTopicListCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var status string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the topics of a control plane",
		Example: "  prova topic list --server https://proof.example\n  prova topic list --status all",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch status {
			case "open", "draft", "closed", "all":
			default:
				return usageError("--status %q: want open, draft, closed or all", status)
			}
			c, err := f.client(env)
			if err != nil {
				return err
			}
			asked := status
			if status == "open" {
				asked = "" // What every control plane lists, whether it knows other lists or not.
			}
			docs, data, err := c.Topics(cmd.Context(), asked)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env, data)
			}
			for _, d := range docs {
				if _, err := fmt.Fprintf(env.Stdout, "%s  %s  %s  %s  %s\n", remote.Printable(d.ID), d.Status, d.Metric.Family, d.PayoutMode, title(d.Statement)); err != nil {
					return err
				}
			}
			if len(docs) == 0 {
				fmt.Fprintln(env.Stderr, "no topics")
			}
			return nil
		},
	}
	f.add(cmd, false)
	cmd.Flags().StringVar(&status, "status", "open", "open, draft, closed or all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer as it is")
	completes(cmd, "status", "open", "draft", "closed", "all")
	return cmd
}

// title is a statement in a line.
func title(statement string) string {
	const most = 72
	runes := []rune(strings.Join(strings.Fields(remote.Printable(statement)), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

func newTopicShowCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show a topic of a control plane, what it pays for and what it takes to pass",
		Example: "  prova topic show my-topic --server https://proof.example",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			c, err := f.client(env)
			if err != nil {
				return err
			}
			d, err := c.Topic(cmd.Context(), args[0])
			if err != nil {
				return unknownTopic(cmd.Context(), c, args[0], err)
			}
			if asJSON {
				text, err := d.JSON()
				if err != nil {
					return err
				}
				return writeJSON(env, text)
			}
			_, err = env.Stdout.Write([]byte(remoteText(topicLines(d))))
			return err
		},
	}
	f.add(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the document, signature included")
	return cmd
}

func topicLines(d *topic.Document) []line {
	m := &d.Metric
	window := fmt.Sprintf("from epoch %d", d.ValidFromEpoch)
	if d.ValidUntilEpoch != nil {
		window += fmt.Sprintf(" to %d", *d.ValidUntilEpoch)
	}
	metric := fmt.Sprintf("%s, %s (%s, %s)", m.Family, m.Primary, m.Direction, m.Unit)
	if m.CustomID != "" {
		metric += ", custom id " + m.CustomID
	}
	win := fmt.Sprintf("better than the sealed value by a share of %v", m.EpsilonRel)
	if m.Family == topic.NLL {
		win = fmt.Sprintf("lower than the sealed value by %v", d.EpsilonNLL)
	}
	seal := "not sealed: it cannot open"
	if d.Baseline.Sealed() {
		seal = "sealed, script " + d.Baseline.ScriptSHA256
	}
	lines := []line{
		{"topic", d.ID}, {"status", string(d.Status)}, {"window", window}, {"statement", d.Statement}, {"payout", string(d.PayoutMode)},
		{"metric", metric}, {"to pass", win}, {"scored on", d.Validation.ScoreOn}, {"accepted if", d.Validation.AcceptIf},
		{"rejected if", d.Validation.RejectIf}, {"budget", fmt.Sprintf("%d operations", d.FLOPsBudget)}, {"baseline", seal},
		{"holdout", fmt.Sprintf("%d records, commitment %s", d.HoldoutSize, d.HoldoutCommitment)},
	}
	if d.Constraints.FirecrackerRequired {
		lines = append(lines, line{"sandbox", "firecracker required"})
	}
	for _, rule := range d.Checklist {
		lines = append(lines, line{"rule", rule.ID + ": " + rule.Text})
	}
	return lines
}

func newTopicRulesShowCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show the rules that a checklist is held to now",
		Example: "  prova topic rules show my-topic",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			c, err := f.client(env)
			if err != nil {
				return err
			}
			rules, data, err := c.Rules(cmd.Context(), args[0])
			if err != nil {
				return unknownTopic(cmd.Context(), c, args[0], err)
			}
			if asJSON {
				return writeJSON(env, data)
			}
			return printRules(env, rules)
		},
	}
	f.add(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer as it is")
	return cmd
}

func printRules(env *Env, rules *topic.RuleSet) error {
	digest, err := rules.Digest()
	if err != nil {
		return err
	}
	lines := []line{{"topic", rules.TopicID}, {"version", fmt.Sprintf("%d, source %s", rules.Version, rules.Source)}, {"digest", fmt.Sprintf("%x", digest)}}
	for _, rule := range rules.Rules {
		lines = append(lines, line{"rule", rule.ID + ": " + rule.Text})
	}
	_, err = env.Stdout.Write([]byte(remoteText(lines)))
	return err
}

func newTopicRulesEditCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var file string
	var yes bool
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Store a new version of a topic's rules, written by the operator",
		Long: `Store a new version of a topic's rules. --rules is a list of {id, text} in YAML or
JSON, or an object with the one key rules; "-" is standard input.

A baseline that was measured under older rules cannot seal a topic: measure again
with 'prova topic setup'. On an open topic the new rules count from the next run on,
against a baseline that was measured under older ones: that wants --yes.`,
		Example: "  prova topic rules edit my-topic --rules rules.yaml --token-file ~/proof/admin.token",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			if file == "" {
				return usageError("--rules is missing: name the file of the rules, or - for standard input")
			}
			items, err := readRules(env, file)
			if err != nil {
				return err
			}
			c, err := f.admin(env)
			if err != nil {
				return err
			}
			if err := beforeEditing(cmd.Context(), env, c, args[0], yes); err != nil {
				return err
			}
			rules, err := c.EditRules(cmd.Context(), args[0], items)
			if err != nil {
				return unknownTopic(cmd.Context(), c, args[0], err)
			}
			return printRules(env, rules)
		},
	}
	f.add(cmd, true)
	cmd.Flags().StringVar(&file, "rules", "", "file of the rules, in YAML or JSON")
	cmd.Flags().BoolVar(&yes, "yes", false, "change them although the topic is open")
	return cmd
}

// beforeEditing refuses to change the rules of an open topic without --yes: runs are
// held to them from then on, and compared with what was measured under others.
func beforeEditing(ctx context.Context, env *Env, c *remote.Client, id string, yes bool) error {
	d, err := c.Topic(ctx, id)
	if err != nil {
		return unknownTopic(ctx, c, id, err)
	}
	if d.Status != topic.Open {
		return nil
	}
	under := "the host has no baseline of it that was measured under any version"
	switch m, err := c.Measurement(ctx, id); {
	case err == nil:
		under = fmt.Sprintf("its baseline was measured under rules version %d", m.RulesVersion)
	case !remote.IsStatus(err, http.StatusNotFound):
		return fmt.Errorf("the rules version that the baseline was measured under could not be read: %w", err)
	}
	newest, _, err := c.Rules(ctx, id)
	if err != nil {
		return err
	}
	means := fmt.Sprintf("topic %s is open under rules version %d: new rules count from the next run on, and %s", id, newest.Version, under)
	if !yes {
		return usageError("%s; change them all the same with --yes", means)
	}
	_, err = fmt.Fprintf(env.Stderr, "note        %s\n", means)
	return err
}

func readRules(env *Env, file string) ([]topic.ChecklistItem, error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, strict.MaxSize+1))
	if err != nil {
		return nil, err
	}
	v, err := strict.YAML(data) // JSON is YAML too.
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var items []topic.ChecklistItem
	read := strict.List(&items, func(item *topic.ChecklistItem) strict.Reader {
		return strict.Object(strict.Key("id", strict.String(&item.ID)), strict.Key("text", strict.String(&item.Text)))
	})
	if _, list := v.([]any); !list {
		read = strict.Object(strict.Key("rules", read))
	}
	if err := read(v, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s has no rule; a topic needs one at least", file)
	}
	if field, why := topic.CheckRules(items); why != "" {
		return nil, fmt.Errorf("%s: %s: %s", file, field, why)
	}
	return items, nil
}

func newTopicCloseCmd(env *Env) *cobra.Command {
	var f remoteFlags
	var secret string
	var yes bool
	cmd := &cobra.Command{
		Use:   "close ID",
		Short: "Sign a published topic as closed and publish it",
		Long: `Take a published topic, set its status to closed, sign it and publish it. Only a
document that carries a signature of the same key is signed again, so that nothing
else of it can have changed. Runs in flight end.

Closing is final: a closed topic does not open again. And a topic that is closed when
its epoch is cut pays nothing for that epoch, not even for runs that passed: the time
to close it is just after an epoch has closed. Rows that passed and whose epoch is
not closed are listed, and with any the command wants --yes.`,
		Example: "  prova topic close my-topic --secret ~/proof/topic.key --token-file ~/proof/admin.token",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			if secret == "" {
				return usageError("--secret is missing: name the file of the topic key's secret")
			}
			key, err := sr25519.ReadSecret(secret)
			if err != nil {
				return err
			}
			c, err := f.admin(env)
			if err != nil {
				return err
			}
			d, err := c.Topic(cmd.Context(), args[0])
			if err != nil {
				return unknownTopic(cmd.Context(), c, args[0], err)
			}
			if d.Status == topic.Closed {
				_, err := fmt.Fprintf(env.Stdout, "topic       %s\nstatus      closed already\n", d.ID)
				return err
			}
			if err := d.VerifyKey(key.Public()); err != nil {
				return fmt.Errorf("the topic at %s is not signed by the key of %s, and is not signed again: %w", c.URL(), secret, err)
			}
			if err := beforeClosing(cmd.Context(), env, c, d.ID, yes); err != nil {
				return err
			}
			d.Status = topic.Closed
			if err := d.Sign(rand.Reader, key); err != nil {
				return err
			}
			return publish(cmd.Context(), env, c, d)
		},
	}
	f.add(cmd, true)
	cmd.Flags().StringVar(&secret, "secret", "", "file of the topic key's secret, 32 raw bytes or 64 hex characters, mode 0600")
	cmd.Flags().BoolVar(&yes, "yes", false, "close it although rows that passed will not be paid")
	return cmd
}

// beforeClosing says what closing a topic means, and lists what it takes the payment
// from. A host whose rows cannot be read closes a topic with --yes alone.
func beforeClosing(ctx context.Context, env *Env, c *remote.Client, id string, yes bool) error {
	fmt.Fprintln(env.Stderr, "note        closing is final, and a topic that is closed when its epoch is cut pays nothing for that epoch, not even for runs that passed")
	unpaid, err := unpaidPasses(ctx, c, id)
	switch {
	case err != nil && yes && ctx.Err() == nil:
		fmt.Fprintf(env.Stderr, "note        the rows of open epochs could not be read: %s\n", oneLine(err.Error()))
		return nil
	case err != nil:
		return fmt.Errorf("which rows would not be paid could not be read: %w", err)
	}
	for _, row := range unpaid {
		fmt.Fprintf(env.Stderr, "unpaid      %s  epoch %d  %s  %s\n", row.ID, row.Epoch, remote.Printable(row.MinerHotkey), remote.Printable(string(row.State)))
	}
	if len(unpaid) == 0 || yes {
		return nil
	}
	rows, their := "1 row of "+id+" passed", "its epoch is"
	if n := len(unpaid); n > 1 {
		rows, their = fmt.Sprintf("%d rows of %s passed", n, id), "their epochs are"
	}
	return usageError("%s and %s not closed: closed now, the topic pays nothing for them; wait until the epoch has closed ('prova research status' says when), or close it all the same with --yes", rows, their)
}

// unpaidPasses returns the rows of a topic that passed and whose epoch is not closed,
// the newest first.
func unpaidPasses(ctx context.Context, c *remote.Client, id string) ([]remote.Row, error) {
	epochs, err := c.Epochs(ctx)
	if err != nil {
		return nil, err
	}
	var unpaid []remote.Row
	// All pages: a run that was accepted in an epoch may be stored after one of the next.
	for q := (remote.RowQuery{Topic: id}); ; {
		rows, next, _, err := c.Rows(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.TopicID == id && row.Verdict.Pass && epochs.Find(row.Epoch) == nil {
				unpaid = append(unpaid, row)
			}
		}
		if next == "" {
			return unpaid, nil
		}
		q.Before = next
	}
}
