package bundle

import (
	"strings"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// parseInstant reads YYYY-MM-DDTHH:MM:SSZ (§1) and nothing else.
func parseInstant(s string) (time.Time, bool) {
	const layout = "2006-01-02T15:04:05Z"
	if len(s) != len(layout) {
		return time.Time{}, false
	}
	t, err := time.Parse(layout, s)
	// Printing it again refuses what time.Parse tolerates (a comma, a sign).
	return t, err == nil && t.Format(layout) == s
}

// parseFineInstant also reads a fraction of one to six digits before the Z (§8).
func parseFineInstant(s string) (time.Time, bool) {
	whole, fraction, ok := strings.Cut(s, ".")
	if !ok {
		return parseInstant(s)
	}
	digits, ok := strings.CutSuffix(fraction, "Z")
	if !ok || len(digits) < 1 || len(digits) > 6 || !all(digits, digit) {
		return time.Time{}, false
	}
	t, ok := parseInstant(whole + "Z")
	if !ok {
		return time.Time{}, false
	}
	nanos := 0
	for _, c := range (digits + "000000000")[:9] {
		nanos = nanos*10 + int(c-'0')
	}
	return t.Add(time.Duration(nanos)), true
}

func (d document) instantOf(at string, o *canonjson.Object, name string) time.Time {
	s := d.TextOf(at, o, name)
	t, ok := parseInstant(s)
	if !ok {
		d.Fail(at+"/"+name, "must be an instant YYYY-MM-DDTHH:MM:SSZ, is %s", strict.Quote(s))
	}
	return t
}
