package canonjson

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// tree reads a vector file into the package's own model, which keeps integers
// and floats apart.
func tree(t testing.TB, name string) *Object {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*Object)
}

func at(t testing.TB, v any, pointer string) any {
	t.Helper()
	found, ok := Resolve(v, pointer)
	if !ok {
		t.Fatalf("no %s", pointer)
	}
	return found
}

func TestR3FloatSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range at(t, tree(t, "research-digests.json"), "/float_spelling").([]any) {
		value, want := at(t, c, "/value").(string), at(t, c, "/canonical").(string)
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Sorted(f); err != nil || string(got) != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
		})
	}
	for f, want := range map[float64]string{
		math.SmallestNonzeroFloat64: "5e-324", math.MaxFloat64: "1.7976931348623157e+308", 1e100: "1e+100", 1.5e16: "1.5e+16",
		-1.5e16: "-1.5e+16", 9999999999999998: "9999999999999998.0", 0.000009: "9e-6", 1e-10: "1e-10", -1e-8: "-1e-8",
		123456.789: "123456.789", 2e18: "2e+18", 3: "3.0", 1e-307: "1e-307",
	} {
		if got, err := Sorted(f); err != nil || string(got) != want {
			t.Errorf("%g: %s, %v; want %s", f, got, err, want)
		}
	}
}

func TestR3CanonicalTextsOfTopics(t *testing.T) {
	t.Parallel()
	for _, c := range at(t, tree(t, "research-topics.json"), "/topics").([]any) {
		t.Run(at(t, c, "/case").(string), func(t *testing.T) {
			t.Parallel()
			document, want := at(t, c, "/document"), at(t, c, "/canonical_utf8").(string)
			got, err := Sorted(document)
			if err != nil || string(got) != want {
				t.Fatalf("%s, %v\nwant %s", got, err, want)
			}
			sum := sha256.Sum256(got)
			if hex.EncodeToString(sum[:]) != at(t, c, "/canonical_sha256") || NewInt(int64(len(got))) != at(t, c, "/canonical_len") {
				t.Errorf("sha256 %x, %d bytes", sum, len(got))
			}
		})
	}
}

// TestR3CanonicalTextsOfCommitments: every {input or rule set, canonical} pair of
// the derived digests.
func TestR3CanonicalTextsOfCommitments(t *testing.T) {
	t.Parallel()
	digests := tree(t, "research-digests.json")
	pairs := 0
	check := func(name string, input, want any) {
		pairs++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := Sorted(input); err != nil || string(got) != want {
				t.Errorf("%s, %v\nwant %s", got, err, want)
			}
		})
	}
	for _, group := range []string{"inference_offer_commitments", "executor_offer_commitments", "baseline_metrics_commitments"} {
		for i, c := range at(t, digests, "/"+group).([]any) {
			check(fmt.Sprintf("%s %d", group, i), at(t, c, "/input"), at(t, c, "/canonical"))
		}
	}
	for i, c := range at(t, digests, "/rule_set_digests").([]any) {
		check(fmt.Sprintf("rule_set_digests %d", i), at(t, c, "/rule_set"), at(t, c, "/canonical"))
	}
	check("checklist_digest", at(t, digests, "/checklist_digest/checklist"), at(t, digests, "/checklist_digest/canonical"))
	if pairs < 15 {
		t.Errorf("only %d pairs", pairs)
	}
}

func TestR3LiteralCases(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"b":1,"a":{"d":[1,2],"c":"x"}}`:                 `{"a":{"c":"x","d":[1,2]},"b":1}`,
		`{"s":"a\"b\n"}`:                                  `{"s":"a\"b\n"}`,
		`"<>&/\u2028\u2029\u007f\u00e9\ud83d\ude00"`:      "\"<>&/\u2028\u2029\u007fé😀\"",
		`"\b\f\n\r\t\u0000\u001f\u000b\\\"\/"`:            `"\b\f\n\r\t\u0000\u001f\u000b\\\"/"`,
		`[1, 1.0, 1e0, -0, -0.0, 2000000000000000000]`:    `[1,1.0,1.0,0,-0.0,2000000000000000000]`,
		`{"é":1,"z":2,"Z":3,"😀":4,"\uffff":5,"":null}`:    "{\"\":null,\"Z\":3,\"z\":2,\"é\":1,\"\uffff\":5,\"😀\":4}",
		`{"lr":3e-4,"eps":1e-8,"proxy":null,"ib":[true]}`: `{"eps":1e-8,"ib":[true],"lr":0.0003,"proxy":null}`,
		`18446744073709551616`:                            `18446744073709551616`,
		` [ ] `:                                           `[]`,
		` { } `:                                           `{}`,
	} {
		v, err := ParseStrict([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Sorted(v); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", in, got, err, want)
		}
	}
	// Go values and nil objects are taken as by Append.
	if got, err := Sorted(map[string]any{"n": 7, "none": (*Object)(nil)}); err != nil || string(got) != `{"n":7,"none":null}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestR3WhatHasNoSortedText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"NaN":                      {NewObject("a", []any{1.0, NewObject("b/c", math.NaN())}), `/a/1/b~1c (NaN) is not a finite number`},
		"an infinity":              {math.Inf(-1), `the value (-Inf) is not a finite number`},
		"a lone surrogate":         {NewObject("s", "\xed\xa0\x80"), `/s is not valid UTF-8`},
		"a byte that is no UTF-8":  {"\xff", `the value is not valid UTF-8`},
		"a member name of the two": {[]any{NewObject("\xff", nil)}, `/0 has a member name that is not valid UTF-8`},
	} {
		dst := []byte("kept")
		got, err := AppendSorted(dst, c.value)
		if err == nil || err.Error() != c.want || string(got) != "kept" {
			t.Errorf("%s: %q, %v; want %s", name, got, err, c.want)
		}
		if finite := errors.Is(err, ErrNotFinite); finite != strings.Contains(c.want, "finite") {
			t.Errorf("%s: ErrNotFinite %v", name, finite)
		}
	}
}

func TestPropertyTheSortedTextIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := anyValue(3).Draw(t, "value")
		text, err := Sorted(value)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseStrict(text)
		if err != nil || !Equal(again, value) {
			t.Fatalf("%s reads back as %s, %v", text, Marshal(again), err)
		}
		if twice, err := Sorted(again); err != nil || string(twice) != string(text) {
			t.Fatalf("%s\n%s, %v", text, twice, err)
		}
	})
}

// FuzzSorted: the sorted text of any strict document parses to the same value,
// has the same text again, is UTF-8 and holds no raw control character; of a
// refused document the destination is untouched.
func FuzzSorted(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, document []byte) {
		value, err := ParseStrict(document)
		if err != nil {
			return
		}
		text, err := AppendSorted([]byte("["), value)
		if err != nil {
			if !errors.Is(err, ErrNotFinite) || !hasInfinity(value) || string(text) != "[" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		text = text[1:]
		if !utf8.Valid(text) || strings.ContainsFunc(string(text), func(r rune) bool { return r < 0x20 }) {
			t.Fatalf("wrote %q", text)
		}
		again, err := ParseStrict(text)
		if err != nil || !Equal(again, value) {
			t.Fatalf("wrote %q, which reads back as %s, %v", text, Marshal(again), err)
		}
		if twice, err := Sorted(again); err != nil || string(twice) != string(text) {
			t.Fatalf("%q, then %q, %v", text, twice, err)
		}
	})
}

func BenchmarkSorted(b *testing.B) {
	value := at(b, tree(b, "research-topics.json"), "/topics/0/document")
	var room []byte
	for b.Loop() {
		room, _ = AppendSorted(room[:0], value)
	}
	b.SetBytes(int64(len(room)))
}
