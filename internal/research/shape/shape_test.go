package shape_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/shape"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has     func(string) bool
		yes, no []string
	}{
		"slug": {
			shape.Slug, []string{"ab", "0x-topic", "a-", "a--b", strings.Repeat("a", 63)},
			[]string{"", "a", "-x", "Upper", "has_underscore", "a b", "é-a", "ab\n", strings.Repeat("a", 64)},
		},
		"custom id": {
			shape.CustomID, []string{"ab", "a_b-c", "0_", strings.Repeat("a", 64)},
			[]string{"", "a", "_lead", "-lead", "Upper", "dotted.id", "has space", strings.Repeat("a", 65)},
		},
		"64 hex digits": {
			shape.Hex64, []string{strings.Repeat("aF", 32), " \t" + strings.Repeat("0", 64) + "\n"},
			[]string{"", "abc", strings.Repeat("a", 63), strings.Repeat("a", 65), strings.Repeat("g", 64), "0x" + strings.Repeat("a", 62)},
		},
		"http origin": {
			shape.HTTPOrigin, []string{"http://a", "https://", "https://a.example/v1?x"},
			[]string{"", "http://", "HTTP://a.example", "ftp://a.example", " http://a", "http://a b", "http://a\n", "//a.example"},
		},
		"model pin": {
			shape.ModelPin, []string{"a/b", "vendor/model-2.5:thinking", "A_.-/x:1", strings.Repeat("v", 128) + "/" + strings.Repeat("m", 128)},
			[]string{"", "/", "a/", "/b", "model", "a/b/c", "a b/c", "a/b:", "a/:t", "a/b:c:d", "a:t/b", "a/b:c/d", "é/b", strings.Repeat("v", 129) + "/m"},
		},
		"opaque": {
			shape.Opaque, []string{"0..20", "split:public", " é ", strings.Repeat("x", 256)},
			[]string{"", "   ", "a\nb", "a\tb", "a\u0085b", "a\x00", "a\x7f", strings.Repeat("x", 257), strings.Repeat("é", 129)},
		},
		"model": {shape.Model, []string{"m", strings.Repeat("x", 256)}, []string{"", " \n", strings.Repeat("x", 257)}},
	} {
		for _, s := range c.yes {
			if !c.has(s) {
				t.Errorf("%q is no %s", s, name)
			}
		}
		for _, s := range c.no {
			if c.has(s) {
				t.Errorf("%q is a %s", s, name)
			}
		}
	}
}

func TestHashesAreTheSameInAnyCaseAndWithWhiteSpace(t *testing.T) {
	t.Parallel()
	if !shape.SameHex(" AbC\n", "aBc") || shape.SameHex("ab", "abc") {
		t.Error("SameHex")
	}
	if shape.Length(" é😀\u00a0\n") != 2 || shape.Length("\t") != 0 {
		t.Error("Length counts characters without the white space around them")
	}
}
