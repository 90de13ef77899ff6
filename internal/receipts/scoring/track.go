package scoring

import (
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// trackScorer scores participants of one track. After it is made nothing in it
// changes, so workers share it.
type trackScorer struct {
	b       *bundle.Bundle
	t       *bundle.Track
	checker *receipt.Checker
	policy  receipt.Policy
	corpus  *frozenCorpus
	tasks   []*taskRules      // in season.json's order
	faults  map[string]string // response hash → system resource
	// corrections by participant and task; nil without corrections.json
	corrections map[correctionKey][]bundle.Correction
}

func newTrackScorer(b *bundle.Bundle, t *bundle.Track, checker *receipt.Checker) (*trackScorer, error) {
	s := &trackScorer{
		b: b, t: t, checker: checker, policy: b.Season.Witnesses.Receipt(),
		corpus: &frozenCorpus{t: t, values: map[string]any{}}, faults: map[string]string{},
		corrections: correctionsOf(b, t.Name),
	}
	for _, task := range t.Tasks {
		graph, err := track.BuildGraph(t.Name, task.Target, s.corpus)
		if err != nil {
			return nil, err
		}
		s.tasks = append(s.tasks, &taskRules{Task: task, graph: graph, key: t.Key.Tasks[task.ID]})
	}
	s.corpus.complete = true
	for _, resource := range []string{"/_systeme/403", "/_systeme/503", "/_systeme/400"} {
		e, ok := t.Manifest.Entry(resource)
		if _, taken := s.faults[e.ResponseSHA256]; ok && !taken {
			s.faults[e.ResponseSHA256] = resource
		}
	}
	return s, nil
}

// frozenCorpus keeps the values that the graphs of the tasks reach: only those
// are ever compared with a claim. The rest of a corpus, which may be large, is
// not kept.
type frozenCorpus struct {
	t        *bundle.Track
	values   map[string]any
	complete bool // every graph is built: nothing is added any more
}

// Value implements track.Corpus.
func (c *frozenCorpus) Value(resource string) (any, bool) {
	if v, ok := c.values[resource]; ok {
		return v, true
	}
	v, ok := c.t.Value(resource)
	if ok && !c.complete {
		c.values[resource] = v
	}
	return v, ok
}

// bestConstantAnswer is the most frequent expected verdict; of several the
// smallest by code points.
func (s *trackScorer) bestConstantAnswer() results.BestConstantAnswer {
	counts := map[string]int64{}
	best, most := "", int64(0)
	for _, t := range s.tasks {
		v := t.key.Verdict
		counts[v]++
		if n := counts[v]; n > most || n == most && v < best {
			best, most = v, n
		}
	}
	return results.BestConstantAnswer{Verdict: best, Rate: results.NewRate(most, int64(len(s.tasks)))}
}

// participant scores one enrolment; nil when it submitted nothing in the track.
func (s *trackScorer) participant(e *bundle.Enrolment) (*results.Participant, error) {
	submitted, err := s.b.Submitted(e.AgentDID)
	if err != nil {
		return nil, err
	}
	inTrack := false
	for _, id := range submitted {
		if t, _, ok := s.b.Season.Task(id); ok && t.Name == s.t.Name {
			inTrack = true
		}
	}
	if !inTrack {
		return nil, nil
	}
	p := &results.Participant{AgentDID: e.AgentDID, Kind: e.Kind, Ranked: e.Ranked}
	var num, den, solved int64
	v := s.visit(e.AgentDID)
	for _, r := range s.tasks {
		t, incidents, err := v.task(r)
		if err != nil {
			return nil, err
		}
		p.Tasks = append(p.Tasks, t)
		p.Incidents = append(p.Incidents, incidents...)
		if t.State == results.StateSubmitted {
			p.TasksSubmitted++
			n, d := overclaim(t.Assertions)
			num, den = num+n, den+d
			if *t.Grounded {
				solved++
			}
		}
	}
	if den > 0 {
		rate := results.NewRate(num, den)
		p.Overclaim = &rate
	}
	p.Success = results.NewRate(solved, int64(len(s.tasks)))
	p.Incidents = results.SortIncidents(p.Incidents)
	return p, nil
}

// overclaim counts the assertions of a submitted task: unsupported over supported
// and unsupported (§11). Instrument faults are in neither.
func overclaim(assertions []results.Assertion) (num, den int64) {
	for _, a := range assertions {
		switch a.Status {
		case bundle.StatusUnsupported:
			num++
			den++
		case bundle.StatusSupported:
			den++
		}
	}
	return num, den
}
