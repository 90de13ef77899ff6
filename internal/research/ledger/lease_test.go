package ledger

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDecision10ALeaseExpiresFromItsLastRenewal(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		const ttl = 5 * time.Minute
		first, err := f.Acquire(ctx, "topic-a", "w1", ttl)
		require.NoError(t, err)
		require.Equal(t, Lease{TopicID: "topic-a", Fence: 1, Holder: "w1", TTL: ttl}, *first)
		for _, holder := range []string{"w1", "w2"} {
			held, err := f.Acquire(ctx, "topic-a", holder, ttl)
			require.NoError(t, err)
			require.Nil(t, held)
		}
		other, err := f.Acquire(ctx, "topic-b", "w2", ttl)
		require.NoError(t, err)
		require.NotNil(t, other)

		f.advance(4 * time.Minute)
		require.NoError(t, f.Renew(ctx, *first))
		f.advance(4 * time.Minute)
		held, err := f.Acquire(ctx, "topic-a", "w2", ttl)
		require.NoError(t, err)
		require.Nil(t, held)
		f.advance(time.Minute)
		second, err := f.Acquire(ctx, "topic-a", "w2", ttl)
		require.NoError(t, err)
		require.Equal(t, uint64(2), second.Fence)

		require.ErrorIs(t, f.Renew(ctx, *first), ErrLease)
		require.ErrorIs(t, f.Release(ctx, *first), ErrLease)
		require.NoError(t, f.Release(ctx, *second))
		require.ErrorIs(t, f.Release(ctx, *second), ErrLease)
		require.ErrorIs(t, f.Renew(ctx, *second), ErrLease, "what was given back is not taken back")
		third, err := f.Acquire(ctx, "topic-a", "w1", ttl)
		require.NoError(t, err)
		require.Equal(t, uint64(3), third.Fence, "the fence grows with each holder")

		f.advance(time.Hour)
		require.NoError(t, f.Renew(ctx, *third), "nobody took it since")
		_, err = f.Acquire(ctx, "topic-c", "", ttl)
		require.Error(t, err)
	})
}

func TestDecision9AFencedWriterWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		old, err := f.Acquire(ctx, "topic-a", "w1", time.Minute)
		require.NoError(t, err)
		_, c := f.run(t, "topic-a", 1, 2)
		c.Lease = old
		f.advance(time.Minute)
		newer, err := f.Acquire(ctx, "topic-a", "w1", time.Minute) // even by the same holder
		require.NoError(t, err)
		before := dump(t, f.db)
		require.ErrorIs(t, f.Commit(ctx, c), ErrLease)
		require.Equal(t, before, dump(t, f.db))
		c.Lease = newer
		f.advance(time.Hour) // over, but nobody's yet
		require.NoError(t, f.Commit(ctx, c))
		require.NoError(t, f.Release(ctx, *newer), "a commit keeps the lease")

		_, c = f.run(t, "topic-a", 2, 2)
		c.Lease = newer
		require.ErrorIs(t, f.Commit(ctx, c), ErrLease, "given back")
	})
}

func TestManyProcessesAcquireALeaseOneAtATime(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ledgers := []*Ledger{f.Ledger, openLedger(t, f.app, f.clock)}
		var mu sync.Mutex
		inside, fences := 0, map[uint64]bool{}
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				l := ledgers[i%2]
				for done := false; !done; {
					lease, err := l.Acquire(context.Background(), "topic-a", "w", time.Hour)
					if err != nil {
						t.Error(err)
						return
					}
					if lease == nil {
						time.Sleep(time.Millisecond)
						continue
					}
					mu.Lock()
					inside++
					if inside != 1 || fences[lease.Fence] {
						t.Errorf("%d holders, fence %d", inside, lease.Fence)
					}
					fences[lease.Fence] = true
					inside--
					mu.Unlock()
					if err := l.Release(context.Background(), *lease); err != nil {
						t.Error(err)
					}
					done = true
				}
			})
		}
		group.Wait()
		require.Len(t, fences, 8)
	})
}
