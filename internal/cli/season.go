package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/platform/obs"
	"github.com/prova-dev/prova/internal/receipts/season"
)

// newSeasonCmd is the operator's path. It works beside a running "prova serve"
// on the same configuration.
func newSeasonCmd(env *Env) *cobra.Command {
	group := &cobra.Command{
		Use:   "season",
		Short: "Walk a season's life: freeze, open, close, score, publish",
		Example: `  prova season freeze --config prova.toml --corpus conformite=corpus --opens 2027-01-10T08:00:00Z --closes 2027-02-10T20:00:00Z
  prova season status --config prova.toml`,
	}
	group.AddCommand(
		newSeasonFreezeCmd(env),
		seasonStep(env, "open", "Open the season once its time has come", func(ctx context.Context, o *app.Operator) error {
			s, err := o.Open(ctx)
			if err == nil {
				fmt.Fprintf(env.Stdout, "season %d: %s; opens %s, closes %s\n", s.Number, s.State, s.Opens.Format(time.RFC3339), s.Closes.Format(time.RFC3339))
			}
			return err
		}),
		seasonStep(env, "close", "End the intake (earlier than announced, never later) and write the bundle", func(ctx context.Context, o *app.Operator) error {
			if err := o.CloseSeason(ctx); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "bundle %s\n", o.BundleDir())
			return nil
		}),
		seasonStep(env, "score", "Compute the results from the bundle and nothing else", func(ctx context.Context, o *app.Operator) error {
			results, err := o.Score(ctx)
			if err != nil {
				return err
			}
			app.PrintTable(env.Stdout, results, o.Names(ctx))
			return nil
		}),
		seasonStep(env, "publish", "Publish results, reports and bundle", func(ctx context.Context, o *app.Operator) error {
			version, err := o.Publish(ctx)
			if err == nil {
				fmt.Fprintf(env.Stdout, "published, version %d\n", version)
			}
			return err
		}),
		seasonStep(env, "status", "Show where the season stands", func(ctx context.Context, o *app.Operator) error {
			s, err := o.Season(ctx)
			if err == nil {
				fmt.Fprintf(env.Stdout, "season %d: %s\nopens %s\ncloses %s\ntracks %s\npractice %t\n", s.Number, s.State,
					s.Opens.Format(time.RFC3339), s.Closes.Format(time.RFC3339), strings.Join(s.Tracks, ", "), s.Practice)
			}
			return err
		}),
	)
	return group
}

// withOperator runs one step with the operator's side of the configuration.
func withOperator(env *Env, cmd *cobra.Command, step func(context.Context, *app.Operator) error) (err error) {
	c, err := loadConfig(env, cmd)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("there is no data directory %s: name it with --data or --config, or start the issuer on it ('prova serve')", c.Dir)
	}
	logger, err := obs.NewLogger(env.Stderr, c.Log.Level, c.Log.Format)
	if err != nil {
		return err
	}
	o, done, err := app.OpenOperator(cmd.Context(), c, logger, func(format string, args ...any) {
		fmt.Fprintf(env.Stderr, format+"\n", args...)
	})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := done(); err == nil {
			err = cerr
		}
	}()
	return step(cmd.Context(), o)
}

func seasonStep(env *Env, name, short string, step func(context.Context, *app.Operator) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Example: "  prova season " + name + " --config prova.toml", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOperator(env, cmd, func(ctx context.Context, o *app.Operator) error { return notFrozen(env, cmd, step(ctx, o)) })
		},
	}
	configFlags(cmd)
	return cmd
}

// notFrozen says what is missing when there is no season yet: a freeze, or the
// configuration of the one that is meant.
func notFrozen(env *Env, cmd *cobra.Command, err error) error {
	var refusal *season.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != season.NotFound {
		return err
	}
	if cmd.Flag("config").Value.String() == "" && env.Getenv("PROVA_CONFIG") == "" && !cmd.Flags().Changed("data") {
		return fmt.Errorf("%w in %s: name its configuration with --config", err, cmd.Flag("data").Value)
	}
	return fmt.Errorf("%w yet: freeze it first ('prova season freeze')", err)
}

func newSeasonFreezeCmd(env *Env) *cobra.Command {
	var (
		corpora       []string
		opens, closes string
		practice      bool
		reason        string
	)
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Commit rules, corpus and key of each track and anchor them",
		Long: `Commits the rules, the corpus manifest and the salted answer key of each track and
anchors them by a proxied call of the challenge's own key, before the season opens.
Corpus, key and salt are sealed in the data directory first.

A freeze may be replaced before the opening; both proofs and the reason are published.`,
		Example: `  prova season freeze --config prova.toml --corpus conformite=corpus --opens 2027-01-10T08:00:00Z --closes 2027-02-10T20:00:00Z`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			plan := app.FreezePlan{Corpora: map[string]string{}, Practice: practice, Reason: reason}
			for _, c := range corpora {
				track, dir, ok := strings.Cut(c, "=")
				if !ok || track == "" || dir == "" {
					return usageError("--corpus %q: want TRACK=FOLDER, for example conformite=corpus", c)
				}
				plan.Corpora[track] = dir
			}
			if len(plan.Corpora) == 0 {
				return usageError("--corpus is missing: name at least one TRACK=FOLDER")
			}
			var err error
			if plan.Opens, err = instant("--opens", opens); err != nil {
				return err
			}
			if plan.Closes, err = instant("--closes", closes); err != nil {
				return err
			}
			return withOperator(env, cmd, func(ctx context.Context, o *app.Operator) error {
				frozen, err := o.Freeze(ctx, plan)
				for _, f := range frozen {
					fmt.Fprintf(env.Stdout, "track %s\n  proof %s (token %s)\n  rules %s\n  manifest %s\n  key commitment %s\n",
						f.Track, f.ProofID, f.At.Format(time.RFC3339), f.RulesSHA256, f.ManifestSHA256, f.KeyCommitment)
				}
				return err
			})
		},
	}
	configFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&corpora, "corpus", nil, "corpus to freeze, TRACK=FOLDER; repeat for each track")
	f.StringVar(&opens, "opens", "", "opening, YYYY-MM-DDTHH:MM:SSZ")
	f.StringVar(&closes, "closes", "", "close, YYYY-MM-DDTHH:MM:SSZ")
	f.BoolVar(&practice, "practice", false, "allow a built-in corpus, whose key anyone can compute")
	f.StringVar(&reason, "reason", "", "why this freeze replaces the one before it")
	return cmd
}

func instant(flag, text string) (time.Time, error) {
	t, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		return t, usageError("%s %q: want an instant such as 2027-01-10T08:00:00Z", flag, text)
	}
	return t, nil
}
