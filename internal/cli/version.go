package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildText says what this binary was built from, as the Go toolchain recorded
// it: module version or revision, time, whether the tree was modified.
func buildText() string {
	version, revision, at, modified := "devel", "unknown", "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.time":
				at = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					modified = " (modified)"
				}
			}
		}
	}
	return fmt.Sprintf("prova %s\nrevision %s%s\ntime %s\n%s %s/%s\n",
		version, revision, modified, at, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// newVersionCmd prints what --version prints.
func newVersionCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and how this binary was built",
		Example: "  prova version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(env.Stdout, buildText())
			return err
		},
	}
}
