package canonjson

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// FromGo brings a Go value into the package's model: strings, booleans, integers,
// floats, slices and arrays of such values, and maps with string keys (members
// sorted by name, so that the result is deterministic). Model values are kept;
// slices and maps are copied, an *Object is not. Pointers, structs and byte
// slices have no one JSON form and are refused, as are strings that are not
// UTF-8, an Int that is not canonical, and values nested deeper than MaxDepth.
// The error names the place as a JSON Pointer.
func FromGo(v any) (any, error) { return fromGo(v, "", 0) }

func fromGo(v any, at string, depth int) (any, error) {
	switch v := v.(type) {
	case nil, bool, float64:
		return v, nil
	case string:
		return checked(v, at)
	case Int:
		if !v.canonical() {
			return nil, fmt.Errorf("value at %q: %q is not a canonical integer", at, string(v))
		}
		return v, nil
	case int:
		return NewInt(int64(v)), nil
	case int64:
		return NewInt(v), nil
	case *Object:
		if v == nil {
			return nil, nil
		}
		return v, nil
	}
	if depth >= MaxDepth {
		return nil, fmt.Errorf("value at %q: more than %d levels deep (does it contain itself?)", at[:min(len(at), 80)], MaxDepth)
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.String:
		return checked(rv.String(), at)
	case reflect.Bool:
		return rv.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return NewInt(rv.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Int(strconv.FormatUint(rv.Uint(), 10)), nil
	case reflect.Float32, reflect.Float64:
		return rv.Float(), nil
	case reflect.Slice, reflect.Array:
		if rv.Type().Elem().Kind() == reflect.Uint8 {
			return nil, fmt.Errorf("value at %q: %T has no JSON form; encode the bytes as text first", at, v)
		}
		return fromSlice(rv, at, depth)
	case reflect.Map:
		if rv.Type().Key().Kind() != reflect.String {
			return nil, fmt.Errorf("value at %q: %T has keys that are not strings", at, v)
		}
		return fromMap(rv, at, depth)
	}
	return nil, fmt.Errorf("value at %q: %T has no JSON form", at, v)
}

func fromSlice(rv reflect.Value, at string, depth int) (any, error) {
	items := make([]any, rv.Len())
	for i := range items {
		item, err := fromGo(rv.Index(i).Interface(), at+"/"+strconv.Itoa(i), depth+1)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return items, nil
}

func fromMap(rv reflect.Value, at string, depth int) (any, error) {
	values := make(map[string]any, rv.Len())
	for name, value := range rv.Seq2() {
		values[name.String()] = value.Interface()
	}
	o := &Object{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, err := checked(name, at); err != nil {
			return nil, err
		}
		value, err := fromGo(values[name], at+"/"+EscapeToken(name), depth+1)
		if err != nil {
			return nil, err
		}
		o.Set(name, value)
	}
	return o, nil
}

// checked returns s when it is generalised UTF-8.
func checked(s, at string) (any, error) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			if !surrogateAt(s, i) {
				return nil, fmt.Errorf("value at %q: byte 0x%02x at %d is not UTF-8", at, s[i], i)
			}
			n = 3
		}
		i += n
	}
	return s, nil
}
