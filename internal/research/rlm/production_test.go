package rlm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// Decision 12: what an attestation says of its sandbox counts for nothing in
// production where another driver than Firecracker made the run, neither for a row nor
// for a baseline. The topic does not ask for Firecracker, so that elsewhere each of
// these runs is scored.
func TestDecision12AProductionEngineTakesFirecrackersRunsAlone(t *testing.T) {
	for _, c := range []struct {
		driver    string
		sandboxed bool
		taken     bool
		otherwise bool // taken by an engine that is for development
	}{
		{"firecracker", true, true, true},
		{"Firecracker v1.9.0", true, true, true},
		{"", true, true, true}, // an agent that names no driver has only that one
		{"", false, false, true},
		{"firecracker", false, false, true},
		{"qemu", false, false, true},
		{"qemu", true, false, false},
		{"gvisor", false, false, true},
		{"process", false, false, true},
		{"fake (nothing is isolated)", false, false, true},
		{"firecracker-like", false, false, true},
		{"firecracker-like", true, false, false},
	} {
		name := c.driver
		if c.sandboxed {
			name += " that says sandboxed"
		}
		t.Run(name, func(t *testing.T) {
			w := alone(t)
			w.doc.Constraints.FirecrackerRequired = false
			w.sign(t)
			s := wins(0.5)
			s.Evaluated = func(_ *wire.Output, a *wire.Attestation) { a.Driver, a.Sandboxed = c.driver, c.sandboxed }
			row, err := w.run(t, "a", s)
			if c.otherwise {
				require.NoError(t, err)
				require.Equal(t, family.Champion, row.State)
			} else {
				require.Contains(t, refused(t, err, 503).Text, "only Firecracker is that")
			}
			rows := len(w.rows(t))

			w.RequireFirecracker()
			s = wins(0.6)
			s.Evaluated = func(_ *wire.Output, a *wire.Attestation) { a.Driver, a.Sandboxed = c.driver, c.sandboxed }
			row, err = w.run(t, "b", s)
			if c.taken {
				require.NoError(t, err)
				require.Equal(t, family.Champion, row.State)
				return
			}
			require.Contains(t, refused(t, err, 503).Text, "a production host takes Firecracker's alone")
			require.Len(t, w.rows(t), rows)
			w.free(t)
		})
	}
}

func TestDecision12AProductionEngineTakesNoStandinEvenWhereASettingAllowsIt(t *testing.T) {
	w := alone(t)
	w.start(t, func(o *rlm.Options) { o.AllowStandin = true })
	s := wins(0.5)
	s.Evaluated = func(_ *wire.Output, a *wire.Attestation) { a.Standin = true }
	_, err := w.run(t, "a", s)
	require.NoError(t, err)
	w.RequireFirecracker()
	_, err = w.run(t, "b", s)
	require.Contains(t, refused(t, err, 503).Text, "stand-in of the sandbox; a production host takes none")
	require.Len(t, w.rows(t), 1)
}

func TestDecision12AProductionEngineMeasuresNoBaselineOnAnotherDriver(t *testing.T) {
	w := alone(t)
	w.doc.Constraints.FirecrackerRequired = false
	w.draft(t)
	w.boundary.Baseline = rlmtest.Script{Primary: ptr(sealed), Flops: 500}
	w.boundary.Baseline.Evaluated = func(_ *wire.Output, a *wire.Attestation) { a.Driver, a.Sandboxed = "qemu", false }
	w.RequireFirecracker()
	_, err := w.Setup(t.Context(), topicID, &owner{yes: true})
	require.ErrorContains(t, err, "a production host takes Firecracker's alone")
	m, err := w.ledger.LatestMeasurement(t.Context(), topicID)
	require.NoError(t, err)
	require.Nil(t, m)
}

func TestSection154AMalformedCustomIDIsRefusedByTheNameOfItsVariable(t *testing.T) {
	w := alone(t)
	o := w.options
	o.CustomIDs = []string{customID, "Harness Rate"}
	_, err := rlm.New(o)
	require.EqualError(t, err, `PROOF_VM_RUNNER_CUSTOM_IDS: custom id "Harness Rate" must match [a-z0-9][a-z0-9_-]{1,63}`)
}
