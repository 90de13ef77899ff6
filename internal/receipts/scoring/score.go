package scoring

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"sync"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/internal/receipts/bundle"
)

// Sink takes results as they come: Begin once, then for each track in name
// order Track and its participants in the order of their DIDs, then End. An
// error of a sink ends the scoring.
type Sink interface {
	Begin(h Header) error
	Track(name string, best BestConstantAnswer) error
	Participant(p *Participant) error
	End() error
}

// Score writes the bytes of results.json (§11). A nil trust means the bundle's
// own, which is only the publisher's proposal (D4). The error is a
// [*bundle.Refusal] when the freeze does not hold and a [*bundle.UnreadableError]
// when the bundle turns out unreadable; in both cases nothing was written,
// unless the system failed to read a file half-way.
func Score(b *bundle.Bundle, trust *receipt.Trust, w io.Writer) error {
	return Run(context.Background(), b, trust, NewWriter(w))
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
	if err := sink.Begin(Header{Season: b.Season.Number, Corrections: b.Corrections}); err != nil {
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
	p   *Participant
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

// Writer is the Sink that writes results.json: C(results) and one line feed.
// The members of C are sorted, and that order is also the order in which they
// become known.
type Writer struct {
	w            *bufio.Writer
	version      int64 // 0 without corrections
	tracks, rows int
	scratch      []byte
	err          error
}

// NewWriter returns a Writer to w; End flushes it.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriterSize(w, 64<<10)} }

// Begin writes what stands before the tracks.
func (w *Writer) Begin(h Header) error {
	w.text("{")
	if c := h.Corrections; c != nil {
		w.version = c.Version
		entries := make([]any, len(c.Entries))
		for i, e := range c.Entries {
			entries[i] = e.Object()
		}
		w.text(`"corrections":`)
		w.value(entries)
		w.text(`,"previous_sha256":`)
		w.value(c.PreviousSHA256)
		w.text(",")
	}
	w.text(`"season":`)
	w.value(canonjson.NewInt(h.Season))
	w.text(`,"tracks":{`)
	return w.err
}

// Track begins a track; the one before ends.
func (w *Writer) Track(name string, best BestConstantAnswer) error {
	if w.tracks > 0 {
		w.text("]},")
	}
	w.tracks++
	w.rows = 0
	w.value(name)
	w.text(`:{"best_constant_answer":`)
	w.value(best.object())
	w.text(`,"participants":[`)
	return w.err
}

// Participant writes one row.
func (w *Writer) Participant(p *Participant) error {
	if w.rows > 0 {
		w.text(",")
	}
	w.rows++
	w.value(p.Object())
	return w.err
}

// End writes the rest and flushes.
func (w *Writer) End() error {
	if w.tracks > 0 {
		w.text("]}")
	}
	w.text("}")
	if w.version > 0 {
		w.text(`,"version":`)
		w.value(canonjson.NewInt(w.version))
	}
	w.text("}\n")
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}

func (w *Writer) text(s string) {
	if _, err := w.w.WriteString(s); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *Writer) value(v any) {
	w.scratch = canonjson.Append(w.scratch[:0], v)
	if _, err := w.w.Write(w.scratch); err != nil && w.err == nil {
		w.err = err
	}
}
