package payout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Row is one persisted submission.
type Row struct {
	ID             uint64 // counter of the row's id; ids ascend in the order of rows
	Epoch          uint64 // of its acceptance (decision 3)
	TopicID        string
	Miner          Hotkey
	Pass           bool
	Primary        *float64 // nil when it has none
	ArtifactDigest string
	TreeDigest     string // "" when no tree is known (harvest families)
}

// Promotion is one crown that landed.
type Promotion struct {
	TopicID string
	Row     uint64
	Epoch   uint64 // of that row
	Primary float64
}

// Close makes the snapshot of an epoch from the topics that are open at its
// close, and from rows and promotions in any order. Rows and promotions of later
// epochs and of other topics are looked over; those of earlier epochs tell
// originals from duplicates and set the bar. Of a miner's passing runs the best
// one counts, the earliest among equals; a run without a finite primary is the
// worst.
//
// A caller closes an epoch when no run accepted in it is in flight any more: a
// snapshot is not made twice.
func Close(epoch uint64, topics []Topic, rows []Row, promotions []Promotion) (*Snapshot, error) {
	s := &Snapshot{Epoch: epoch, Topics: make([]TopicSnapshot, len(topics))}
	for i, t := range topics {
		s.Topics[i].Topic = t
	}
	slices.SortFunc(s.Topics, func(a, b TopicSnapshot) int { return strings.Compare(a.ID, b.ID) })
	at := make(map[string]int, len(topics))
	for i := range s.Topics {
		at[s.Topics[i].ID] = i
	}
	passed := make([][]*Row, len(topics))
	for i := range rows {
		r := &rows[i]
		if t, open := at[r.TopicID]; open && r.Pass && r.Epoch <= epoch {
			passed[t] = append(passed[t], r)
		}
	}
	var c closing
	for i := range s.Topics {
		runs, err := c.bestRuns(epoch, &s.Topics[i].Topic, passed[i])
		if err != nil {
			return nil, fmt.Errorf("topic %q: %w", s.Topics[i].ID, err)
		}
		s.Topics[i].Runs = runs
	}
	for _, p := range promotions {
		t, open := at[p.TopicID]
		if !open || p.Epoch >= epoch {
			continue
		}
		if known := s.Topics[t].Champion; known == nil || p.Row > known.Row {
			s.Topics[t].Champion = &Champion{Row: p.Row, Epoch: p.Epoch, Primary: p.Primary}
		}
	}
	for i := range s.Topics {
		s.Topics[i].Bar = s.Topics[i].bar()
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// accepted is a passing row with its digests in the form in which they compare.
type accepted struct {
	*Row
	artefact, tree string
}

func digest(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// earlier orders rows. A run may end after the next epoch has begun: what was
// accepted in an earlier epoch is the earlier row all the same, so that no
// artefact is an original twice.
func earlier(a, b accepted) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.ID, b.ID))
}

// closing holds what bestRuns works with; one topic after the other uses it.
type closing struct {
	rows  []accepted     // of the topic, the earliest first
	best  []int          // place among rows of each miner's best run
	miner map[Hotkey]int // place among best of a miner
	// Place among rows of the earliest one of each artefact and of each tree.
	artefact, tree map[string]int
}

func (c *closing) reset(rows []*Row) {
	if c.miner == nil {
		c.miner, c.artefact, c.tree = map[Hotkey]int{}, map[string]int{}, map[string]int{}
	}
	clear(c.miner)
	clear(c.artefact)
	clear(c.tree)
	c.best = c.best[:0]
	c.rows = slices.Grow(c.rows[:0], len(rows))
	for _, r := range rows {
		c.rows = append(c.rows, accepted{r, digest(r.ArtifactDigest), digest(r.TreeDigest)})
	}
	if !slices.IsSortedFunc(c.rows, earlier) {
		slices.SortFunc(c.rows, earlier)
	}
}

// bestRuns returns the runs of the epoch that count, by miner.
func (c *closing) bestRuns(epoch uint64, t *Topic, rows []*Row) ([]Run, error) {
	c.reset(rows)
	for i, r := range c.rows {
		if i > 0 && earlier(c.rows[i-1], r) == 0 {
			return nil, fmt.Errorf("row %d is there twice", r.ID)
		}
		first(c.artefact, r.artefact, i)
		first(c.tree, r.tree, i)
		if r.Epoch != epoch {
			continue
		}
		k, known := c.miner[r.Miner]
		if !known {
			c.miner[r.Miner] = len(c.best)
			c.best = append(c.best, i)
			continue
		}
		if old := c.rows[c.best[k]].Primary; finite(r.Primary) && (!finite(old) || t.Direction.Better(*r.Primary, *old)) {
			c.best[k] = i
		}
	}
	slices.SortFunc(c.best, func(a, b int) int { return compareHotkeys(c.rows[a].Miner, c.rows[b].Miner) })
	runs, primaries := make([]Run, len(c.best)), make([]float64, len(c.best))
	for i, k := range c.best {
		r := c.rows[k]
		runs[i] = Run{Miner: r.Miner, Row: r.ID, ArtifactDigest: r.artefact, TreeDigest: r.tree, DuplicateOf: c.original(r)}
		if finite(r.Primary) {
			primaries[i] = *r.Primary
			runs[i].Primary = &primaries[i]
		}
	}
	return runs, nil
}

// first notes the earliest row of a digest; an empty digest never matches.
func first(places map[string]int, digest string, i int) {
	if _, known := places[digest]; !known && digest != "" {
		places[digest] = i
	}
}

// original returns the row that r repeats: the earliest accepted one with the
// same artefact or the same tree, when another miner or an earlier epoch has it
// (decision 4). A miner may run its own artefact again within the epoch; one of
// its runs counts.
func (c *closing) original(r accepted) *uint64 {
	original := -1
	note := func(i int, known bool) {
		if known && (c.rows[i].Miner != r.Miner || c.rows[i].Epoch != r.Epoch) && (original < 0 || i < original) {
			original = i
		}
	}
	i, known := c.artefact[r.artefact]
	note(i, known)
	i, known = c.tree[r.tree]
	note(i, known)
	if original < 0 {
		return nil
	}
	id := c.rows[original].ID
	return &id
}
