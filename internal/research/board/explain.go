package board

import (
	"strconv"

	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/payout"
)

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

// epochLines explain what an epoch pays at all (R§13.1).
func (c *catalogue) epochLines(r *payout.Result) []string {
	if len(r.Topics) == 0 {
		return []string{c.must("explain.epoch.none")}
	}
	return []string{
		c.must("explain.epoch.mass", c.number(payout.TotalMass), c.bps(payout.EmissionBps)),
		c.must("explain.epoch.share", c.count("noun.topic", len(r.Topics))),
		c.must("explain.epoch.best"),
	}
}

// topicLines explain the figures of a topic.
func (c *catalogue) topicLines(t *payout.TopicResult, open int) []string {
	lines := []string{c.must("explain.mass", c.number(t.Mass), c.number(payout.TotalMass), c.count("noun.topic", open))}
	passes := len(t.Entries)
	if t.Mode == payout.WTA {
		if t.Best != nil {
			lines = append(lines, c.must("explain.wta", c.number(t.Best), c.count("noun.winner", int(t.Winners))))
		}
	} else {
		lines = append(lines,
			c.must("explain.floor", c.number(t.FloorMass), c.bps(uint64(t.PassFloorBps)), c.count("noun.pass", passes)),
			c.must("explain.novelty", c.number(t.NoveltyMass), c.bps(uint64(t.NoveltyBps)), c.count("noun.improvement", int(t.Winners))),
			c.must("explain.bar", c.bar(t)))
	}
	if passes == 0 {
		lines = append(lines, c.must("explain.nopass"))
	}
	if t.Unpaid > 0 {
		lines = append(lines, c.must("explain.unpaid", c.number(t.Unpaid)))
	}
	return lines
}

// bar says which value the bar is and where it comes from (decision 3).
func (c *catalogue) bar(t *payout.TopicResult) string {
	k := t.Champion
	switch {
	case t.Bar == nil:
		return c.must("explain.bar.none")
	case k == nil || t.Sealed != nil && !t.Direction.Better(k.Primary, *t.Sealed):
		return c.must("explain.bar.sealed", c.number(t.Bar))
	}
	return c.must("explain.bar.champion", c.number(t.Bar), c.number(k.Epoch), intake.ID(k.Row).String())
}

// entryLines explain the figures of one pass.
func (c *catalogue) entryLines(t *payout.TopicResult, e *payout.Entry) []string {
	var lines []string
	if t.Mode == payout.WTA {
		lines = append(lines, c.prize(t, e))
	} else {
		lines = append(lines, c.must("explain.entry.floor", c.number(e.Floor), c.count("noun.pass", len(t.Entries))), c.novelty(t, e))
	}
	if e.LeftOver > 0 {
		lines = append(lines, c.count("explain.leftover", int(e.LeftOver)))
	}
	return lines
}

func (c *catalogue) prize(t *payout.TopicResult, e *payout.Entry) string {
	switch e.Cause {
	case payout.NoPrimary:
		return c.must("explain.prize.no_primary")
	case payout.NotBest:
		return c.must("explain.prize.not_best", c.number(t.Best))
	}
	return c.must("explain.prize", c.number(e.Prize), c.count("noun.winner", int(t.Winners)))
}

func (c *catalogue) novelty(t *payout.TopicResult, e *payout.Entry) string {
	switch e.Cause {
	case payout.NearDuplicate:
		if e.DuplicateOf != nil {
			return c.must("explain.novelty.near_duplicate", intake.ID(*e.DuplicateOf).String())
		}
	case payout.NoPrimary:
		return c.must("explain.novelty.no_primary")
	case payout.NoBar:
		return c.must("explain.novelty.no_bar")
	case payout.NoImprovement:
		return c.must("explain.novelty.no_improvement", c.number(t.Bar))
	}
	return c.must("explain.novelty.weight", c.number(e.Novelty), c.about(e.Delta), c.number(t.Bar), c.number(e.Weight))
}
