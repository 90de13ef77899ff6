package season

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Bounds of what an operator may call its agent and say about its stack, in
// code points.
const (
	maxName  = 64
	maxStack = 500
)

// nameKey is what two names that look alike share: NFKC, case folding, one
// space between words.
func nameKey(name string) string {
	folded := cases.Fold().String(norm.NFKC.String(name))
	return strings.Join(strings.Fields(norm.NFKC.String(folded)), " ")
}

// textFault says what is wrong with a text that the Index will show, or
// nothing. Emoji, control and bidirectional characters are refused: a row must
// not be able to disguise itself or its neighbours (§7.3, design §3).
func textFault(text string, limit int) string {
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return "must not be empty"
	case n > limit:
		return fmt.Sprintf("must have at most %d characters, has %d", limit, n)
	}
	if strings.TrimSpace(text) != text {
		return "must not begin or end with white space"
	}
	readable := false
	for _, r := range text {
		if why := refusedRune(r); why != "" {
			return fmt.Sprintf("must not hold %s (U+%04X)", why, r)
		}
		readable = readable || unicode.IsLetter(r) || unicode.IsNumber(r)
	}
	if !readable {
		return "must hold a letter or a digit"
	}
	return ""
}

// pictures are emoji outside the category of symbols: marks, arrows and
// squares with an emoji form, and the dash U+3030.
const pictures = "‼⁉↔◻◼◽◾〰"

func refusedRune(r rune) string {
	switch {
	case unicode.Is(unicode.Bidi_Control, r):
		return "a bidirectional control character"
	case r == ' ':
		return ""
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		return "a control or invisible character"
	case unicode.In(r, unicode.So, unicode.Me, unicode.Variation_Selector), r >= 0x1F3FB && r <= 0x1F3FF, strings.ContainsRune(pictures, r):
		return "an emoji or symbol"
	case unicode.In(r, unicode.Co, unicode.Cs), !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs):
		return "a character without a meaning of its own"
	}
	return ""
}
