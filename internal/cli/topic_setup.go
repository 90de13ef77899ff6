package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/research/remote"
)

type topicSetupFlags struct {
	remoteFlags
	approve, wait bool
	decline       string
	every         time.Duration
}

func newTopicSetupCmd(env *Env) *cobra.Command {
	var f topicSetupFlags
	cmd := &cobra.Command{
		Use:   "setup ID",
		Short: "Answer the owner's question and have a custom topic's rules and baseline made",
		Long: `Show what the owner of a custom topic approves: what it asks for, and the most that
is spent. With --approve its VM is provisioned, its RLM writes the rules and measures
the baseline; --decline REASON puts it back to draft. Without either nothing happens.

The ceremony goes on at the host by itself and resumes where it stood. --wait shows
each step until the baseline is measured. Exit status 1 when a step failed.`,
		Example: `  prova topic setup my-topic --token-file ~/proof/admin.token
  prova topic setup my-topic --approve --wait --token-file ~/proof/admin.token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := topicArg(args[0]); err != nil {
				return err
			}
			declined := cmd.Flags().Changed("decline")
			switch {
			case f.approve && declined:
				return usageError("--approve and --decline exclude each other")
			case declined && strings.TrimSpace(f.decline) == "":
				return usageError("--decline: say why, in a sentence")
			case f.wait && declined:
				return usageError("--wait waits for a baseline, and --decline asks for none")
			case f.every <= 0:
				return usageError("--every %s must be longer than nothing", f.every)
			}
			c, err := f.admin(env)
			if err != nil {
				return err
			}
			return runTopicSetup(cmd.Context(), env, c, &f, args[0], declined)
		},
	}
	f.add(cmd, true)
	flags := cmd.Flags()
	flags.BoolVar(&f.approve, "approve", false, "approve what is shown")
	flags.StringVar(&f.decline, "decline", "", "decline what is shown, for this `REASON`")
	flags.BoolVar(&f.wait, "wait", false, "show each step until the baseline is measured")
	flags.DurationVar(&f.every, "every", 2*time.Second, "time between two looks of --wait")
	return cmd
}

func runTopicSetup(ctx context.Context, env *Env, c *remote.Client, f *topicSetupFlags, id string, declined bool) error {
	if !f.approve && !declined && !f.wait {
		shown, err := c.Presend(ctx, id)
		if err != nil {
			return unknownTopic(ctx, c, id, err)
		}
		if err := writeJSON(env, shown); err != nil {
			return err
		}
		fmt.Fprintf(env.Stderr, "note        nothing was done: --approve provisions its VM and measures the baseline, --decline REASON puts it back to draft\n")
		return nil
	}
	before, err := c.Measurement(ctx, id)
	if err != nil && !remote.IsStatus(err, http.StatusNotFound) {
		return err
	}
	seen := 0
	if life, err := c.Lifecycle(ctx, id); err == nil {
		seen = len(life.Events)
	}
	if f.approve || declined {
		state, err := c.Setup(ctx, id, f.approve, f.decline)
		if err != nil {
			return unknownTopic(ctx, c, id, err)
		}
		fmt.Fprintf(env.Stdout, "topic       %s\nstate       %s\n", id, remote.Printable(state))
	}
	if !f.wait {
		return nil
	}
	w := setupWait{env: env, client: c, id: id, seen: seen, before: before, asked: f.approve}
	return w.run(ctx, f.every)
}

// setupWait follows the ceremony of one topic.
type setupWait struct {
	env    *Env
	client *remote.Client
	id     string
	seen   int                 // events that were there before
	before *remote.Measurement // nil: none
	asked  bool                // this command started it: an older baseline is not its end
}

func (w *setupWait) run(ctx context.Context, every time.Duration) error {
	const patience = 30
	for failures := 0; ; {
		done, err := w.look(ctx)
		var refusal *remote.Refusal
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w; the ceremony goes on at the host, --wait without --approve follows it again", ctx.Err())
		case errors.Is(err, remote.ErrUnreachable) || errors.As(err, &refusal) && refusal.Temporary():
			if failures++; failures >= patience {
				return fmt.Errorf("%d looks in a row failed, the last one: %w", failures, err)
			}
		case err != nil || done:
			return err
		default:
			failures = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

func (w *setupWait) look(ctx context.Context) (done bool, err error) {
	life, err := w.client.Lifecycle(ctx, w.id)
	if err != nil {
		return false, err
	}
	for _, e := range life.Events[min(w.seen, len(life.Events)):] {
		fmt.Fprintf(w.env.Stderr, "%s\n", strings.TrimSpace(remote.Printable(fmt.Sprintf("%s: %s → %s  %s", e.Event, e.From, e.To, e.Note))))
		w.seen++
		if e.To == "draft" && w.asked {
			return false, fmt.Errorf("the set-up of %s failed: %s %s", w.id, remote.Printable(e.Event), remote.Printable(firstOf(life.SetupError, e.Note)))
		}
	}
	if life.SetupError != "" {
		return false, fmt.Errorf("the set-up of %s stopped at %s: %s; run it again, it resumes there", w.id, remote.Printable(life.State), remote.Printable(life.SetupError))
	}
	m, err := w.client.Measurement(ctx, w.id)
	if err != nil && !remote.IsStatus(err, http.StatusNotFound) {
		return false, err
	}
	running := life.SetupRunning == nil || *life.SetupRunning
	if err != nil || w.asked && w.before != nil && m.RulesVersion <= w.before.RulesVersion {
		if !running {
			return false, fmt.Errorf("the set-up of %s is not running: the topic is %s; --approve goes on from there", w.id, remote.Printable(life.State))
		}
		return false, nil
	}
	_, err = fmt.Fprintf(w.env.Stdout, "baseline    %v, measured under rules version %d\nnote        'prova topic seal' seals it\n", *m.PrimaryValue, m.RulesVersion)
	return true, err
}
