package family

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// parse reads one strict JSON value of bounded size.
func parse(data []byte) (any, error) {
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%d bytes, at most %d are read", len(data), MaxDocument)
	}
	return canonjson.ParseStrict(data)
}

// reader takes the members of one object by name and keeps the first fault, so
// that a document is read as a list of its members.
type reader struct {
	at      string
	object  *canonjson.Object
	pending map[string]bool
	err     error
}

// open starts reading an object; members named in dropped are ignored.
func open(v any, at string, dropped ...string) (*reader, error) {
	object, ok := v.(*canonjson.Object)
	if !ok {
		return nil, fmt.Errorf("%sis %s, not an object", prefixed(at), canonjson.Kind(v))
	}
	r := &reader{at: at, object: object, pending: map[string]bool{}}
	for _, name := range object.Names() {
		r.pending[name] = true
	}
	for _, name := range dropped {
		delete(r.pending, name)
	}
	return r, nil
}

func prefixed(at string) string {
	if at == "" {
		return ""
	}
	return at + " "
}

func (r *reader) path(name string) string {
	if r.at == "" {
		return name
	}
	return r.at + "." + name
}

func (r *reader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) fault(name, format string, args ...any) {
	r.note(errors.New(r.path(name) + " " + fmt.Sprintf(format, args...)))
}

// take returns a member that may be absent.
func (r *reader) take(name string) (any, bool) {
	delete(r.pending, name)
	return r.object.Get(name)
}

// need returns a member that must be there.
func (r *reader) need(name string) (any, bool) {
	v, ok := r.take(name)
	if !ok {
		r.fault(name, "is missing")
	}
	return v, ok
}

// close returns the first fault, an unread member among them.
func (r *reader) close() error {
	for _, name := range r.object.Names() {
		if r.pending[name] {
			r.fault(cut(name, 80), "is no member of this object; names are lower-case and exact")
		}
	}
	return r.err
}

func (r *reader) boolean(name string) bool {
	v, ok := r.need(name)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		r.fault(name, "is %s, not a boolean", canonjson.Kind(v))
	}
	return b
}

func (r *reader) text(name string) string {
	v, ok := r.need(name)
	if !ok {
		return ""
	}
	return r.asText(name, v)
}

func (r *reader) optionalText(name string) string {
	v, ok := r.take(name)
	if !ok {
		return ""
	}
	return r.asText(name, v)
}

func (r *reader) asText(name string, v any) string {
	s, ok := v.(string)
	if !ok {
		r.fault(name, "is %s, not a string", canonjson.Kind(v))
	}
	// A value must not keep the whole document alive.
	return strings.Clone(s)
}

func (r *reader) oneOf(name string, words ...string) string {
	s := r.text(name)
	for _, w := range words {
		if s == w {
			return w
		}
	}
	r.fault(name, "is %s, not one of %s", quote(s), strings.Join(words, ", "))
	return ""
}

func (r *reader) optionalTexts(name string) []string {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		r.fault(name, "is %s, not an array", canonjson.Kind(v))
		return nil
	}
	texts := make([]string, 0, len(list))
	for i, item := range list {
		texts = append(texts, r.asText(name+"["+strconv.Itoa(i)+"]", item))
	}
	return texts
}

func (r *reader) unsigned(name string) uint64 {
	v, ok := r.need(name)
	if !ok {
		return 0
	}
	return r.asUnsigned(name, v)
}

// optionalUnsigned returns nil for an absent or null member.
func (r *reader) optionalUnsigned(name string) *uint64 {
	v, ok := r.take(name)
	if !ok || v == nil {
		return nil
	}
	n := r.asUnsigned(name, v)
	return &n
}

// asUnsigned is exact up to 2^64-1; a budget of 2e18 does not fit a float.
func (r *reader) asUnsigned(name string, v any) uint64 {
	i, ok := v.(canonjson.Int)
	if !ok {
		r.fault(name, "is %s, not an integer", canonjson.Kind(v))
		return 0
	}
	n, err := strconv.ParseUint(string(i), 10, 64)
	if err != nil {
		r.fault(name, "= %s is not within 0..=18446744073709551615", cut(string(i), 40))
	}
	return n
}

func (r *reader) float(name string) float64 {
	v, ok := r.need(name)
	if !ok {
		return 0
	}
	return r.asFloat(name, v)
}

// optionalFloat returns nil for an absent or null member.
func (r *reader) optionalFloat(name string) *float64 {
	v, ok := r.take(name)
	if !ok || v == nil {
		return nil
	}
	f := r.asFloat(name, v)
	return &f
}

func (r *reader) asFloat(name string, v any) float64 {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case canonjson.Int:
		// Of an integer beyond the range ParseFloat makes an infinity.
		f, _ = strconv.ParseFloat(string(v), 64)
	default:
		r.fault(name, "is %s, not a number", canonjson.Kind(v))
		return 0
	}
	if !finite(f) {
		r.fault(name, "is beyond the range of a 64-bit float")
	}
	return f
}
