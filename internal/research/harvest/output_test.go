package harvest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func feed(chunk int, text string) *output {
	o := &output{over: func() {}, most: 64 << 20}
	for len(text) > 0 {
		n := min(chunk, len(text))
		if _, err := o.Write([]byte(text[:n])); err != nil {
			break
		}
		text = text[n:]
	}
	o.close()
	return o
}

func TestMarkersAreFoundHoweverTheOutputIsCut(t *testing.T) {
	for chunk := 1; chunk < 40; chunk++ {
		for _, end := range []string{"\n", "\r\n"} {
			o := feed(chunk, "hello"+end+`PROOF_METRICS={"a":1}`+end+end+"PROOF_EVAL_OK"+end+"bye")
			document, why := o.document()
			if string(document) != `{"a":1}` || why != "" {
				t.Fatalf("in chunks of %d: %q, %s", chunk, document, why)
			}
		}
	}
}

func TestTheTailIsShortValidAndOfWholeLines(t *testing.T) {
	o := feed(100, strings.Repeat("é", 3*maxTail)+"\nlast\xff\x00line\n")
	tail := o.tail(&withheld{})
	if len(tail) > maxTail || !strings.HasSuffix(tail, "é\nlast?.line") || strings.ContainsRune(tail, '\uFFFD') {
		t.Errorf("tail of %d bytes: …%q", len(tail), tail[max(0, len(tail)-30):])
	}
	o = feed(1<<16, strings.Repeat(strings.Repeat("x", 99)+"\n", 10_000))
	if o.kept > keptTail || len(o.lines) > keptTail/99 {
		t.Errorf("%d bytes in %d lines are kept", o.kept, len(o.lines))
	}
}

func TestNoHalfOfASecretIsLeftAtTheCutOfATail(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	w := &withheld{}
	w.keep(secret)
	for shift := range 80 {
		o := feed(1000, strings.Repeat("x", 20)+secret+strings.Repeat("y", maxTail-60+shift)+"\n")
		tail := o.tail(w)
		if strings.Contains(tail, secret[len(secret)-4:]) {
			t.Fatalf("shift %d: %q", shift, tail[:60])
		}
	}
}

func TestWithheldFindsTheFormsInWhichProgramsPrint(t *testing.T) {
	w := &withheld{}
	w.keep(`sk-'a"b/c+d`)
	w.plain("set-1")
	w.plain("set-10")
	for _, text := range []string{
		`sk-'a"b/c+d`, `SK-'A"B/C+D`, `sk-'a\"b/c+d`, `sk-'\''a"b/c+d`, "sk-%27a%22b%2Fc%2Bd", "736b2d276122622f632b64", "736B2D276122622F632B64",
		"c2stJ2EiYi9jK2Q", "set-1", "SET-10",
	} {
		if got := w.clean("<" + text + ">"); got != "<"+mark+">" {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := (&withheld{}).clean("nothing \xff here"); got != "nothing ? here" {
		t.Errorf("got %q", got)
	}
	w = &withheld{}
	w.keep("")
	w.plain(" ")
	if got := w.clean("as it is"); got != "as it is" {
		t.Errorf("got %q", got)
	}
}

// FuzzWithheld looks for texts that keep a secret.
func FuzzWithheld(f *testing.F) {
	f.Add("key sk-planted and SK-PLANTED", "sk-planted")
	f.Add("aaaa", "aa")
	f.Add("\xffK\u212a", "k")
	f.Add("\xdf\xdf\x01\x00\xaa", "\x00")
	f.Fuzz(func(t *testing.T, text, secret string) {
		w := &withheld{}
		w.plain(secret)
		got := w.clean(text)
		for piece := range strings.SplitSeq(got, mark) { // the mark itself may look like a secret
			for _, form := range w.forms {
				if strings.Contains(lower(piece), form) {
					t.Errorf("%q of %q keeps %q", got, text, form)
				}
			}
		}
	})
}

// FuzzOutput looks for outputs that break the reading, or that depend on how they
// are cut into pieces.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("PROOF_METRICS={}\nPROOF_EVAL_OK\n"), 3)
	f.Add([]byte("\r\n\nPROOF_METRICS="), 1)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		one, many := feed(len(data)+1, string(data)), feed(max(1, chunk), string(data))
		a, whyA := one.document()
		b, whyB := many.document()
		if !bytes.Equal(a, b) || whyA != whyB {
			t.Errorf("%q: %q %s, in pieces %q %s", data, a, whyA, b, whyB)
		}
		if tail := one.tail(&withheld{}); len(tail) > maxTail || tail != many.tail(&withheld{}) {
			t.Errorf("%q: tails differ", data)
		}
	})
}

func ExampleHarvest_exits() {
	fmt.Println(classify(124, 0, 600, "step 7"))
	fmt.Println(classify(137, 40e9, 600, "step 7"))
	// Output:
	// proof deadline of 600s exceeded; stdout_tail: step 7
	// proof-eval was ended by an external SIGKILL after 40s, before its deadline of 600s (for example out of memory); stdout_tail: step 7
}
