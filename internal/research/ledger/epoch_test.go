package ledger

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
)

func TestDecision3AnEpochClosesOnceAndNotOverAFlight(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		at := func(miner int, epoch uint64) *intake.Submission {
			s := submission("topic-a", miner, 1)
			s.Epoch = epoch
			return s
		}
		f.admit(t, at(1, 4), intake.Run, options())
		f.admit(t, at(2, 6), intake.Run, options())
		for epoch, want := range map[uint64]int{3: 0, 4: 1, 5: 1, 6: 2} {
			n, err := f.InFlight(ctx, epoch)
			require.NoError(t, err)
			require.Equal(t, want, n, "epoch %d", epoch)
		}
		require.NoError(t, f.CloseEpoch(ctx, 3, []byte("three")))
		require.ErrorIs(t, f.CloseEpoch(ctx, 4, nil), ErrInFlight)
		require.ErrorIs(t, f.CloseEpoch(ctx, 5, nil), ErrInFlight, "a run of an earlier epoch may still set the bar and be the original")
		none, err := f.Snapshot(ctx, 4)
		require.NoError(t, err)
		require.Nil(t, none)

		flight, err := f.Claim(ctx, "w1", time.Hour)
		require.NoError(t, err)
		require.NoError(t, f.Refuse(ctx, flight.ID, "w1", 503, "no"))
		require.NoError(t, f.CloseEpoch(ctx, 4, []byte("four")))
		require.ErrorIs(t, f.CloseEpoch(ctx, 4, []byte("four")), ErrClosed)
		require.NoError(t, f.CloseEpoch(ctx, 5, nil))
		require.Error(t, f.CloseEpoch(ctx, math.MaxUint64, nil))

		snapshot, err := f.Snapshot(ctx, 4)
		require.NoError(t, err)
		require.Equal(t, "four", string(snapshot))
		empty, err := f.Snapshot(ctx, 5)
		require.NoError(t, err)
		require.NotNil(t, empty)
		require.Empty(t, empty)
		closed, err := f.ClosedEpochs(ctx)
		require.NoError(t, err)
		require.Len(t, closed, 3)
		require.Equal(t, EpochClose{Epoch: 4, SHA256: "04efaf080f5a3e74e1c29d1ca6a48569382cbbcd324e8d59d2b83ef21c039f00", Bytes: 4, ClosedAt: f.Ledger.now()}, closed[1])
	})
}

func TestDecision3NothingIsAddedToAClosedEpoch(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.CloseEpoch(ctx, 5, nil))
		before := dump(t, f.db)
		for _, epoch := range []uint64{0, 4, 5} {
			for _, kind := range []intake.Kind{intake.Run, intake.Reject} {
				s := submission("topic-a", 1, 1)
				s.Epoch = epoch
				_, err := f.Admit(ctx, s, options(), gate(s, kind))
				require.ErrorIs(t, err, ErrClosed)
			}
		}
		require.Equal(t, before, dump(t, f.db))
		s := submission("topic-a", 1, 1)
		c := f.commitOf(t, s, 0, "", 2, nil)
		require.ErrorIs(t, f.Commit(ctx, c), ErrClosed)

		s.Epoch = 6
		c = f.commitOf(t, s, 0, "", 2, nil)
		require.NoError(t, f.Commit(ctx, c), "a row without a flight")
	})
}

func TestALongSnapshotIsStoredInPartsAndChecked(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for epoch, size := range []int{snapshotPart - 1, snapshotPart, snapshotPart + 1, 3*snapshotPart + 7} {
			long := bytes.Repeat([]byte{byte(epoch), 0xff, 0, '{'}, size/4+1)[:size]
			require.NoError(t, f.CloseEpoch(ctx, uint64(epoch), long))
			got, err := f.Snapshot(ctx, uint64(epoch))
			require.NoError(t, err)
			require.True(t, bytes.Equal(long, got), "%d bytes", size)
		}
	})
	f := newFixture(t, "sqlite:"+t.TempDir()+"/a.db")
	require.NoError(t, f.CloseEpoch(t.Context(), 0, []byte("snapshot")))
	_, err := f.db.Writer().Exec(`DROP TRIGGER proof_epoch_snapshot_no_update`)
	require.NoError(t, err)
	_, err = f.db.Writer().Exec(`UPDATE proof_epoch_snapshot SET data = CAST('Snapshot' AS BLOB)`)
	require.NoError(t, err)
	_, err = f.Snapshot(t.Context(), 0)
	require.ErrorContains(t, err, "no longer have the hash")
}
