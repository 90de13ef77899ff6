package canonjson

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// suite returns the documents of JSONTestSuite by file name.
func suite(tb testing.TB) map[string][]byte {
	tb.Helper()
	files, err := filepath.Glob("testdata/JSONTestSuite/*.json")
	if err != nil {
		tb.Fatal(err)
	}
	documents := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		documents[filepath.Base(file)] = data
	}
	if len(documents) != 318 {
		tb.Fatalf("%d documents in the suite, want 318", len(documents))
	}
	return documents
}

// TestT53ParseDecidesTheJSONTestSuiteAsPython runs the table that json.loads and
// json.dumps of CPython 3.11 made: canonical text, or null for a refusal.
func TestT53ParseDecidesTheJSONTestSuiteAsPython(t *testing.T) {
	data, err := os.ReadFile("testdata/python-expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]*string
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	onlyPython := map[string]bool{"n_number_NaN.json": true, "n_number_infinity.json": true, "n_number_minus_infinity.json": true}
	for name, document := range suite(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := expected[name]
			if !ok {
				t.Fatal("not in the table")
			}
			value, err := Parse(document)
			switch {
			case want == nil && err == nil:
				t.Fatalf("accepted as %.100s", Marshal(value))
			case want != nil && err != nil:
				t.Fatal(err)
			case want != nil && string(Marshal(value)) != *want:
				t.Errorf("canonical text %.100s, want %.100s", Marshal(value), *want)
			}
			if name[0] == 'y' && err != nil {
				t.Errorf("a document that must be accepted was refused: %v", err)
			}
			if name[0] == 'n' && err == nil && !onlyPython[name] {
				t.Error("a document that must be refused was accepted")
			}
		})
	}
}

// strictExceptions are the documents on which ParseStrict differs from the rule
// "y_ accepted, n_ refused", and each decision on an i_ document.
var strictExceptions = map[string]bool{
	// Duplicate names are refused by the bundle format, §1.
	"y_object_duplicated_key.json":           false,
	"y_object_duplicated_key_and_value.json": false,
	// Numbers of any size and precision are accepted: floats as Python reads them,
	// integers exactly, up to 4300 digits.
	"i_number_double_huge_neg_exp.json":       true,
	"i_number_huge_exp.json":                  true,
	"i_number_neg_int_huge_exp.json":          true,
	"i_number_pos_double_huge_exp.json":       true,
	"i_number_real_neg_overflow.json":         true,
	"i_number_real_pos_overflow.json":         true,
	"i_number_real_underflow.json":            true,
	"i_number_too_big_neg_int.json":           true,
	"i_number_too_big_pos_int.json":           true,
	"i_number_very_big_negative_int.json":     true,
	"i_structure_500_nested_arrays.json":      false, // more than 100 levels
	"i_structure_UTF-8_BOM_empty_object.json": false, // byte order mark
	// Lone surrogates, as escapes or encoded.
	"i_object_key_lone_2nd_surrogate.json":                false,
	"i_string_1st_surrogate_but_2nd_missing.json":         false,
	"i_string_1st_valid_surrogate_2nd_invalid.json":       false,
	"i_string_UTF8_surrogate_U+D800.json":                 false,
	"i_string_incomplete_surrogate_and_escape_valid.json": false,
	"i_string_incomplete_surrogate_pair.json":             false,
	"i_string_incomplete_surrogates_escape_valid.json":    false,
	"i_string_invalid_lonely_surrogate.json":              false,
	"i_string_invalid_surrogate.json":                     false,
	"i_string_inverted_surrogates_U+1D11E.json":           false,
	"i_string_lone_second_surrogate.json":                 false,
	// Not UTF-8.
	"i_string_UTF-16LE_with_BOM.json":              false,
	"i_string_utf16BE_no_BOM.json":                 false,
	"i_string_utf16LE_no_BOM.json":                 false,
	"i_string_UTF-8_invalid_sequence.json":         false,
	"i_string_invalid_utf-8.json":                  false,
	"i_string_iso_latin_1.json":                    false,
	"i_string_lone_utf8_continuation_byte.json":    false,
	"i_string_not_in_unicode_range.json":           false,
	"i_string_overlong_sequence_2_bytes.json":      false,
	"i_string_overlong_sequence_6_bytes.json":      false,
	"i_string_overlong_sequence_6_bytes_null.json": false,
	"i_string_truncated-utf-8.json":                false,
}

func TestBundleFormatSection1StrictDecidesTheJSONTestSuite(t *testing.T) {
	decided := 0
	for name, document := range suite(t) {
		t.Run(name, func(t *testing.T) {
			want, exception := strictExceptions[name]
			if exception {
				decided++
			} else if want = strings.HasPrefix(name, "y_"); !want && !strings.HasPrefix(name, "n_") {
				t.Fatal("an i_ document without a decision")
			}
			value, err := ParseStrict(document)
			if (err == nil) != want {
				t.Fatalf("error %v, value %.100s, want it accepted: %v", err, Marshal(value), want)
			}
			if err != nil {
				return
			}
			same, err := Parse(document)
			if err != nil || string(Marshal(same)) != string(Marshal(value)) {
				t.Errorf("Parse reads %.100s, %v; ParseStrict %.100s", Marshal(same), err, Marshal(value))
			}
		})
	}
	if decided != len(strictExceptions) {
		t.Errorf("%d of %d decisions were used", decided, len(strictExceptions))
	}
}
