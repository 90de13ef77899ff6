package cli_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The walk of the research tutorial, as a person runs it: real binaries, three
// processes, five submissions, the payout of a closed epoch recomputed.
func TestTheResearchWalkEndsWithScoredRowsAndAnExplainedPayout(t *testing.T) {
	for _, program := range []string{"bash", "sha256sum"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "the walk needs %s, which Debian's coreutils and bash have", program)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "prova")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "../../cmd/prova")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	walk := exec.CommandContext(ctx, "bash", "../../examples/research/walk.sh", filepath.Join(dir, "walk"))
	// The script ends what it started; it gets the chance to when the test times out.
	walk.Cancel = func() error { return walk.Process.Signal(os.Interrupt) }
	walk.WaitDelay = 20 * time.Second
	walk.Env = append(os.Environ(), "PROVA="+binary, "EPOCH_SECONDS=10",
		"CONTROL="+freePort(t), "AGENT="+freePort(t), "FILES="+freePort(t))
	out, err = walk.CombinedOutput()
	require.NoError(t, err, "%s", out)

	text := string(out)
	for _, said := range []string{
		"topic fit-noise-v0: ready, a submission would run",
		"ThroughputMiss { value: 0.41, baseline: 0.42, epsilon_rel: 0.05 }",
		"state       champion",
		"anti-cheat checklist red: no_holdout_access",
		"FlopsUnderDeclared",
		"state       awaiting_admin",
		"checked     the server's payout is the one computed here",
		"its artefact repeats that of row 1",
		"promoted with 0.31",
		"== done",
	} {
		require.Contains(t, text, said)
	}
	require.Contains(t, text, "sandboxed=false", "nothing ran isolated, and the rows say so")
	for _, secret := range []string{"admin.token", "agent.token", "judge.key", "topic.key", "leaf.key"} {
		value, err := os.ReadFile(filepath.Join(dir, "walk", secret))
		require.NoError(t, err)
		value = bytes.TrimSpace(value)
		for _, log := range []string{"control.log", "agent.log", "control.out", "agent.out"} {
			seen, err := os.ReadFile(filepath.Join(dir, "walk", log))
			require.NoError(t, err)
			require.False(t, bytes.Contains(seen, value), "%s holds the content of %s", log, secret)
			require.False(t, strings.Contains(string(seen), "127.0.0.1:9/v1"), "%s holds the judge's origin", log)
		}
	}
}

// freePort is a port of loopback that nobody listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	addr, ok := ln.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return strconv.Itoa(addr.Port)
}
