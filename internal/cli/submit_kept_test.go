package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStateFolderInsideACheckoutIsRefusedBeforeItIsMade(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o700))
	state := filepath.Join(root, "kept", "submissions")
	k := keptFile{dir: state, env: &Env{}}
	require.ErrorContains(t, k.locate("d"), "is in the git checkout")
	require.NoDirExists(t, filepath.Join(root, "kept"))
	outside := filepath.Join(t.TempDir(), "kept", "submissions")
	k = keptFile{dir: outside, env: &Env{}}
	require.NoError(t, k.locate("d"))
	require.DirExists(t, outside)
}
