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
	accepted := make([][]*Row, len(topics))
	for i := range rows {
		r := &rows[i]
		if t, open := at[r.TopicID]; open && r.Pass && r.Epoch <= epoch {
			accepted[t] = append(accepted[t], r)
		}
	}
	for i := range s.Topics {
		runs, err := bestRuns(epoch, &s.Topics[i].Topic, accepted[i])
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

// bestRuns returns the runs of the epoch that count, by miner.
func bestRuns(epoch uint64, t *Topic, accepted []*Row) ([]Run, error) {
	// A run may end after the next epoch has begun: what was accepted in an earlier
	// epoch is the earlier row, so that no artefact is an original twice.
	order := func(a, b *Row) int { return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.ID, b.ID)) }
	if !slices.IsSortedFunc(accepted, order) {
		slices.SortFunc(accepted, order)
	}
	// A miner's place among the runs found so far, and its row for the originals.
	place := make(map[Hotkey]int)
	var best []*Row
	for i, r := range accepted {
		if i > 0 && order(accepted[i-1], r) == 0 {
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
	slices.SortFunc(best, func(a, b *Row) int { return compareHotkeys(a.Miner, b.Miner) })
	seen := findOriginals(accepted)
	runs := make([]Run, len(best))
	for i, r := range best {
		runs[i] = Run{Miner: r.Miner, Row: r.ID, ArtifactDigest: digest(r.ArtifactDigest), TreeDigest: digest(r.TreeDigest),
			DuplicateOf: seen.of(r)}
		if finite(r.Primary) {
			primary := *r.Primary
			runs[i].Primary = &primary
		}
	}
	return runs, nil
}

// originals holds the earliest accepted row of each artefact and of each tree.
type originals struct{ artefact, tree map[string]*Row }

func findOriginals(accepted []*Row) originals {
	o := originals{make(map[string]*Row, len(accepted)), make(map[string]*Row, len(accepted))}
	for _, r := range accepted {
		first(o.artefact, digest(r.ArtifactDigest), r)
		first(o.tree, digest(r.TreeDigest), r)
	}
	return o
}

// first notes the earliest row of a digest; an empty digest never matches.
func first(rows map[string]*Row, key string, r *Row) {
	if _, known := rows[key]; !known && key != "" {
		rows[key] = r
	}
}

// of returns the row that r repeats: the earliest accepted one with the same
// artefact or the same tree, when another miner or an earlier epoch has it
// (decision 4). A miner may run its own artefact again within the epoch; one of
// its runs counts.
func (o originals) of(r *Row) *uint64 {
	var original *Row
	for _, earliest := range []*Row{o.artefact[digest(r.ArtifactDigest)], o.tree[digest(r.TreeDigest)]} {
		if earliest == nil || earliest.Miner == r.Miner && earliest.Epoch == r.Epoch {
			continue
		}
		if original == nil || cmp.Or(cmp.Compare(earliest.Epoch, original.Epoch), cmp.Compare(earliest.ID, original.ID)) < 0 {
			original = earliest
		}
	}
	if original == nil {
		return nil
	}
	id := original.ID
	return &id
}

// digest returns the form in which digests compare.
func digest(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
