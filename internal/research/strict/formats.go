package strict

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// MaxSize is the size in bytes of the longest document that the readers of texts
// take; the longest legal topic has some 200 KB.
const MaxSize = 1 << 20

// maxTOML is the size of the longest TOML file, whose parser recurses.
const maxTOML = 64 << 10

func syntax(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...), Syntax: true}
}

// JSON reads a JSON text. A key that is twice in one object is an error of
// content, not of syntax.
func JSON(data []byte) (any, error) {
	if len(data) > MaxSize {
		return nil, syntax("", "%d bytes; at most %d are read", len(data), MaxSize)
	}
	v, err := canonjson.ParseStrict(data)
	if err == nil {
		return v, nil
	}
	var fault *canonjson.SyntaxError
	if !errors.As(err, &fault) {
		return nil, syntax("", "%v", err)
	}
	path, reason := dotted(fault.Pointer), fault.Reason
	if errors.Is(err, canonjson.ErrDuplicate) {
		return nil, refuse(path, "%s", reason)
	}
	return nil, syntax(path, "invalid JSON at byte %d: %s", fault.Offset, reason)
}

// dotted writes a JSON Pointer as a path. Without the document a number may be
// an index or a key; keys of numbers are not ours.
func dotted(pointer string) string {
	path := ""
	if pointer == "" {
		return path
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = canonjson.UnescapeToken(token)
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			path += "[" + token + "]"
			continue
		}
		path = join(path, token)
	}
	return path
}

// TOML reads a TOML text. Dates, which no document here has, are refused.
func TOML(data []byte) (any, error) {
	if len(data) > maxTOML {
		return nil, syntax("", "%d bytes; at most %d are read", len(data), maxTOML)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(data), &tree); err != nil {
		return nil, syntax("", "invalid TOML: %v", err)
	}
	return fromTOML(tree, "")
}

func fromTOML(v any, path string) (any, error) {
	switch v := v.(type) {
	case string, bool, float64:
		return v, nil
	case int64:
		return canonjson.NewInt(v), nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = fromTOML(v[i], path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []map[string]any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = fromTOML(v[i], path+"["+strconv.Itoa(i)+"]"); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		o := &canonjson.Object{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			value, err := fromTOML(v[name], join(path, name))
			if err != nil {
				return nil, err
			}
			o.Set(name, value)
		}
		return o, nil
	}
	return nil, refuse(path, "is a date or time, which nothing here is; put it in quotes")
}
