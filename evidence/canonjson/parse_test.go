package canonjson

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestT52CornersAGoPortGetsWrong(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`1e3`, `1000.0`},
		{`1e16`, `1e+16`},
		{`1e21`, `1e+21`},
		{`100000000000000000000.0`, `1e+20`},
		{`0.00001`, `1e-05`},
		{`9007199254740993`, `9007199254740993`},
		{`9007199254740993.0`, `9007199254740992.0`},
		{`12345678901234567890123`, `12345678901234567890123`},
		{`-0`, `0`},
		{`-0.0`, `-0.0`},
		{`2.50`, `2.5`},
		{`1e309`, `Infinity`},
		{`"\ud800"`, `"\ud800"`},
		{`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{"\"\u2028<>&/\"", `"\u2028<>&/"`},
		{`{"a":1,"a":{"x":2}}`, `{"a":{"x":2}}`},
		{`{"a":1,"\u0061":{"x":2}}`, `{"a":{"x":2}}`},
	} {
		t.Run(c.input, func(t *testing.T) {
			value, err := Parse([]byte(c.input))
			if err != nil || string(Marshal(value)) != c.want {
				t.Errorf("canonical text %s, %v, want %s", Marshal(value), err, c.want)
			}
		})
	}
}

// TestFloatsWithFarExponentsAreExact: strconv alone would cut the exponent off.
func TestFloatsWithFarExponentsAreExact(t *testing.T) {
	zeros := strings.Repeat("0", 120000)
	for name, c := range map[string]struct {
		literal string
		want    float64
	}{
		"zeros behind the point make up for it":  {"0." + zeros + "15e120001", 1.5},
		"zeros before the point make up for it":  {"-15" + zeros + "e-120001", -1.5},
		"zero with any exponent":                 {"0.000e99999999999999999999", 0},
		"minus zero":                             {"-0.0e-99999999999999999999", math.Copysign(0, -1)},
		"far too large":                          {"1e99999999999999999999", math.Inf(1)},
		"far too large and negative":             {"-1.5E+123456", math.Inf(-1)},
		"far too small":                          {"1e-99999999999999999999", 0},
		"an exponent with many zeros in front":   {"2.5e+0000000000000000000000000003", 2500},
		"a negative exponent with zeros before":  {"2.5e-0000000000000000000000000001", 0.25},
		"a long mantissa keeps its last digit":   {"1." + zeros + "1e00000", 1},
		"half way between two, decided far away": {"9007199254740993." + zeros + "1e00000", 9007199254740994},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := Parse([]byte(c.literal))
			got, ok := value.(float64)
			if err != nil || !ok || got != c.want || math.Signbit(got) != math.Signbit(c.want) {
				t.Errorf("%v, %v, want %v", value, err, c.want)
			}
		})
	}
}

func TestT53DepthIsLimited(t *testing.T) {
	nested := map[string]func(depth int) []byte{
		"arrays":  func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) },
		"objects": func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) },
	}
	for name, document := range nested {
		for reader, c := range map[string]struct {
			read  func([]byte) (any, error)
			limit int
		}{
			"Parse":       {Parse, MaxDepth},
			"ParseStrict": {ParseStrict, MaxStrictDepth},
		} {
			t.Run(reader+" of "+name, func(t *testing.T) {
				if _, err := c.read(document(c.limit)); err != nil {
					t.Errorf("%d levels: %v", c.limit, err)
				}
				_, err := c.read(document(c.limit + 1))
				if !errors.Is(err, ErrDepth) || !strings.Contains(err.Error(), strconv.Itoa(c.limit)) {
					t.Errorf("%d levels: error %v, want ErrDepth", c.limit+1, err)
				}
				if _, err := c.read(document(1_000_000)); !errors.Is(err, ErrDepth) {
					t.Errorf("a million levels: error %v, want ErrDepth", err)
				}
			})
		}
	}
	if _, err := Parse([]byte("[")); errors.Is(err, ErrDepth) {
		t.Error("a document that ends early counts as too deep")
	}
}

func TestT53IntegersHaveAtMost4300Digits(t *testing.T) {
	for reader, read := range map[string]func([]byte) (any, error){"Parse": Parse, "ParseStrict": ParseStrict} {
		t.Run(reader, func(t *testing.T) {
			longest := "-" + strings.Repeat("9", MaxIntDigits)
			value, err := read([]byte(longest))
			if err != nil || value != Int(longest) {
				t.Errorf("4300 digits: %v", err)
			}
			if _, err := read([]byte(longest + "9")); err == nil {
				t.Error("4301 digits were accepted")
			}
			if value, err := read([]byte(longest + "9.0")); err != nil || value != math.Inf(-1) {
				t.Errorf("a float of 4301 digits: %v, %v", value, err)
			}
		})
	}
}

func TestBundleFormatSection1StrictJSON(t *testing.T) {
	for _, c := range []struct {
		name, document   string
		offset           int64
		pointer, inError string
	}{
		{"byte order mark", "\ufeff{}", 0, "", "byte order mark"},
		{"name twice", `{"a":[{"x":1,"y":2,"x":3}]}`, 19, "/a/0/x", `"x" appears twice`},
		{"name twice, once with an escape", `{"a":1,"\u0061":2}`, 7, "/a", "appears twice"},
		{"NaN", `[1,NaN]`, 3, "/1", "NaN"},
		{"Infinity", `{"v":Infinity}`, 5, "/v", "Infinity"},
		{"minus Infinity", `-Infinity`, 1, "", "Infinity"},
		{"lone high surrogate", `["\ud800"]`, 2, "/0", "surrogate"},
		{"lone low surrogate", `["a\udc00"]`, 3, "/0", "surrogate"},
		{"high surrogate twice", `["\ud83d\ud83d\ude00"]`, 2, "/0", "surrogate"},
		{"encoded surrogate", "[\"\xed\xa0\x80\"]", 2, "/0", "surrogate"},
		{"stray byte", "[\"\xff\"]", 2, "/0", "UTF-8"},
		{"overlong form", "[\"\xc0\x80\"]", 2, "/0", "UTF-8"},
		{"something behind the value", `{} {}`, 3, "", "after the end"},
		{"NUL behind the value", "{}\x00", 2, "", "after the end"},
		{"empty document", ``, 0, "", "ends where a value was expected"},
		{"only white space", " \n", 2, "", "ends where a value was expected"},
		{"trailing comma in an array", `{"k":[1,]}`, 8, "/k", "remove the comma"},
		{"trailing comma in an object", `{"a":1,}`, 7, "", "remove the comma"},
		{"missing colon", `{"a" 1}`, 5, "", "':' was expected"},
		{"missing comma", `[1 2]`, 3, "", "',' or ']'"},
		{"name without quotes", `{a:1}`, 1, "", "double quotes"},
		{"single quotes", `['a']`, 1, "/0", "value was expected"},
		{"control character", "[\"a\tb\"]", 3, "/0", `\u0009`},
		{"unknown escape", `["\x41"]`, 2, "/0", "escape"},
		{"short escape", `["\u12"]`, 2, "/0", "four hexadecimal digits"},
		{"string without an end", `{"key":"abc`, 7, "/key", "does not end"},
		{"leading zero", `[01]`, 1, "/0", "leading zero"},
		{"plus sign", `[+1]`, 1, "/0", "value was expected"},
		{"point without digits", `[1.]`, 1, "/0", "after the point"},
		{"exponent without digits", `[1e+]`, 1, "/0", "exponent"},
		{"only a minus sign", `[-]`, 1, "/0", "digit"},
		{"misspelt literal", `[nul]`, 1, "/0", "null"},
		{"pointer tokens are escaped", `{"a/b":{"m~n":[tru]}}`, 15, "/a~1b/m~0n/0", "true"},
		{"4301 digits", "[" + strings.Repeat("1", 4301) + "]", 1, "/0", "4300"},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, err := ParseStrict([]byte(c.document))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("value %s, error %v, want a *SyntaxError", Marshal(value), err)
			}
			if syntax.Offset != c.offset || syntax.Pointer != c.pointer || !strings.Contains(syntax.Reason, c.inError) {
				t.Errorf("offset %d, pointer %q, reason %q; want %d, %q and a reason with %q",
					syntax.Offset, syntax.Pointer, syntax.Reason, c.offset, c.pointer, c.inError)
			}
		})
	}
}

func TestBundleFormatSection1WhatStrictAccepts(t *testing.T) {
	for name, c := range map[string][2]string{
		"white space everywhere":       {" \t\r\n{ \"a\" : [ 1 , 2 ] } \n", `{"a":[1,2]}`},
		"the same name in two objects": {`{"a":{"a":1}}`, `{"a":{"a":1}}`},
		"the empty name":               {`{"":0}`, `{"":0}`},
		"an escaped pair":              {`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		"raw DEL and non-characters":   {"\"\x7f\uffff\"", `"\u007f\uffff"`},
		"an escaped NUL":               {`"\u0000"`, `"\u0000"`},
		"a number out of range":        {`-1e999`, `-Infinity`},
		"a scalar":                     {`-12`, `-12`},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := ParseStrict([]byte(c[0]))
			if err != nil || string(Marshal(value)) != c[1] {
				t.Errorf("%s, %v, want %s", Marshal(value), err, c[1])
			}
		})
	}
}

func TestDuplicatesAreFoundInObjectsOfAnySize(t *testing.T) {
	for _, n := range []int{1, 2, indexFrom - 1, indexFrom, indexFrom + 1, 1000} {
		for _, twice := range []int{0, n / 2, n - 1} {
			t.Run(fmt.Sprintf("member %d of %d", twice, n), func(t *testing.T) {
				var document strings.Builder
				for i := range n {
					fmt.Fprintf(&document, `%q:%d,`, "name"+strconv.Itoa(i), i)
				}
				name := "name" + strconv.Itoa(twice)
				text := "{" + document.String() + `"` + name + `":"last"}`
				if _, err := ParseStrict([]byte(text)); err == nil || !strings.Contains(err.Error(), "twice") {
					t.Errorf("ParseStrict: error %v", err)
				}
				value, err := Parse([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				o := value.(*Object)
				if got, _ := o.Get(name); got != "last" || o.Len() != n || o.Names()[twice] != name {
					t.Errorf("member %v at %v of %d, want the last value at the first place", got, o.Names(), o.Len())
				}
			})
		}
	}
}

// TestTimeIsLinearInTheDocument would take minutes with a quadratic duplicate
// search, escape or number.
func TestTimeIsLinearInTheDocument(t *testing.T) {
	const n = 200_000
	var members strings.Builder
	members.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&members, `"%d":0,`, i)
	}
	members.WriteString(`"":0}`)
	for name, document := range map[string]string{
		"an object of many members":     members.String(),
		"a string of many escapes":      `"` + strings.Repeat(`\u00e9\n`, n) + `"`,
		"a string of many high halves":  `"` + strings.Repeat(`\ud83d`, n) + `"`,
		"a float of many digits":        "0." + strings.Repeat("3", 10*n),
		"a float with a far exponent":   "0." + strings.Repeat("0", 10*n) + "1e1999999",
		"an integer of many digits":     strings.Repeat("3", 10*n),
		"an array of many empty arrays": "[" + strings.Repeat("[],", n) + "[]]",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if value, err := Parse([]byte(document)); err == nil {
				Marshal(value)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	_, err := ParseStrict([]byte(`{"` + long + `" 1}`))
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

func TestParsedStringsDoNotShareTheCallersBytes(t *testing.T) {
	data := []byte(`{"name":"value"}`)
	for reader, read := range map[string]func([]byte) (any, error){"Parse": Parse, "ParseStrict": ParseStrict} {
		value, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		before := string(Marshal(value))
		for i := range data {
			data[i] ^= 0xff
		}
		if after := string(Marshal(value)); after != before {
			t.Errorf("%s: %s became %s", reader, before, after)
		}
		for i := range data {
			data[i] ^= 0xff
		}
	}
}

// anyValue draws a value of the model that strict JSON can hold.
func anyValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64(), func(n int64) any { return NewInt(n) }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	array := rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 5), func(a []any) any { return append([]any{}, a...) })
	object := rapid.Custom(func(t *rapid.T) any {
		o := &Object{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			o.Set(rapid.String().Draw(t, "name"), anyValue(depth-1).Draw(t, "value"))
		}
		return o
	})
	return rapid.OneOf(append(scalars, array, object)...)
}

func TestPropertyBothTextsReadBackAsTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(3).Draw(t, "value")
		for _, text := range [][]byte{Marshal(value), Compact(value)} {
			for _, read := range []func([]byte) (any, error){Parse, ParseStrict} {
				again, err := read(text)
				if err != nil || !Equal(again, value) {
					t.Fatalf("%s reads back as %s, %v", text, Marshal(again), err)
				}
			}
		}
	})
}

func TestPropertyCanonicalTextDoesNotDependOnMemberOrderOrSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(2).Draw(t, "value")
		o := NewObject("k", value)
		names := rapid.SliceOfNDistinct(rapid.StringMatching("[a-zé😀]{1,3}"), 1, 30, rapid.ID[string]).Draw(t, "names")
		for _, name := range names {
			o.Set("x"+name, value)
		}
		shuffled := &Object{}
		for _, name := range rapid.Permutation(o.Names()).Draw(t, "order") {
			v, _ := o.Get(name)
			shuffled.Set(name, v)
		}
		if string(Marshal(o)) != string(Marshal(shuffled)) || Sum(o) != Sum(shuffled) || !Equal(o, shuffled) {
			t.Fatalf("%s\n%s", Marshal(o), Marshal(shuffled))
		}
	})
}
