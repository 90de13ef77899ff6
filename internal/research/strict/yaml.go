package strict

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Limits of a YAML document. An alias counts as all that it stands for, so a
// small text cannot stand for a large document.
const (
	maxYAMLNodes = 20_000
	maxYAMLDepth = 100
)

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainFloat   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// YAML reads a text of one YAML document. Words are read as YAML 1.2 reads them:
// yes and no are strings, a date is a string. A number is read only when it is
// decimal; 010, 0x1f and 1_000, which readers of YAML differ about, are refused.
// Merge keys and tags other than those of JSON's types are refused.
func YAML(data []byte) (any, error) {
	if len(data) > MaxSize {
		return nil, syntax("", "%d bytes; at most %d are read", len(data), MaxSize)
	}
	if !utf8.Valid(data) {
		return nil, syntax("", "invalid YAML: the text is not UTF-8")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, syntax("", "invalid YAML: %v", err)
	}
	var first, second yaml.Node
	if err := loader.Load(&first); errors.Is(err, io.EOF) {
		return nil, syntax("", "the text is empty")
	} else if err != nil {
		return nil, syntax("", "invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := loader.Load(&second); err == nil {
		return nil, syntax("", "a second document starts on line %d; write one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax("", "invalid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	c := yamlReader{left: maxYAMLNodes}
	return c.value(&first, "", 0)
}

type yamlReader struct{ left int }

func (c *yamlReader) value(n *yaml.Node, path string, depth int) (any, error) {
	if c.left--; c.left < 0 {
		return nil, refuse(path, "the document has more than %d values, its aliases written out", maxYAMLNodes)
	}
	if depth > maxYAMLDepth {
		return nil, refuse(path, "is nested more than %d levels deep", maxYAMLDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return nil, syntax("", "the text is empty")
		}
		return c.value(n.Content[0], path, depth)
	case yaml.AliasNode:
		if n.Alias == nil {
			return nil, refuse(path, "is an alias of nothing")
		}
		return c.value(n.Alias, path, depth+1)
	case yaml.SequenceNode:
		if tag := n.ShortTag(); tag != "!!seq" {
			return nil, refuse(path, "has the tag %s; only the types of JSON are read", tag)
		}
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if out[i], err = c.value(item, path+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case yaml.MappingNode:
		return c.mapping(n, path, depth)
	case yaml.ScalarNode:
		return scalar(n, path)
	}
	return nil, refuse(path, "is of no kind that is read")
}

func (c *yamlReader) mapping(n *yaml.Node, path string, depth int) (any, error) {
	if tag := n.ShortTag(); tag != "!!map" {
		return nil, refuse(path, "has the tag %s; only the types of JSON are read", tag)
	}
	o := &canonjson.Object{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, refuse(path, "has a key on line %d that is no string", key.Line)
		}
		switch tag := key.ShortTag(); tag {
		case "!!str", "!!timestamp":
		case "!!merge":
			return nil, refuse(join(path, key.Value), "merge keys are not read; write the keys out")
		default:
			return nil, refuse(join(path, key.Value), "the key is no string (%s); put it in quotes", tag)
		}
		if o.Has(key.Value) {
			return nil, refuse(join(path, key.Value), "the key appears twice, again on line %d; remove one", key.Line)
		}
		value, err := c.value(n.Content[i+1], join(path, key.Value), depth+1)
		if err != nil {
			return nil, err
		}
		o.Set(key.Value, value)
	}
	return o, nil
}

func scalar(n *yaml.Node, path string) (any, error) {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		switch n.Value {
		case "true", "True", "TRUE":
			return true, nil
		case "false", "False", "FALSE":
			return false, nil
		}
		return nil, refuse(path, "is %q, want true or false", n.Value)
	case "!!int", "!!float":
		return yamlNumber(n.Value, path, tag == "!!float" && n.Style&yaml.TaggedStyle != 0)
	default:
		return nil, refuse(path, "has the tag %s; only the types of JSON are read", tag)
	}
}

// yamlNumber decides by the literal, as everywhere, whether a number is an
// integer; the reader behind the tags takes a long integer for a float.
func yamlNumber(literal, path string, float bool) (any, error) {
	switch strings.ToLower(literal) {
	case ".nan":
		return math.NaN(), nil
	case ".inf", "+.inf":
		return math.Inf(1), nil
	case "-.inf":
		return math.Inf(-1), nil
	}
	switch {
	case !float && plainInteger.MatchString(literal):
		if len(literal) > canonjson.MaxIntDigits {
			return nil, refuse(path, "is an integer of %d digits", len(literal))
		}
		if literal == "-0" {
			literal = "0"
		}
		return canonjson.Int(literal), nil
	case plainFloat.MatchString(literal) && (float || strings.ContainsAny(literal, ".eE")):
		f, err := strconv.ParseFloat(literal, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, refuse(path, "is %s, which is no number", short(literal))
		}
		return f, nil
	}
	return nil, refuse(path, "is %s; write numbers in plain decimal digits, or put quotes around a string", short(literal))
}
