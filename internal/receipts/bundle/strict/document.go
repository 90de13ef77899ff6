package strict

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Document is a document being read. After the first fault every method returns
// a zero value of its type or the value as far as it was right.
type Document struct{ fault string }

// Parse reads data strictly. When that fails the fault is set and the value nil.
func Parse(data []byte) (*Document, any) {
	d := &Document{}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		d.Fail("", "is not strict JSON: %s", Reason(err))
		return d, nil
	}
	return d, v
}

// Reason words a strict parser's error with its place, on one line.
func Reason(err error) string {
	var se *canonjson.SyntaxError
	if !errors.As(err, &se) {
		return err.Error()
	}
	if se.Pointer == "" {
		return fmt.Sprintf("%s (byte %d)", se.Reason, se.Offset)
	}
	return fmt.Sprintf("%s (byte %d, at %s)", se.Reason, se.Offset, Quote(se.Pointer))
}

// Failed reports whether a fault was found.
func (d *Document) Failed() bool { return d.fault != "" }

// Fault is the first fault found, "" when there is none: one line.
func (d *Document) Fault() string { return d.fault }

// Fail records a fault at a JSON Pointer; only the first counts.
func (d *Document) Fail(at, format string, args ...any) {
	if d.fault != "" {
		return
	}
	d.fault = fmt.Sprintf(format, args...)
	if at != "" {
		d.fault = shown(at) + " " + d.fault
	}
}

// shown writes a pointer as it is unless that would break the line.
func shown(at string) string {
	if q := strconv.QuoteToASCII(at); q != `"`+at+`"` || len(at) > 300 {
		return Quote(at)
	}
	return at
}

// Object requires an object.
func (d *Document) Object(at string, v any) *canonjson.Object {
	o, ok := v.(*canonjson.Object)
	if !ok {
		d.Fail(at, "must be an object, is %s", canonjson.Kind(v))
		return canonjson.NewObject()
	}
	return o
}

// Array requires an array.
func (d *Document) Array(at string, v any) []any {
	a, ok := v.([]any)
	if !ok {
		d.Fail(at, "must be an array, is %s", canonjson.Kind(v))
		return nil
	}
	return a
}

// Text requires a string.
func (d *Document) Text(at string, v any) string {
	s, ok := v.(string)
	if !ok {
		d.Fail(at, "must be a string, is %s", canonjson.Kind(v))
	}
	return s
}

// Integer accepts a literal without fraction or exponent from −2^63 to 2^63−1.
func (d *Document) Integer(at string, v any) int64 {
	i, ok := v.(canonjson.Int)
	if !ok {
		d.Fail(at, "must be an integer written without fraction or exponent, is %s", canonjson.Kind(v))
		return 0
	}
	n, ok := i.Int64()
	if !ok {
		d.Fail(at, "must lie between -2^63 and 2^63-1")
	}
	return n
}

// Boolean requires a boolean.
func (d *Document) Boolean(at string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		d.Fail(at, "must be true or false, is %s", canonjson.Kind(v))
	}
	return b
}

// Member is the named member of o and its place; its absence is a fault.
func (d *Document) Member(at string, o *canonjson.Object, name string) (string, any) {
	at = at + "/" + Token(name)
	v, ok := o.Get(name)
	if !ok {
		d.Fail(at, "is missing")
	}
	return at, v
}

// ObjectOf requires a member that is an object.
func (d *Document) ObjectOf(at string, o *canonjson.Object, name string) (string, *canonjson.Object) {
	at, v := d.Member(at, o, name)
	return at, d.Object(at, v)
}

// ArrayOf requires a member that is an array.
func (d *Document) ArrayOf(at string, o *canonjson.Object, name string) (string, []any) {
	at, v := d.Member(at, o, name)
	return at, d.Array(at, v)
}

// TextOf requires a member that is a string.
func (d *Document) TextOf(at string, o *canonjson.Object, name string) string {
	at, v := d.Member(at, o, name)
	return d.Text(at, v)
}

// IntegerOf requires a member that is an integer.
func (d *Document) IntegerOf(at string, o *canonjson.Object, name string) int64 {
	at, v := d.Member(at, o, name)
	return d.Integer(at, v)
}

// TextOrNull is for members that are a string or null; "" stands for null, so
// the second result tells an empty string from it.
func (d *Document) TextOrNull(at string, o *canonjson.Object, name string) (string, bool) {
	at, v := d.Member(at, o, name)
	if v == nil {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		d.Fail(at, "must be a string or null, is %s", canonjson.Kind(v))
	}
	return s, ok
}

// Hash accepts 64 lower-case hex characters.
func (d *Document) Hash(at string, s string) string {
	if !hash(s) {
		d.Fail(at, "must be 64 lower-case hexadecimal characters, is %s", Quote(s))
	}
	return s
}

// HashOf requires a member that is a hash.
func (d *Document) HashOf(at string, o *canonjson.Object, name string) string {
	s := d.TextOf(at, o, name)
	return d.Hash(at+"/"+name, s)
}

// Quote shows an outside value in a message: on one line, in ASCII, cut to a
// length that fits one.
func Quote(s string) string {
	const limit = 80
	if len(s) <= limit {
		return fmt.Sprintf("%+q", s)
	}
	return fmt.Sprintf("%+q…", s[:limit])
}

// Token writes a member name as one token of a JSON Pointer (RFC 6901 §3).
func Token(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}

// Index is the place of an element of the array at a pointer.
func Index(at string, i int) string { return at + "/" + strconv.Itoa(i) }

func hash(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
