package harvest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json/v2"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// mark stands where something must not be shown.
const mark = "[withheld]"

// withheld knows what was staged in a pod and must not come back in a text: the
// judge's key and origin, the records of the holdout (R§6.4).
type withheld struct {
	forms []string // in lower case
}

// keep adds a secret in the forms in which programs print it.
func (w *withheld) keep(secret string) {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return
	}
	w.add(secret, strings.Trim(quote(secret), "'"), url.QueryEscape(secret), url.PathEscape(secret),
		hex.EncodeToString([]byte(secret)),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)))
	if quoted, err := json.Marshal(secret); err == nil {
		w.add(string(quoted[1 : len(quoted)-1]))
	}
}

// plain adds a value that is looked for as it stands.
func (w *withheld) plain(secret string) { w.add(strings.TrimSpace(secret)) }

func (w *withheld) add(forms ...string) {
	for _, form := range forms {
		form = lower(strings.ToValidUTF8(form, "?"))
		if form == "" || slices.Contains(w.forms, form) {
			continue
		}
		w.forms = append(w.forms, form)
	}
}

// clean returns a text without anything withheld, case aside. What overlaps is one
// gap, so that no rest of a longer secret stays behind a shorter one.
func (w *withheld) clean(text string) string {
	text = strings.ToValidUTF8(text, "?")
	low := lower(text)
	var gaps [][2]int
	for _, form := range w.forms {
		for from := 0; ; {
			i := strings.Index(low[from:], form)
			if i < 0 {
				break
			}
			gaps = append(gaps, [2]int{from + i, from + i + len(form)})
			from += i + 1
		}
	}
	if gaps == nil {
		return text
	}
	slices.SortFunc(gaps, func(a, b [2]int) int { return a[0] - b[0] })
	var b strings.Builder
	end := 0
	for _, gap := range gaps {
		if gap[0] >= end {
			b.WriteString(text[end:gap[0]])
			b.WriteString(mark)
		}
		end = max(end, gap[1])
	}
	b.WriteString(text[end:])
	return b.String()
}

// lower lowers ASCII alone, so that places in a text stay what they are.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// printable makes a pod's text fit for an error: valid UTF-8, no control characters
// but the line feed.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '.'
		}
		return r
	}, strings.ToValidUTF8(text, "."))
}
