package agent

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// StatusError is an answer with a status outside 200–299, in the words of the
// service: the issuer's error envelope (T§1) or the season's problem document
// (RFC 9457).
type StatusError struct {
	// Request is the method and the URL, Status the HTTP status.
	Request string
	Status  int
	// Code is the issuer's code, empty for a problem document. Message is one line.
	Code, Message string
	// Faults are what the season found in a body, each with its place.
	Faults []Fault
}

// Fault is one fault of a submission or enrolment: a JSON Pointer and what to do.
type Fault struct{ Pointer, Message string }

// Error is the message and then one line a fault.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d", e.Request, e.Status)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if text := http.StatusText(e.Status); text != "" {
		b.WriteString(" " + text)
	}
	for _, f := range e.Faults {
		at := f.Pointer
		if at == "" {
			at = "the body"
		}
		b.WriteString("\n  " + at + ": " + f.Message)
	}
	return b.String()
}

// Bounds of what an error repeats of an answer.
const (
	maxFaults      = 50
	maxMessageText = 400
)

func statusError(r request, status int, value any) *StatusError {
	e := &StatusError{Request: r.method + " " + r.url, Status: status}
	switch fault := member(value, "error").(type) {
	case *canonjson.Object:
		e.Code, e.Message = oneLine(word(fault, "code")), oneLine(word(fault, "message"))
		return e
	case string: // T§4.2 step 5 has a flat body.
		e.Code, e.Message = oneLine(fault), oneLine(word(value, "message"))
		return e
	}
	e.Message = oneLine(word(value, "title"))
	if detail := oneLine(word(value, "detail")); detail != "" {
		e.Message = strings.TrimPrefix(e.Message+": "+detail, ": ")
	}
	list := items(value, "errors")
	for _, f := range list[:min(len(list), maxFaults)] {
		e.Faults = append(e.Faults, Fault{oneLine(word(f, "pointer")), oneLine(word(f, "message"))})
	}
	if n := len(list) - maxFaults; n > 0 {
		e.Faults = append(e.Faults, Fault{"", strconv.Itoa(n) + " more faults are not shown"})
	}
	return e
}

// oneLine makes a text from outside safe to print: no control or invisible
// character, a bounded length.
func oneLine(s string) string { return printable(s, maxMessageText) }

func printable(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if r, _ := utf8.DecodeLastRuneInString(s); r == utf8.RuneError {
			s = s[:max(0, len(s)-1)]
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return utf8.RuneError
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}
