package host

import (
	"strings"
	"sync"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
)

// seals are the measurements that topics were sealed with since the host began, by
// commitment. A topic may be sealed anew, and the operator's file then holds the new
// measurement alone, before the epoch that the old one is the bar of is closed.
type seals struct {
	mu sync.Mutex
	by map[string]*baseline.Measurement
}

func newSeals() *seals { return &seals{by: make(map[string]*baseline.Measurement)} }

// of finds the measurement that a topic was signed with, in a file or among those
// that were there before; nil when neither has it.
func (s *seals) of(d *topic.Document, file *baseline.File) *baseline.Measurement {
	commitment := strings.ToLower(d.Baseline.MetricsCommitment)
	s.mu.Lock()
	defer s.mu.Unlock()
	if file != nil {
		if m, found := file.For(d.ID); found {
			if sum, err := m.Commitment(); err == nil && shape.SameHex(sum, commitment) {
				s.by[commitment] = m
				return m
			}
		}
	}
	if m := s.by[commitment]; m != nil && m.TopicID == d.ID {
		return m
	}
	return nil
}

// keepSeals remembers the measurements that are there now.
func (h *Host) keepSeals(s *state) {
	for _, t := range s.host.Topics {
		_ = h.seals.of(t.Document, s.files.baseline)
	}
}
