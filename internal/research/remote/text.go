package remote

import (
	"encoding/json/v2"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text that a terminal shows and does not obey: every control
// and format character, such as the start of an escape sequence or a mark that
// turns the direction of writing, is replaced by U+FFFD, white space by a space.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsGraphic(r): // No control, no format character.
			return r
		}
		return utf8.RuneError
	}, s)
}

// cut shortens a text to at most so many bytes, on a character boundary.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// decode reads an answer. Names are case sensitive, a name that is twice there is
// refused, unknown ones are looked over.
func decode(data []byte, what string, dst any) error {
	if err := json.Unmarshal(data, dst); err != nil {
		return fmt.Errorf("the control plane's %s: %s", what, Printable(cut(err.Error(), maxText)))
	}
	return nil
}
