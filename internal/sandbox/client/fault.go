package client

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fault is why a call came to nothing. Its text is safe to show to anyone.
//
// It unwraps to a [*wire.Error] when the agent answered with a code, and to
// context.Canceled or context.DeadlineExceeded when the caller's context ended
// the call; and to nothing else.
type Fault struct {
	Text string
	err  error
}

func (f *Fault) Error() string { return f.Text }

// Unwrap returns what a caller may decide by.
func (f *Fault) Unwrap() error { return f.err }

// maxText is the length in bytes of what is shown of an agent's words.
const maxText = 512

// What an agent's or a guest's words may hold and nobody else should see.
var (
	addresses = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	hosts     = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%a-z]*\](:\d+)?|\b[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}:\d+\b|\blocalhost:\d+\b`)
	lookups   = regexp.MustCompile(`\blookup [^\s:]+`)
	paths     = regexp.MustCompile(`(^|[\s"'` + "`" + `(\[=:,;<])(~?/[^\s"'` + "`" + `)\]:,;<>]+)`)
)

// safe makes a text of an agent fit to be shown: without the token, addresses,
// paths and control characters, and not too long.
func safe(text, token string) string {
	if token != "" {
		text = strings.ReplaceAll(text, token, "(withheld)")
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, cut(text, 4*maxText))
	text = addresses.ReplaceAllString(text, "(address)")
	text = lookups.ReplaceAllString(text, "lookup (host)")
	text = hosts.ReplaceAllString(text, "(host)")
	text = paths.ReplaceAllString(text, "${1}(path)")
	return cut(strings.TrimSpace(text), maxText)
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// quoted shows a value that an agent sent in the place of another.
func quoted(s string) string { return fmt.Sprintf("%q", cut(s, 80)) }
