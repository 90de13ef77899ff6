package strict_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

func TestADocumentKeepsItsFirstFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	d, v := strict.Parse([]byte(`{"a":{"b/c":1},"n":9223372036854775807,"f":1.0,"z":null,"s":"text","l":[true]}`))
	o := d.Object("", v)
	at, a := d.ObjectOf("", o, "a")
	if at != "/a" || d.IntegerOf("", o, "n") != 1<<63-1 || d.TextOf("", o, "s") != "text" {
		t.Errorf("sound members were not read: %s", d.Fault())
	}
	if s, ok := d.TextOrNull("", o, "z"); s != "" || ok || d.Failed() {
		t.Errorf("null is %q, %v, %s", s, ok, d.Fault())
	}
	if at, l := d.ArrayOf("", o, "l"); !d.Boolean(strict.Index(at, 0), l[0]) || d.Failed() {
		t.Errorf("an element was not read: %s", d.Fault())
	}
	if got := d.TextOf(at, a, "b/c"); got != "" || d.Fault() != "/a/b~1c must be a string, is an integer" {
		t.Errorf("%q, %s", got, d.Fault())
	}
	d.IntegerOf("", o, "f")
	d.Object("/x", nil)
	if d.Fault() != "/a/b~1c must be a string, is an integer" {
		t.Errorf("a later fault replaced the first: %s", d.Fault())
	}
}

func TestEveryKindIsNamedInAFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		read func(d *strict.Document)
		want string
	}{
		{func(d *strict.Document) { d.Object("/p", []any{}) }, "/p must be an object, is an array"},
		{func(d *strict.Document) { d.Array("/p", canonjson.NewObject()) }, "/p must be an array, is an object"},
		{func(d *strict.Document) { d.Text("", nil) }, "must be a string, is null"},
		{func(d *strict.Document) { d.Boolean("/p", "true") }, "/p must be true or false, is a string"},
		{func(d *strict.Document) { d.Integer("/p", 1.0) }, "/p must be an integer written without fraction or exponent, is a number with a fraction or exponent"},
		{func(d *strict.Document) { d.Integer("/p", canonjson.Int("9223372036854775808")) }, "/p must lie between -2^63 and 2^63-1"},
		{func(d *strict.Document) { d.Integer("/p", true) }, "/p must be an integer written without fraction or exponent, is a boolean"},
		{func(d *strict.Document) { d.Member("/p", canonjson.NewObject(), "q~") }, "/p/q~0 is missing"},
		{func(d *strict.Document) { d.Hash("/p", strings.Repeat("g", 64)) }, "/p must be 64 lower-case hexadecimal characters, is \"" + strings.Repeat("g", 64) + "\""},
		{func(d *strict.Document) { d.HashOf("", canonjson.NewObject("h", "x"), "h") }, `/h must be 64 lower-case hexadecimal characters, is "x"`},
		{func(d *strict.Document) { d.Fail("/a\nb", "is odd") }, `"/a\nb" is odd`},
	} {
		d := &strict.Document{}
		if c.read(d); d.Fault() != c.want {
			t.Errorf("got %s, want %s", d.Fault(), c.want)
		}
	}
}

func TestFaultsStayOnOneLineWhateverTheInputHolds(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", `{"a":1,"a":2}`, "{\"\\n\":nul}", `{"` + "\x00", "[1,\r\n]"} {
		d, v := strict.Parse([]byte(text))
		if !d.Failed() || v != nil || strings.ContainsAny(d.Fault(), "\r\n") {
			t.Errorf("%q: %q, %v", text, d.Fault(), v)
		}
	}
	if got := strict.Quote(strings.Repeat("é\n", 100)); strings.ContainsAny(got, "\n") || len(got) > 600 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
