package track_test

import (
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// frozen is a corpus in memory: resource path to JSON text, parsed once.
type frozen map[string]any

func (f frozen) Value(resource string) (any, bool) {
	v, ok := f[resource]
	return v, ok
}

func freeze(t testing.TB, texts map[string]string) frozen {
	t.Helper()
	f := frozen{}
	for resource, text := range texts {
		f[resource] = parse(t, text)
	}
	return f
}

func parse(t testing.TB, text string) any {
	t.Helper()
	v, err := canonjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("parsing %s: %v", text, err)
	}
	return v
}
