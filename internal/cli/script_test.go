package cli_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/prova-dev/prova/internal/cli"
)

// TestMain registers the real command as a program of the scripts, so that a
// script types what a user types.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"prova": func() { os.Exit(cli.Main(context.Background(), os.Args[1:], cli.SystemEnv())) },
	})
}

// TestScripts runs every script of testdata: commands, expected output, status.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status},
		Setup: func(env *testscript.Env) error {
			data, err := filepath.Abs("testdata")
			if err != nil {
				return err
			}
			env.Setenv("TESTDATA", data)
			return nil
		},
	})
}

// status is the script command "status N prog args…": it runs prog and requires
// exactly the exit status N; stdout and stderr are then matched as after exec.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N prog args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
