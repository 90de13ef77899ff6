package canonjson

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds are documents on which Go and Python tend to differ.
var seeds = []string{
	`{}`, `[]`, `""`, `null`, `true`, ` [1 , 2] `, "\ufeff[]", "\ufeff\ufeff[]", "", " ", "\x00", "1\x00", "\x001",
	`1e3`, `1E+3`, `1e16`, `1e21`, `1e15`, `123456789012345680.0`, `0.0001`, `0.00001`, `1e-7`, `5e-324`, `2e-324`, `1.7976931348623157e308`,
	`1.7976931348623159e308`, `1e309`, `-1e309`, `-1e-400`, `9007199254740993`, `9007199254740993.0`, `-0`, `-0.0`, `-0e5`, `2.50`, `0e99999999999999999999`,
	`1e-99999999999999999999`, `1.5e99999`, "0." + strings.Repeat("0", 20000) + "15e20001", "1" + strings.Repeat("0", 20000) + ".0e-20000",
	"25" + strings.Repeat("0", 10001) + "e-10001", "0." + strings.Repeat("0", 100000) + "3e100001",
	`+1`, `.5`, `1.`, `01`, `-`, `-01`, `1e`, `1e+`, `0x10`, `1_000`, `1e5.0`, `--1`, `[1,]`, `[,1]`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`,
	`NaN`, `Infinity`, `-Infinity`, `nan`, `inf`, `-NaN`, `Infinit`, `-Inf`, `[NaN,-Infinity]`, `nul`, `truex`, `tru`, `1 2`, `[]]`, `// x`, `/**/1`, `'a'`,
	`"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ud83d\u00"`, `"\ud83d\x"`, `"\ud83d"`, `"\uD83D\uDE00"`,
	"\"\xed\xa0\x80\"", "\"\xed\xa0\xbd\xed\xb8\x80\"", "\"\\ud83d\xed\xb8\x80\"", "\"\xed\xa0\"", "\"\xed\xbf\xbf\"", "\"\xed\x9f\xbf\"",
	"\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xf4\x8f\xbf\xbf\"", "\"\xe0\x80\x80\"", "\"\xff\"", "\"\x80\"", "\"\xef\xbf\xbe\"", "\"\xef\xbf\xbd\"",
	"\"\x7f\"", "\"\x1f\"", "\"a\nb\"", "\"\t\"", `"\a"`, `"\u12"`, `"\u12g4"`, `"\u 123"`, `"\u+123"`, `"\`, `"\u`, `"abc`, `"\/\b\f\n\r\t\"\\"`,
	"\"\u2028<>&/\"", "\"é\U0001F600\"", "\u00a0[]", "[]\u2028", "\f1", "\v1", "\r\n\t 1\r\n\t ",
	`{"a":1,"a":{"x":2}}`, `{"a":1,"\u0061":2}`, `{"b":1,"a":2,"b":3}`, `{"😀":1,"\uffff":2,"\ud83d":3,"é":4,"z":5}`, "{\"\xed\xa0\xbd\xed\xb8\x80\":1,\"😀\":2}",
	"\xff\xfe[\x00]\x00", "\xfe\xff\x00[\x00]", "[\x00]\x00", "\x00[\x00]", "1\x00", "\x001", "\xff\xfe\x00\x00[\x00\x00\x00]\x00\x00\x00", "\x00\x00\xfe\xff\x00\x00\x00[\x00\x00\x00]",
	"[\x00\x00\x00]\x00\x00\x00", "\x00\x00\x00[\x00\x00\x00]", "\xff\xfe\"\x00\x3d\xd8\x00\xde\"\x00", "\xff\xfe\"\x00\x3d\xd8\"\x00", "\xff\xfe\"\x00\x00\xde\"\x00", "\xff\xfe[\x00]", "\xff\xfe",
	"\xff\xfe\x00\x00\"\x00\x00\x00\x00\xd8\x00\x00\"\x00\x00\x00", "\xff\xfe\x00\x00\"\x00\x00\x00\x00\x00\x11\x00\"\x00\x00\x00", "\xfe\xff\x00\"\xd8\x3d", "1\x00\x00", "\xef\xbb\xbf",
}

func addSeeds(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, digits := range []int{MaxIntDigits - 1, MaxIntDigits, MaxIntDigits + 1} {
		f.Add([]byte(strings.Repeat("7", digits)))
		f.Add([]byte("[-" + strings.Repeat("7", digits) + "]"))
		f.Add([]byte(strings.Repeat("7", digits) + ".0"))
	}
	for _, depth := range []int{MaxStrictDepth, MaxStrictDepth + 1, MaxDepth, MaxDepth + 1, 5000} {
		f.Add([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		f.Add([]byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)))
		f.Add([]byte(strings.Repeat("[", depth)))
	}
	for _, document := range suite(f) {
		f.Add(document)
	}
}

// FuzzParseAgainstPython holds Parse and Marshal against json.loads and json.dumps
// of a running python3: the same documents are accepted, and the canonical texts
// are equal byte for byte.
func FuzzParseAgainstPython(f *testing.F) {
	python := startOracle(f)
	addSeeds(f)
	f.Fuzz(func(t *testing.T, document []byte) {
		python.compare(t, document)
	})
}

// FuzzParseStrict: what is accepted is UTF-8 JSON that Parse reads as the same
// value, that reads back from both of its texts, and that has no lone surrogate.
func FuzzParseStrict(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, document []byte) {
		value, err := ParseStrict(document)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %T is no *SyntaxError", err)
			}
			if syntax.Offset < 0 || syntax.Offset > int64(len(document)) || syntax.Reason == "" || !ValidPointer(syntax.Pointer) || !utf8.ValidString(err.Error()) {
				t.Fatalf("error %#v", syntax)
			}
			return
		}
		if !utf8.Valid(document) {
			t.Fatal("accepted a document that is not UTF-8")
		}
		loose, err := Parse(document)
		if err != nil || !Equal(loose, value) {
			// A text of ours without BOM may look like UTF-16 only when it has NUL bytes,
			// which JSON does not allow.
			t.Fatalf("ParseStrict reads %s, Parse %s, %v", Marshal(value), Marshal(loose), err)
		}
		// An infinite number (1e999) has no text in strict JSON.
		if hasInfinity(value) {
			return
		}
		for _, text := range [][]byte{Marshal(value), Compact(value)} {
			if !utf8.Valid(text) {
				t.Fatalf("wrote %q", text)
			}
			again, err := ParseStrict(text)
			if err != nil || !Equal(again, value) {
				t.Fatalf("wrote %q, which reads back as %s, %v", text, Marshal(again), err)
			}
		}
	})
}

func hasInfinity(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.IsInf(v, 0)
	case []any:
		for _, item := range v {
			if hasInfinity(item) {
				return true
			}
		}
	case *Object:
		for _, item := range v.All() {
			if hasInfinity(item) {
				return true
			}
		}
	}
	return false
}

// FuzzCanonical builds a value from the input, floats from raw bits and strings
// from any code points, writes its canonical text, and has python3 read and write
// that text again: it must stay as it is.
func FuzzCanonical(f *testing.F) {
	python := startOracle(f)
	f.Add([]byte{})
	f.Add([]byte("\x05\x06\x02\x00\x7f\x03\x40\x09\x21\xfb\x54\x44\x2d\x18\x04\x01"))
	f.Add([]byte("\x06\x03\x02\xd8\x00\x02\xdf\xff\x02\xe0\x00\x01\x00\x00"))
	f.Add([]byte("\x03\x7f\xf0\x00\x00\x00\x00\x00\x00"))
	for _, x := range []float64{0, 1, -1, 0.1, 1e15, 1e16, 9999999999999998, 1e-4, 9.999e-5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1e22, 1e23} {
		f.Add(binary.BigEndian.AppendUint64([]byte{3}, math.Float64bits(x)))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		b := builder{program: program}
		value := b.value(0)
		text := Marshal(value)
		for i, c := range text {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("byte 0x%02x at %d of the canonical text %q", c, i, text)
			}
		}
		letter, got := python.ask(t, 'L', text)
		if letter != 'A' || got != string(text) {
			t.Fatalf("python3 answers %c and writes %s\nthe canonical text was %s", letter, got, text)
		}
		python.compare(t, Compact(value))

		n := len(program) / 8 * 8
		floats := make([]any, 0, n/8)
		for i := 0; i < n; i += 8 {
			floats = append(floats, math.Float64frombits(binary.BigEndian.Uint64(program[i:])))
		}
		if _, got := python.ask(t, 'F', program[:n]); got != string(Marshal(floats)) {
			t.Fatalf("python3 writes the floats %s\nthe canonical text was %s", got, Marshal(floats))
		}
	})
}

// builder makes a value out of bytes; when they run out it yields zeros.
type builder struct{ program []byte }

func (b *builder) next() byte {
	if len(b.program) == 0 {
		return 0
	}
	c := b.program[0]
	b.program = b.program[1:]
	return c
}

func (b *builder) bits(n int) uint64 {
	var x uint64
	for range n {
		x = x<<8 | uint64(b.next())
	}
	return x
}

func (b *builder) str() string {
	var s []byte
	for range b.next() % 8 {
		switch b.next() % 4 {
		case 0:
			s = append(s, b.next()&0x7f)
		case 1:
			s = appendCodePoint(s, rune(b.bits(3)%0x110000))
		case 2:
			s = appendCodePoint(s, rune(b.bits(2)))
		case 3:
			s = appendCodePoint(s, 0xd800|rune(b.bits(2)&0x7ff))
		}
	}
	// The canonical text joins a high and a low surrogate that stand apart here, as
	// it does in Python; reading sorts such names elsewhere. Keep them joined.
	return joinSurrogates(string(s))
}

func joinSurrogates(s string) string {
	v, err := Parse(Marshal(s))
	if err != nil {
		return ""
	}
	joined, _ := v.(string)
	return joined
}

func (b *builder) value(depth int) any {
	kind := b.next() % 7
	if depth > 20 {
		kind %= 5
	}
	switch kind {
	case 1:
		return b.next()%2 == 0
	case 2:
		return b.str()
	case 3:
		return math.Float64frombits(b.bits(8))
	case 4:
		n := NewInt(int64(b.bits(8)))
		for range b.next() % 4 {
			n += Int(strings.TrimPrefix(string(n), "-"))
		}
		if !n.canonical() {
			return Int("0")
		}
		return n
	case 5:
		items := make([]any, b.next()%6)
		for i := range items {
			items[i] = b.value(depth + 1)
		}
		return items
	case 6:
		o := &Object{}
		for range b.next() % 40 {
			o.Set(b.str(), b.value(depth+1))
		}
		return o
	}
	return nil
}

// FuzzResolve: a pointer that resolves is valid and names what walking its tokens
// one by one names.
func FuzzResolve(f *testing.F) {
	for _, pointer := range []string{"", "/", "/foo", "/foo/0", "/foo/-", "/foo/01", "/a~1b", "/m~0n", "/m~n", "/~", "/foo/18446744073709551616", "foo", "//", "/ /x", "/k\"l", "/é"} {
		f.Add(rfc6901Document, pointer)
	}
	f.Add(`[[1,[2]],{"":{"":3}}]`, "/1//")
	f.Add(`[0,1,2,3,4,5,6,7,8,9,10]`, "/10")
	f.Fuzz(func(t *testing.T, document, pointer string) {
		root, err := Parse([]byte(document))
		if err != nil {
			root = document
		}
		value, ok := Resolve(root, pointer)
		if ok && !ValidPointer(pointer) {
			t.Fatalf("%q is not valid and resolves to %s", pointer, Marshal(value))
		}
		if !ValidPointer(pointer) {
			return
		}
		step, found := root, true
		if pointer != "" {
			for token := range strings.SplitSeq(pointer[1:], "/") {
				if step, found = Resolve(step, "/"+token); !found {
					break
				}
				if name := UnescapeToken(token); EscapeToken(name) != token {
					t.Fatalf("token %q is not the one form of %q", token, name)
				}
			}
		}
		if found != ok || ok && string(Marshal(step)) != string(Marshal(value)) {
			t.Fatalf("%q resolves to %s, %v; step by step to %s, %v", pointer, Marshal(value), ok, Marshal(step), found)
		}
	})
}
