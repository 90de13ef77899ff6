package harvest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prova-dev/prova/internal/research/strict"
)

// The markers of a result on stdout (R§15.6).
const (
	metricsMarker = "PROOF_METRICS="
	okMarker      = "PROOF_EVAL_OK"
)

const (
	maxLine  = len(metricsMarker) + strict.MaxSize
	maxTail  = 8 << 10  // bytes of the tail in an error (R§15.6)
	keptTail = 64 << 10 // bytes that are kept to make a tail of
)

var errFlood = errors.New("more output than a run may print")

// output takes the stdout of a run, line by line, in bounded memory (io.Writer).
type output struct {
	line     []byte
	skipping bool  // of a line that is too long
	most     int64 // bytes that may be printed
	total    int64
	flooded  bool
	over     func() // ends the run: a peer whose output nobody reads would wait until its deadline

	lines [][]byte // the last ones
	kept  int

	metrics  []byte // of the first metrics line
	repeated bool
	ok       bool // PROOF_EVAL_OK came after the metrics
}

func (o *output) Write(p []byte) (int, error) {
	o.total += int64(len(p))
	if o.total > o.most {
		o.flooded = true
		o.over()
		return 0, errFlood
	}
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			o.append(p)
			return n, nil
		}
		o.append(p[:i])
		o.end()
		p = p[i+1:]
	}
	return n, nil
}

func (o *output) append(p []byte) {
	if o.skipping {
		return
	}
	if len(o.line)+len(p) > maxLine {
		o.skipping = true
		o.line = o.line[:0]
		return
	}
	o.line = append(o.line, p...)
}

// end ends a line: that of the last Write, or what is left at the end of a run.
func (o *output) end() {
	line := bytes.TrimSuffix(o.line, []byte("\r"))
	if o.skipping {
		line = []byte("[a line longer than " + fmt.Sprint(maxLine) + " bytes]")
	}
	o.skipping = false
	metrics, is := bytes.CutPrefix(line, []byte(metricsMarker))
	switch {
	case is && o.metrics != nil:
		o.repeated = true
	case is:
		o.metrics = bytes.Clone(metrics)
	case string(line) == okMarker:
		o.ok = o.metrics != nil
	}
	o.lines = append(o.lines, bytes.Clone(line))
	o.kept += len(line) + 1
	for len(o.lines) > 1 && o.kept > keptTail {
		o.kept -= len(o.lines[0]) + 1
		o.lines = o.lines[1:]
	}
	o.line = o.line[:0]
}

// close ends the last line, which may have no line feed.
func (o *output) close() {
	if len(o.line) > 0 || o.skipping {
		o.end()
	}
}

// tail is the end of what was printed, at most 8 KiB and without anything withheld.
// Whole lines are cleaned before the cut, so that no half of a secret is left.
func (o *output) tail(w *withheld) string {
	text := printable(w.clean(strings.ToValidUTF8(string(bytes.Join(o.lines, []byte("\n"))), "?")))
	if len(text) <= maxTail {
		return text
	}
	text = text[len(text)-maxTail:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// classify says why a run that exited was no evaluation; empty when it ended well
// (R§15.6). elapsed is the time between start and exit.
func classify(exit int, elapsed time.Duration, deadlineS uint64, tail string) string {
	deadline := time.Duration(deadlineS) * time.Second
	switch {
	case exit == 0:
		return ""
	case exit == 124, exit == 137 && elapsed >= deadline:
		return overdue(deadlineS, tail)
	case exit == 137:
		return fmt.Sprintf("proof-eval was ended by an external SIGKILL after %ds, before its deadline of %ds (for example out of memory); stdout_tail: %s",
			int(elapsed/time.Second), deadlineS, tail)
	}
	return fmt.Sprintf("proof-eval exited with status %d; stdout_tail: %s", exit, tail)
}

func overdue(deadlineS uint64, tail string) string {
	return fmt.Sprintf("proof deadline of %ds exceeded; stdout_tail: %s", deadlineS, tail)
}

// document is the eval document of a run that exited well.
func (o *output) document() ([]byte, string) {
	switch {
	case o.metrics == nil:
		return nil, "proof-eval printed no " + strings.TrimSuffix(metricsMarker, "=")
	case o.repeated:
		return nil, "proof-eval printed " + strings.TrimSuffix(metricsMarker, "=") + " more than once"
	case !o.ok:
		return nil, "proof-eval did not end with " + okMarker
	}
	return o.metrics, ""
}
