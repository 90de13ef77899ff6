package host

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
)

// Decision 7: a run that fails behind the plan counts against its hotkey, because it
// took a worker's time; what the gate refuses does not.
func TestDecision7ARunThatFailsBehindThePlanCountsAgainstItsHotkey(t *testing.T) {
	w := alone(t, func(w *world) { w.options.Limits.HotkeyPerHour = 1 })
	w.harvest.run = func(context.Context, *intake.Outcome) (intake.Result, error) {
		return intake.Result{}, &intake.Refusal{Row: "23", Name: "run", Status: unavailable, Text: "the pod went away"}
	}
	require.Contains(t, w.submit(unavailable, w.sent(nll0, 1, 1))["error"], "the pod went away")
	require.Contains(t, w.submit(tooMany, w.sent(nll0, 1, 2))["error"], "too many submissions of this hotkey")
	require.Zero(t, w.rows())
}

// A stop during the recovery is a stop, not a failure of the process.
func TestRunReturnsNothingWhenItIsStoppedBeforeItBegan(t *testing.T) {
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "prova.db"))
	require.NoError(t, w.open(t))
	defer w.db.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, w.Run(ctx))
}
