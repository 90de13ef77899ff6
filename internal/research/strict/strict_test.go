package strict_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/strict"
)

func TestOneDocumentInThreeFormats(t *testing.T) {
	t.Parallel()
	want := `{"f":1.5,"i":7,"list":[1,{"b":true}],"s":"x","t":{"n":-3}}`
	for name, read := range map[string]func() (any, error){
		"JSON": func() (any, error) {
			return strict.JSON([]byte(`{"t":{"n":-3},"s":"x","i":7,"f":1.5,"list":[1,{"b":true}]}`))
		},
		"YAML": func() (any, error) {
			return strict.YAML([]byte("t: {n: -3}\ns: x\ni: 7\nf: 1.5\nlist:\n- 1\n- b: true\n"))
		},
		"TOML": func() (any, error) {
			return strict.TOML([]byte("s = 'x'\ni = 7\nf = 1.5\nlist = [1, {b = true}]\n[t]\nn = -3\n"))
		},
	} {
		v, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canonjson.Sorted(v); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestPathsReadWell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a b":1}`:            `"a b": unknown key; known here: known`,
		`{"":1}`:               `"": unknown key; known here: known`,
		`{"x.y":1}`:            `"x.y": unknown key; known here: known`,
		`{"q\"":1}`:            `"q\"": unknown key; known here: known`,
		`{"knwon":1}`:          `knwon: unknown key; did you mean known?`,
		`{"KNOWN":1}`:          `KNOWN: unknown key; did you mean known?`,
		`{"known":{}}`:         `known: is an object, want an array`,
		`{"known":[1,[2],[]]}`: `known[0]: is an integer, want a string`,
		`{"` + strings.Repeat("é", 100) + `":1}`: strings.Repeat("é", 32) + `…: unknown key; known here: known`,
	} {
		v, err := strict.JSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		if err := strict.Object(strict.Key("known", strict.List(&list, strict.String)))(v, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func TestNumbersAreTakenAsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		read  func(*result) strict.Reader
		want  string
	}{
		"the largest u64":        {canonjson.Int("18446744073709551615"), func(r *result) strict.Reader { return strict.Uint(&r.u64) }, ""},
		"the largest u16":        {canonjson.Int("65535"), func(r *result) strict.Reader { return strict.Uint(&r.u16) }, ""},
		"beyond u16":             {canonjson.Int("65536"), func(r *result) strict.Reader { return strict.Uint(&r.u16) }, "p: is 65536, want an integer from 0 to 65535"},
		"a whole float":          {3.0, func(r *result) strict.Reader { return strict.Uint(&r.u16) }, "p: is the number 3 with a point or exponent, want an integer written in digits"},
		"an integer for a float": {canonjson.Int("3"), func(r *result) strict.Reader { return strict.Float(&r.f) }, ""},
		"an integer beyond all":  {canonjson.Int("1" + strings.Repeat("0", 400)), func(r *result) strict.Reader { return strict.Float(&r.f) }, "p: is 1000000000000000000000000000000000000000…, which is beyond every float"},
		"NaN":                    {math.NaN(), func(r *result) strict.Reader { return strict.Float(&r.f) }, "p: is NaN, want a finite number"},
		"NaN where its rule is":  {math.NaN(), func(r *result) strict.Reader { return strict.FloatOrNaN(&r.f) }, ""},
		"an infinity":            {math.Inf(1), func(r *result) strict.Reader { return strict.FloatOrNaN(&r.f) }, "p: is +Inf, want a finite number"},
		"a count":                {canonjson.Int("-1"), func(r *result) strict.Reader { return strict.Count(&r.n) }, fmt.Sprintf("p: is -1, want an integer from 0 to %d", math.MaxInt)},
		"null":                   {nil, func(r *result) strict.Reader { return strict.Bool(&r.b) }, "p: is null, want true or false; leave the key out for its default"},
	} {
		err := c.read(&result{})(c.value, "p")
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

type result struct {
	u16 uint16
	u64 uint64
	n   int
	f   float64
	b   bool
}

func TestOptionalsAndDefaults(t *testing.T) {
	t.Parallel()
	type doc struct {
		A *string
		B *uint64
		C string
		M map[string]string
	}
	read := func(text string) doc {
		d := doc{A: new("kept"), C: "default"}
		v, err := strict.JSON([]byte(text))
		if err == nil {
			err = strict.Object(
				strict.Key("a", strict.Optional(&d.A, strict.String)),
				strict.Key("b", strict.Optional(&d.B, strict.Uint[uint64])),
				strict.Key("c", strict.String(&d.C)),
				strict.Key("m", strict.Strings(&d.M)),
			)(v, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for text, want := range map[string]doc{
		`{}`:                  {A: new("kept"), C: "default"},
		`{"a":null,"c":""}`:   {},
		`{"a":"x","b":3}`:     {A: new("x"), B: new(uint64(3)), C: "default"},
		`{"m":{"k":"v"}}`:     {A: new("kept"), C: "default", M: map[string]string{"k": "v"}},
		`{"m":{},"a":"kept"}`: {A: new("kept"), C: "default", M: map[string]string{}},
	} {
		if diff := cmp.Diff(want, read(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// FuzzFormats: no text panics in any format; an error is an *Error with a reason;
// what is read has a sorted text but for numbers that are not finite.
func FuzzFormats(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2.5,null,true,"x"]}`, "a: &x {b: *x}\n", "a: [*b]", "a = [[1],[2]]\nb = 1979-05-27T07:32:00Z", "? [a]\n: b", "a: !!binary aGk=", "- - - 1",
		"a: |\n  text\n---\n", "%YAML 1.1\n---\na: 0o7", "a: 1e400", "a: .5", "[[a]]\nb=inf\n[[a]]", "\xef\xbb\xbfa: 1", "!!map {a: !!float 3}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, read := range map[string]func([]byte) (any, error){"JSON": strict.JSON, "YAML": strict.YAML, "TOML": strict.TOML} {
			v, err := read(text)
			if err != nil {
				var fault *strict.Error
				if !errors.As(err, &fault) || fault.Reason == "" {
					t.Fatalf("%s: %v", name, err)
				}
				continue
			}
			if _, err := canonjson.Sorted(v); err != nil && !errors.Is(err, canonjson.ErrNotFinite) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}
