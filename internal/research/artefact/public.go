package artefact

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

// Names of the two public files of a topic (R§20).
const (
	bestName   = "best.json"
	eventsName = "events.jsonl"
)

// Best is best.json: the champion of a topic.
type Best struct {
	TopicID          string
	SubmissionID     string
	SubmissionDigest string
	PrimaryValue     float64
	Bar              *float64 // what it had to beat; nil when there was none
}

// JSON returns best.json with the line feed at its end.
func (b *Best) JSON() ([]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	text, err := pretty(canonjson.NewObject(
		"topic_id", b.TopicID, "submission_id", b.SubmissionID, "submission_digest", b.SubmissionDigest,
		"primary_value", b.PrimaryValue, "bar", number(b.Bar), "artefact", b.SubmissionID+".zip"))
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func (b *Best) check() error {
	if err := checkIDs(b.TopicID, b.SubmissionID); err != nil {
		return err
	}
	if !lowerHex64(b.SubmissionDigest) {
		return fmt.Errorf("submission_digest %.80q is not 64 lower-case hexadecimal digits", b.SubmissionDigest)
	}
	return finite(&b.PrimaryValue, b.Bar)
}

func finite(values ...*float64) error {
	for _, v := range values {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return errors.New("a value is not a finite number")
		}
	}
	return nil
}

// ParseBest reads best.json, and nothing that [Best.JSON] would write otherwise.
func ParseBest(data []byte) (*Best, error) {
	v, err := strict.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bestName, err)
	}
	b, zip := &Best{}, ""
	if err := strict.Object(
		strict.Key("topic_id", strict.String(&b.TopicID)),
		strict.Key("submission_id", strict.String(&b.SubmissionID)),
		strict.Key("submission_digest", strict.String(&b.SubmissionDigest)),
		strict.Key("primary_value", strict.Float(&b.PrimaryValue)),
		strict.Key("bar", strict.Optional(&b.Bar, strict.Float)),
		strict.Key("artefact", strict.String(&zip)),
	)(v, ""); err != nil {
		return nil, fmt.Errorf("%s: %w", bestName, err)
	}
	again, err := b.JSON()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bestName, err)
	}
	if !bytes.Equal(again, data) {
		return nil, fmt.Errorf("%s: it is not written as it must be: it differs from byte %d on", bestName, differ(again, data))
	}
	return b, nil
}

// Words of [Event.Event].
const (
	EventScored   = "scored"
	EventPromoted = "promoted"
)

// Event is a line of events.jsonl; make one with [Scored] or [Promoted].
type Event struct {
	Event          string // EventScored or EventPromoted
	SubmissionID   string
	PrimaryValue   *float64 // of a scored row, nil when nothing was measured
	ChecklistGreen bool     // scored
	Bar            *float64 // promoted
	PreviousBest   *string  // promoted: the row that was displaced
}

// Scored says that a row was scored.
func Scored(submissionID string, primary *float64, green bool) Event {
	return Event{Event: EventScored, SubmissionID: submissionID, PrimaryValue: primary, ChecklistGreen: green}
}

// Promoted says that a row became the champion of its topic.
func Promoted(submissionID string, primary float64, bar *float64, previous *string) Event {
	return Event{Event: EventPromoted, SubmissionID: submissionID, PrimaryValue: &primary, Bar: bar, PreviousBest: previous}
}

// Line returns the event as a line, its line feed included.
func (e *Event) Line() ([]byte, error) {
	if !rowIDForm(e.SubmissionID) {
		return nil, fmt.Errorf("submission id %.80q is not pf_ and 16 lower-case hexadecimal digits", e.SubmissionID)
	}
	if err := finite(e.PrimaryValue, e.Bar); err != nil {
		return nil, err
	}
	o := canonjson.NewObject("event", e.Event, "submission_id", e.SubmissionID, "primary_value", number(e.PrimaryValue))
	switch e.Event {
	case EventScored:
		o.Set("checklist_green", e.ChecklistGreen)
	case EventPromoted:
		if e.PrimaryValue == nil {
			return nil, errors.New("a promoted row has a primary value")
		}
		o.Set("bar", number(e.Bar))
		o.Set("previous_best", nil)
		if e.PreviousBest != nil {
			if !rowIDForm(*e.PreviousBest) {
				return nil, fmt.Errorf("previous best %.80q is not pf_ and 16 lower-case hexadecimal digits", *e.PreviousBest)
			}
			o.Set("previous_best", *e.PreviousBest)
		}
	default:
		return nil, fmt.Errorf("event %.80q is neither %s nor %s", e.Event, EventScored, EventPromoted)
	}
	return appendLine(nil, o)
}

// appendLine writes an object in one line, members in their order, numbers and
// strings as in R§3.
func appendLine(dst []byte, o *canonjson.Object) ([]byte, error) {
	mark := byte('{')
	var err error
	for name, member := range o.All() {
		if dst, err = canonjson.AppendSorted(append(dst, mark), name); err != nil {
			return nil, err
		}
		if dst, err = canonjson.AppendSorted(append(dst, ':'), member); err != nil {
			return nil, err
		}
		mark = ','
	}
	return append(dst, "}\n"...), nil
}

// ParseEvents reads events.jsonl, and nothing that [Event.Line] would write
// otherwise. The error names the line.
func ParseEvents(data []byte) ([]Event, error) {
	var events []Event
	for number := 1; len(data) > 0; number++ {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			return nil, fmt.Errorf("%s: line %d is cut off", eventsName, number)
		}
		e, err := parseEvent(data[:end])
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", eventsName, number, err)
		}
		events = append(events, e)
		data = data[end:]
	}
	return events, nil
}

func parseEvent(line []byte) (Event, error) {
	var e Event
	v, err := strict.JSON(line)
	if err != nil {
		return e, err
	}
	if err := strict.Object(
		strict.Key("event", strict.String(&e.Event)),
		strict.Key("submission_id", strict.String(&e.SubmissionID)),
		strict.Key("primary_value", strict.Optional(&e.PrimaryValue, strict.Float)),
		strict.Key("checklist_green", strict.Bool(&e.ChecklistGreen)),
		strict.Key("bar", strict.Optional(&e.Bar, strict.Float)),
		strict.Key("previous_best", strict.Optional(&e.PreviousBest, strict.String)),
	)(v, ""); err != nil {
		return e, err
	}
	again, err := e.Line()
	if err != nil {
		return e, err
	}
	if !bytes.Equal(again, line) {
		return e, fmt.Errorf("it is not written as it must be: it differs from byte %d on", differ(again, line))
	}
	return e, nil
}

// Append adds an event to a topic's events.jsonl; when it returns, the line is on
// disk. After an error the file is as before, or [Root.Project] must write it
// again; a file whose last line is cut off is refused.
func (r *Root) Append(topicID string, e Event) error {
	if err := r.append(topicID, e); err != nil {
		return fmt.Errorf("artefact: append to %s: %w", eventsName, err)
	}
	return nil
}

func (r *Root) append(topicID string, e Event) error {
	if err := checkTopic(topicID); err != nil {
		return err
	}
	line, err := e.Line()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.makeFolder(topicID); err != nil {
		return err
	}
	name := topicID + "/" + eventsName
	if info, err := r.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	f, err := r.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	before := info.Size()
	if before > 0 {
		last := []byte{0}
		if _, err := f.ReadAt(last, before-1); err != nil {
			return r.inside(err)
		}
		if last[0] != '\n' {
			return errors.New("its last line is cut off; it must be written again from the store")
		}
	}
	r.step("create " + name)
	if _, err := f.Write(line); err != nil {
		return errors.Join(r.inside(err), r.inside(f.Truncate(before)))
	}
	r.step("write " + name)
	if err := f.Sync(); err != nil {
		return r.inside(err)
	}
	r.step("sync " + name)
	if before == 0 {
		return r.sync(topicID)
	}
	return nil
}

// SetBest writes a topic's best.json, in one step for its readers.
func (r *Root) SetBest(b *Best) error {
	text, err := b.JSON()
	if err != nil {
		return fmt.Errorf("artefact: %s: %w", bestName, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.replace(b.TopicID, bestName, text); err != nil {
		return fmt.Errorf("artefact: %s: %w", bestName, err)
	}
	return nil
}

// Project makes the two public files of a topic what the store says: best.json of
// the champion, or none for nil, and all events in their order. A file that is
// right already is not written. It may be repeated.
func (r *Root) Project(topicID string, best *Best, events []Event) error {
	if err := r.project(topicID, best, events); err != nil {
		return fmt.Errorf("artefact: project %.80q: %w", topicID, err)
	}
	return nil
}

func (r *Root) project(topicID string, best *Best, events []Event) error {
	if err := checkTopic(topicID); err != nil {
		return err
	}
	var bestText, lines []byte
	if best != nil {
		var err error
		if best.TopicID != topicID {
			return fmt.Errorf("the champion is of the topic %.80q", best.TopicID)
		}
		if bestText, err = best.JSON(); err != nil {
			return err
		}
	}
	for i := range events {
		line, err := events[i].Line()
		if err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
		lines = append(lines, line...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// Events first: a best.json never names a row of which no event is on disk.
	return errors.Join(r.replace(topicID, eventsName, lines), r.replace(topicID, bestName, bestText))
}

// replace writes a public file, in one step for its readers, unless it is right
// already. No data is no file.
func (r *Root) replace(topicID, name string, data []byte) error {
	name, temp := topicID+"/"+name, topicID+"/."+name+".new"
	if err := gone(r.root.Remove(temp)); err != nil { // of a process that ended here
		return err
	}
	size := int64(-1)
	if info, err := r.root.Lstat(name); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err == nil {
		return fmt.Errorf("%s is no regular file", name)
	}
	if len(data) == 0 {
		if size < 0 {
			return nil
		}
		if err := r.root.Remove(name); err != nil {
			return err
		}
		r.step("remove " + name)
		return r.sync(topicID)
	}
	if size == int64(len(data)) {
		now, err := r.root.ReadFile(name)
		if err != nil || bytes.Equal(now, data) {
			return err
		}
	}
	if err := r.makeFolder(topicID); err != nil {
		return err
	}
	if err := r.write(temp, data); err != nil {
		return err
	}
	if err := r.root.Rename(temp, name); err != nil {
		return err
	}
	r.step("rename " + name)
	return r.sync(topicID)
}
