package strict

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/platform/near"
)

// Error says where a document was refused and why.
type Error struct {
	Path   string // such as checklist[2].id; empty for the whole document
	Reason string
	Syntax bool // the text is no document of its format
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Reader takes a value of canonjson's model into a variable. The path says where
// the value stands.
type Reader func(v any, path string) error

// Field is one key of an object and what reads its value.
type Field struct {
	Name string
	Read Reader
}

// Key makes a Field.
func Key(name string, read Reader) Field { return Field{name, read} }

func refuse(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

func want(v any, path, what string) error {
	if v == nil {
		return refuse(path, "is null, want %s; leave the key out for its default", what)
	}
	return refuse(path, "is %s, want %s", canonjson.Kind(v), what)
}

// Object reads an object whose keys are those of the fields, each at most once
// and none of them required.
func Object(fields ...Field) Reader {
	return func(v any, path string) error {
		o, ok := v.(*canonjson.Object)
		if !ok {
			return want(v, path, "an object")
		}
		for name, value := range o.All() {
			at := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
			if at < 0 {
				return unknown(fields, name, join(path, name))
			}
			if err := fields[at].Read(value, join(path, name)); err != nil {
				return err
			}
		}
		return nil
	}
}

// join extends a path by a key. What would not read as a path is quoted.
func join(path, name string) string {
	if len(name) > 64 {
		cut := 64
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '.' || r == '[' || r == '"' || !strconv.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// unknown refuses a key and names the one that may have been meant.
func unknown(fields []Field, name, path string) error {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Name
	}
	if meant := near.Word(name, known); meant != "" {
		return refuse(path, "unknown key; did you mean %s?", meant)
	}
	slices.Sort(known)
	return refuse(path, "unknown key; known here: %s", strings.Join(known, ", "))
}

// String reads a string.
func String(dst *string) Reader {
	return func(v any, path string) error {
		s, ok := v.(string)
		if !ok {
			return want(v, path, "a string")
		}
		*dst = s
		return nil
	}
}

// Bool reads true or false.
func Bool(dst *bool) Reader {
	return func(v any, path string) error {
		b, ok := v.(bool)
		if !ok {
			return want(v, path, "true or false")
		}
		*dst = b
		return nil
	}
}

// Uint reads an integer from 0 to the largest that its type holds. A number with
// a point or an exponent is refused even where it is whole: 2e18 has passed
// through a float for many a writer, and may have lost digits there.
func Uint[T ~uint16 | ~uint32 | ~uint64](dst *T) Reader {
	return func(v any, path string) error {
		n, err := integer(v, path, uint64(^T(0)))
		if err != nil {
			return err
		}
		*dst = T(n)
		return nil
	}
}

// Count reads an integer from 0 to the largest int.
func Count(dst *int) Reader {
	return func(v any, path string) error {
		n, err := integer(v, path, math.MaxInt)
		if err != nil {
			return err
		}
		*dst = int(n)
		return nil
	}
}

func integer(v any, path string, most uint64) (uint64, error) {
	i, ok := v.(canonjson.Int)
	if f, float := v.(float64); float {
		return 0, refuse(path, "is the number %s with a point or exponent, want an integer written in digits", number(f))
	}
	if !ok {
		return 0, want(v, path, "an integer")
	}
	n, err := strconv.ParseUint(string(i), 10, 64)
	if err != nil || n > most {
		return 0, refuse(path, "is %s, want an integer from 0 to %d", short(string(i)), most)
	}
	return n, nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// short is a literal at a length that fits a message.
func short(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// Float reads a finite number; an integer is taken as one.
func Float(dst *float64) Reader { return float(dst, false) }

// FloatOrNaN is Float for a field whose own rule refuses NaN, in words of its
// own. TOML and YAML can write NaN, JSON cannot.
func FloatOrNaN(dst *float64) Reader { return float(dst, true) }

func float(dst *float64, nan bool) Reader {
	return func(v any, path string) error {
		var f float64
		switch v := v.(type) {
		case float64:
			f = v
		case canonjson.Int:
			var err error
			if f, err = strconv.ParseFloat(string(v), 64); err != nil {
				return refuse(path, "is %s, which is beyond every float", short(string(v)))
			}
		default:
			return want(v, path, "a number")
		}
		if math.IsInf(f, 0) || math.IsNaN(f) && !nan {
			return refuse(path, "is %s, want a finite number", number(f))
		}
		*dst = f
		return nil
	}
}

// Word reads one of a few words.
func Word[T ~string](words ...T) func(dst *T) Reader {
	return func(dst *T) Reader {
		return func(v any, path string) error {
			s, ok := v.(string)
			if !ok {
				return want(v, path, "a string")
			}
			if slices.Contains(words, T(s)) {
				*dst = T(s)
				return nil
			}
			known := make([]string, len(words))
			for i, w := range words {
				known[i] = string(w)
			}
			hint := ""
			if meant := near.Word(s, known); meant != "" {
				hint = "; did you mean " + meant + "?"
			}
			return refuse(path, "is %s, want one of %s%s", strconv.Quote(short(strings.ToValidUTF8(s, "�"))), strings.Join(known, ", "), hint)
		}
	}
}

// Optional reads null as nil and anything else as read does.
func Optional[T any](dst **T, read func(*T) Reader) Reader {
	return func(v any, path string) error {
		if v == nil {
			*dst = nil
			return nil
		}
		into := new(T)
		if err := read(into)(v, path); err != nil {
			return err
		}
		*dst = into
		return nil
	}
}

// List reads an array, each element as read does.
func List[T any](dst *[]T, read func(*T) Reader) Reader {
	return func(v any, path string) error {
		items, ok := v.([]any)
		if !ok {
			return want(v, path, "an array")
		}
		out := make([]T, len(items))
		for i, item := range items {
			if err := read(&out[i])(item, path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		*dst = out
		return nil
	}
}

// Strings reads an object whose values are strings and whose keys are free.
func Strings(dst *map[string]string) Reader {
	return func(v any, path string) error {
		o, ok := v.(*canonjson.Object)
		if !ok {
			return want(v, path, "an object of strings")
		}
		out := make(map[string]string, o.Len())
		for name, value := range o.All() {
			s, ok := value.(string)
			if !ok {
				return want(value, join(path, name), "a string")
			}
			out[name] = s
		}
		*dst = out
		return nil
	}
}
