package issuer

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// formEncode writes a GET payload as the source's HTTP client does (T§4.4): one
// pair for a member, one for each item of a list, form-encoded.
func formEncode(payload *canonjson.Object) string {
	var b strings.Builder
	pair := func(name string, v any) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		quotePlus(&b, name)
		b.WriteByte('=')
		quotePlus(&b, queryText(v))
	}
	for name, v := range payload.All() {
		list, ok := v.([]any)
		if !ok {
			pair(name, v)
			continue
		}
		for _, item := range list {
			pair(name, item)
		}
	}
	return b.String()
}

// queryText is one value as text: true, false, nothing for null, and Python's
// str for the rest.
func queryText(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(x)
	case string:
		return x
	}
	var b strings.Builder
	pythonRepr(&b, v)
	return b.String()
}

// quotePlus is urllib's quote_plus with its default safe characters.
func quotePlus(b *strings.Builder, s string) {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '_', c == '.', c == '-', c == '~':
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			percent(b, c)
		}
	}
}

// pythonRepr writes v as Python prints the parsed value.
func pythonRepr(b *strings.Builder, v any) {
	switch x := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		if x {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case string:
		reprString(b, x)
	case canonjson.Int:
		b.WriteString(string(x))
	case float64:
		// The canonical form is Python's repr but for the three names.
		switch text := string(canonjson.Marshal(x)); text {
		case "NaN":
			b.WriteString("nan")
		case "Infinity":
			b.WriteString("inf")
		case "-Infinity":
			b.WriteString("-inf")
		default:
			b.WriteString(text)
		}
	case []any:
		b.WriteByte('[')
		for i, e := range x {
			if i > 0 {
				b.WriteString(", ")
			}
			pythonRepr(b, e)
		}
		b.WriteByte(']')
	case *canonjson.Object:
		b.WriteByte('{')
		first := true
		for name, e := range x.All() {
			if !first {
				b.WriteString(", ")
			}
			first = false
			reprString(b, name)
			b.WriteString(": ")
			pythonRepr(b, e)
		}
		b.WriteByte('}')
	}
}

// reprString is repr of a str: single quotes unless only double quotes avoid an
// escape; printable characters as they are.
func reprString(b *strings.Builder, s string) {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteByte(quote)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			escapeRune(b, r)
		}
	}
	b.WriteByte(quote)
}

func escapeRune(b *strings.Builder, r rune) {
	text := strconv.FormatInt(int64(r), 16)
	switch {
	case r < 0x100:
		b.WriteString(`\x` + strings.Repeat("0", 2-len(text)) + text)
	case r < 0x10000:
		b.WriteString(`\u` + strings.Repeat("0", 4-len(text)) + text)
	default:
		b.WriteString(`\U` + strings.Repeat("0", 8-len(text)) + text)
	}
}
