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
		return []string{c.Must("explain.epoch.none")}
	}
	return []string{
		c.Must("explain.epoch.mass", c.Number(payout.TotalMass), c.bps(payout.EmissionBps)),
		c.Must("explain.epoch.share", c.count("noun.topic", len(r.Topics))),
		c.Must("explain.epoch.best"),
	}
}

// topicLines explain the figures of a topic.
func (c *catalogue) topicLines(t *payout.TopicResult, open int) []string {
	lines := []string{c.Must("explain.mass", c.Number(t.Mass), c.Number(payout.TotalMass), c.count("noun.topic", open))}
	passes := len(t.Entries)
	if t.Mode == payout.WTA {
		if t.Best != nil {
			lines = append(lines, c.Must("explain.wta", c.Number(t.Best), c.count("noun.winner", int(t.Winners))))
		}
	} else {
		lines = append(lines,
			c.Must("explain.floor", c.Number(t.FloorMass), c.bps(uint64(t.PassFloorBps)), c.count("noun.pass", passes)),
			c.Must("explain.novelty", c.Number(t.NoveltyMass), c.bps(uint64(t.NoveltyBps)), c.count("noun.improvement", int(t.Winners))),
			c.bar(t))
	}
	if passes == 0 {
		lines = append(lines, c.Must("explain.nopass"))
	}
	if t.Unpaid > 0 {
		lines = append(lines, c.count("explain.unpaid", int(t.Unpaid)))
	}
	return lines
}

// bar says which value the bar is and where it comes from (decision 3).
func (c *catalogue) bar(t *payout.TopicResult) string {
	k := t.Champion
	switch {
	case t.Bar == nil:
		return c.Must("explain.bar.none")
	case k == nil || t.Sealed != nil && !t.Direction.Better(k.Primary, *t.Sealed):
		return c.Must("explain.bar.sealed", c.Number(t.Bar))
	}
	return c.Must("explain.bar.champion", c.Number(t.Bar), c.Number(k.Epoch), intake.ID(k.Row).String())
}

// entryLines explain the figures of one pass.
func (c *catalogue) entryLines(t *payout.TopicResult, e *payout.Entry) []string {
	var lines []string
	if t.Mode == payout.WTA {
		lines = append(lines, c.prize(t, e))
	} else {
		lines = append(lines, c.Must("explain.entry.floor", c.Number(e.Floor), c.count("noun.pass", len(t.Entries))), c.novelty(t, e))
	}
	if e.LeftOver > 0 {
		lines = append(lines, c.count("explain.leftover", int(e.LeftOver)))
	}
	return lines
}

func (c *catalogue) prize(t *payout.TopicResult, e *payout.Entry) string {
	switch e.Cause {
	case payout.NoPrimary:
		return c.Must("explain.prize.no_primary")
	case payout.NotBest:
		return c.Must("explain.prize.not_best", c.Number(t.Best))
	}
	return c.Must("explain.prize", c.Number(e.Prize), c.count("noun.winner", int(t.Winners)))
}

func (c *catalogue) novelty(t *payout.TopicResult, e *payout.Entry) string {
	switch e.Cause {
	case payout.NearDuplicate:
		if e.DuplicateOf != nil {
			return c.Must("explain.novelty.near_duplicate", intake.ID(*e.DuplicateOf).String())
		}
	case payout.NoPrimary:
		return c.Must("explain.novelty.no_primary")
	case payout.NoBar:
		return c.Must("explain.novelty.no_bar")
	case payout.NoImprovement:
		return c.Must("explain.novelty.no_improvement", c.Number(t.Bar))
	}
	return c.Must("explain.novelty.weight", c.Number(e.Novelty), c.About(e.Delta), c.Number(t.Bar), c.Number(e.Weight))
}
