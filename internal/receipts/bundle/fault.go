package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// UnreadableError says why a bundle cannot be used at all: one file and what is
// wrong with it. Its text is one line.
type UnreadableError struct {
	// Path is the file inside the bundle, or the bundle itself.
	Path string
	// Fault says what is wrong there and what was expected.
	Fault string
}

// Error is "<path>: <fault>".
func (e *UnreadableError) Error() string { return e.Path + ": " + e.Fault }

// Refusal is the answer to a readable bundle whose freeze does not hold (§7):
// nothing of it is scored.
type Refusal struct {
	Track  string // the first track, in name order, that fails
	Reason string // a word of the table of §7
	Why    string // the same for a reader, one line
}

// The reasons of a refusal, in the order of the checks of §7.
const (
	ReasonFreezeMissing   = "freeze_proof_missing"
	ReasonFreezePending   = "freeze_proof_pending"
	ReasonFreezeInvalid   = "freeze_proof_invalid"
	ReasonFreezeLate      = "freeze_proof_late"
	ReasonFreezeStatement = "freeze_statement_mismatch"
	ReasonRules           = "rules_mismatch"
	ReasonManifest        = "manifest_mismatch"
	ReasonKey             = "key_mismatch"
	ReasonCorpus          = "corpus_mismatch"
)

// Error names the track, the reason and the difference found.
func (r *Refusal) Error() string {
	return fmt.Sprintf("track %s: %s: %s", r.Track, r.Reason, r.Why)
}

// document reads the members of one strict JSON file. The first fault is kept
// and ends the reading in effect: every later call returns a zero value.
type document struct {
	path string
	err  *UnreadableError
}

// parseDocument reads data strictly (§1); the value is nil when it is not.
func parseDocument(path string, data []byte) (*document, any) {
	d := &document{path: path}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		d.fail("", "is not strict JSON: %v", syntaxReason(err))
		return d, nil
	}
	return d, v
}

// syntaxReason words a strict parser's error with its place.
func syntaxReason(err error) string {
	var se *canonjson.SyntaxError
	if !errors.As(err, &se) {
		return err.Error()
	}
	if se.Pointer == "" {
		return fmt.Sprintf("%s (byte %d)", se.Reason, se.Offset)
	}
	return fmt.Sprintf("%s (byte %d, at %s)", se.Reason, se.Offset, se.Pointer)
}

// fail records the first fault, at a JSON Pointer.
func (d *document) fail(at, format string, args ...any) {
	if d.err != nil {
		return
	}
	fault := fmt.Sprintf(format, args...)
	if at != "" {
		fault = at + " " + fault
	}
	d.err = &UnreadableError{Path: d.path, Fault: fault}
}

// result is nil as an error interface when nothing failed.
func (d *document) result() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

func (d *document) object(at string, v any) *canonjson.Object {
	o, ok := v.(*canonjson.Object)
	if !ok {
		d.fail(at, "must be an object, is %s", kindOf(v))
		return canonjson.NewObject()
	}
	return o
}

func (d *document) array(at string, v any) []any {
	a, ok := v.([]any)
	if !ok {
		d.fail(at, "must be an array, is %s", kindOf(v))
		return nil
	}
	return a
}

func (d *document) text(at string, v any) string {
	s, ok := v.(string)
	if !ok {
		d.fail(at, "must be a string, is %s", kindOf(v))
	}
	return s
}

// integer accepts a literal without fraction or exponent from −2^63 to 2^63−1.
func (d *document) integer(at string, v any) int64 {
	i, ok := v.(canonjson.Int)
	if !ok {
		d.fail(at, "must be an integer written without fraction or exponent, is %s", kindOf(v))
		return 0
	}
	n, ok := i.Int64()
	if !ok {
		d.fail(at, "must lie between -2^63 and 2^63-1")
	}
	return n
}

func (d *document) boolean(at string, v any) bool {
	b, ok := v.(bool)
	if !ok {
		d.fail(at, "must be true or false, is %s", kindOf(v))
	}
	return b
}

// member is the named member of o; its absence is a fault.
func (d *document) member(at string, o *canonjson.Object, name string) (string, any) {
	at = at + "/" + escapeToken(name)
	v, ok := o.Get(name)
	if !ok {
		d.fail(at, "is missing")
	}
	return at, v
}

func (d *document) objectOf(at string, o *canonjson.Object, name string) (string, *canonjson.Object) {
	at, v := d.member(at, o, name)
	return at, d.object(at, v)
}

func (d *document) arrayOf(at string, o *canonjson.Object, name string) (string, []any) {
	at, v := d.member(at, o, name)
	return at, d.array(at, v)
}

func (d *document) textOf(at string, o *canonjson.Object, name string) string {
	at, v := d.member(at, o, name)
	return d.text(at, v)
}

func (d *document) integerOf(at string, o *canonjson.Object, name string) int64 {
	at, v := d.member(at, o, name)
	return d.integer(at, v)
}

// textOrNull is for members that are a string or null; "" stands for null, so
// the second result tells an empty string from it.
func (d *document) textOrNull(at string, o *canonjson.Object, name string) (string, bool) {
	at, v := d.member(at, o, name)
	if v == nil {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		d.fail(at, "must be a string or null, is %s", kindOf(v))
	}
	return s, ok
}

// hash accepts 64 lower-case hex characters.
func (d *document) hash(at string, s string) string {
	if !isHex(s, 64) {
		d.fail(at, "must be 64 lower-case hexadecimal characters, is %s", quote(s))
	}
	return s
}

func (d *document) hashOf(at string, o *canonjson.Object, name string) string {
	s := d.textOf(at, o, name)
	return d.hash(at+"/"+name, s)
}

// kindOf names a JSON type for a reader.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case canonjson.Int:
		return "an integer"
	case float64:
		return "a number with a fraction or exponent"
	case []any:
		return "an array"
	case *canonjson.Object:
		return "an object"
	}
	return "of an unknown type"
}

// quote shows an outside value in a message: on one line, in ASCII, cut to a
// length that fits one.
func quote(s string) string {
	const limit = 80
	if len(s) <= limit {
		return fmt.Sprintf("%+q", s)
	}
	return fmt.Sprintf("%+q…", s[:limit])
}

// escapeToken writes a member name as one token of a JSON Pointer (RFC 6901 §3).
func escapeToken(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
