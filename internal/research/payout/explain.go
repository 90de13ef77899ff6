package payout

import (
	"fmt"
	"slices"
	"strings"
)

// Explanation says where the figures of one miner come from. It holds the
// figures themselves; [Explanation.String] puts them in words.
type Explanation struct {
	Miner  Hotkey             `json:"miner"`
	Epoch  uint64             `json:"epoch"`
	Score  uint64             `json:"score"`
	Topics []TopicExplanation `json:"topics"` // every open topic, by id
}

// TopicExplanation is a topic from the sight of one miner. Its Topic has no
// entries but that of the miner.
type TopicExplanation struct {
	Topic      TopicResult `json:"topic"`
	OpenTopics int         `json:"open_topics"`
	Passes     int         `json:"passes"`
	Entry      *Entry      `json:"entry"` // nil: no passing run in the epoch
}

// Explain returns where the score of a miner comes from, also when it is zero.
func (r *Result) Explain(miner Hotkey) Explanation {
	x := Explanation{Miner: miner, Epoch: r.Epoch}
	if i, ok := slices.BinarySearchFunc(r.Scores, miner, func(s Score, h Hotkey) int { return compareHotkeys(s.Miner, h) }); ok {
		x.Score = r.Scores[i].Score
	}
	for _, t := range r.Topics {
		part := TopicExplanation{Topic: t, OpenTopics: len(r.Topics), Passes: len(t.Entries)}
		part.Topic.Entries = nil
		if i, ok := slices.BinarySearchFunc(t.Entries, miner, func(e Entry, h Hotkey) int { return compareHotkeys(e.Miner, h) }); ok {
			entry := t.Entries[i]
			part.Entry = &entry
		}
		x.Topics = append(x.Topics, part)
	}
	return x
}

// String tells the figures in lines, one topic after the other.
func (x Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d, miner %s: score %d of %d\n", x.Epoch, x.Miner, x.Score, TotalMass)
	if len(x.Topics) == 0 {
		b.WriteString("  no topic was open: no score for anybody (ChallengeInternal)\n")
	}
	for _, t := range x.Topics {
		for _, line := range t.lines() {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

func (x TopicExplanation) lines() []string {
	t := x.Topic
	lines := []string{fmt.Sprintf("topic %s (%s): mass %d of %d, %s open; %d bps", t.ID, t.Mode, t.Mass, TotalMass, count(x.OpenTopics, "topic"), t.ShareBps)}
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if t.Unpaid > 0 {
		add("%d of the mass paid to nobody", t.Unpaid)
	}
	e := x.Entry
	if e == nil {
		add("no passing run in the epoch: 0")
		return lines
	}
	add("row %d, the best of the miner's passing runs, primary %s (%s)", e.Row, show(e.Primary), t.Direction)
	if t.Mode == WTA {
		add("%s", x.prize())
	} else {
		add("floor %d: %d (mass × %d / 10000) in equal parts to %s", e.Floor, t.FloorMass, t.PassFloorBps, count(x.Passes, "pass"))
		add("novelty %d: %s", e.Novelty, x.novelty())
	}
	if e.LeftOver > 0 {
		add("%s among these went to the largest remainders, ties by hotkey", count(int(e.LeftOver), "left-over unit"))
	}
	return lines
}

func (x TopicExplanation) prize() string {
	switch x.Entry.Cause {
	case NoPrimary:
		return "prize 0: a run without a primary cannot win"
	case NotBest:
		return fmt.Sprintf("prize 0: the best primary of the epoch is %s", show(x.Topic.Best))
	}
	return fmt.Sprintf("prize %d: the best primary of the epoch; the mass in equal parts to %s", x.Entry.Prize, count(int(x.Topic.Winners), "exact tie"))
}

func (x TopicExplanation) novelty() string {
	t, e := x.Topic, x.Entry
	switch e.Cause {
	case NearDuplicate:
		return fmt.Sprintf("its artefact repeats that of row %d", *e.DuplicateOf)
	case NoPrimary:
		return "a run without a primary improves nothing"
	case NoBar:
		return "neither a sealed value nor a champion to improve on"
	case NoImprovement:
		return fmt.Sprintf("no improvement over the bar %s", x.bar())
	}
	return fmt.Sprintf("weight %d = improvement %v × 10^9 over the bar %s; %d (mass × %d / 10000) by weight among %s",
		e.Weight, e.Delta, x.bar(), t.NoveltyMass, t.NoveltyBps, count(int(t.Winners), "pass"))
}

// bar says which value the bar is and where it comes from.
func (x TopicExplanation) bar() string {
	t := x.Topic
	c := t.Champion
	if c == nil || t.Sealed != nil && !t.Direction.Better(c.Primary, *t.Sealed) {
		return fmt.Sprintf("%s (the sealed value)", show(t.Bar))
	}
	return fmt.Sprintf("%s (champion of epoch %d, row %d)", show(t.Bar), c.Epoch, c.Row)
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
