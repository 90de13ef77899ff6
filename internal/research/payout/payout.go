package payout

import (
	"math"

	"github.com/prova-dev/prova/internal/research/family"
)

const (
	// TotalMass is what all topics of an epoch pay together; it stands for
	// EmissionBps.
	TotalMass = 1_000_000
	// EmissionBps is the share of the subnet that the challenge has.
	EmissionBps = 8000
)

// ShareBps is the reported share of one of n open topics (R§13.1).
func ShareBps(n int) uint64 {
	if n <= 0 {
		return 0
	}
	return EmissionBps / uint64(n)
}

// Cause says why a part of an entry is zero.
type Cause string

// The causes, in the order in which they are looked for.
const (
	NearDuplicate Cause = "near_duplicate"
	NoPrimary     Cause = "no_primary"
	NoBar         Cause = "no_bar"
	NoImprovement Cause = "no_improvement"
	NotBest       Cause = "not_best"
)

// Entry is what one pass earned on a topic, and from what.
type Entry struct {
	Run
	// Prize is the part of a wta topic's mass, Floor and Novelty those of a
	// discovery topic's two pools.
	Prize   uint64 `json:"prize"`
	Floor   uint64 `json:"floor"`
	Novelty uint64 `json:"novelty"`
	// LeftOver counts the units among them that went to the largest remainders.
	LeftOver uint64 `json:"left_over"`
	// Delta is the improvement over the bar and Weight what it counts for.
	Delta  float64 `json:"delta"`
	Weight uint64  `json:"weight"`
	// Cause says why Prize or Novelty is zero; empty when it is not by rule.
	Cause Cause `json:"cause,omitempty"`
}

// Total is the mass of the entry.
func (e Entry) Total() uint64 { return e.Prize + e.Floor + e.Novelty }

// TopicResult is the payout of one topic.
type TopicResult struct {
	Topic
	Champion *Champion `json:"champion"`
	Bar      *float64  `json:"bar"`
	ShareBps uint64    `json:"share_bps"`
	Mass     uint64    `json:"mass"`
	// FloorMass and NoveltyMass are the pools of a discovery topic.
	FloorMass   uint64   `json:"floor_mass"`
	NoveltyMass uint64   `json:"novelty_mass"`
	Best        *float64 `json:"best"`    // winning primary of a wta topic
	Winners     uint64   `json:"winners"` // passes that share the prize or the novelty
	Unpaid      uint64   `json:"unpaid"`  // mass that nobody gets
	Entries     []Entry  `json:"entries"` // by miner
}

// Score is what a miner earned over all topics.
type Score struct {
	Miner Hotkey `json:"miner"`
	Score uint64 `json:"score"`
}

// Result is the payout of an epoch.
type Result struct {
	Epoch  uint64        `json:"epoch"`
	Topics []TopicResult `json:"topics"` // by id
	Scores []Score       `json:"scores"` // miners with a score above zero, by hotkey
}

// Payout computes the masses of a snapshot (R§13) that [Close] made or
// [ParseSnapshot] read. It refuses bars, orders and figures that Close cannot have
// made; the marks of duplicates it takes as they are, ParseSnapshot checked them.
func Payout(s *Snapshot) (*Result, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	r := &Result{Epoch: s.Epoch, Topics: make([]TopicResult, len(s.Topics))}
	n := uint64(len(s.Topics))
	earned := make([][]Score, len(s.Topics))
	for i := range s.Topics {
		t := &s.Topics[i]
		mass := TotalMass / n
		if uint64(i) < TotalMass%n {
			mass++
		}
		res := payTopic(t, mass)
		res.ShareBps = ShareBps(len(s.Topics))
		earned[i] = make([]Score, 0, len(res.Entries))
		for j := range res.Entries {
			if total := res.Entries[j].Total(); total > 0 {
				earned[i] = append(earned[i], Score{res.Entries[j].Miner, total})
			}
		}
		r.Topics[i] = res
	}
	r.Scores = sum(earned)
	return r, nil
}

// sum adds lists of scores by miner; each list ascends by hotkey, and so does
// the sum. Lists are joined in pairs, so that many topics cost no more each than
// few do.
func sum(lists [][]Score) []Score {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	a, b := sum(lists[:len(lists)/2]), sum(lists[len(lists)/2:])
	joined := make([]Score, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch compareHotkeys(a[0].Miner, b[0].Miner) {
		case -1:
			joined, a = append(joined, a[0]), a[1:]
		case 1:
			joined, b = append(joined, b[0]), b[1:]
		default:
			// The masses sum to TotalMass; the cap says so where it is read.
			joined = append(joined, Score{a[0].Miner, min(a[0].Score+b[0].Score, TotalMass)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(joined, a...), b...)
}

func payTopic(t *TopicSnapshot, mass uint64) TopicResult {
	r := TopicResult{Topic: t.Topic, Champion: t.Champion, Bar: t.Bar, Mass: mass, Entries: make([]Entry, len(t.Runs))}
	for i, run := range t.Runs {
		r.Entries[i].Run = run
	}
	if t.Mode == WTA {
		r.payWinners()
	} else {
		r.payDiscovery()
	}
	r.Unpaid = mass
	for i := range r.Entries {
		r.Unpaid -= r.Entries[i].Total()
	}
	return r
}

// payWinners gives all to the best primary, in equal parts to exact ties. A
// near-duplicate ties like any other run (R§13.4).
func (r *TopicResult) payWinners() {
	for i := range r.Entries {
		if p := r.Entries[i].Primary; p != nil && (r.Best == nil || r.Direction.Better(*p, *r.Best)) {
			r.Best = p
		}
	}
	weights := make([]uint64, len(r.Entries))
	for i := range r.Entries {
		switch e := &r.Entries[i]; {
		case e.Primary == nil:
			e.Cause = NoPrimary
		case *e.Primary != *r.Best:
			e.Cause = NotBest
		default:
			weights[i] = 1
			r.Winners++
		}
	}
	for i, s := range allocate(r.Mass, weights) {
		r.Entries[i].Prize = s.units
		r.Entries[i].leftOver(s)
	}
}

// payDiscovery pays the floor to every pass and the novelty by improvement
// (R§13.5). Both pools truncate; what that leaves is paid to nobody.
func (r *TopicResult) payDiscovery() {
	r.FloorMass = r.Mass * uint64(r.PassFloorBps) / 10_000
	r.NoveltyMass = r.Mass * uint64(r.NoveltyBps) / 10_000
	floors := make([]uint64, len(r.Entries))
	weights := make([]uint64, len(r.Entries))
	for i := range r.Entries {
		floors[i] = 1
		weights[i] = r.weigh(&r.Entries[i])
		if weights[i] > 0 {
			r.Winners++
		}
	}
	for i, s := range allocate(r.FloorMass, floors) {
		r.Entries[i].Floor = s.units
		r.Entries[i].leftOver(s)
	}
	for i, s := range allocate(r.NoveltyMass, weights) {
		r.Entries[i].Novelty = s.units
		r.Entries[i].leftOver(s)
	}
}

// weigh returns the novelty weight of an entry and notes what it comes from.
func (r *TopicResult) weigh(e *Entry) uint64 {
	switch {
	case e.DuplicateOf != nil:
		e.Cause = NearDuplicate
		return 0
	case e.Primary == nil:
		e.Cause = NoPrimary
		return 0
	case r.Bar == nil:
		e.Cause = NoBar
		return 0
	}
	e.Delta = float64(*e.Primary - *r.Bar)
	if r.Direction == family.Min {
		e.Delta = float64(*r.Bar - *e.Primary)
	}
	if e.Weight = noveltyWeight(e.Delta); e.Weight == 0 {
		e.Cause = NoImprovement
	}
	return e.Weight
}

// noveltyWeight is delta in units of 1e-9, rounded half away from zero and
// saturating at the largest uint64.
func noveltyWeight(delta float64) uint64 {
	if delta <= 0 {
		return 0
	}
	w := math.Round(float64(delta * 1e9))
	if w >= 1<<64 {
		return math.MaxUint64
	}
	return uint64(w)
}

func (e *Entry) leftOver(s share) {
	if s.extra {
		e.LeftOver++
	}
}
