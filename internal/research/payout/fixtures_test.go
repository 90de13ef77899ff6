package payout

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/research/family"
)

func ptr[T any](v T) *T { return &v }

// key is the hotkey that repeats one byte, as the short names of the vectors do.
func key(b byte) Hotkey {
	var h Hotkey
	for i := range h {
		h[i] = b
	}
	return h
}

func discovery(id string, d family.Direction, sealed *float64) Topic {
	return Topic{ID: id, Mode: Discovery, Direction: d, PassFloorBps: 3000, NoveltyBps: 7000, Sealed: sealed}
}

func wta(id string, d family.Direction) Topic {
	return Topic{ID: id, Mode: WTA, Direction: d, PassFloorBps: 3000, NoveltyBps: 7000, Sealed: ptr(3.0)}
}

// pass is a passing row of epoch 7 on the topic "t".
func pass(id uint64, miner byte, primary float64, digest string) Row {
	return Row{ID: id, Epoch: 7, TopicID: "t", Miner: key(miner), Pass: true, Primary: &primary, ArtifactDigest: digest}
}

func pay(t testing.TB, epoch uint64, topics []Topic, rows []Row, promotions ...Promotion) *Result {
	t.Helper()
	s, err := Close(epoch, topics, rows, promotions)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Payout(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scores shows a result as the vectors do: aa=600000 bb=300000.
func scores(r *Result) string {
	parts := make([]string, len(r.Scores))
	for i, s := range r.Scores {
		parts[i] = fmt.Sprintf("%x=%d", s.Miner[:1], s.Score)
	}
	return strings.Join(parts, " ")
}

type vector struct {
	Area            string
	Input, Expected json.RawMessage
}

func vectors(t *testing.T, area string) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases []vector }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	cases := slices.DeleteFunc(all.Cases, func(c vector) bool { return c.Area != area })
	if len(cases) == 0 {
		t.Fatalf("no case of area %s", area)
	}
	return cases
}

// scene is a whole challenge at random: few miners, digests and primaries, so
// that ties and copies are common.
type scene struct {
	Topics     []Topic
	Rows       []Row
	Promotions []Promotion
}

func scenes() *rapid.Generator[scene] {
	return rapid.Custom(func(t *rapid.T) scene {
		primary := rapid.Ptr(rapid.OneOf(rapid.SampledFrom([]float64{2, 2.5, 2.8, 3, 3.5, 0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), 1e300, -4e12}),
			rapid.Float64Range(1, 4)), true)
		digests := rapid.SampledFrom([]string{"", " ", "a", "A", " a", "b", "c", "d", "e", "f", "g", "h"})
		var s scene
		for i := range rapid.IntRange(0, 4).Draw(t, "topics") {
			topic := Topic{ID: fmt.Sprintf("t%d", i), Mode: rapid.SampledFrom([]Mode{WTA, Discovery, Discovery}).Draw(t, "mode"),
				Direction: rapid.SampledFrom([]family.Direction{family.Min, family.Max}).Draw(t, "direction")}
			topic.PassFloorBps = rapid.SampledFrom([]uint16{3000, 0, 10000, 1, 3333}).Draw(t, "floor")
			topic.NoveltyBps = 10000 - topic.PassFloorBps
			topic.Sealed = rapid.SampledFrom([]*float64{ptr(3.0), ptr(2.4), nil, ptr(-4e12)}).Draw(t, "sealed")
			s.Topics = append(s.Topics, topic)
		}
		for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
			r := Row{ID: uint64(i), Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"),
				TopicID: fmt.Sprintf("t%d", rapid.IntRange(0, 4).Draw(t, "topic")), Miner: key(rapid.ByteRange(1, 7).Draw(t, "miner")),
				Pass: rapid.IntRange(0, 3).Draw(t, "pass") > 0, Primary: primary.Draw(t, "primary"),
				ArtifactDigest: digests.Draw(t, "artefact"), TreeDigest: digests.Draw(t, "tree")}
			s.Rows = append(s.Rows, r)
			if r.Pass && finite(r.Primary) && rapid.Bool().Draw(t, "crowned") {
				s.Promotions = append(s.Promotions, Promotion{TopicID: r.TopicID, Row: r.ID, Epoch: r.Epoch, Primary: *r.Primary})
			}
		}
		return s
	})
}

// naive computes the scores once more, from the text of R§13 and decisions 3 and
// 4, with loops over everything and big integers.
func naive(epoch uint64, s scene) map[Hotkey]uint64 {
	topics := slices.Clone(s.Topics)
	slices.SortFunc(topics, func(a, b Topic) int { return strings.Compare(a.ID, b.ID) })
	total := map[Hotkey]uint64{}
	for i, t := range topics {
		mass := 1_000_000 / len(topics)
		if i < 1_000_000%len(topics) {
			mass++
		}
		best := map[Hotkey]Row{}
		for _, r := range s.Rows {
			if r.TopicID != t.ID || !r.Pass || r.Epoch != epoch {
				continue
			}
			if !finite(r.Primary) {
				r.Primary = nil
			}
			old, known := best[r.Miner]
			if !known || r.Primary != nil && (old.Primary == nil || ahead(t, *r.Primary, *old.Primary)) {
				best[r.Miner] = r
			}
		}
		weights := map[Hotkey]*big.Int{}
		if t.Mode == WTA {
			for miner, r := range best {
				if wins := r.Primary != nil; wins {
					for _, other := range best {
						wins = wins && (other.Primary == nil || !ahead(t, *other.Primary, *r.Primary))
					}
					if wins {
						weights[miner] = big.NewInt(1)
					}
				}
			}
			handOut(total, int64(mass), weights)
			continue
		}
		floors := map[Hotkey]*big.Int{}
		for miner, r := range best {
			floors[miner] = big.NewInt(1)
			weights[miner] = naiveWeight(t, epoch, r, s)
		}
		handOut(total, int64(mass*int(t.PassFloorBps)/10000), floors)
		handOut(total, int64(mass*int(t.NoveltyBps)/10000), weights)
	}
	return total
}

func ahead(t Topic, a, b float64) bool {
	return t.Direction == family.Min && a < b || t.Direction == family.Max && a > b
}

func naiveWeight(t Topic, epoch uint64, r Row, s scene) *big.Int {
	zero := new(big.Int)
	for _, digest := range []func(Row) string{
		func(r Row) string { return strings.ToLower(strings.TrimSpace(r.ArtifactDigest)) },
		func(r Row) string { return strings.ToLower(strings.TrimSpace(r.TreeDigest)) },
	} {
		if digest(r) == "" {
			continue
		}
		var earliest *Row
		for i := range s.Rows {
			o := &s.Rows[i]
			if o.TopicID == t.ID && o.Pass && digest(*o) == digest(r) &&
				(earliest == nil || o.Epoch < earliest.Epoch || o.Epoch == earliest.Epoch && o.ID < earliest.ID) {
				earliest = o
			}
		}
		if earliest.Miner != r.Miner || earliest.Epoch != epoch {
			return zero
		}
	}
	bars := []float64{}
	if t.Sealed != nil {
		bars = append(bars, *t.Sealed)
	}
	champion := -1
	for i, p := range s.Promotions {
		if p.TopicID == t.ID && p.Epoch < epoch && (champion < 0 || p.Row > s.Promotions[champion].Row) {
			champion = i
		}
	}
	if champion >= 0 {
		bars = append(bars, s.Promotions[champion].Primary)
	}
	if r.Primary == nil || len(bars) == 0 {
		return zero
	}
	delta := *r.Primary - slices.Max(bars)
	if t.Direction == family.Min {
		delta = slices.Min(bars) - *r.Primary
	}
	if delta <= 0 {
		return zero
	}
	most := new(big.Int).SetUint64(math.MaxUint64)
	units := math.Round(delta * 1e9)
	if math.IsInf(units, 1) {
		return most
	}
	if w, _ := big.NewFloat(units).Int(nil); w.Cmp(most) < 0 {
		return w
	}
	return most
}

// handOut is allocate by hand.
func handOut(total map[Hotkey]uint64, mass int64, weights map[Hotkey]*big.Int) {
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	if sum.Sign() == 0 {
		return
	}
	rests := map[Hotkey]*big.Int{}
	left := mass
	for miner, w := range weights {
		if w.Sign() == 0 {
			continue
		}
		q, r := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(mass), w), sum, new(big.Int))
		total[miner] += q.Uint64()
		left -= q.Int64()
		rests[miner] = r
	}
	for ; left > 0; left-- {
		var next *Hotkey
		for miner, r := range rests {
			if next == nil || r.Cmp(rests[*next]) > 0 || r.Cmp(rests[*next]) == 0 && miner.String() < next.String() {
				next = &miner
			}
		}
		total[*next]++
		delete(rests, *next)
	}
}
