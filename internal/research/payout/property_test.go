package payout

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// checkMasses holds a result against what no input may break.
func checkMasses(t interface{ Fatalf(string, ...any) }, r *Result) {
	var all, paid uint64
	for _, topic := range r.Topics {
		var sum, floors, novelties uint64
		for _, e := range topic.Entries {
			sum += e.Total()
			floors += e.Floor
			novelties += e.Novelty
		}
		if sum+topic.Unpaid != topic.Mass || floors > topic.FloorMass || novelties > topic.NoveltyMass {
			t.Fatalf("topic %s pays %d of %d (floors %d of %d, novelty %d of %d), unpaid %d", topic.ID, sum, topic.Mass,
				floors, topic.FloorMass, novelties, topic.NoveltyMass, topic.Unpaid)
		}
		if share := topic.Mass * uint64(len(r.Topics)); share > TotalMass+uint64(len(r.Topics)) {
			t.Fatalf("topic %s has the mass %d among %d", topic.ID, topic.Mass, len(r.Topics))
		}
		all += topic.Mass
		paid += sum
	}
	if len(r.Topics) > 0 && all != TotalMass {
		t.Fatalf("topics have %d together", all)
	}
	var scored uint64
	for _, s := range r.Scores {
		if s.Score == 0 {
			t.Fatalf("%s has a paid 0", s.Miner)
		}
		scored += s.Score
	}
	if scored != paid || paid > TotalMass {
		t.Fatalf("scores sum to %d, topics pay %d", scored, paid)
	}
}

func encoded(t *rapid.T, epoch uint64, s scene) []byte {
	snapshot, err := Close(epoch, s.Topics, s.Rows, s.Promotions)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Payout(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func resultOf(t *rapid.T, epoch uint64, s scene) *Result {
	snapshot, err := Close(epoch, s.Topics, s.Rows, s.Promotions)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Payout(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPropertyMassesNeverExceedTheShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkMasses(t, resultOf(t, rapid.Uint64Range(0, 3).Draw(t, "epoch"), scenes().Draw(t, "scene")))
	})
}

func TestPropertyScoresAgreeWithANaiveImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, epoch := scenes().Draw(t, "scene"), rapid.Uint64Range(0, 3).Draw(t, "epoch")
		// Rows of later epochs are not there yet when an epoch closes.
		var known []Row
		for _, r := range s.Rows {
			if r.Epoch <= epoch {
				known = append(known, r)
			}
		}
		want := naive(epoch, scene{s.Topics, known, s.Promotions})
		got := map[Hotkey]uint64{}
		for _, score := range resultOf(t, epoch, s).Scores {
			got[score.Miner] = score.Score
		}
		for i := range 8 {
			if k := key(byte(i)); got[k] != want[k] {
				t.Fatalf("%x has %d, naively %d", k[:1], got[k], want[k])
			}
		}
	})
}

func TestPropertyAFailingMinerChangesNobodysMass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, epoch := scenes().Draw(t, "scene"), rapid.Uint64Range(0, 3).Draw(t, "epoch")
		before := encoded(t, epoch, s)
		for i := range rapid.IntRange(1, 4).Draw(t, "failing") {
			s.Rows = append(s.Rows, Row{ID: uint64(100 + i), Epoch: epoch, TopicID: "t0", Miner: key(rapid.ByteRange(1, 9).Draw(t, "miner")),
				Primary: ptr(rapid.Float64().Draw(t, "primary")), ArtifactDigest: rapid.SampledFrom([]string{"a", "b", "z"}).Draw(t, "digest")})
		}
		if after := encoded(t, epoch, s); !bytes.Equal(before, after) {
			t.Fatalf("%s\n%s", before, after)
		}
	})
}

func TestPropertyTheOrderOfRowsTopicsAndPromotionsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, epoch := scenes().Draw(t, "scene"), rapid.Uint64Range(0, 3).Draw(t, "epoch")
		before := encoded(t, epoch, s)
		s.Rows = rapid.Permutation(s.Rows).Draw(t, "rows")
		s.Topics = rapid.Permutation(s.Topics).Draw(t, "topics")
		s.Promotions = rapid.Permutation(s.Promotions).Draw(t, "promotions")
		if after := encoded(t, epoch, s); !bytes.Equal(before, after) {
			t.Fatalf("%s\n%s", before, after)
		}
	})
}

func TestPropertyAnExactCopyNeverEarnsNovelty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes().Draw(t, "scene")
		earned := map[string]string{} // topic and digest: who earned on it when
		for epoch := range uint64(4) {
			for _, topic := range resultOf(t, epoch, s).Topics {
				for _, e := range topic.Entries {
					for _, d := range []string{"artefact " + e.ArtifactDigest, "tree " + e.TreeDigest} {
						if e.Novelty == 0 || d == "artefact " || d == "tree " {
							continue
						}
						who := fmt.Sprintf("%x in epoch %d", e.Miner[:1], epoch)
						if first, known := earned[topic.ID+" "+d]; known {
							t.Fatalf("%s of %s: novelty for %s and for %s", d, topic.ID, first, who)
						}
						earned[topic.ID+" "+d] = who
					}
				}
			}
		}
	})
}

func TestPropertyAnExactCopyWithoutItsMarkIsNoSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes().Draw(t, "scene")
		snapshot, err := Close(rapid.Uint64Range(0, 3).Draw(t, "epoch"), s.Topics, s.Rows, s.Promotions)
		if err != nil {
			t.Fatal(err)
		}
		if err := snapshot.checkMarks(); err != nil {
			t.Fatal(err)
		}
		for i := range snapshot.Topics {
			runs := snapshot.Topics[i].Runs
			for j := range runs {
				// The original of a run is here, unmarked: the copy's mark must stay.
				original := slices.IndexFunc(runs, func(o Run) bool { return o.DuplicateOf == nil && o.sharesWith(&runs[j]) })
				mark := runs[j].DuplicateOf
				if mark == nil || original < 0 {
					continue
				}
				runs[j].DuplicateOf = nil
				if err := snapshot.checkMarks(); err == nil {
					t.Fatalf("rows %d and %d share an artefact or a tree and both are paid as originals", runs[original].Row, runs[j].Row)
				}
				runs[j].DuplicateOf = mark
			}
		}
	})
}

func TestPropertyACopyByAnotherHotkeyTakesNoNoveltyFromItsAuthor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scenes().Draw(t, "scene")
		if len(s.Topics) == 0 || len(s.Rows) == 0 {
			return
		}
		novelties := func(r *Result) string {
			var text string
			for _, topic := range r.Topics {
				for _, e := range topic.Entries {
					if e.Novelty > 0 {
						text += fmt.Sprintf("%s %x %d\n", topic.ID, e.Miner[:1], e.Novelty)
					}
				}
			}
			return text
		}
		original := s.Rows[rapid.IntRange(0, len(s.Rows)-1).Draw(t, "original")]
		if !original.Pass || digest(original.ArtifactDigest) == "" {
			return
		}
		before := novelties(resultOf(t, original.Epoch, s))
		copied := original
		copied.ID, copied.Miner, copied.Primary = 1000, key(0), ptr(rapid.Float64Range(-1e6, 1e6).Draw(t, "primary"))
		s.Rows = append(s.Rows, copied)
		if after := novelties(resultOf(t, original.Epoch, s)); after != before {
			t.Fatalf("before\n%safter\n%s", before, after)
		}
	})
}

func TestPropertyASnapshotReplaysByteForByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, epoch := scenes().Draw(t, "scene"), rapid.Uint64Range(0, 3).Draw(t, "epoch")
		snapshot, err := Close(epoch, s.Topics, s.Rows, s.Promotions)
		if err != nil {
			t.Fatal(err)
		}
		data, err := snapshot.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseSnapshot(data)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Payout(back)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Encode()
		if err != nil || !bytes.Equal(again, encoded(t, epoch, s)) {
			t.Fatalf("%s, %v", again, err)
		}
	})
}

func TestPropertyAllocateGivesAwayTheWholeMass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mass := rapid.Uint64Range(0, TotalMass).Draw(t, "mass")
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64(), rapid.Just(uint64(math.MaxUint64))), 0, 12).Draw(t, "weights")
		shares := allocate(mass, weights)
		want := map[Hotkey]uint64{}
		handOut(want, int64(mass), bigWeights(weights))
		var sum uint64
		for i, s := range shares {
			sum += s.units
			if s.units != want[key(byte(i))] {
				t.Fatalf("share %d is %d, naively %d", i, s.units, want[key(byte(i))])
			}
			if s.units > 0 && weights[i] == 0 {
				t.Fatalf("share %d of weight 0 is %d", i, s.units)
			}
		}
		if sum != mass && sum != 0 {
			t.Fatalf("shares sum to %d of %d", sum, mass)
		}
	})
}
