package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/platform/obs"
)

func newResearchCmd(env *Env) *cobra.Command {
	group := &cobra.Command{
		Use:     "research",
		Short:   "Run a control plane of the research challenge, or read one",
		Example: "  prova research serve --config prova.toml\n  prova research status --server https://control.example",
	}
	group.AddCommand(newResearchServeCmd(env), newResearchMigrateCmd(env))
	group.AddCommand(newResearchReadCmds(env)...)
	return group
}

func newResearchServeCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the control plane: topics, submissions, rows, payouts",
		Long: `Runs the control plane of the research challenge on research.listen (BASE_CHALLENGE_BIND).

Settings keep the names of the specification (PROOF_PIN_FILE, PROOF_TOPICS_FILE, …) or
stand in the [research] section of the configuration file. A bad file is a warning here and
later a 503 that names it; only a bad pin and a database that cannot be reached stop the
start. SIGHUP reads the files again.`,
		Example: `  prova research serve --data /var/lib/prova --config prova.toml
  PROOF_PIN_FILE=proof-pin.toml PROOF_ADMIN_TOKENS_FILE=tokens prova research serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(env, cmd)
			if err != nil {
				return err
			}
			logger, err := obs.NewLogger(env.Stderr, c.Log.Level, c.Log.Format)
			if err != nil {
				return err
			}
			p, err := app.StartResearch(cmd.Context(), *c, logger)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "control plane %s\n", p.URL)
			return p.Wait(cmd.Context())
		},
	}
	configFlags(cmd)
	setFlag(cmd, "listen", "research.listen", app.DefaultConfig().Research.Listen, "address of the control plane")
	setFlag(cmd, "force-sim", "research.force_sim", "false", "numbers relative to the seal instead of runs; for tests only")
	cmd.Flags().Lookup("force-sim").NoOptDefVal = "true"
	return cmd
}

func newResearchMigrateCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Make or update the control plane's tables, as the owner of its database",
		Long: `Makes the tables of the control plane, or brings them up to date, and ends. On PostgreSQL
the role base_app, when it exists, is granted what the service needs: reading and
appending, and more on the queue, the nonces and the leases only. A service that runs as
the owner, or on SQLite, does this itself at its start.`,
		Example: "  BASE_DATABASE_URL=postgres://owner@db/prova prova research migrate",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(env, cmd)
			if err != nil {
				return err
			}
			if err := app.MigrateResearch(cmd.Context(), *c); err != nil {
				return err
			}
			fmt.Fprintln(env.Stdout, "the tables are up to date")
			return nil
		},
	}
	configFlags(cmd)
	return cmd
}
