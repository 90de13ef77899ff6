package holdout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/shape"
)

// File is an operator's holdout file: records per topic, or one list for
// whichever topic's commitment it matches (R§25, PROOF_HOLDOUT_FILE).
type File struct {
	shared *[]Record
	topics map[string][]Record
}

// For returns the records a file has for a topic: those under its id, else the
// list that names no topic. Whether they are the topic's is for Verify to say.
func (f *File) For(topicID string) ([]Record, bool) {
	if records, ok := f.topics[topicID]; ok {
		return records, true
	}
	if f.shared != nil {
		return *f.shared, true
	}
	return nil, false
}

// Topics lists the topic ids that the file names, sorted.
func (f *File) Topics() []string { return slices.Sorted(maps.Keys(f.topics)) }

// IDs lists the numbers of all records in the file, sorted.
func (f *File) IDs() []uint32 {
	var ids []uint32
	add := func(records []Record) {
		for _, r := range records {
			ids = append(ids, r.Reveal().ID)
		}
	}
	if f.shared != nil {
		add(*f.shared)
	}
	for _, records := range f.topics {
		add(records)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ParseFile reads a holdout file: a JSON array of records, or an object of such
// arrays by topic id, on its own or as the only member "topics". JSON is strict:
// duplicate, unknown and wrong-case members, floats for integers and missing
// members are refused with their place. An error shows no value of the file and
// no name that the format does not know: a slip may have put a hash there.
func ParseFile(data []byte) (*File, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		var se *canonjson.SyntaxError
		if errors.As(err, &se) {
			return nil, fmt.Errorf("holdout file is not strict JSON (byte %d): check for a duplicate member, a stray comma or a cut end", se.Offset)
		}
		return nil, errors.New("holdout file is not strict JSON")
	}
	switch v := v.(type) {
	case []any:
		records, err := readRecords("", v)
		if err != nil {
			return nil, err
		}
		return &File{shared: &records}, nil
	case *canonjson.Object:
		if inner, ok := v.Get("topics"); ok {
			if topics, ok := inner.(*canonjson.Object); ok {
				if v.Len() != 1 {
					return nil, errors.New(`holdout file: beside "topics" there must be no other member`)
				}
				return readTopics("/topics", topics)
			}
		}
		return readTopics("", v)
	}
	return nil, fmt.Errorf("holdout file must be an array of records or an object of such arrays by topic id, is %s", canonjson.Kind(v))
}

func readTopics(at string, o *canonjson.Object) (*File, error) {
	f := &File{topics: make(map[string][]Record, o.Len())}
	n := 0
	for name, v := range o.All() {
		n++
		if !shape.Slug(name) {
			return nil, fmt.Errorf("holdout file: the name of member %d of %s is no topic id ([a-z0-9][a-z0-9-]{1,62})", n, place(at))
		}
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("holdout file: %s/%s must be an array of records, is %s", at, name, canonjson.Kind(v))
		}
		records, err := readRecords(at+"/"+name, list)
		if err != nil {
			return nil, err
		}
		f.topics[name] = records
	}
	return f, nil
}

func place(at string) string {
	if at == "" {
		return "the document"
	}
	return at
}

func readRecords(at string, list []any) ([]Record, error) {
	records := make([]Record, len(list))
	for i, v := range list {
		p, err := readRecord(v)
		if err != nil {
			return nil, fmt.Errorf("holdout file: %s/%d %w", at, i, err)
		}
		records[i] = Seal(p)
	}
	return records, nil
}

// members of a record, in the order they are written.
func members() []string {
	return []string{"id", "split", "dataset_id", "content_sha256", "token_count"}
}

func readRecord(v any) (Plain, error) {
	var p Plain
	o, ok := v.(*canonjson.Object)
	if !ok {
		return p, fmt.Errorf("must be an object, is %s", canonjson.Kind(v))
	}
	for name := range o.All() {
		if slices.Contains(members(), name) {
			continue
		}
		for _, known := range members() {
			if squeezed(name) == squeezed(known) {
				return p, fmt.Errorf("has an unknown member; did you mean %q", known)
			}
		}
		return p, fmt.Errorf("has an unknown member; a record has %s", strings.Join(members(), ", "))
	}
	var split string
	var err error
	if p.ID, err = u32(o, "id"); err != nil {
		return p, err
	}
	if split, err = text(o, "split"); err != nil {
		return p, err
	}
	if p.Split = Split(split); !p.Split.Known() {
		return p, errors.New(`/split is not one of web_ood, code_ood, math_ood, longctx, multilingual_ood, canary_offpath`)
	}
	if p.DatasetID, err = text(o, "dataset_id"); err != nil {
		return p, err
	}
	if p.ContentSHA256, err = text(o, "content_sha256"); err != nil {
		return p, err
	}
	p.TokenCount, err = u32(o, "token_count")
	return p, err
}

// squeezed makes names alike that differ in case, hyphens and underscores.
func squeezed(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

func u32(o *canonjson.Object, name string) (uint32, error) {
	v, ok := o.Get(name)
	if !ok {
		return 0, fmt.Errorf("/%s is missing", name)
	}
	i, ok := v.(canonjson.Int)
	if !ok {
		return 0, fmt.Errorf("/%s must be an integer, is %s", name, canonjson.Kind(v))
	}
	n, ok := i.Int64()
	if !ok || n < 0 || n > math.MaxUint32 {
		return 0, fmt.Errorf("/%s must be 0..=%d", name, uint32(math.MaxUint32))
	}
	return uint32(n), nil
}

func text(o *canonjson.Object, name string) (string, error) {
	v, ok := o.Get(name)
	if !ok {
		return "", fmt.Errorf("/%s is missing", name)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("/%s must be a string, is %s", name, canonjson.Kind(v))
	}
	return s, nil
}

// Write returns a holdout file with the records of one topic in the open, one
// record a line: what the operator keeps, and what ParseFile reads. It is as
// secret as the records.
func Write(topicID string, records []Record) ([]byte, error) {
	return write(map[string][]Record{topicID: records})
}

// ErrHasTopic is wrapped by Put when the file has records of the topic already.
var ErrHasTopic = errors.New("has records of this topic already")

// Put returns a holdout file with the records of one topic added beside those of
// every other topic. Records that are there are never replaced ([ErrHasTopic]: a
// topic whose records are lost is closed for good), and a list that names no topic
// does not become one topic's. Empty data make a new file.
func Put(data []byte, topicID string, records []Record) ([]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Write(topicID, records)
	}
	f, err := ParseFile(data)
	if err != nil {
		return nil, err
	}
	if f.shared != nil {
		return nil, errors.New("holdout file: its list of records names no topic, so another topic cannot stand beside it")
	}
	if _, there := f.topics[topicID]; there {
		return nil, fmt.Errorf("holdout file: %w", ErrHasTopic)
	}
	topics := maps.Clone(f.topics)
	topics[topicID] = records
	return write(topics)
}

func write(topics map[string][]Record) ([]byte, error) {
	var b strings.Builder
	b.WriteString("{\"topics\": {")
	for n, topicID := range slices.Sorted(maps.Keys(topics)) {
		if !shape.Slug(topicID) {
			return nil, fmt.Errorf("topic id %q must match [a-z0-9][a-z0-9-]{1,62}", topicID)
		}
		if n > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q: [", topicID)
		for i, r := range topics[topicID] {
			line, err := json.Marshal(r.Reveal())
			if err != nil {
				return nil, errors.New("writing a record failed") // its text would hold the record
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n  ")
			b.Write(line)
		}
		b.WriteString("\n]")
	}
	b.WriteString("}}\n")
	return []byte(b.String()), nil
}
