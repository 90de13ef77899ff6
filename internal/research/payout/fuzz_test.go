package payout

import (
	"strings"
	"testing"
)

func FuzzParseHotkey(f *testing.F) {
	good := strings.Repeat("0a", 32)
	for _, seed := range []string{good, strings.ToUpper(good), "0x" + good, good[2:], good + " ", strings.Repeat("g", 64), strings.Repeat("é", 32), ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHotkey(s)
		if err == nil && h.String() != s {
			t.Fatalf("%q is read as %s", s, h)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
	})
}
