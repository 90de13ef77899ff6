package agent

import "github.com/prova-dev/prova/evidence/canonjson"

// The readers below take any value and never fail: what is not there, or is of
// another type, reads as nothing.

// member reads a member of an object.
func member(v any, name string) any {
	o, ok := v.(*canonjson.Object)
	if !ok || o == nil {
		return nil
	}
	m, _ := o.Get(name)
	return m
}

// word reads a string member; "" stands for none.
func word(v any, name string) string {
	s, _ := member(v, name).(string)
	return s
}

// items reads an array member.
func items(v any, name string) []any {
	a, _ := member(v, name).([]any)
	return a
}

// texts reads an array of strings; other elements are left out.
func texts(v any, name string) []string {
	var out []string
	for _, item := range items(v, name) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
