package canonjson

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"testing"
)

// oracle is a running python3 that answers as CPython's json module does.
type oracle struct {
	in  io.Writer
	out *bufio.Reader
}

// startOracle starts python3 and ends it with the test.
func startOracle(tb testing.TB) *oracle {
	tb.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		tb.Fatal("python3 is the oracle of this test and was not found; run `make deps` to install it")
	}
	cmd := exec.Command(python, "testdata/oracle.py", strconv.Itoa(MaxDepth))
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			tb.Errorf("python3: %v", err)
		}
	})
	return &oracle{in: in, out: bufio.NewReader(out)}
}

// ask sends one question and returns the letter and the text of the answer.
func (o *oracle) ask(tb testing.TB, kind byte, body []byte) (byte, string) {
	tb.Helper()
	request := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body))), body...)
	if _, err := o.in.Write(request); err != nil {
		tb.Fatalf("ask python3: %v", err)
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(o.out, head); err != nil {
		tb.Fatalf("python3 gave no answer: %v", err)
	}
	text := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(o.out, text); err != nil {
		tb.Fatalf("python3 broke off its answer: %v", err)
	}
	return head[0], string(text)
}

// compare holds Parse and Marshal against json.loads and json.dumps.
func (o *oracle) compare(tb testing.TB, document []byte) {
	tb.Helper()
	value, err := Parse(document)
	letter, text := o.ask(tb, 'L', document)
	switch {
	case errors.Is(err, ErrDepth):
		// Ours gives up at the first level too many, before it can see whether the
		// rest is well-formed; CPython must have found it too deep or refused it.
		if letter == 'A' {
			tb.Fatalf("refused as too deep, python3 reads %.200s\ndocument %.200q", text, document)
		}
	case letter == 'D':
		tb.Fatalf("python3 says deeper than %d levels, Parse says %v\ndocument %.200q", MaxDepth, err, document)
	case err != nil && letter == 'A':
		tb.Fatalf("refused (%v), python3 reads %.200s\ndocument %.200q", err, text, document)
	case err == nil && letter == 'R':
		tb.Fatalf("reads %.200s, python3 refuses: %s\ndocument %.200q", Marshal(value), text, document)
	case err == nil && string(Marshal(value)) != text:
		tb.Fatalf("canonical text %.300s\npython3 writes  %.300s\ndocument %.200q", Marshal(value), text, document)
	}
	var syntax *SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		tb.Fatalf("error %T is no *SyntaxError", err)
	}
}
