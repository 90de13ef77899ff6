package pages

import (
	"net/http"
	"strings"
)

// Language is a language of a site, as in paths and lang attributes.
type Language string

// The languages that every site has.
const (
	French  Language = "fr"
	English Language = "en"
)

// Known reports whether l is one of them.
func (l Language) Known() bool { return l == French || l == English }

// Preferred is the language that the reader's browser asks for first, of those that
// there are; English when it asks for none of them.
func Preferred(r *http.Request) Language {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(strings.ToLower(part)), ";")
		primary, _, _ := strings.Cut(tag, "-")
		if l := Language(primary); l.Known() {
			return l
		}
	}
	return English
}
