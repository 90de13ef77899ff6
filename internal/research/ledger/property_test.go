package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// reign is what the ledger should know of one topic: its lease and its crowns.
type reign struct {
	topicID string
	fence   uint64
	holder  string
	expires time.Time
	crowns  []string // row ids, the best last
	best    float64
}

// TestPropertyCrownsAndFences plays random schedules of two holders on one topic
// against a model: leases that expire and are taken over, commits under any lease
// that was ever held, crowns decided against any best that ever was. A crown lands
// exactly if the model says so, and what does not land writes nothing.
func TestPropertyCrownsAndFences(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			m := reign{topicID: fmt.Sprintf("topic-%d", round), best: math.Inf(-1)}
			var leases []Lease
			const ttl = time.Minute
			valid := func(l Lease) bool { return l.Fence == m.fence && l.Holder == m.holder }
			anyLease := func() *Lease {
				if len(leases) == 0 {
					return nil
				}
				// The newest more often than an old one.
				return &leases[max(0, len(leases)-1-rapid.IntRange(0, 2).Draw(rt, "lease"))]
			}
			want := func(err error, ok bool, refusal error) {
				if ok && err != nil || !ok && !errors.Is(err, refusal) {
					rt.Fatalf("got %v, want %t or %v", err, ok, refusal)
				}
			}
			steps := map[string]func(*rapid.T){
				"time": func(rt *rapid.T) {
					f.advance(time.Duration(rapid.IntRange(1, 50).Draw(rt, "seconds")) * time.Second)
				},
				"acquire": func(rt *rapid.T) {
					holder := rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "holder")
					free := m.holder == "" || !f.Ledger.now().Before(m.expires)
					got, err := f.Acquire(ctx, m.topicID, holder, ttl)
					if err != nil || (got != nil) != free {
						rt.Fatalf("got %v, %v; free is %t", got, err, free)
					}
					if free {
						m.fence, m.holder, m.expires = m.fence+1, holder, f.Ledger.now().Add(ttl)
						if got.Fence != m.fence {
							rt.Fatalf("fence %d, want %d", got.Fence, m.fence)
						}
						leases = append(leases, *got)
					}
				},
				"renew": func(rt *rapid.T) {
					if l := anyLease(); l != nil {
						want(f.Renew(ctx, *l), valid(*l), ErrLease)
						if valid(*l) {
							m.expires = f.Ledger.now().Add(ttl)
						}
					}
				},
				"release": func(rt *rapid.T) {
					if l := anyLease(); l != nil {
						want(f.Release(ctx, *l), valid(*l), ErrLease)
						if valid(*l) {
							m.holder = ""
						}
					}
				},
				"commit": func(rt *rapid.T) {
					lease := anyLease()
					if lease == nil {
						return
					}
					f.n++
					s := submission(m.topicID, f.n, f.n)
					primary := float64(rapid.IntRange(2, 9).Draw(rt, "primary"))
					var crown *Crown
					if rapid.Bool().Draw(rt, "crown") {
						crown = crownOf(nil, primary)
						if at := rapid.IntRange(-1, len(m.crowns)-1).Draw(rt, "expected"); at >= 0 {
							crown.Expected = &m.crowns[at]
						}
					}
					c := f.commitOf(t, s, 0, "", primary, crown)
					c.Lease = lease
					err := f.Commit(ctx, c)
					swap := crown == nil || len(m.crowns) == 0 && crown.Expected == nil ||
						len(m.crowns) > 0 && crown.Expected != nil && *crown.Expected == m.crowns[len(m.crowns)-1] && primary > m.best
					switch {
					case !valid(*lease):
						want(err, false, ErrLease)
					default:
						want(err, swap, ErrLostSwap)
					}
					row, _, readErr := f.Row(ctx, c.Attempt.Row)
					if readErr != nil || (row != nil) != (err == nil) {
						rt.Fatalf("row %v, %v after %v", row, readErr, err)
					}
					if err == nil && crown != nil {
						m.crowns, m.best = append(m.crowns, c.Row.ID), primary
					}
				},
				"": func(rt *rapid.T) {
					all, err := f.Promotions(ctx, m.topicID)
					if err != nil || len(all) != len(m.crowns) {
						rt.Fatalf("%d promotions, %v; want %d", len(all), err, len(m.crowns))
					}
					for i, p := range all {
						if p.SubmissionID != m.crowns[i] {
							rt.Fatalf("promotion %d is of %s, want %s", i, p.SubmissionID, m.crowns[i])
						}
					}
				},
			}
			rt.Repeat(steps)
		})
	})
}

// TestPropertyANonceLeadsToOneRow plays random submissions, claims, refusals and
// commits of a few miners against a model of nonces and flights.
func TestPropertyANonceLeadsToOneRow(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := context.Background()
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			const miners, artefacts, nonces, places = 3, 3, 3, 2
			type flight struct {
				s      *intake.Submission
				id     FlightID
				holder string // "" while it waits
			}
			var flights []*flight                     // oldest first
			burned := map[string]string{}             // nonce of a hotkey → row id
			bodies := map[string]*intake.Submission{} // of burned ones
			reserved := func(key string) *flight {
				for _, fl := range flights {
					if fl.s.Hotkey+*fl.s.Request.SubmitNonce == key {
						return fl
					}
				}
				return nil
			}
			drop := func(gone *flight) {
				for i, fl := range flights {
					if fl == gone {
						flights = append(flights[:i:i], flights[i+1:]...)
						return
					}
				}
			}
			running := func() (all []*flight) {
				for _, fl := range flights {
					if fl.holder != "" {
						all = append(all, fl)
					}
				}
				return all
			}
			defer func() { // so that the next round starts with an empty queue
				for _, fl := range flights {
					for fl.holder == "" {
						got, err := f.Claim(ctx, "sweep", time.Hour)
						if err != nil || got == nil {
							t.Fatalf("the queue does not empty: %v", err)
						}
						for _, other := range flights {
							if other.id == got.ID {
								other.holder = "sweep"
							}
						}
					}
					if err := f.Refuse(ctx, fl.id, fl.holder, 503, "swept"); err != nil {
						t.Fatal(err)
					}
				}
			}()
			rt.Repeat(map[string]func(*rapid.T){
				"submit": func(rt *rapid.T) {
					miner := round*miners + rapid.IntRange(0, miners-1).Draw(rt, "miner")
					s := submission("topic-a", miner, rapid.IntRange(1, artefacts).Draw(rt, "artefact"))
					s.Request.SubmitNonce = ptr(hash(miner, "n", rapid.IntRange(1, nonces).Draw(rt, "nonce")))
					kind := rapid.SampledFrom([]intake.Kind{intake.Run, intake.Run, intake.Run, intake.Reject}).Draw(rt, "kind")
					a := options()
					a.QueueCap = places
					key := s.Hotkey + *s.Request.SubmitNonce
					want := intake.Miner{}
					waiting := 0
					for _, fl := range flights {
						if fl.holder == "" {
							waiting++
						}
						want.InFlight = want.InFlight || fl.s.Digest == s.Digest
						want.Running = want.Running || fl.s.Hotkey == s.Hotkey && fl.s.Digest != s.Digest
					}
					want.QueueFull = waiting >= places
					known := reserved(key)
					if row := burned[key]; row != "" {
						want.Nonce = intake.NonceOtherBody
						if bodies[key].Digest == s.Digest {
							want.Nonce = intake.NonceSameBody
						}
					} else if known != nil {
						want.Nonce = intake.NonceOtherBody
						if known.s.Digest == s.Digest {
							want.Nonce = intake.NonceSameBody
						}
					}
					got, err := f.Admit(ctx, s, a, gate(s, kind))
					if err != nil {
						rt.Fatal(err)
					}
					if got.Miner != want {
						rt.Fatalf("got %+v, want %+v", got.Miner, want)
					}
					switch {
					case got.Refusal != nil:
					case got.Outcome.Kind == intake.Rejoin && known != nil:
						if got.Flight != known.id || got.Row != nil {
							rt.Fatalf("rejoined %d, want %d", got.Flight, known.id)
						}
					case got.Outcome.Kind == intake.Rejoin:
						if got.Row == nil || got.Row.ID != burned[key] {
							rt.Fatalf("rejoined %v, want row %s", got.Row, burned[key])
						}
					case got.Outcome.Kind == intake.Reject:
						burned[key], bodies[key] = got.Row.ID, s
					default:
						flights = append(flights, &flight{s: s, id: got.Flight})
					}
				},
				"claim": func(rt *rapid.T) {
					holder := rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "holder")
					got, err := f.Claim(ctx, holder, time.Hour)
					if err != nil {
						rt.Fatal(err)
					}
					for _, fl := range flights {
						if fl.holder == "" {
							if got == nil || got.ID != fl.id {
								rt.Fatalf("claimed %v, want %d", got, fl.id)
							}
							fl.holder = holder
							return
						}
					}
					if got != nil {
						rt.Fatalf("claimed %d where nothing waits", got.ID)
					}
				},
				"end": func(rt *rapid.T) {
					all := running()
					if len(all) == 0 {
						return
					}
					fl := rapid.SampledFrom(all).Draw(rt, "flight")
					holder := rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "holder")
					var err error
					var c Commit
					refuse := rapid.Bool().Draw(rt, "refuse")
					if refuse {
						err = f.Refuse(ctx, fl.id, holder, 503, "no")
					} else {
						c = f.commitOf(t, fl.s, fl.id, holder, 2, nil)
						err = f.Commit(ctx, c)
					}
					if holder != fl.holder {
						if !errors.Is(err, ErrLost) {
							rt.Fatalf("got %v of another holder", err)
						}
						return
					}
					if err != nil {
						rt.Fatal(err)
					}
					drop(fl)
					if !refuse {
						key := fl.s.Hotkey + *fl.s.Request.SubmitNonce
						burned[key], bodies[key] = c.Row.ID, fl.s
					}
				},
				"": func(rt *rapid.T) {
					all, err := f.Flights(ctx)
					if err != nil || len(all) != len(flights) {
						rt.Fatalf("%d flights, %v; want %d", len(all), err, len(flights))
					}
				},
			})
		})
		var twice int
		require.NoError(t, f.db.Reader().QueryRow(`SELECT COUNT(*) FROM (SELECT row_id FROM proof_nonce WHERE state = 'burned' GROUP BY row_id HAVING COUNT(*) > 1) x`).Scan(&twice))
		require.Zero(t, twice)
	})
}

// TestPropertyFiguresAreKeptToTheLastBit: what pays is what was measured.
func TestPropertyFiguresAreKeptToTheLastBit(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		rapid.Check(t, func(rt *rapid.T) {
			primary := rapid.Float64().Filter(func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) && x != 0 }).Draw(rt, "primary")
			f.n++
			c := f.commitOf(t, submission("topic-a", f.n, 1), 0, "", primary, nil)
			if err := f.Commit(context.Background(), c); err != nil {
				rt.Fatal(err)
			}
			row, meta, err := f.Row(context.Background(), c.Attempt.Row)
			if err != nil {
				rt.Fatal(err)
			}
			for name, got := range map[string]float64{"row": *row.Verdict.Harness.CustomValue, "attempt": *meta.Attempt.Primary} {
				if math.Float64bits(got) != math.Float64bits(primary) {
					rt.Fatalf("%s: %x, want %x", name, got, primary)
				}
			}
			if (row.State == family.AwaitingAdmin) != meta.Attempt.Pass {
				rt.Fatalf("state %s, pass %t", row.State, meta.Attempt.Pass)
			}
		})
	})
}
