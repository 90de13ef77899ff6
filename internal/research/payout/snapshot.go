package payout

import (
	"errors"
	"fmt"
	"math"

	"github.com/prova-dev/prova/internal/research/family"
)

// Mode is the payout mode of a topic, spelled as in its document.
type Mode string

// The payout modes of the specification.
const (
	WTA       Mode = "wta"
	Discovery Mode = "discovery"
)

// Topic is what payout needs of an open topic.
type Topic struct {
	ID           string           `json:"id"`
	Mode         Mode             `json:"mode"`
	Direction    family.Direction `json:"direction"`
	PassFloorBps uint16           `json:"pass_floor_share_bps"`
	NoveltyBps   uint16           `json:"novelty_pool_share_bps"`
	Sealed       *float64         `json:"sealed"` // sealed primary; nil when the seal has none
}

// Run is the run of a miner that counts in an epoch: the best passing one.
type Run struct {
	Miner          Hotkey   `json:"miner"`
	Row            uint64   `json:"row"`
	Primary        *float64 `json:"primary"`
	ArtifactDigest string   `json:"artifact_digest"`
	TreeDigest     string   `json:"tree_digest"`
	// DuplicateOf is the row that this run's artefact repeats; nil for an original.
	DuplicateOf *uint64 `json:"duplicate_of"`
}

// Champion is the promotion that sets a bar: the newest of the epochs before.
type Champion struct {
	Row     uint64  `json:"row"`
	Epoch   uint64  `json:"epoch"`
	Primary float64 `json:"primary"`
}

// TopicSnapshot is a topic as it stood at the close of an epoch.
type TopicSnapshot struct {
	Topic
	Champion *Champion `json:"champion"`
	Bar      *float64  `json:"bar"` // the harder of Sealed and Champion
	Runs     []Run     `json:"runs"`
}

// Snapshot is everything that the payout of an epoch depends on: the open set,
// seals, bars and best runs at its close. Topics ascend by id, runs by miner.
type Snapshot struct {
	Epoch  uint64
	Topics []TopicSnapshot
}

// bar returns what an improvement is measured against (R§13.6).
func (t *TopicSnapshot) bar() *float64 {
	var champion *float64
	if t.Champion != nil {
		champion = &t.Champion.Primary
	}
	return family.Bar(t.Direction, t.Sealed, champion)
}

// check refuses a snapshot that Close cannot have made.
func (s *Snapshot) check() error {
	for i := range s.Topics {
		t := &s.Topics[i]
		if i > 0 && s.Topics[i-1].ID >= t.ID {
			return fmt.Errorf("topic %q does not come after %q; topics ascend by id, each once", t.ID, s.Topics[i-1].ID)
		}
		if err := t.check(s.Epoch); err != nil {
			return fmt.Errorf("topic %q: %w", t.ID, err)
		}
	}
	return nil
}

func (t *TopicSnapshot) check(epoch uint64) error {
	if err := t.Topic.check(); err != nil {
		return err
	}
	if c := t.Champion; c != nil && (c.Epoch >= epoch || !finite(&c.Primary)) {
		return fmt.Errorf("champion row %d of epoch %d with primary %v; a bar needs a finite primary of an epoch before %d", c.Row, c.Epoch, c.Primary, epoch)
	}
	if want := t.bar(); !same(t.Bar, want) {
		return fmt.Errorf("bar is %s, sealed value and champion make it %s", show(t.Bar), show(want))
	}
	for i := range t.Runs {
		r := &t.Runs[i]
		if i > 0 && compareHotkeys(t.Runs[i-1].Miner, r.Miner) >= 0 {
			return fmt.Errorf("run of %s does not come after that of %s; runs ascend by miner, one each", r.Miner, t.Runs[i-1].Miner)
		}
		if r.Primary != nil && !finite(r.Primary) {
			return fmt.Errorf("row %d: primary %v is not finite", r.Row, *r.Primary)
		}
		if r.DuplicateOf != nil && *r.DuplicateOf == r.Row {
			return fmt.Errorf("row %d is a duplicate of itself", r.Row)
		}
	}
	return nil
}

// checkMarks refuses marks of duplicates that Close cannot have made. It costs as
// much as closing a topic does, so only a snapshot that is read is held to it.
func (s *Snapshot) checkMarks() error {
	m := marks{rows: map[uint64]*Run{}, artefacts: map[string]uint64{}, trees: map[string]uint64{}}
	for i := range s.Topics {
		if err := m.check(s.Topics[i].Runs); err != nil {
			return fmt.Errorf("topic %q: %w", s.Topics[i].ID, err)
		}
	}
	return nil
}

// marks holds what the runs of a topic are checked with; one topic after the
// other uses it.
type marks struct {
	rows             map[uint64]*Run
	artefacts, trees map[string]uint64 // row of the original of each
}

// check refuses marks that contradict each other (decision 4). The earliest row
// of an artefact or of a tree has one miner, so of two runs that share one at
// least one is a duplicate; and what is called a duplicate of another run here
// shares one with it. Whether a row that is not here is the original is not to be
// seen in a snapshot.
func (m *marks) check(runs []Run) error {
	clear(m.rows)
	clear(m.artefacts)
	clear(m.trees)
	for i := range runs {
		r := &runs[i]
		if m.rows[r.Row] != nil {
			return fmt.Errorf("row %d is there twice", r.Row)
		}
		m.rows[r.Row] = r
		if r.ArtifactDigest != digest(r.ArtifactDigest) || r.TreeDigest != digest(r.TreeDigest) {
			return fmt.Errorf("row %d: a digest is not in its stored form, lower-case and without white space around it", r.Row)
		}
		if r.DuplicateOf != nil {
			continue
		}
		if other, known := m.artefacts[r.ArtifactDigest]; known {
			return fmt.Errorf("rows %d and %d have one artefact and neither is a duplicate", other, r.Row)
		}
		if other, known := m.trees[r.TreeDigest]; known {
			return fmt.Errorf("rows %d and %d have one tree and neither is a duplicate", other, r.Row)
		}
		if r.ArtifactDigest != "" {
			m.artefacts[r.ArtifactDigest] = r.Row
		}
		if r.TreeDigest != "" {
			m.trees[r.TreeDigest] = r.Row
		}
	}
	for i := range runs {
		if r := &runs[i]; r.DuplicateOf != nil {
			if o := m.rows[*r.DuplicateOf]; o != nil && !o.sharesWith(r) {
				return fmt.Errorf("row %d is a duplicate of row %d and shares neither artefact nor tree with it", r.Row, o.Row)
			}
		}
	}
	return nil
}

// sharesWith reports whether two runs are near-duplicates; an empty digest never
// matches.
func (r *Run) sharesWith(o *Run) bool {
	return r.ArtifactDigest != "" && r.ArtifactDigest == o.ArtifactDigest || r.TreeDigest != "" && r.TreeDigest == o.TreeDigest
}

func (t *Topic) check() error {
	if t.ID == "" {
		return errors.New("id is empty")
	}
	if t.Direction != family.Min && t.Direction != family.Max {
		return fmt.Errorf("direction %q is neither min nor max", t.Direction)
	}
	if t.Sealed != nil && !finite(t.Sealed) {
		return fmt.Errorf("sealed primary %v is not finite", *t.Sealed)
	}
	switch t.Mode {
	case WTA:
		return nil
	case Discovery:
		if sum := uint32(t.PassFloorBps) + uint32(t.NoveltyBps); sum != 10_000 {
			return fmt.Errorf("discovery pass_floor_share_bps + novelty_pool_share_bps must sum to 10000, got %d", sum)
		}
		return nil
	}
	return fmt.Errorf("payout mode %q is neither wta nor discovery", t.Mode)
}

func finite(f *float64) bool { return f != nil && !math.IsNaN(*f) && !math.IsInf(*f, 0) }

func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && math.Float64bits(*a) == math.Float64bits(*b)
}

func show(f *float64) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprint(*f)
}
