package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/platform/obs"
)

func newServeCmd(env *Env) *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the services of one configuration",
		Long: `Runs issuer, corpus, season service, Index and worker, and the control plane of the
research challenge where the configuration has one, or those named by --only. Several
processes may share one PostgreSQL database.`,
		Example: `  prova serve --data /var/lib/prova
  prova serve --config prova.toml --only season,index`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range only {
				if !slices.Contains(app.Services(), name) {
					return usageError("--only: %q is no service: want %s", name, strings.Join(app.Services(), ", "))
				}
			}
			c, err := loadConfig(env, cmd)
			if err != nil {
				return err
			}
			logger, err := obs.NewLogger(env.Stderr, c.Log.Level, c.Log.Format)
			if err != nil {
				return err
			}
			s, err := app.Start(cmd.Context(), *c, only, logger)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "public %s\ninternal http://%s\n", s.PublicURL, s.Internal)
			if s.Research != nil {
				fmt.Fprintf(env.Stdout, "control plane %s\n", s.Research.URL)
			}
			return s.Wait(cmd.Context())
		},
	}
	configFlags(cmd)
	cmd.Flags().StringSliceVar(&only, "only", nil, "services to run: "+strings.Join(app.Services(), ", "))
	return cmd
}
