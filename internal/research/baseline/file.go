package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/strict"
)

// File is an operator's baseline file (PROOF_BASELINE_FILE): measurements by the
// id of the topic that they were recorded for.
type File struct {
	byTopic map[string]*Measurement
	faults  map[string]error
}

// For returns the measurement recorded for a topic. Whether it is the one that
// the topic was signed with is for Bind to say; why there is none, for Fault.
func (f *File) For(topicID string) (*Measurement, bool) {
	m, ok := f.byTopic[topicID]
	return m, ok
}

// Fault says why what the file has under a topic's id is no measurement, nil when
// it is one or nothing is there. The text names the topic.
func (f *File) Fault(topicID string) error { return f.faults[topicID] }

// Faults lists every fault of the file, sorted by topic id.
func (f *File) Faults() []error {
	list := make([]error, 0, len(f.faults))
	for _, id := range slices.Sorted(maps.Keys(f.faults)) {
		list = append(list, f.faults[id])
	}
	return list
}

// Topics lists the topic ids that the file has a measurement for, sorted.
func (f *File) Topics() []string { return slices.Sorted(maps.Keys(f.byTopic)) }

// ParseFile reads a baseline file: one measurement, told by its key topic_id, or
// an object of measurements by topic id, on its own or as the only key "topics".
// Each is read as strictly as by Parse. A fault inside the measurement of one
// topic is that topic's alone and takes no other one down (see [File.Fault]); a
// file of one measurement, or one that is no such object, is refused as a whole.
func ParseFile(data []byte) (*File, error) {
	v, err := strict.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("parse baseline file: %w", err)
	}
	f, err := readFile(v)
	if err != nil {
		return nil, fmt.Errorf("parse baseline file: %w", err)
	}
	return f, nil
}

func readFile(v any) (*File, error) {
	f := &File{byTopic: map[string]*Measurement{}, faults: map[string]error{}}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, &strict.Error{Reason: "is " + canonjson.Kind(v) + ", want a measurement or an object of measurements by topic id"}
	}
	if o.Has("topic_id") {
		m := &Measurement{}
		if err := reader(m)(v, ""); err != nil {
			return nil, err
		}
		f.byTopic[m.TopicID] = m
		return f, nil
	}
	topics, _ := measurements(o)
	for id, value := range topics.All() {
		if !shape.Slug(id) {
			return nil, &strict.Error{Path: quote(id), Reason: "is no topic id; a file of one measurement has the key topic_id"}
		}
		m := &Measurement{}
		if err := reader(m)(value, id); err != nil {
			f.faults[id] = err
			continue
		}
		f.byTopic[id] = m
	}
	return f, nil
}

// measurements is the object of measurements by topic id inside a file, which may
// stand under the one key "topics". A measurement of a topic of that name is told
// apart by its keys: each has an underscore, which no topic id has.
func measurements(o *canonjson.Object) (topics *canonjson.Object, wrapped bool) {
	inner, _ := o.Get("topics")
	topics, ok := inner.(*canonjson.Object)
	if !ok || o.Len() != 1 {
		return o, false
	}
	for id := range topics.All() {
		if !shape.Slug(id) {
			return o, false
		}
	}
	return topics, true
}

// Put returns a baseline file with the measurement of one topic added or replaced
// and every other topic's kept as it is, those with a fault too. Empty data make a
// file of that one measurement; a file of one measurement becomes an object by
// topic id. Data that cannot be told apart by topic are refused, never replaced.
func Put(data []byte, m *Measurement) ([]byte, error) {
	if !shape.Slug(m.TopicID) {
		return nil, fmt.Errorf("the measurement's topic_id %s is no topic id", quote(m.TopicID))
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return m.JSON()
	}
	v, err := strict.JSON(data)
	if err != nil {
		return nil, fmt.Errorf("parse baseline file: %w", err)
	}
	f, err := readFile(v)
	if err != nil {
		return nil, fmt.Errorf("parse baseline file: %w", err)
	}
	file := v.(*canonjson.Object) // readFile takes nothing else
	topics := file
	if file.Has("topic_id") {
		id := f.Topics()[0]
		if !shape.Slug(id) {
			return nil, errors.New("parse baseline file: its one measurement names no topic (topic_id), so it cannot stand beside another")
		}
		topics = canonjson.NewObject(id, v)
		file = topics
	} else if inner, wrapped := measurements(file); wrapped {
		topics = inner
	}
	topics.Set(m.TopicID, m.metrics(m.bound()))
	return indented(file)
}

// indented spells an object for people, each number as it is.
func indented(o *canonjson.Object) ([]byte, error) {
	text, err := canonjson.Sorted(o)
	if err != nil {
		return nil, fmt.Errorf("baseline measurement cannot be written: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, fmt.Errorf("baseline measurement cannot be written: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
