package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
)

func TestDecision5ANonceLeadsToOneRow(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		s, c := f.run(t, "topic-a", 1, 2)
		other := submission("topic-a", 1, 99)
		other.Request.SubmitNonce = s.Request.SubmitNonce
		f.refused(t, other, "8a", options())

		again := f.admit(t, s, intake.Run, options())
		require.Equal(t, intake.Rejoin, again.Outcome.Kind)
		require.Equal(t, c.Flight, again.Flight)
		require.Nil(t, again.Row)

		require.NoError(t, f.Commit(t.Context(), c))
		again = f.admit(t, s, intake.Run, options())
		require.Equal(t, intake.Rejoin, again.Outcome.Kind)
		require.Zero(t, again.Flight)
		sameRow(t, c.Row, again.Row)
		f.refused(t, other, "8a", options())
	})
}

func TestDecision5ARefusalDoesNotBurnTheNonce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		s, c := f.run(t, "topic-a", 1, 2)
		f.advance(time.Second)
		require.NoError(t, f.Refuse(t.Context(), c.Flight, "w1", 503, "the deadline of 10 s passed"))

		flight, err := f.FlightByDigest(t.Context(), s.Digest)
		require.NoError(t, err)
		require.Equal(t, Refused, flight.State)
		require.Equal(t, 503, flight.Status)
		require.Equal(t, "the deadline of 10 s passed", flight.Text)
		require.Equal(t, f.Ledger.now(), flight.EndedAt)
		require.ErrorIs(t, f.Commit(t.Context(), c), ErrLost)

		got := f.admit(t, s, intake.Run, options())
		require.Equal(t, intake.Run, got.Outcome.Kind)
		require.Equal(t, intake.NonceFree, got.Miner.Nonce)
		require.NotEqual(t, c.Flight, got.Flight)
		flight, err = f.FlightByDigest(t.Context(), s.Digest)
		require.NoError(t, err)
		require.Equal(t, Queued, flight.State, "the next attempt takes the place of the refusal")
	})
}
