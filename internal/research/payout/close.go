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
	passed := make([][]accepted, len(topics))
	for i := range rows {
		r := &rows[i]
		if t, open := at[r.TopicID]; open && r.Pass && r.Epoch <= epoch {
			passed[t] = append(passed[t], accepted{r, digest(r.ArtifactDigest), digest(r.TreeDigest)})
		}
	}
	for i := range s.Topics {
		runs, err := bestRuns(epoch, &s.Topics[i].Topic, passed[i])
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

// bestRuns returns the runs of the epoch that count, by miner.
func bestRuns(epoch uint64, t *Topic, rows []accepted) ([]Run, error) {
	if !slices.IsSortedFunc(rows, earlier) {
		slices.SortFunc(rows, earlier)
	}
	place := make(map[Hotkey]int) // of a miner among the best
	var best []accepted
	for i, r := range rows {
		if i > 0 && earlier(rows[i-1], r) == 0 {
			return nil, fmt.Errorf("row %d is there twice", r.ID)
		}
		if r.Epoch != epoch {
			continue
		}
		k, known := place[r.Miner]
		if !known {
			place[r.Miner] = len(best)
			best = append(best, r)
			continue
		}
		if finite(r.Primary) && (!finite(best[k].Primary) || t.Direction.Better(*r.Primary, *best[k].Primary)) {
			best[k] = r
		}
	}
	slices.SortFunc(best, func(a, b accepted) int { return compareHotkeys(a.Miner, b.Miner) })
	seen := findOriginals(rows)
	runs := make([]Run, len(best))
	for i, r := range best {
		runs[i] = Run{Miner: r.Miner, Row: r.ID, ArtifactDigest: r.artefact, TreeDigest: r.tree, DuplicateOf: seen.of(r)}
		if finite(r.Primary) {
			primary := *r.Primary
			runs[i].Primary = &primary
		}
	}
	return runs, nil
}

// originals holds the place of the earliest accepted row of each artefact and of
// each tree.
type originals struct {
	rows           []accepted
	artefact, tree map[string]int
}

func findOriginals(rows []accepted) originals {
	o := originals{rows, make(map[string]int, len(rows)), make(map[string]int, len(rows))}
	for i, r := range rows {
		first(o.artefact, r.artefact, i)
		first(o.tree, r.tree, i)
	}
	return o
}

// first notes the earliest row of a digest; an empty digest never matches.
func first(places map[string]int, digest string, i int) {
	if _, known := places[digest]; !known && digest != "" {
		places[digest] = i
	}
}

// of returns the row that r repeats: the earliest accepted one with the same
// artefact or the same tree, when another miner or an earlier epoch has it
// (decision 4). A miner may run its own artefact again within the epoch; one of
// its runs counts.
func (o originals) of(r accepted) *uint64 {
	original := -1
	note := func(i int, known bool) {
		if known && (o.rows[i].Miner != r.Miner || o.rows[i].Epoch != r.Epoch) && (original < 0 || i < original) {
			original = i
		}
	}
	i, known := o.artefact[r.artefact]
	note(i, known)
	i, known = o.tree[r.tree]
	note(i, known)
	if original < 0 {
		return nil
	}
	id := o.rows[original].ID
	return &id
}
