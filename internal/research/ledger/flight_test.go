package ledger

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/intake"
)

func TestAFlightKeepsWhatARunIsDecidedAgainOver(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Publish(ctx, version("topic-a", 1)))
		require.NoError(t, f.Publish(ctx, version("topic-a", 2)))
		s := submission("topic-a", 1, 1)
		s.Epoch = 7
		body := []byte("{\"x\":\xff\x00}")
		got := f.admit(t, s, intake.Run, AdmitOptions{ContentType: "application/json; q=\xff\x00", Body: body, QueueCap: 1, Serial: true})
		want := Flight{
			ID: got.Flight, Digest: s.Digest, TopicID: "topic-a", TopicVersion: 2, Hotkey: s.Hotkey, ArtifactDigest: s.ArtifactDigest,
			Nonce: *s.Request.SubmitNonce, Epoch: 7, ContentType: "application/json; q=\uFFFD\uFFFD", Serial: true, State: Queued, AcceptedAt: f.Ledger.now(),
		}
		waiting, err := f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Equal(t, want, *waiting)
		all, err := f.Flights(ctx)
		require.NoError(t, err)
		require.Equal(t, []Flight{want}, all)

		f.advance(time.Minute)
		claimed, err := f.Claim(ctx, "w1", time.Hour)
		require.NoError(t, err)
		want.State, want.Holder, want.Body = Running, "w1", body
		want.StartedAt, want.PhaseAt, want.BeatAt = f.Ledger.now(), f.Ledger.now(), f.Ledger.now()
		require.Equal(t, want, *claimed)

		// The version that the host froze wins over the newest one.
		other := submission("topic-a", 2, 1)
		a := options()
		a.TopicVersion = 1
		id := f.admit(t, other, intake.Run, a).Flight
		stored, err := f.Flight(ctx, id)
		require.NoError(t, err)
		require.Equal(t, uint32(1), stored.TopicVersion)
		require.Equal(t, a.Body, stored.Body)
		gone, err := f.Flight(ctx, 999)
		require.NoError(t, err)
		require.Nil(t, gone)
	})
}

func TestDecision6OneRunOfAHotkeyAndABoundedQueue(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		a := options()
		a.QueueCap = 2
		first := submission("topic-a", 1, 1)
		f.admit(t, first, intake.Run, a)
		f.refused(t, submission("topic-b", 1, 2), "23a", a)
		again := submission("topic-a", 1, 1) // the same artefact under another nonce
		again.Request.SubmitNonce = ptr(hash("another"))
		f.refused(t, again, "8d", a)
		again.Signed = false
		f.refused(t, again, "8d", a)

		f.admit(t, submission("topic-a", 2, 1), intake.Run, a)
		f.refused(t, submission("topic-a", 3, 1), "23b", a)
		limited := a
		limited.Limited = true
		f.refused(t, submission("topic-a", 3, 1), "8c", limited)
		_, err := f.Claim(t.Context(), "w1", time.Hour)
		require.NoError(t, err)
		f.admit(t, submission("topic-a", 3, 1), intake.Run, a) // what runs does not wait
	})
}

func TestDecision6PlacesInTheQueue(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var ids []FlightID
		for miner := range 3 {
			ids = append(ids, f.admit(t, submission("topic-a", miner, 1), intake.Run, options()).Flight)
		}
		positions := func() (all []int) {
			for _, id := range ids {
				n, err := f.Position(ctx, id)
				require.NoError(t, err)
				all = append(all, n)
			}
			return all
		}
		require.Equal(t, []int{1, 2, 3}, positions())
		claimed, err := f.Claim(ctx, "w1", time.Hour)
		require.NoError(t, err)
		require.Equal(t, ids[0], claimed.ID, "the oldest first")
		require.Equal(t, []int{0, 1, 2}, positions())
		require.NoError(t, f.Refuse(ctx, ids[0], "w1", 503, "no"))
		require.Equal(t, []int{0, 1, 2}, positions())
	})
}

func TestAnAdmissionThatIsRefusedWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		before := dump(t, f.db)
		a := options()
		a.QueueCap = 0
		f.refused(t, submission("topic-a", 1, 1), "23b", a)
		require.Equal(t, before, dump(t, f.db))
		_, err := f.Admit(t.Context(), submission("topic-a", 1, 1), a, func(intake.Miner) (*intake.Outcome, *intake.Refusal) { return nil, nil })
		require.Error(t, err)
		_, err = f.Admit(t.Context(), submission("topic-a", 1, 1), a, func(intake.Miner) (*intake.Outcome, *intake.Refusal) { panic("a fault in the gate") })
		require.ErrorContains(t, err, "a fault in the gate")
		require.Equal(t, before, dump(t, f.db))
	})
}

func TestSection11Row22ARejectIsARowAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := submission("topic-a", 1, 1)
		f.admit(t, s, intake.Run, options())
		flight, err := f.Claim(ctx, "w1", time.Hour)
		require.NoError(t, err)
		require.NoError(t, f.Refuse(ctx, flight.ID, "w1", 503, "no"))

		got := f.admit(t, s, intake.Reject, options())
		require.Zero(t, got.Flight)
		require.Equal(t, "pf_0000000000000000", got.Row.ID)
		row, meta, err := f.Row(ctx, 0)
		require.NoError(t, err)
		sameRow(t, got.Row, row)
		require.False(t, meta.Attempt.Pass)
		require.Nil(t, meta.Attempt.Primary)
		gone, err := f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Nil(t, gone, "the row takes the place of the refusal")

		again := f.admit(t, s, intake.Reject, options())
		require.Equal(t, intake.Rejoin, again.Outcome.Kind)
		sameRow(t, row, again.Row)

		unsigned := submission("topic-a", 1, 1)
		unsigned.Signed, unsigned.Request.SubmitNonce = false, nil
		require.Equal(t, "pf_0000000000000001", f.admit(t, unsigned, intake.Reject, options()).Row.ID, "a repeated submission is legal")
		newest, err := f.RowByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Equal(t, "pf_0000000000000001", newest.ID)
		none, err := f.RowByDigest(ctx, hash("no submission"))
		require.NoError(t, err)
		require.Nil(t, none)
	})
}

func TestASerialFlightRunsAloneOnItsTopic(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		serial := options()
		serial.Serial = true
		a := f.admit(t, submission("topic-a", 1, 1), intake.Run, serial).Flight
		f.admit(t, submission("topic-a", 2, 1), intake.Run, serial)
		b := f.admit(t, submission("topic-b", 3, 1), intake.Run, serial).Flight
		free := f.admit(t, submission("topic-a", 4, 1), intake.Run, options()).Flight
		claim := func() FlightID {
			got, err := f.Claim(ctx, "w1", time.Hour)
			require.NoError(t, err)
			if got == nil {
				return 0
			}
			return got.ID
		}
		require.Equal(t, a, claim())
		require.Equal(t, b, claim(), "the second of topic-a waits, others pass it")
		require.Equal(t, free, claim())
		require.Zero(t, claim())
		require.NoError(t, f.Refuse(ctx, a, "w1", 503, "no"))
		require.Zero(t, claim(), "another one of the topic still runs")
		require.NoError(t, f.Refuse(ctx, free, "w1", 503, "no"))
		require.Equal(t, a+1, claim())
	})
}

func TestAStaleFlightGoesToAnotherHolder(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s, c := f.run(t, "topic-a", 1, 2)
		f.advance(time.Minute)
		require.NoError(t, f.Beat(ctx, c.Flight, "w1", "inspect"))
		phase := f.Ledger.now()
		f.advance(time.Minute)
		require.NoError(t, f.Beat(ctx, c.Flight, "w1", "inspect"))
		require.NoError(t, f.Beat(ctx, c.Flight, "w1", ""))
		got, err := f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Equal(t, "inspect", got.Phase)
		require.Equal(t, phase, got.PhaseAt, "since when it is in its phase")
		require.Equal(t, f.Ledger.now(), got.BeatAt)
		require.ErrorIs(t, f.Beat(ctx, c.Flight, "w2", "inspect"), ErrLost)

		f.advance(time.Minute)
		none, err := f.Claim(ctx, "w2", time.Minute)
		require.NoError(t, err)
		require.Nil(t, none, "heard of not longer ago than that")
		f.advance(time.Microsecond)
		taken, err := f.Claim(ctx, "w2", time.Minute)
		require.NoError(t, err)
		require.Equal(t, c.Flight, taken.ID)
		require.Empty(t, taken.Phase)

		require.ErrorIs(t, f.Beat(ctx, c.Flight, "w1", "run"), ErrLost)
		require.ErrorIs(t, f.Refuse(ctx, c.Flight, "w1", 503, "no"), ErrLost)
		require.ErrorIs(t, f.Commit(ctx, c), ErrLost)
		c.Holder = "w2"
		require.NoError(t, f.Commit(ctx, c))
		require.ErrorIs(t, f.Beat(ctx, c.Flight, "w2", "run"), ErrLost, "it has landed")
		_, err = f.Claim(ctx, "", time.Minute)
		require.Error(t, err)
	})
}

func TestARefusalOfAnyBytesEndsTheFlightAndIsPurged(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s, c := f.run(t, "topic-a", 1, 2)
		require.NoError(t, f.Beat(ctx, c.Flight, "w1", "\xff\x00"))
		require.NoError(t, f.Refuse(ctx, c.Flight, "w1", 503, "guest said \xff\x00"))
		got, err := f.Flight(ctx, c.Flight)
		require.NoError(t, err)
		require.Equal(t, "guest said \uFFFD\uFFFD", got.Text)
		require.Empty(t, got.Body)
		n, err := f.InFlight(ctx, 0)
		require.NoError(t, err)
		require.Zero(t, n)
		all, err := f.Flights(ctx)
		require.NoError(t, err)
		require.Empty(t, all)

		require.NoError(t, f.Purge(ctx, f.Ledger.now()))
		got, err = f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.NotNil(t, got)
		require.NoError(t, f.Purge(ctx, f.Ledger.now().Add(time.Microsecond)))
		got, err = f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Nil(t, got)

		f.run(t, "topic-a", 1, 2)
		require.NoError(t, f.Purge(ctx, f.Ledger.now().Add(time.Hour)))
		all, err = f.Flights(ctx)
		require.NoError(t, err)
		require.Len(t, all, 1, "what is in flight is not purged")
	})
}

// TestManyProcessesAdmitAndClaimOnce: of copies of one submission one gets a flight,
// of a hotkey's submissions one at a time, and each flight is claimed once.
func TestManyProcessesAdmitAndClaimOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ledgers := []*Ledger{f.Ledger, openLedger(t, f.app, f.clock)}
		var mu sync.Mutex
		admitted, claimed := map[FlightID]int{}, map[FlightID]int{}
		var group sync.WaitGroup
		for i := range 24 {
			group.Go(func() {
				s := submission("topic-a", i%4, i%8)
				got, err := ledgers[i%2].Admit(context.Background(), s, options(), gate(s, intake.Run))
				if err != nil {
					t.Error(err)
					return
				}
				if got.Outcome != nil && got.Outcome.Kind == intake.Run {
					mu.Lock()
					admitted[got.Flight]++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.Len(t, admitted, 4, "one for each hotkey")
		for i := range 12 {
			group.Go(func() {
				got, err := ledgers[i%2].Claim(context.Background(), "w", time.Hour)
				if err != nil {
					t.Error(err)
				} else if got != nil {
					mu.Lock()
					claimed[got.ID]++
					mu.Unlock()
				}
			})
		}
		group.Wait()
		require.Equal(t, admitted, claimed)
	})
}
