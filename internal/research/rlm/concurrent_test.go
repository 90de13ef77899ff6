package rlm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/rlm/rlmtest"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// TestConcurrentSubmissionsOfOneTopic sends ten submissions of one topic through two
// engines on one store at a time, with random delays, failures and stops. Whatever
// the order: no worse one is crowned, each one ends as a row or as a refusal, and
// nobody keeps a lease.
func TestConcurrentSubmissionsOfOneTopic(t *testing.T) {
	const rounds, submissions = 2, 10
	each(t, func(t *testing.T, w *world) {
		other := &world{}
		*other = *w
		other.options.Artefacts = w.root
		other.n = 1000
		other.start(t)
		refusals := 0
		for round := range rounds {
			seed := uint64(round)
			r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test that can be repeated
			var wg sync.WaitGroup
			results := make([]error, submissions)
			for i := range submissions {
				miner := fmt.Sprintf("miner-%d-%d", round, i)
				artifact := hash("artefact", miner)
				s := wins(0.40 + 0.5*r.Float64())
				s.Delay = time.Duration(r.IntN(15)) * time.Millisecond
				var stop time.Duration
				switch r.IntN(6) {
				case 0:
					s.EvaluateErr = errors.New("guest failed")
				case 1:
					s.Unmeasured = true
				case 2:
					s.Red = []string{"same_seed"}
				case 3:
					stop = time.Duration(1+r.IntN(200)) * time.Millisecond
				}
				w.boundary.Script(artifact, s)
				o := w.outcome(miner, artifact)
				f := w.admit(t, o)
				engine := w.Engine
				if i%2 == 1 {
					engine = other.Engine
				}
				wg.Go(func() {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if stop > 0 {
						time.AfterFunc(stop, cancel)
					}
					for {
						_, err := engine.Evaluate(ctx, o, f, nil)
						if err != nil && ctx.Err() != nil { // the next start goes on with it
							ctx = context.Background()
							continue
						}
						if refusal, ok := errors.AsType[*intake.Refusal](err); ok {
							results[i] = errors.Join(err, w.ledger.Refuse(ctx, f.ID, f.Holder, refusal.Status, refusal.Text))
							return
						}
						results[i] = err
						return
					}
				})
			}
			wg.Wait()
			w.consistent(t)
			for _, err := range results {
				if err != nil {
					refused(t, err, 503)
					refusals++
				}
			}
			require.Equal(t, (round+1)*submissions, len(w.rows(t))+refusals, "each submission is a row or a refusal")
		}
	})
}

// consistent fails unless the ledger and the files beside it tell one story, of a
// topic that nobody is in.
func (w *world) consistent(t testing.TB) {
	t.Helper()
	w.free(t)
	require.Equal(t, rlm.Open, w.state(t))
	require.Empty(t, w.boundary.Running())
	flights, err := w.ledger.Flights(t.Context())
	require.NoError(t, err)
	require.Empty(t, flights)
	left, err := w.root.Leftovers()
	require.NoError(t, err)
	require.Empty(t, left)

	moves, err := w.ledger.Moves(t.Context(), w.id)
	require.NoError(t, err)
	state := rlm.State(moves[0].From)
	for _, m := range moves {
		require.Equal(t, string(state), m.From)
		state, err = rlm.Next(state, rlm.Event(m.Event))
		require.NoError(t, err)
		require.Equal(t, string(state), m.To)
	}

	rows := w.rows(t)
	promotions, err := w.ledger.Promotions(t.Context(), w.id)
	require.NoError(t, err)
	champions := 0
	for _, row := range rows {
		crowned := slices.ContainsFunc(promotions, func(p ledger.Promotion) bool { return p.SubmissionID == row.ID })
		require.Equal(t, crowned, row.State == family.Champion, "row %s says %s", row.ID, row.State)
		require.Equal(t, crowned, w.zip(t, row.ID).Manifest.Promoted, "zip of row %s", row.ID)
		if crowned {
			champions++
		}
	}
	require.Len(t, promotions, champions)
	bar, previous := sealed, (*string)(nil)
	for _, p := range promotions {
		require.True(t, family.RelativeWin(p.Primary, bar, family.Max, 0.05), "%v was crowned over %v", p.Primary, bar)
		require.Equal(t, previous, p.PreviousBest)
		require.InDelta(t, bar, *p.Bar, 0)
		bar, previous = p.Primary, &p.SubmissionID
	}
	if previous == nil {
		require.Empty(t, w.public(t, "best.json"))
	} else {
		require.Contains(t, w.public(t, "best.json"), *previous)
	}
	public := w.public(t, "events.jsonl") + w.public(t, "best.json")
	require.NoError(t, w.Recover(t.Context()))
	require.Equal(t, public, w.public(t, "events.jsonl")+w.public(t, "best.json"), "what was appended is what the ledger says")
}

func TestRunsOfOneTopicNeverOverlap(t *testing.T) {
	w := alone(t)
	var mu sync.Mutex
	inside := 0
	w.boundary.At = func(_ context.Context, call, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		switch wire.JobKind(call) {
		case wire.Inspect:
			inside++
			require.Equal(t, 1, inside)
		case wire.Evaluate:
			inside--
		}
		return nil
	}
	var wg sync.WaitGroup
	for i := range 4 {
		miner := fmt.Sprint("m", i)
		w.boundary.Script(hash("artefact", miner), rlmtest.Script{Primary: ptr(0.5), Delay: 3 * time.Millisecond})
		o := w.outcome(miner, hash("artefact", miner))
		f := w.admit(t, o)
		wg.Go(func() {
			if _, err := w.Evaluate(context.Background(), o, f, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.consistent(t)
}
