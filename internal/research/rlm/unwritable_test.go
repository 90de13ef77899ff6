package rlm_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/rlm"
)

func TestARunWhoseArtefactCouldNotBeKeptIsNotBegun(t *testing.T) {
	w := alone(t)
	require.NoError(t, os.RemoveAll(w.dir))
	_, err := w.run(t, "a", wins(0.5))
	require.Equal(t, "backend: the store failed; nothing was stored", refused(t, err, 503).Text)
	require.Empty(t, w.boundary.Jobs(), "nothing was inspected and nothing spent")
	require.Zero(t, w.boundary.Booted())
	require.Equal(t, rlm.Open, w.state(t))
	require.Contains(t, w.log.String(), "level=ERROR", "it is the operator's to mend")
	require.NotContains(t, w.log.String(), w.dir)
	w.free(t)
}
