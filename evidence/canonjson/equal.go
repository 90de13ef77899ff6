package canonjson

// Equal reports strict JSON equality: the same type and content, arrays in the
// same order, object members in any order. Int 1 differs from float 1.0 and from
// true; floats compare as numbers, so that 0.0 equals -0.0 and NaN nothing.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case Int:
		b, ok := b.(Int)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for name, v := range a.All() {
			w, ok := b.Get(name)
			if !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}
