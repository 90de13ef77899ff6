package results

import (
	"bufio"
	"io"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Writer writes results.json, C(results) and one line feed, as the results come:
// Begin once, then for each track in name order Track and its participants in the
// order of their DIDs, then End. The members of C are sorted, and that order is
// also the order in which they become known.
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
