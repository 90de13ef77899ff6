package canonjson

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxDepth is the number of nested objects and arrays that Parse accepts; the
	// outermost counts as one. The reference leaves the limit open (§5.3): CPython
	// fails with an error of its own somewhere below 1000 levels, depending on the
	// caller's stack.
	MaxDepth = 1000
	// MaxStrictDepth is the limit of ParseStrict (bundle format §1).
	MaxStrictDepth = 100
	// MaxIntDigits is the number of digits of the longest integer literal that both
	// parsers accept, the sign not counted (reference §5.3, bundle format §1).
	// Numbers with a point or an exponent have no such limit.
	MaxIntDigits = 4300
)

// ErrDepth is wrapped by the *SyntaxError of a document that is refused only
// because it is nested too deeply.
var ErrDepth = errors.New("nested too deeply")

// ErrDuplicate is wrapped by the *SyntaxError of a document that ParseStrict
// refuses because a member name appears twice in one object.
var ErrDuplicate = errors.New("duplicate member name")

// SyntaxError says why a document was refused.
type SyntaxError struct {
	// Offset is the place of the fault in bytes from the start of the document. For
	// UTF-16 and UTF-32 input it counts the bytes of the same text in UTF-8.
	Offset int64
	// Pointer is the JSON Pointer (RFC 6901) of the innermost value in which the
	// fault is; empty for the whole document.
	Pointer string
	// Reason says what is wrong and what was expected.
	Reason string

	cause error
}

// Error says in one line where the fault is and what was expected there.
func (e *SyntaxError) Error() string {
	where := "at byte " + strconv.FormatInt(e.Offset, 10)
	if e.Pointer != "" {
		where += " in " + strconv.Quote(e.Pointer)
	}
	return "invalid JSON " + where + ": " + e.Reason
}

// Unwrap returns ErrDepth for a document nested too deeply, ErrDuplicate for a
// duplicate member name, else nil.
func (e *SyntaxError) Unwrap() error { return e.cause }

// Parse reads one JSON document as CPython's json.loads(bytes) does (reference
// §5.3): encoding by BOM or by the zero bytes of the first four bytes, encoded
// surrogates kept, NaN, Infinity and -Infinity accepted, the last of duplicate
// members winning at the place of the first, at most MaxDepth levels. The error
// is a *SyntaxError.
func Parse(data []byte) (any, error) {
	text, err := toUTF8(data)
	if err != nil {
		return nil, err
	}
	p := parser{data: text, text: string(text), maxDepth: MaxDepth}
	return p.document()
}

// ParseStrict reads one JSON document by the rules for Prova's own files (bundle
// format §1, "Strict JSON"): UTF-8 without BOM, no duplicate member names, no
// NaN or Infinity, no lone surrogate, at most MaxStrictDepth levels, nothing but
// white space after the value. The error is a *SyntaxError.
func ParseStrict(data []byte) (any, error) {
	p := parser{data: data, text: string(data), maxDepth: MaxStrictDepth, strict: true}
	if strings.HasPrefix(p.text, "\xef\xbb\xbf") {
		return nil, &SyntaxError{Reason: "starts with a byte order mark; write UTF-8 without one"}
	}
	return p.document()
}

// parser reads from data and cuts the strings of the result from text, which
// holds the same bytes. Members and items of the containers that are still open
// lie on two stacks, so that each finished container is allocated once at its
// exact size.
type parser struct {
	data     []byte
	text     string
	at       int
	strict   bool
	maxDepth int
	members  []member
	items    []any
	err      *SyntaxError
	path     []string // tokens of the fault's pointer, innermost first
}

func (p *parser) document() (any, error) {
	var members [48]member
	var items [16]any
	p.members, p.items = members[:0], items[:0]

	p.space()
	v, ok := p.value(0)
	if ok {
		p.space()
		if p.at == len(p.data) {
			return v, nil
		}
		p.fail(p.at, "%s after the end of the value; nothing but white space may follow", p.here())
	}
	slices.Reverse(p.path)
	var pointer strings.Builder
	for _, token := range p.path {
		pointer.WriteByte('/')
		pointer.WriteString(EscapeToken(token))
	}
	p.err.Pointer = pointer.String()
	return nil, p.err
}

// value reads the value that starts at p.at; depth is the number of containers
// around it. It returns false after p.fail.
func (p *parser) value(depth int) (any, bool) {
	if p.at >= len(p.data) {
		return nil, p.fail(p.at, "ends where a value was expected")
	}
	switch c := p.data[p.at]; c {
	case '"':
		return boxed(p.str())
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return p.number()
	case 't':
		return true, p.literal("true")
	case 'f':
		return false, p.literal("false")
	case 'n':
		return nil, p.literal("null")
	case 'N':
		return notANumber, p.constant("NaN")
	case 'I':
		return infinity, p.constant("Infinity")
	}
	return nil, p.fail(p.at, "%s where a value was expected", p.here())
}

func boxed(s string, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return s, true
}

func (p *parser) object(depth int) (any, bool) {
	if !p.enter(depth) {
		return nil, false
	}
	if p.next('}') {
		return &Object{}, true
	}
	base := len(p.members)
	var index map[string]int
	for {
		if p.at >= len(p.data) || p.data[p.at] != '"' {
			return nil, p.fail(p.at, "%s where a member name in double quotes was expected", p.here())
		}
		nameAt := p.at
		name, ok := p.str()
		if !ok {
			return nil, false
		}
		known := p.known(base, index, name)
		if known >= 0 && p.strict {
			p.path = append(p.path, name)
			p.fail(nameAt, "member name %s appears twice in one object; remove one", quoted(name))
			p.err.cause = ErrDuplicate
			return nil, false
		}
		p.space()
		if p.at >= len(p.data) || p.data[p.at] != ':' {
			return nil, p.fail(p.at, "%s where ':' was expected after the member name %s", p.here(), quoted(name))
		}
		p.at++
		p.space()
		v, ok := p.value(depth)
		if !ok {
			p.path = append(p.path, name)
			return nil, false
		}
		if known >= 0 {
			p.members[base+known].value = v
		} else {
			p.members = append(p.members, member{name, v})
			switch n := len(p.members) - base; {
			case index != nil:
				index[name] = n - 1
			case n >= indexFrom:
				index = indexOf(p.members[base:])
			}
		}
		more, ok := p.more('}', "member")
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
	}
	o := &Object{members: slices.Clone(p.members[base:]), index: index}
	clear(p.members[base:])
	p.members = p.members[:base]
	return o, true
}

// known returns the place, counted from base, of an earlier member of the object
// being read, or -1.
func (p *parser) known(base int, index map[string]int, name string) int {
	if index != nil {
		if at, ok := index[name]; ok {
			return at
		}
		return -1
	}
	open := p.members[base:]
	for i := range open {
		if open[i].name == name {
			return i
		}
	}
	return -1
}

func (p *parser) array(depth int) (any, bool) {
	if !p.enter(depth) {
		return nil, false
	}
	if p.next(']') {
		return []any{}, true
	}
	base := len(p.items)
	for {
		v, ok := p.value(depth)
		if !ok {
			p.path = append(p.path, strconv.Itoa(len(p.items)-base))
			return nil, false
		}
		p.items = append(p.items, v)
		more, ok := p.more(']', "element")
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
	}
	a := slices.Clone(p.items[base:])
	clear(p.items[base:])
	p.items = p.items[:base]
	return a, true
}

// enter steps over the opening bracket and the white space behind it.
func (p *parser) enter(depth int) bool {
	if depth > p.maxDepth {
		p.fail(p.at, "objects and arrays are nested more than %d levels deep", p.maxDepth)
		p.err.cause = ErrDepth
		return false
	}
	p.at++
	p.space()
	return true
}

// next steps over c when it is the next byte.
func (p *parser) next(c byte) bool {
	if p.at < len(p.data) && p.data[p.at] == c {
		p.at++
		return true
	}
	return false
}

// more steps over what follows a member or an element: a comma (true), or the
// closing bracket (false).
func (p *parser) more(closing byte, after string) (more, ok bool) {
	p.space()
	if p.next(closing) {
		return false, true
	}
	if !p.next(',') {
		return false, p.fail(p.at, "%s where ',' or '%c' was expected after the %s", p.here(), closing, after)
	}
	p.space()
	if p.at < len(p.data) && p.data[p.at] == closing {
		return false, p.fail(p.at, "'%c' after a comma; remove the comma", closing)
	}
	return true, true
}

// space steps over white space: space, tab, line feed, carriage return.
func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\n', '\r', '\t':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) literal(word string) bool {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return p.fail(p.at, "%s where a value was expected; did you mean %s?", p.here(), word)
	}
	p.at += len(word)
	return true
}

// constant reads NaN or Infinity, which only the Python form has.
func (p *parser) constant(word string) bool {
	if p.strict {
		return p.fail(p.at, "%s where a value was expected; NaN and Infinity are not JSON", p.here())
	}
	return p.literal(word)
}

// fail records the fault; it always returns false.
func (p *parser) fail(offset int, format string, args ...any) bool {
	p.err = &SyntaxError{Offset: int64(offset), Reason: fmt.Sprintf(format, args...)}
	return false
}

// here names the next character for an error message.
func (p *parser) here() string {
	if p.at >= len(p.data) {
		return "end of the document"
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("byte 0x%02x", p.data[p.at])
	}
	return strconv.QuoteRune(r)
}

// quoted is a name as it stands in an error message, at a length that fits a line.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		return strconv.Quote(name[:most]) + "…"
	}
	return strconv.Quote(name)
}
