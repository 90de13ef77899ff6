package canonjson

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestObjectKeepsTheOrderOfFirstSetting(t *testing.T) {
	o := NewObject("b", true, "a", nil)
	o.Set("c", "x")
	o.Set("b", false)
	if got := string(Compact(o)); got != `{"b":false,"a":null,"c":"x"}` {
		t.Errorf("object is %s", got)
	}
	if got := string(Marshal(o)); got != `{"a":null,"b":false,"c":"x"}` {
		t.Errorf("canonical text is %s", got)
	}
	o.Delete("a")
	o.Delete("nothing")
	if got := o.Names(); !slices.Equal(got, []string{"b", "c"}) || o.Len() != 2 || o.Has("a") || !o.Has("c") {
		t.Errorf("names are %v", got)
	}
	if v, ok := o.Get("a"); ok || v != nil {
		t.Errorf("a deleted member has the value %v", v)
	}
}

func TestObjectOfNoMembers(t *testing.T) {
	var none *Object
	var zero Object
	for name, o := range map[string]*Object{"nil": none, "zero": &zero, "new": NewObject(), "clone of nil": none.Clone()} {
		if _, ok := o.Get("a"); ok || o.Len() != 0 || o.Has("a") || len(o.Names()) != 0 {
			t.Errorf("%s has members", name)
		}
		for member := range o.All() {
			t.Errorf("%s ranges over %q", name, member)
		}
	}
	zero.Set("a", true)
	if got := string(Marshal(&zero)); got != `{"a":true}` {
		t.Errorf("object is %s", got)
	}
}

func TestObjectAllStopsWhenTheLoopDoes(t *testing.T) {
	seen := 0
	for range NewObject("a", 1, "b", 2).All() {
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("%d members seen", seen)
	}
}

func TestCloneIsShallow(t *testing.T) {
	for _, n := range []int{1, indexFrom + 5} {
		inner := NewObject("x", 1)
		o := &Object{}
		for i := range n {
			o.Set(fmt.Sprint(i), inner)
		}
		before := string(Marshal(o))
		c := o.Clone()
		c.Set("new", true)
		c.Set("0", "changed")
		c.Delete("0")
		if got := string(Marshal(o)); got != before {
			t.Errorf("the original became %s", got)
		}
		inner.Set("x", 2)
		if v, _ := o.Get("0"); v != any(inner) {
			t.Error("the value was copied")
		}
	}
}

func TestNewObjectAndSetConvertGoValuesAndPanicOnWhatIsNoJSON(t *testing.T) {
	o := NewObject("n", 7, "list", []string{"a"}, "big", uint64(math.MaxUint64))
	if got := string(Compact(o)); got != `{"n":7,"list":["a"],"big":18446744073709551615}` {
		t.Errorf("object is %s", got)
	}
	for name, f := range map[string]func(){
		"odd number of arguments": func() { NewObject([]any{"a"}...) }, //nolint:staticcheck // The odd number is the case.
		"name that is no string":  func() { NewObject(1, 2) },
		"value that is no JSON":   func() { o.Set("f", func() {}) },
		"text of what is no JSON": func() { Marshal(struct{}{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "canonjson") {
					t.Errorf("panic %v", r)
				}
			}()
			f()
		})
	}
}

func TestPropertyObjectBehavesAsAnOrderedMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, values, order := &Object{}, map[string]int{}, []string{}
		for i := range rapid.IntRange(0, 120).Draw(t, "steps") {
			name := fmt.Sprint(rapid.IntRange(0, 50).Draw(t, "name"))
			if rapid.IntRange(0, 3).Draw(t, "delete one in four") == 0 {
				o.Delete(name)
				delete(values, name)
				order = slices.DeleteFunc(order, func(n string) bool { return n == name })
				continue
			}
			if _, ok := values[name]; !ok {
				order = append(order, name)
			}
			values[name] = i
			o.Set(name, i)
		}
		if !slices.Equal(o.Names(), order) || o.Len() != len(order) {
			t.Fatalf("names %v, want %v", o.Names(), order)
		}
		for i := range 51 {
			name := fmt.Sprint(i)
			v, ok := o.Get(name)
			want, known := values[name]
			if ok != known || known && v != NewInt(int64(want)) {
				t.Fatalf("member %s is %v, %v, want %d, %v", name, v, ok, want, known)
			}
		}
	})
}

func TestInt64(t *testing.T) {
	for text, want := range map[Int]bool{
		"0": true, "-1": true, "9223372036854775807": true, "-9223372036854775808": true,
		"9223372036854775808": false, "-9223372036854775809": false, "12345678901234567890123": false, "": false, "x": false,
	} {
		n, ok := text.Int64()
		if ok != want || ok && NewInt(n) != text {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
	}
}

func TestEqualTellsTypesApart(t *testing.T) {
	distinct := []any{
		nil, true, false, "", "1", Int("1"), Int("0"), 1.0, 0.5, []any{}, []any{nil}, []any{Int("1")}, []any{1.0},
		NewObject(), NewObject("a", nil), NewObject("a", Int("1")), NewObject("b", nil), NewObject("a", nil, "b", nil), math.NaN(),
	}
	for i, a := range distinct {
		for j, b := range distinct {
			_, isFloat := a.(float64)
			want := i == j && (!isFloat || !math.IsNaN(a.(float64)))
			if got := Equal(a, b); got != want {
				t.Errorf("%s and %s: %v, want %v", Marshal(a), Marshal(b), got, want)
			}
		}
	}
	if !Equal(NewObject("a", 1, "b", []any{true}), NewObject("b", []any{true}, "a", 1)) {
		t.Error("member order counts")
	}
	if Equal([]any{true, false}, []any{false, true}) {
		t.Error("array order does not count")
	}
	if !Equal(0.0, math.Copysign(0, -1)) {
		t.Error("0.0 differs from -0.0")
	}
	if Equal(1, 1) || Equal(int64(1), Int("1")) {
		t.Error("a Go int is no value of the model")
	}
}

func TestFromGo(t *testing.T) {
	type name string
	type flags map[name]bool
	var nothing *Object
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"nil", nil, `null`},
		{"nil object", nothing, `null`},
		{"model values", []any{true, "x", Int("-5"), 0.0, NewObject("a", 1)}, `[true,"x",-5,0.0,{"a":1}]`},
		{"integers of all sizes", []any{int8(-1), int16(2), int32(3), int64(math.MinInt64), uint8(4), uint16(5), uint32(6), uint(7)}, `[-1,2,3,-9223372036854775808,4,5,6,7]`},
		{"floats", []any{float32(0.5), 1e16}, `[0.5,1e+16]`},
		{"slices", [][]string{{"a"}, nil}, `[["a"],[]]`},
		{"arrays", [2]int{1, 2}, `[1,2]`},
		{"maps, sorted", map[string]any{"b": 1, "a": []int{2}}, `{"a":[2],"b":1}`},
		{"named types", flags{"y": true, "x": false}, `{"x":false,"y":true}`},
		{"lone surrogate", "\xed\xa0\x80", `"\ud800"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := FromGo(c.v)
			if err != nil || string(Compact(v)) != c.want {
				t.Errorf("%s, %v, want %s", Compact(v), err, c.want)
			}
		})
	}
}

func TestFromGoRefusesWithAPointerToTheValue(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	number := 1
	for _, c := range []struct {
		name    string
		v       any
		inError string
	}{
		{"struct", map[string]any{"a/b": []any{1, struct{}{}}}, `"/a~1b/1"`},
		{"pointer", &number, "*int"},
		{"byte slice", []byte("x"), "[]uint8"},
		{"byte slice in a map", map[string]any{"x": []byte("x")}, `"/x"`},
		{"function", func() {}, "func()"},
		{"channel", make(chan int), "chan int"},
		{"complex number", 1i, "complex128"},
		{"map with other keys", map[int]bool{1: true}, "keys"},
		{"text that is not UTF-8", []any{"a\xff"}, `"/0": byte 0xff at 1`},
		{"name that is not UTF-8", map[string]int{"\xff": 1}, "0xff"},
		{"Int that is not canonical", Int("007"), "007"},
		{"Int that is minus zero", Int("-0"), "-0"},
		{"Int that is empty", Int(""), "canonical"},
		{"a value that contains itself", loop, "contain itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := FromGo(c.v)
			if err == nil || !strings.Contains(err.Error(), c.inError) || len(err.Error()) > 300 {
				t.Errorf("%v, error %v, want one with %s", v, err, c.inError)
			}
		})
	}
}
