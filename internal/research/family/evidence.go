package family

import (
	"errors"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/strict"
)

// EvidenceKind says which evidence an [*EvidenceError] is about.
type EvidenceKind int

// The kinds of missing evidence.
const (
	BadBaseline EvidenceKind = iota // the document is not about this run
	NoAgent                         // no agent verdict can be read
)

// EvidenceError refuses a run without a row: what came back is no evidence for
// it. It answers 503, and its text starts as the reference says (R§10).
type EvidenceError struct {
	Kind  EvidenceKind
	Field string // path of the value in the document
	Why   string
}

func (e *EvidenceError) Error() string {
	prefix := "recorded baseline: "
	if e.Kind == NoAgent {
		prefix = "no agent verdict: "
	}
	return prefix + e.Field + ": " + e.Why
}

func badBaseline(field, why string) error { return &EvidenceError{BadBaseline, field, why} }
func noAgent(field, why string) error     { return &EvidenceError{NoAgent, field, why} }

// unread refuses a document that a strict reader refused; whole names the value
// when the fault is in no member of it.
func unread(kind EvidenceKind, whole string, err error) error {
	e := &EvidenceError{kind, whole, err.Error()}
	if fault, ok := errors.AsType[*strict.Error](err); ok && fault.Path != "" {
		e.Field, e.Why = fault.Path, fault.Reason
	}
	return e
}

// quote shows a value of a document in an error without letting it grow.
func quote(s string) string { return strconv.Quote(cut(s, 80)) }

func sprint(n uint64) string { return strconv.FormatUint(n, 10) }

func sameHex(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}
