package ledger

import (
	"encoding/json/v2"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

func crownOf(expected *string, primary float64) *Crown {
	return &Crown{Expected: expected, Primary: primary, Bar: ptr(1.0), Direction: family.Max}
}

// crowned commits a champion of a topic and returns its row id.
func (f *fixture) crowned(t *testing.T, topicID string, miner int, primary float64, expected *string) string {
	t.Helper()
	s, c := f.run(t, topicID, miner, primary)
	c = f.commitOf(t, s, c.Flight, c.Holder, primary, crownOf(expected, primary))
	require.NoError(t, f.Commit(t.Context(), c))
	return c.Row.ID
}

func TestDecision9ARunLandsWhole(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		require.NoError(t, f.Apply(ctx, move("open", "submission_received", "evaluating"), move("evaluating", "promotion_candidate", "promoting")))
		lease, err := f.Acquire(ctx, "topic-a", "w1", time.Minute)
		require.NoError(t, err)
		s, c := f.run(t, "topic-a", 1, 2.5)
		c = f.commitOf(t, s, c.Flight, c.Holder, 2.5, crownOf(nil, 2.5))
		c.Lease, c.Moves = lease, []Move{move("promoting", "promoted", "open")}
		require.NoError(t, f.Commit(ctx, c))

		row, meta, err := f.Row(ctx, c.Attempt.Row)
		require.NoError(t, err)
		sameRow(t, c.Row, row)
		require.Equal(t, family.Champion, row.State)
		require.Equal(t, RowMeta{Attempt: *c.Attempt, TreeDigest: c.TreeDigest, CreatedAt: f.Ledger.now()}, *meta)
		best, err := f.Best(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, Promotion{
			ID: best.ID, TopicID: "topic-a", SubmissionID: row.ID, SubmissionDigest: s.Digest, Primary: 2.5, Bar: ptr(1.0), CreatedAt: f.Ledger.now(),
		}, *best)
		artefact, err := f.Artefact(ctx, "topic-a", c.Attempt.Row)
		require.NoError(t, err)
		require.Equal(t, ArtefactRecord{TopicID: "topic-a", SubmissionID: row.ID, SubmissionDigest: s.Digest, Artefact: *c.Artefact, CreatedAt: f.Ledger.now()}, *artefact)
		all, err := f.Artefacts(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, []ArtefactRecord{*artefact}, all)
		state, err := f.State(ctx, "topic-a")
		require.NoError(t, err)
		require.Equal(t, "open", state)
		flight, err := f.FlightByDigest(ctx, s.Digest)
		require.NoError(t, err)
		require.Nil(t, flight)
		wholeness(t, f.Ledger)

		require.ErrorIs(t, f.Commit(ctx, c), ErrLost, "once")
		none, meta, err := f.Row(ctx, 99)
		require.NoError(t, err)
		require.Nil(t, none)
		require.Nil(t, meta)
		missing, err := f.Artefact(ctx, "topic-b", c.Attempt.Row)
		require.NoError(t, err)
		require.Nil(t, missing)
	})
}

func TestDecision9ALostSwapWritesNothingAndTheRowLandsWithoutACrown(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.crowned(t, "topic-a", 1, 2, nil)
		second := f.crowned(t, "topic-a", 2, 3, &first)
		for name, crown := range map[string]*Crown{
			"decided against no best":         crownOf(nil, 9),
			"decided against an older best":   crownOf(&first, 9),
			"decided against a row of no one": crownOf(ptr("pf_00000000000000ff"), 9),
			"as good as the incumbent":        crownOf(&second, 3),
			"worse than the incumbent":        crownOf(&second, 2.5),
		} {
			t.Run(name, func(t *testing.T) {
				s, c := f.run(t, "topic-a", 3, crown.Primary)
				c = f.commitOf(t, s, c.Flight, c.Holder, crown.Primary, crown)
				before := dump(t, f.db)
				require.ErrorIs(t, f.Commit(ctx, c), ErrLostSwap)
				require.Equal(t, before, dump(t, f.db))

				c = f.commitOf(t, s, c.Flight, c.Holder, crown.Primary, nil)
				require.NoError(t, f.Commit(ctx, c))
				row, _, err := f.Row(ctx, c.Attempt.Row)
				require.NoError(t, err)
				require.Equal(t, family.AwaitingAdmin, row.State)
			})
		}
		all, err := f.Promotions(ctx, "topic-a")
		require.NoError(t, err)
		require.Len(t, all, 2)
		require.Equal(t, first, all[0].SubmissionID)
		require.Equal(t, &first, all[1].PreviousBest)
		// Another topic has no best to expect.
		s, c := f.run(t, "topic-b", 4, 5)
		require.ErrorIs(t, f.Commit(ctx, f.commitOf(t, s, c.Flight, c.Holder, 5, crownOf(&second, 5))), ErrLostSwap)
		wholeness(t, f.Ledger)
	})
}

func TestASwapGoesTheWayOfTheMetric(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first := f.crowned(t, "topic-a", 1, 3, nil)
		s, c := f.run(t, "topic-a", 2, 2)
		crown := crownOf(&first, 2)
		crown.Direction = family.Min
		require.NoError(t, f.Commit(t.Context(), f.commitOf(t, s, c.Flight, c.Holder, 2, crown)))
	})
}

func TestACommitThatFailsAnywhereLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.crowned(t, "topic-a", 1, 2, nil)
		s, c := f.run(t, "topic-a", 2, 3)
		good := f.commitOf(t, s, c.Flight, c.Holder, 3, crownOf(&first, 3))
		for name, edit := range map[string]func(*Commit){
			"no row":                           func(c *Commit) { c.Row = nil },
			"no attempt":                       func(c *Commit) { c.Attempt = nil },
			"an attempt of another row":        func(c *Commit) { c.Attempt.Row++ },
			"an attempt of another epoch":      func(c *Commit) { c.Attempt.Epoch++ },
			"an attempt that does not pass":    func(c *Commit) { c.Attempt.Pass = false },
			"a primary that is not finite":     func(c *Commit) { c.Attempt.Primary, c.Crown.Primary = ptr(math.NaN()), math.NaN() },
			"a crown for another primary":      func(c *Commit) { c.Crown.Primary = 4 },
			"a crown of no direction":          func(c *Commit) { c.Crown.Direction = "" },
			"a bar that is not finite":         func(c *Commit) { c.Crown.Bar = ptr(math.Inf(1)) },
			"a champion without a crown":       func(c *Commit) { c.Crown = nil },
			"a crown for no champion":          func(c *Commit) { c.Row.State = family.AwaitingAdmin },
			"an artefact that says otherwise":  func(c *Commit) { c.Artefact.Promoted = false },
			"an artefact that is not hashed":   func(c *Commit) { c.Artefact.SHA256 = "x" },
			"an artefact without end":          func(c *Commit) { c.Artefact.PrimaryValue = ptr(math.Inf(1)) },
			"an artefact of a negative size":   func(c *Commit) { c.Artefact.Bytes = -1 },
			"a tree digest that is none":       func(c *Commit) { c.TreeDigest = "tree" },
			"a row id that nobody reserved":    func(c *Commit) { c.Row.ID, c.Attempt.Row = intake.ID(999).String(), 999 },
			"a row id that is used":            func(c *Commit) { c.Row.ID, c.Attempt.Row = first, 0 },
			"a row id beyond every number":     func(c *Commit) { c.Row.ID, c.Attempt.Row = intake.ID(math.MaxUint64).String(), math.MaxUint64 },
			"a row id of another form":         func(c *Commit) { c.Row.ID = "pf_1" },
			"the flight of nobody":             func(c *Commit) { c.Flight = 999 },
			"another holder":                   func(c *Commit) { c.Holder = "w2" },
			"a flight of another submission":   func(c *Commit) { c.Row.SubmissionDigest = hash("other") },
			"a lease of another topic":         func(c *Commit) { c.Lease = &Lease{TopicID: "topic-b", Fence: 1, Holder: "w1"} },
			"a lease that nobody has":          func(c *Commit) { c.Lease = &Lease{TopicID: "topic-a", Fence: 1, Holder: "w1"} },
			"a move from another state":        func(c *Commit) { c.Moves = []Move{move("open", "x", "evaluating"), move("open", "x", "evaluating")} },
			"a move to a state that is none":   func(c *Commit) { c.Moves = []Move{move("open", "x", "y")} },
			"a text that no database can keep": func(c *Commit) { c.Row.Claim = "\xff" },
		} {
			t.Run(name, func(t *testing.T) {
				bad := good
				row, attempt, artefact, crown := *good.Row, *good.Attempt, *good.Artefact, *good.Crown
				bad.Row, bad.Attempt, bad.Artefact, bad.Crown = &row, &attempt, &artefact, &crown
				edit(&bad)
				before := dump(t, f.db)
				require.Error(t, f.Commit(ctx, bad))
				require.Equal(t, before, dump(t, f.db))
			})
		}
		require.NoError(t, f.Commit(ctx, good))
		wholeness(t, f.Ledger)
	})
}

func TestSection11Point4RowsAreListedByTopicMinerAndPage(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var stored []*intake.StoredRow
		for i, topicID := range []string{"topic-a", "topic-b", "topic-a", "topic-a"} {
			_, c := f.run(t, topicID, i%2, float64(i))
			require.NoError(t, f.Commit(ctx, c))
			stored = append(stored, c.Row)
		}
		ids := func(q RowQuery) (got []int) {
			rows, _, err := f.Rows(ctx, q)
			require.NoError(t, err)
			for _, r := range rows {
				id, err := intake.ParseID(r.ID)
				require.NoError(t, err)
				sameRow(t, stored[id], r)
				got = append(got, int(id))
			}
			return got
		}
		require.Equal(t, []int{3, 2, 1, 0}, ids(RowQuery{}))
		require.Equal(t, []int{3, 2, 0}, ids(RowQuery{Topic: "topic-a"}))
		require.Equal(t, []int{3, 1}, ids(RowQuery{Hotkey: hash("miner", 1)}))
		require.Equal(t, []int{2, 0}, ids(RowQuery{Topic: "topic-a", Hotkey: hash("miner", 0)}))
		require.Equal(t, []int{3, 2}, ids(RowQuery{Limit: 2}))
		require.Equal(t, []int{1, 0}, ids(RowQuery{Limit: 2, Before: ptr(intake.ID(2))}))
		require.Empty(t, ids(RowQuery{Before: ptr(intake.ID(0))}))
		require.Empty(t, ids(RowQuery{Topic: "' OR 1=1 --"}))
		require.Equal(t, []int{3, 2, 1, 0}, ids(RowQuery{Limit: MaxRows + 1}))
		_, _, err := f.Rows(ctx, RowQuery{Before: ptr(intake.ID(math.MaxUint64))})
		require.Error(t, err)
	})
}

func TestARowThatWasEditedByHandDoesNotReadBack(t *testing.T) {
	f := newFixture(t, "sqlite:"+t.TempDir()+"/a.db")
	_, c := f.run(t, "topic-a", 1, 2)
	require.NoError(t, f.Commit(t.Context(), c))
	_, err := f.db.Writer().Exec(`DROP TRIGGER proof_submission_no_update`)
	require.NoError(t, err)
	_, err = f.db.Writer().Exec(`UPDATE proof_submission SET document = CAST(REPLACE(CAST(document AS TEXT), '"epoch":0', '"epoch": 0') AS BLOB)`)
	require.NoError(t, err)
	_, _, err = f.Row(t.Context(), 0)
	require.ErrorIs(t, err, intake.ErrRow)
}

func TestDecision3PayoutReplaysFromTheLedger(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var want []payout.Row
		var previous *string
		for i := range 6 {
			f.n++
			s := submission("topic-a", i%3, f.n)
			s.Epoch = uint64(i / 2)
			f.admit(t, s, intake.Run, options())
			flight, err := f.Claim(ctx, "w1", time.Hour)
			require.NoError(t, err)
			primary := float64(i) / 3
			var crown *Crown
			if primary > 1.1 {
				crown = crownOf(previous, primary)
			}
			c := f.commitOf(t, s, flight.ID, "w1", primary, crown)
			require.NoError(t, f.Commit(ctx, c))
			if crown != nil {
				previous = &c.Row.ID
			}
			miner, err := payout.ParseHotkey(s.Hotkey)
			require.NoError(t, err)
			want = append(want, payout.Row{
				ID: uint64(i), Epoch: s.Epoch, TopicID: "topic-a", Miner: miner, Pass: c.Attempt.Pass, Primary: &primary,
				ArtifactDigest: s.ArtifactDigest, TreeDigest: c.TreeDigest,
			})
		}
		rows, err := f.PayoutRows(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, want, rows)
		rows, err = f.PayoutRows(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, want[:4], rows)
		promotions, err := f.PayoutPromotions(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, []payout.Promotion{{TopicID: "topic-a", Row: 4, Epoch: 2, Primary: 4.0 / 3}, {TopicID: "topic-a", Row: 5, Epoch: 2, Primary: 5.0 / 3}}, promotions)
		promotions, err = f.PayoutPromotions(ctx, 1)
		require.NoError(t, err)
		require.Empty(t, promotions)
		_, err = f.PayoutRows(ctx, math.MaxUint64)
		require.Error(t, err)

		topics := []payout.Topic{{ID: "topic-a", Mode: payout.WTA, Direction: family.Max, Sealed: ptr(1.0)}}
		inMemory, err := payout.Close(2, topics, want, nil)
		require.NoError(t, err)
		rows, err = f.PayoutRows(ctx, 2)
		require.NoError(t, err)
		promotions, err = f.PayoutPromotions(ctx, 2)
		require.NoError(t, err)
		replayed, err := payout.Close(2, topics, rows, promotions)
		require.NoError(t, err)
		a, err := json.Marshal(inMemory, json.Deterministic(true))
		require.NoError(t, err)
		b, err := json.Marshal(replayed, json.Deterministic(true))
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
	})
}

func TestAListOfRowsWithLongManifestsHasFewerRowsAndSaysSo(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for i, entries := range []int{1, 20_000, 20_000, 1, 1} { // 20000 entries are 600 kB
			s := submission("topic-a", i, i)
			s.Request.Manifest.DatasetIDs = make([]string, entries)
			for n := range s.Request.Manifest.DatasetIDs {
				s.Request.Manifest.DatasetIDs[n] = "a data set with a long name"
			}
			f.admit(t, s, intake.Reject, options())
		}
		var pages [][]string
		for q := (RowQuery{Topic: "topic-a"}); ; {
			rows, more, err := f.Rows(ctx, q)
			require.NoError(t, err)
			var ids []string
			for _, r := range rows {
				ids = append(ids, r.ID[len(r.ID)-1:])
			}
			pages = append(pages, ids)
			if !more {
				break
			}
			last, err := intake.ParseID(rows[len(rows)-1].ID)
			require.NoError(t, err)
			q.Before = &last
		}
		require.Equal(t, [][]string{{"4", "3", "2"}, {"1", "0"}}, pages)
		rows, more, err := f.Rows(ctx, RowQuery{Limit: 2})
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.True(t, more, "a limit leaves more")
		rows, more, err = f.Rows(ctx, RowQuery{Limit: 5, Hotkey: hash("miner", 1)})
		require.NoError(t, err)
		require.Len(t, rows, 1, "a row that is longer than a list is a list")
		require.False(t, more)
	})
}

func TestFittingTakesOneRowAtLeastAndNoMoreThanTheLimit(t *testing.T) {
	long := sized{bytes: MaxRowBytes + 1}
	short := sized{bytes: 10}
	require.Equal(t, 1, fitting([]sized{long, short}, 9))
	require.Equal(t, 1, fitting([]sized{short, long}, 9))
	require.Equal(t, 2, fitting([]sized{short, short, short}, 2))
	require.Equal(t, 3, fitting([]sized{short, short, short}, 3))
	require.Equal(t, 1, fitting([]sized{long}, 1))
}
