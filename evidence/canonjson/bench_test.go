package canonjson

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// proof is a proof of specification 3.1 of about 4 KB.
func proof(b *testing.B) []byte {
	b.Helper()
	data, err := os.ReadFile("testdata/proof-3.1.json")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	return data
}

func BenchmarkParseStrict(b *testing.B) {
	data := proof(b)
	for b.Loop() {
		if _, err := ParseStrict(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data := proof(b)
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodingJSON is the standard library on the same document.
func BenchmarkEncodingJSON(b *testing.B) {
	data := proof(b)
	for b.Loop() {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseStrictIndented is a document of other people's making: much white
// space, many numbers, escapes and non-ASCII text.
func BenchmarkParseStrictIndented(b *testing.B) {
	var data bytes.Buffer
	data.WriteString("[\n")
	for data.Len() < 4096 {
		data.WriteString("    {\n        \"désignation\": \"Société \\u00e0 \\\"responsabilité\\\" limitée\",\n        \"montant\": 12345.67,\n        \"rang\": 42,\n        \"actif\": true\n    },\n")
	}
	data.WriteString("    null\n]\n")
	b.SetBytes(int64(data.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseStrict(data.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	value, err := ParseStrict(proof(b))
	if err != nil {
		b.Fatal(err)
	}
	var room []byte
	for b.Loop() {
		room = Append(room[:0], value)
	}
}

func BenchmarkAppendText(b *testing.B) {
	var value any = strings.Repeat("Société à responsabilité limitée, établie à Vaduz. ", 80)
	b.SetBytes(int64(len(value.(string))))
	var room []byte
	for b.Loop() {
		room = Append(room[:0], value)
	}
}

func BenchmarkSum(b *testing.B) {
	value, err := ParseStrict(proof(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		Sum(value)
	}
}

func BenchmarkResolve(b *testing.B) {
	value, err := ParseStrict(proof(b))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(0)
	for b.Loop() {
		if _, ok := Resolve(value, "/batch_anchor/audit_path/0"); !ok {
			b.Fatal("not found")
		}
	}
}
