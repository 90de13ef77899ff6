package canonjson

import "fmt"

// Kind names the JSON type of a value for a reader, article included: "a string",
// "an integer". Integers and other numbers are apart, as everywhere in the model.
func Kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case Int:
		return "an integer"
	case float64:
		return "a number with a fraction or exponent"
	case []any:
		return "an array"
	case *Object:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}
