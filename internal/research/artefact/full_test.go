package artefact

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test binary runs again with a limit on the length of files, which
// every write meets as it would meet a full disk; no mount is needed for it.
func TestAFullDiskIsFoundBeforeTheWorkAndNoErrorShowsTheWayToTheRoot(t *testing.T) {
	if os.Getenv("ARTEFACT_FULL_DISK") != "" {
		root, err := OpenRoot(os.Getenv("ARTEFACT_FULL_DISK"))
		require.NoError(t, err)
		defer root.Close()
		for name, err := range map[string]error{
			"writable": root.Writable(),
			"stage":    func() error { _, err := root.Stage("topic-a", "pf_0000000000000001", make([]byte, 1<<20)); return err }(),
		} {
			require.ErrorContains(t, err, "file too large", name)
			require.NotContains(t, err.Error(), "planted-folder", name)
		}
		left, err := root.Leftovers()
		require.NoError(t, err)
		require.Empty(t, left)
		return
	}
	dir := filepath.Join(t.TempDir(), "planted-folder", "artefacts")
	root, err := OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Writable())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "nothing stays of the question")
	// 64 blocks of 1 KiB, and a write beyond them is an error and no signal.
	run := exec.Command("bash", "-c", `trap '' XFSZ; ulimit -f 64; exec "$0" -test.run '^`+t.Name()+`$' -test.v`, os.Args[0])
	run.Env = append(os.Environ(), "ARTEFACT_FULL_DISK="+dir)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	require.NoError(t, os.RemoveAll(dir))
	err = root.Writable()
	require.Error(t, err, "a folder that is gone takes nothing")
	require.False(t, strings.Contains(err.Error(), "planted-folder"), err)
}
