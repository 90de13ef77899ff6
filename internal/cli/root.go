package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// ExitUsage is the status of every wrong usage: unknown command or flag,
// missing argument, flags that exclude each other (EX_USAGE of sysexits.h).
const ExitUsage = 64

// Env is what a command may touch of the process around it, so that a test can
// run the real command in process.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Program is what the process was started as; a command that is printed to be
	// pasted begins with it. Empty stands for "prova".
	Program string
}

// ExitError carries the status a command ends with. A nil Err ends silently:
// the command has already said everything on its outputs.
type ExitError struct {
	Code int
	Err  error
}

// Error is the cause, or the status when the command has said everything itself.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause, nil for a silent end.
func (e *ExitError) Unwrap() error { return e.Err }

// usageError is an error of usage; it ends the process with ExitUsage.
func usageError(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Main runs prova with the arguments after the program's name and returns the
// exit status.
func Main(ctx context.Context, args []string, env *Env) int {
	root := newRootCmd(env)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := 1
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
		err = exit.Err
	}
	if err != nil {
		fmt.Fprintf(env.Stderr, "prova: %s\n", oneLine(err.Error()))
	}
	return code
}

// oneLine keeps the promise that an error is one line: a multi-line cause is
// joined, not cut.
func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}

// SystemEnv is the Env of the real process.
func SystemEnv() *Env {
	return &Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Program: os.Args[0]}
}

func newRootCmd(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "prova",
		Short: "Run challenges whose results anyone can check",
		Example: `  prova demo                 a whole season of the receipts challenge on this machine
  prova run --agent ./mine   the same with your own agent, and its report
  prova verify proof.json    check a proof with keys that did not come from it`,
		Long:          "Prova runs challenges whose results anyone else can check.",
		Version:       buildText(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q: run 'prova --help' for the list", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, construct := range commands {
		root.AddCommand(construct(env))
	}
	root.SetVersionTemplate("{{.Version}}")
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Example = "  source <(prova completion bash)"
		case "help":
			cmd.Example = "  prova help verify"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return fmt.Errorf("unknown command %q", strings.Join(args, " "))
				}
				return nil
			}
		}
	}
	wrapUsage(root)
	return root
}

// helpTemplate puts the example first: it is what most readers came for.
const helpTemplate = `{{if .HasExample}}Example:

{{.Example}}

{{end}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

// usageTemplate is cobra's without the examples, which the help shows above.
func usageTemplate(whole string) string {
	return strings.Replace(whole, "{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}", "", 1)
}

// completes offers the values that a flag takes to the shell's completion.
func completes(cmd *cobra.Command, flag string, values ...string) {
	fixed := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed); err != nil {
		panic("cli: " + err.Error()) //nolint:forbidigo // A programming error: the flag does not exist, or was registered twice.
	}
}

// wrapUsage turns the flag and argument errors of cobra, for the whole tree,
// into usage errors that name the command whose help says more.
func wrapUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError("%w: run '%s --help'", flagFault(err), c.CommandPath())
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			var exit *ExitError
			if err == nil || errors.As(err, &exit) {
				return err
			}
			if operand, ok := strings.CutPrefix(c.Use, c.Name()+" "); ok && !strings.HasPrefix(operand, "[") {
				// The library counts "arg(s)"; the reader wants their name.
				if err = fmt.Errorf("%s is missing", operand); len(args) > 0 {
					err = fmt.Errorf("%d arguments: want one %s", len(args), operand)
				}
			}
			return usageError("%w: run '%s --help'", err, c.CommandPath())
		}
	} else if cmd.HasSubCommands() {
		// A group such as "prova corpus" has no work of its own: a word it does
		// not know is a usage error, not its help with status 0.
		cmd.Args = func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("unknown command %q for %q: run '%s --help'", args[0], c.CommandPath(), c.CommandPath())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		// Without work of its own cobra would show the help before it looks at words.
		cmd.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, sub := range cmd.Commands() {
		wrapUsage(sub)
	}
}
