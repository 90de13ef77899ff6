package agent

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
)

func newReader(s string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(s), 64) }

// FuzzParseLine holds the parser of printed lines: whatever an agent prints is a
// line of its log, a list of faults, or a submission that can be sent as it is.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		"", "log", "{}", "{", "[]", "null", `{"msg":"x"}`, `{"task_id":1}`, `{"task_id":"a","task_id":"b"}`,
		`{"track":"conformite","task_id":"conf-01","verdict":"conforme","assertions":[]}`,
		`{"track":"t","task_id":"x","verdict":"v","assertions":[{"resource":"/a","field":"/b","value":1e3,"proof_ids":["prf_20260921_101233_abcdef"]}],"narrative":"n"}`,
		`{"track":"t","task_id":"x","verdict":"v","assertions":[{"id":"i","claim":{"resource":"/a","field":"","value":null},"proof_ids":["prf_20260921_101233_abcdef"]},null,7]}`,
		`{"task_id":"x","verdict":{"a":[[[[]]]]},"assertions":{"0":1},"~/":1}`, "{\"task_id\":\"\xff\"}", `{"task_id":"\ud800"}`,
		`{"task_id":"x"` + strings.Repeat(`,"a":[`, 200), "\ufeff{\"task_id\":\"x\"}",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s, meant, err := ParseLine(line)
		if !meant && err != nil {
			t.Fatalf("a line of the log has the error %v", err)
		}
		if err != nil {
			if text := err.Error(); len(text) > 1<<20 || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
				t.Fatalf("the faults cannot be shown: %q", text)
			}
			return
		}
		if !meant {
			return
		}
		for _, a := range s.Assertions {
			if len(a.ProofIDs) == 0 {
				t.Fatalf("an assertion without a proof was taken: %+v", a)
			}
		}
		body := canonjson.Compact(s.object(1, "did:key:z", nil))
		v, err := canonjson.ParseStrict(body)
		if err != nil && !strings.Contains(err.Error(), "nested") {
			t.Fatalf("the submission made of it is no strict JSON: %v\n%s", err, body)
		}
		if err == nil && word(v, "task_id") != s.TaskID {
			t.Fatalf("task %q became %q", s.TaskID, word(v, "task_id"))
		}
	})
}

// FuzzReadLine holds the splitting of output: nothing is lost, nothing invented.
func FuzzReadLine(f *testing.F) {
	for _, text := range []string{"", "a", "a\n", "\n\n", "a\r\nb", strings.Repeat("x", 200) + "\n" + "y"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(text), 16)
		var got [][]byte
		for {
			l, err := readLine(r)
			if l.left != 0 && len(l.text) < maxLine-1 {
				t.Fatalf("bytes were left out of a short line")
			}
			if err != nil {
				got = append(got, l.text)
				break
			}
			got = append(got, l.text)
		}
		want := bytes.Split(text, []byte("\n"))
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], bytes.TrimSuffix(want[i], []byte("\r"))) {
				t.Fatalf("line %d: %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// FuzzAnswers holds the readers of answers from issuer and season against any
// bytes, shown in an error included.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"error":{"code":"c","message":"m\u0000"}}`), []byte(`{"errors":[{"pointer":"/a","message":"b"}],"title":"t","detail":"d"}`))
	f.Add([]byte(`[{"task_id":"a","minimum":1,"cap":2,"target":{}}]`), []byte(`{"types_requis":{"a":["b"]},"precedence":["x","y","z"],"bornes":"incluses","criteres":[]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, data := range [][]byte{a, b} {
			v, err := canonjson.Parse(data)
			if err != nil {
				continue
			}
			text := statusError(request{method: "GET", url: "/x"}, 422, v).Error()
			if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
				t.Fatalf("the error cannot be shown: %q", text)
			}
			if tasks, err := parseTasks(v); err == nil {
				for _, task := range tasks {
					_, _ = parseTarget(task) // It must not panic.
				}
			}
			_, _ = parseGuide(v) // It must not panic.
		}
	})
}
