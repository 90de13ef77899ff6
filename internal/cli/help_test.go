package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestDesignSection6HelpHasAnExampleFirst walks every command there is.
func TestDesignSection6HelpHasAnExampleFirst(t *testing.T) {
	var out strings.Builder
	root := newRootCmd(&Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }})
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return // Written by cobra; each says how to load it.
		}
		seen++
		out.Reset()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		if help := out.String(); !strings.HasPrefix(help, "Example:\n\n  ") || strings.Contains(help, "Examples:") || !strings.Contains(help, "Usage:") {
			t.Errorf("%s: its help starts with %.60q", cmd.CommandPath(), help)
		}
	}
	walk(root)
	if seen < 20 {
		t.Errorf("only %d commands", seen)
	}
}
