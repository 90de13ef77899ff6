package pages

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number prints a figure with the marks of the language; nil is a dash.
func (c *Catalogue) Number(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case *float64:
		if v == nil {
			return "–"
		}
		return c.Number(*v)
	case float64:
		if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) || math.IsNaN(a) {
			return c.Decimal(strconv.FormatFloat(v, 'g', -1, 64))
		}
		return c.Decimal(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return c.Decimal(fmt.Sprint(v))
}

// About prints a figure that was computed from others, without the last digits that
// binary fractions leave in it.
func (c *Catalogue) About(v float64) string {
	const digits = 12
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return c.Number(v)
	}
	return c.Number(rounded)
}

// Decimal prints a figure written with a point in the language's form: the digits
// before the mark in threes.
func (c *Catalogue) Decimal(s string) string {
	comma, point := ",", "."
	if c.Lang == French {
		comma, point = "\u202f", ","
	}
	whole, rest, has := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "\u2212", whole[1:]
	}
	if !strings.ContainsFunc(whole, func(r rune) bool { return r < '0' || r > '9' }) {
		const group = 3
		for i := len(whole) - group; i > 0; i -= group {
			whole = whole[:i] + comma + whole[i:]
		}
	}
	if has {
		whole += point + rest
	}
	return sign + whole
}

// Percent is Decimal of a figure in percent.
func (c *Catalogue) Percent(s string) string {
	if c.Lang == French {
		return c.Decimal(s) + "\u202f%"
	}
	return c.Decimal(s) + "%"
}

// Instant prints a time; all times are UTC and say so. The zero time is "".
func (c *Catalogue) Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.UTC()
	if c.Lang == French {
		months := [...]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"}
		day := strconv.Itoa(t.Day())
		if t.Day() == 1 {
			day = "1er"
		}
		return fmt.Sprintf("%s %s %d, %s UTC", day, months[t.Month()-1], t.Year(), t.Format("15:04:05"))
	}
	return t.Format("2 January 2006, 15:04:05 UTC")
}
