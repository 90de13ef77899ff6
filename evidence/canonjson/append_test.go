package canonjson

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestT51OutputRules(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"null and booleans", []any{nil, true, false}, `[null,true,false]`},
		{"integers of any length", Int("-123456789012345678901234567890"), `-123456789012345678901234567890`},
		{"floats in plain layout", []any{1.0, -2.5, 0.0001, 123456789.125, 1000000000000000.0, 9999999999999998.0}, `[1.0,-2.5,0.0001,123456789.125,1000000000000000.0,9999999999999998.0]`},
		{"floats with an exponent", []any{1e16, 1e-5, 1.5e-7, 5e-324, math.MaxFloat64, -1e100, 1.25e22}, `[1e+16,1e-05,1.5e-07,5e-324,1.7976931348623157e+308,-1e+100,1.25e+22]`},
		{"zeros", []any{0.0, math.Copysign(0, -1)}, `[0.0,-0.0]`},
		{"what is no number", []any{math.NaN(), math.Inf(1), math.Inf(-1)}, `[NaN,Infinity,-Infinity]`},
		{"short escapes", "\"\\\n\r\t\b\f", `"\"\\\n\r\t\b\f"`},
		{"other control characters and DEL", "\x00\x1f\x7f", `"\u0000\u001f\u007f"`},
		{"what needs no escape", "/<>&' ~", `"/<>&' ~"`},
		{"non-ASCII", "é\u2028\uffff", `"\u00e9\u2028\uffff"`},
		{"astral as a pair", "😀", `"\ud83d\ude00"`},
		{"lone surrogates", "\xed\xa0\x80a\xed\xbf\xbf", `"\ud800a\udfff"`},
		{"bytes that are no text", "a\xffb\xed\xa0", `"a\ufffdb\ufffd\ufffd"`},
		{"empty containers", []any{[]any{}, NewObject(), ""}, `[[],{},""]`},
		{"code point order, not UTF-16 order", NewObject("😀", 1, "\uffff", 2, "\xed\xa0\x80", 3, "é", 4, "z", 5, "", 6), `{"":6,"z":5,"\u00e9":4,"\ud800":3,"\uffff":2,"\ud83d\ude00":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Append([]byte("x"), c.v)); got != "x"+c.want {
				t.Errorf("canonical text %s, want %s", got[1:], c.want)
			}
		})
	}
}

func TestT1CompactTextOfResponses(t *testing.T) {
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"order of insertion, no spaces", NewObject("b", []any{1, 2.0}, "a", NewObject()), `{"b":[1,2.0],"a":{}}`},
		{"non-ASCII and DEL stay raw", "é\u2028😀\x7f", "\"é\u2028😀\x7f\""},
		{"escapes of what JSON cannot hold", "\"\\/\n\x01", `"\"\\/\n\u0001"`},
		{"lone surrogates as escapes", "\xed\xa0\x80é", `"\ud800é"`},
		{"NaN and infinities as null", []any{math.NaN(), math.Inf(1), math.Inf(-1), 1e16}, `[null,null,null,1e+16]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(AppendCompact([]byte("x"), c.v)); got != "x"+c.want {
				t.Errorf("compact text %s, want %s", got[1:], c.want)
			}
		})
	}
}

func TestWritingChangesNoValue(t *testing.T) {
	o := NewObject("b", 1, "a", 2)
	Marshal(o)
	if got := string(Compact(o)); got != `{"b":1,"a":2}` {
		t.Errorf("after Marshal the object is %s", got)
	}
}

// TestFloatsAgreeWithPython asks python3 for random bits and for the neighbours of
// each power of ten, where shortest digits go wrong first.
func TestFloatsAgreeWithPython(t *testing.T) {
	python := startOracle(t)
	random := rand.New(rand.NewPCG(7, 11))
	var floats []any
	var body []byte
	add := func(f float64) {
		floats = append(floats, f)
		bits := math.Float64bits(f)
		for shift := 56; shift >= 0; shift -= 8 {
			body = append(body, byte(bits>>shift))
		}
	}
	for range 20000 {
		f := math.Float64frombits(random.Uint64())
		add(f)
		add(float64(random.IntN(1_000_000)) / 1000)
	}
	for e := -323; e <= 308; e++ {
		f := math.Pow10(e)
		add(f)
		add(math.Nextafter(f, 0))
		add(math.Nextafter(f, math.Inf(1)))
	}
	if _, got := python.ask(t, 'F', body); got != string(Marshal(floats)) {
		ours := Marshal(floats)
		for i := range min(len(got), len(ours)) {
			if got[i] != ours[i] {
				t.Fatalf("python3 writes …%.60s, the canonical text is …%.60s", got[max(0, i-20):], ours[max(0, i-20):])
			}
		}
		t.Fatal("the texts differ in length")
	}
}
