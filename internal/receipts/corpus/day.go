package corpus

import (
	"fmt"
	"strconv"
	"time"
)

// day is a calendar day, counted from 1 January 1970; the zero day is no day.
type day int

const secondsPerDay = 24 * 60 * 60

func parseDay(s string) (day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Format(time.DateOnly) != s {
		return 0, fmt.Errorf("%q is no day: it must be one that exists, as YYYY-MM-DD", s)
	}
	if t.Year() < 1900 || t.Year() > 2200 {
		return 0, fmt.Errorf("%q is out of range: the year must be from 1900 to 2200", s)
	}
	return day(t.Unix() / secondsPerDay), nil
}

func (d day) String() string {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// french is the day as a French sentence has it: 1er septembre 2026.
func (d day) french() string {
	months := [...]string{
		"janvier", "février", "mars", "avril", "mai", "juin",
		"juillet", "août", "septembre", "octobre", "novembre", "décembre",
	}
	year, month, n := time.Unix(int64(d)*secondsPerDay, 0).UTC().Date()
	number := strconv.Itoa(n)
	if n == 1 {
		number = "1er"
	}
	return fmt.Sprintf("%s %s %d", number, months[month-1], year)
}

// english is the day as an English sentence has it: 1 September 2026.
func (d day) english() string {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC().Format("2 January 2006")
}

// orNull is the day as a value, null for no day.
func (d day) orNull() any {
	if d == 0 {
		return nil
	}
	return d.String()
}
