package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prova-dev/prova/internal/app"
	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// defaultWindow is how long a practice season is announced to be open. It is
// closed early, as soon as every agent has finished.
const defaultWindow = time.Hour

// practiceFlags are what demo and run share.
type practiceFlags struct {
	dir, track string
	window     time.Duration
	serve      bool
	verbose    bool
}

func (p *practiceFlags) add(cmd *cobra.Command, dir string) {
	f := cmd.Flags()
	f.StringVar(&p.dir, "dir", dir, "folder for the bundle, the Index and the data; replaced when an earlier season made it")
	f.StringVar(&p.track, "track", "conformite", "track to play")
	f.DurationVar(&p.window, "window", defaultWindow, "announced length of the season; it is closed early when all agents have finished")
	f.BoolVar(&p.serve, "serve", false, "keep the Index up until interrupted")
	f.BoolVar(&p.verbose, "verbose", false, "show the services' log")
	completes(cmd, "track", "conformite")
}

// options prepares a practice season whose progress goes to standard error.
func (p *practiceFlags) options(env *Env) (app.PracticeOptions, error) {
	dir, err := filepath.Abs(p.dir)
	if err != nil {
		return app.PracticeOptions{}, err
	}
	if err := corpus.Generated(p.track); err != nil {
		return app.PracticeOptions{}, usageError("--track: %w", err)
	}
	if p.window < time.Minute || p.window > 30*24*time.Hour {
		return app.PracticeOptions{}, usageError("--window %s: want 1m to 720h", p.window)
	}
	began := time.Now()
	logs := io.Discard
	if p.verbose {
		logs = env.Stderr
	}
	return app.PracticeOptions{
		Dir: dir, Track: p.track, Window: p.window,
		Progress: func(format string, args ...any) {
			fmt.Fprintf(env.Stderr, "%5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		},
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
	}, nil
}

func newDemoCmd(env *Env) *cobra.Command {
	var p practiceFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play a whole practice season on this machine",
		Long: `Plays a whole season of the receipts challenge on this machine: a frozen corpus behind
a proxy that issues receipts, a freeze anchored before the opening, agents at work,
scoring from public bytes, and the Index. Everything runs in this process on loopback;
the witnesses are embedded, so they are local, not independent.`,
		Example: `  prova demo
  prova demo --serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.options(env)
			if err != nil {
				return err
			}
			season, err := app.PlayPractice(cmd.Context(), o)
			if err != nil {
				return err
			}
			app.PrintTable(env.Stdout, season.Results, season.Names)
			printPlaces(env.Stdout, programName(env), season)
			return serveOrClose(cmd, env, season, p.serve)
		},
	}
	p.add(cmd, "prova-demo")
	return cmd
}

// printPlaces says where what was made can be looked at, with a command that can
// be pasted: program is what this process was started as.
func printPlaces(w io.Writer, program string, p *app.Practice) {
	fmt.Fprintf(w, "\nIndex    %s\nbundle   %s\nreplay   %s replay %s\n", filepath.Join(p.IndexDir, "index.html"), p.BundleDir, program, quoted(p.BundleDir))
}

// programName is how this process was called, when by a path, else "prova".
func programName(env *Env) string {
	if strings.ContainsRune(env.Program, '/') {
		return quoted(env.Program)
	}
	return "prova"
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+,:@", r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// serveOrClose keeps the services up when asked, else stops them.
func serveOrClose(cmd *cobra.Command, env *Env, p *app.Practice, serve bool) error {
	if !serve {
		return p.Close()
	}
	fmt.Fprintf(env.Stdout, "serving  %s (interrupt to stop)\n", p.IndexURL)
	return p.Wait(cmd.Context())
}

func newRunCmd(env *Env) *cobra.Command {
	var (
		p             practiceFlags
		command, name string
		lang          string
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Put your own agent into a practice season and read its report",
		Long: `Plays a practice season with your own agent beside the built-in ones. The command, in any
language, gets the tasks on standard input as JSON and this environment:

  PROVA_ISSUER_URL  PROVA_SEASON_URL  PROVA_SEASON  PROVA_API_KEY
  PROVA_SEASON_TOKEN  PROVA_AGENT_DID

It consults the corpus through POST $PROVA_ISSUER_URL/v1/proxy and either submits over HTTP
itself, or prints one JSON line a task:

  {"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[
   {"resource":"/entites/ENT-0001","field":"/statut","value":"active","proof_ids":["prf_…"]}]}

to which disclosures are added before it is submitted. Other lines are shown as its log.
What a task asks is in its "question"; the rules for answering are in the corpus, at /referentiel.

Exit status: 0 the agent ended with 0, 1 it did not; what it had submitted is scored all the same.`,
		Example: `  prova run --agent ./examples/agents/shell/agent.sh
  prova run --agent 'python3 examples/agents/python/agent.py' --name my-agent`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(command) == "" {
				return usageError("--agent is missing: give the command that runs your agent, for example --agent ./agent.sh")
			}
			if program := strings.Fields(command)[0]; strings.Contains(program, "/") {
				// The shell would find this out too, after a whole season was set up.
				if _, err := os.Stat(program); err != nil {
					return usageError("--agent %q: %w", command, err)
				}
			}
			if lang == "" {
				lang = preferredLanguage(env)
			}
			if lang != "fr" && lang != "en" {
				return usageError("--lang %q: want fr or en", lang)
			}
			o, err := p.options(env)
			if err != nil {
				return err
			}
			o.Own = &app.OwnAgent{Name: name, Command: command, Stderr: env.Stderr}
			season, err := app.PlayPractice(cmd.Context(), o)
			if err != nil {
				return err
			}
			app.PrintTable(env.Stdout, season.Results, season.Names)
			if err := app.PrintReport(env.Stdout, season, lang); err != nil {
				return err
			}
			printPlaces(env.Stdout, programName(env), season)
			if err := serveOrClose(cmd, env, season, p.serve); err != nil {
				return err
			}
			if status := season.Outcome.ExitStatus; status != 0 {
				return &ExitError{Code: 1, Err: fmt.Errorf("the agent ended with status %d; what it had submitted is scored all the same", status)}
			}
			return nil
		},
	}
	p.add(cmd, "prova-run")
	cmd.Flags().StringVar(&command, "agent", "", "command that runs your agent (required)")
	cmd.Flags().StringVar(&name, "name", "My agent", "its name on the Index")
	cmd.Flags().StringVar(&lang, "lang", "", "language of the report: fr or en (default: of the environment)")
	completes(cmd, "lang", "fr", "en")
	return cmd
}

// preferredLanguage follows the usual variables; English unless they say French.
func preferredLanguage(env *Env) string {
	getenv := env.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if strings.HasPrefix(v, "fr") {
				return "fr"
			}
			return "en"
		}
	}
	return "en"
}
