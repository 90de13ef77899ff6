package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/platform/config"
)

// configFlags adds the flags by which every service command is configured.
// Anything that has no flag of its own is set in the file or by an environment
// variable PROVA_<SECTION>__<KEY>.
func configFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("config", "", "TOML file with the configuration")
	defaults := app.DefaultConfig()
	set := func(flag, key, value, usage string) { setFlag(cmd, flag, key, value, usage) }
	set("data", "dir", defaults.Dir, "data directory: database, keys, seasons")
	set("public", "listen.public", defaults.Listen.Public, "public address (issuer, season, Index)")
	set("corpus-listen", "listen.corpus", defaults.Listen.Corpus, "address of the corpora, for the proxy alone")
	set("internal", "listen.internal", defaults.Listen.Internal, "internal address (metrics, health, routes between services)")
	set("store", "store.url", defaults.Store.URL, "database: sqlite:PATH or postgres://…")
	set("log-level", "log.level", defaults.Log.Level, "debug, info, warn or error")
}

// setFlag adds a flag that sets a key of the configuration.
func setFlag(cmd *cobra.Command, flag, key, value, usage string) {
	cmd.Flags().String(flag, value, usage)
	cmd.Flags().Lookup(flag).Annotations = map[string][]string{config.KeyAnnotation: {key}}
}

// loadConfig reads file, environment and flags, in that order of rising rank.
func loadConfig(env *Env, cmd *cobra.Command) (*app.Config, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	if file == "" {
		file = env.Getenv("PROVA_CONFIG")
	}
	c := app.DefaultConfig()
	if err := config.Load(&c, config.Sources{File: file, EnvPrefix: "PROVA_", Flags: cmd.Flags()}); err != nil {
		return nil, usageError("configuration: %w", err)
	}
	if err := c.Validate(); err != nil {
		return nil, usageError("configuration: %w", err)
	}
	return &c, nil
}

func newConfigCmd(env *Env) *cobra.Command {
	group := &cobra.Command{Use: "config", Short: "Show the configuration in force", Example: "  prova config print"}
	print := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration in force as TOML, secrets masked",
		Long: `Prints the values in force: built-in, above them the file (--config or
PROVA_CONFIG), above it the environment, above it flags.

Variables are named ` + strings.TrimSpace(`PROVA_<SECTION>__<KEY>`) + `, for example PROVA_LISTEN__PUBLIC.`,
		Example: "  prova config print --config prova.toml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(env, cmd)
			if err != nil {
				return err
			}
			return config.Print(env.Stdout, c)
		},
	}
	configFlags(print)
	group.AddCommand(print)
	return group
}
