package payout

import (
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
)

// TestSpecificationTheChallengeHas8000OfTheSubnets10000BasisPoints: however many
// topics are open, their shares never exceed the challenge's, so that the live
// challenges together stay at 10000.
func TestSpecificationTheChallengeHas8000OfTheSubnets10000BasisPoints(t *testing.T) {
	const subnet, bounty = 10_000, 2_000
	if ShareBps(1)+bounty != subnet {
		t.Errorf("one topic has %d basis points beside the bounty's %d", ShareBps(1), bounty)
	}
	for topics := 1; topics <= 9000; topics++ {
		if sum := ShareBps(topics) * uint64(topics); sum+bounty > subnet {
			t.Fatalf("%d topics share %d basis points", topics, sum)
		}
	}
}

// TestSpecificationAScoreIsTheSumOfTheMassesAndASkippedTopicIsZero: a miner that wins
// one topic of three and takes part in no other has that topic's mass, neither a mean
// nor a share of what it did not try.
func TestSpecificationAScoreIsTheSumOfTheMassesAndASkippedTopicIsZero(t *testing.T) {
	topics := []Topic{wta("t", family.Max), wta("u", family.Max), wta("v", family.Max)}
	row := func(id uint64, miner byte, topicID string, primary float64) Row {
		r := pass(id, miner, primary, "artefact")
		r.TopicID = topicID
		return r
	}
	r := pay(t, 7, topics, []Row{row(1, 0xaa, "t", 110), row(2, 0xaa, "v", 110), row(3, 0xbb, "u", 110), row(4, 0xcc, "u", 100)})
	want := map[byte]uint64{0xaa: r.Topics[0].Mass + r.Topics[2].Mass, 0xbb: r.Topics[1].Mass}
	for _, s := range r.Scores {
		if s.Score != want[s.Miner[0]] {
			t.Errorf("%x has %d, want %d", s.Miner[:1], s.Score, want[s.Miner[0]])
		}
		delete(want, s.Miner[0])
	}
	if len(want) != 0 || len(r.Scores) != 2 {
		t.Errorf("no score for %v; %d scores", want, len(r.Scores))
	}
}
