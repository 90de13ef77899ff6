package scoring

import (
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

// Sink takes results as they come: Begin once, then for each track in name
// order Track and its participants in the order of their DIDs, then End. An
// error of a sink ends the scoring. [results.Writer] is the Sink that writes
// results.json.
type Sink interface {
	Begin(h results.Header) error
	Track(name string, best results.BestConstantAnswer) error
	Participant(p *results.Participant) error
	End() error
}

// Score writes the bytes of results.json (§11). A nil trust means the bundle's
// own, which is only the publisher's proposal (D4). The error is a
// [*bundle.Refusal] when the freeze does not hold and a [*bundle.UnreadableError]
// when the bundle turns out unreadable; in both cases nothing was written,
// unless the system failed to read a file half-way.
func Score(b *bundle.Bundle, trust *receipt.Trust, w io.Writer) error {
	return Run(context.Background(), b, trust, results.NewWriter(w))
}

// Run scores a bundle into a sink; see [Score].
func Run(ctx context.Context, b *bundle.Bundle, trust *receipt.Trust, sink Sink) error {
	if trust == nil {
		trust = b.Trust
	}
	checker := receipt.NewChecker(trust)
	if refusal := b.CheckFreeze(checker); refusal != nil {
		return refusal
	}
	scorers := make([]*trackScorer, 0, len(b.Tracks))
	for _, name := range b.TrackNames() {
		s, err := newTrackScorer(b, b.Tracks[name], checker)
		if err != nil {
			return err
		}
		if err := s.checkCorrections(); err != nil {
			return err
		}
		scorers = append(scorers, s)
	}
	if err := sink.Begin(results.Header{Season: b.Season.Number, Corrections: b.Corrections}); err != nil {
		return err
	}
	for _, s := range scorers {
		if err := sink.Track(s.t.Name, s.bestConstantAnswer()); err != nil {
			return err
		}
		if err := s.run(ctx, sink); err != nil {
			return err
		}
	}
	return sink.End()
}

// outcome is one participant, or nil for an enrolment without a row.
type outcome struct {
	p   *results.Participant
	err error
}

// run scores the participants with as many workers as the machine runs at once.
// The window of results in flight is a small multiple of that, whatever the
// number of participants.
func (s *trackScorer) run(ctx context.Context, sink Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()

	type job struct {
		e    *bundle.Enrolment
		done chan outcome
	}
	count := runtime.GOMAXPROCS(0)
	jobs := make(chan job)
	inOrder := make(chan chan outcome, 2*count)
	workers.Go(func() {
		defer close(inOrder)
		defer close(jobs)
		for i := range s.b.Enrolments {
			j := job{e: &s.b.Enrolments[i], done: make(chan outcome, 1)}
			select {
			case inOrder <- j.done:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	})
	for range count {
		workers.Go(func() {
			for j := range jobs {
				p, err := s.participant(j.e)
				j.done <- outcome{p, err}
			}
		})
	}
	for done := range inOrder {
		var o outcome
		select {
		case o = <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if o.err != nil {
			return o.err
		}
		if o.p == nil {
			continue
		}
		if err := sink.Participant(o.p); err != nil {
			return err
		}
	}
	return ctx.Err()
}
