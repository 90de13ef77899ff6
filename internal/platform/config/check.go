package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/platform/near"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// check compares a parsed file with the struct: every key known, every value of
// the field's type.
func check(t reflect.Type, values map[string]any) error {
	var faults []error
	walk(t, values, nil, &faults)
	return join(faults)
}

func walk(t reflect.Type, value any, path []string, faults *[]error) {
	fault := func(want string) {
		*faults = append(*faults, fmt.Errorf("%s must be %s", strings.Join(path, "."), want))
	}
	below := func(key string) []string { return append(slices.Clone(path), key) }
	switch {
	case t == durationType:
		text, ok := value.(string)
		if _, err := time.ParseDuration(text); !ok || err != nil {
			fault(wantDuration)
		}
	case reflect.PointerTo(t).Implements(textType):
		text, ok := value.(string)
		if !ok {
			fault("a string")
		} else if err := unmarshalText(t, text); err != nil {
			fault("the text of a " + t.String()) // The type's own error would quote the value.
		}
	case t.Kind() == reflect.Struct:
		members, ok := value.(map[string]any)
		if !ok {
			fault("a table")
			return
		}
		fields := fieldsOf(t)
		for key, v := range members {
			f, ok := fields[key]
			if !ok {
				*faults = append(*faults, unknown(below(key), fields))
				continue
			}
			walk(f.Type, v, below(key), faults)
		}
	case t.Kind() == reflect.Map:
		members, ok := value.(map[string]any)
		if !ok {
			fault("a table")
			return
		}
		for key, v := range members {
			walk(t.Elem(), v, below(key), faults)
		}
	case t.Kind() == reflect.Slice:
		items, ok := value.([]any)
		if !ok {
			fault("an array")
			return
		}
		for i, v := range items {
			walk(t.Elem(), v, below(strconv.Itoa(i)), faults)
		}
	default:
		if want := scalar(t, value); want != "" {
			fault(want)
		}
	}
}

const wantDuration = `a duration with its unit, such as "90s" or "10m"`

// scalar returns what t wants, or nothing if value is that.
func scalar(t reflect.Type, value any) (want string) {
	switch t.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			return "a string"
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return "true or false"
		}
	case reflect.Float64, reflect.Float32:
		switch value.(type) {
		case float64, int64:
		default:
			return "a number"
		}
	default:
		n, ok := value.(int64)
		if !ok || !fits(t, n) {
			return "an integer within bounds"
		}
	}
	return ""
}

func fits(t reflect.Type, n int64) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return !reflect.Zero(t).OverflowInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return n >= 0 && !reflect.Zero(t).OverflowUint(uint64(n))
	}
	return false
}

// fromText reads the text of an environment variable or flag as the field at
// path wants it: lists as a,b and maps as key=value,key=value.
func fromText(t reflect.Type, path []string, text string) (any, error) {
	for i, key := range path {
		if t.Kind() == reflect.Map {
			t = t.Elem()
			continue
		}
		if t.Kind() != reflect.Struct || t == durationType {
			return nil, fmt.Errorf("%s has nothing below it", strings.Join(path[:i], "."))
		}
		fields := fieldsOf(t)
		f, ok := fields[key]
		if !ok {
			return nil, unknown(path[:i+1], fields)
		}
		t = f.Type
	}
	value, want := parse(t, text)
	if want != "" {
		return nil, fmt.Errorf("%s must be %s", strings.Join(path, "."), want)
	}
	return value, nil
}

func parse(t reflect.Type, text string) (value any, want string) {
	if t == durationType || reflect.PointerTo(t).Implements(textType) {
		var faults []error
		if walk(t, text, nil, &faults); len(faults) > 0 {
			return nil, strings.TrimPrefix(faults[0].Error(), " must be ")
		}
		return text, ""
	}
	switch t.Kind() {
	case reflect.String:
		return text, ""
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, "true or false"
		}
		return b, ""
	case reflect.Float64, reflect.Float32:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, "a number"
		}
		return f, ""
	case reflect.Slice:
		items := []any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			v, want := parse(t.Elem(), item)
			if want != "" {
				return nil, "a list, separated by commas, of which each is " + want
			}
			items = append(items, v)
		}
		return items, ""
	case reflect.Map:
		members := map[string]any{}
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item == "" {
				continue
			}
			key, rest, ok := strings.Cut(item, "=")
			v, want := parse(t.Elem(), strings.TrimSpace(rest))
			if !ok || want != "" {
				return nil, "key=value pairs, separated by commas"
			}
			members[strings.TrimSpace(key)] = v
		}
		return members, ""
	case reflect.Struct:
		return nil, "set key by key: it is a section"
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !fits(t, n) {
		return nil, "an integer within bounds"
	}
	return n, ""
}

func unmarshalText(t reflect.Type, text string) error {
	u, _ := reflect.New(t).Interface().(encoding.TextUnmarshaler)
	return u.UnmarshalText([]byte(text))
}

// fieldsOf lists a struct's configuration fields by their key.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for f := range t.Fields() {
		if key := f.Tag.Get("koanf"); key != "" && key != "-" {
			fields[key] = f
		}
	}
	return fields
}

// unknown names a key that does not exist and the nearest that does.
func unknown(path []string, fields map[string]reflect.StructField) error {
	key, known := path[len(path)-1], make([]string, 0, len(fields))
	for name := range fields {
		known = append(known, name)
	}
	slices.Sort(known)
	best := near.Word(key, known)
	where := strings.Join(path, ".")
	if best == "" {
		return fmt.Errorf("unknown key %s; known here: %s", where, strings.Join(known, ", "))
	}
	return fmt.Errorf("unknown key %s; did you mean %s?", where, strings.Join(append(slices.Clone(path[:len(path)-1]), best), "."))
}
