package results

import "strconv"

// Rate is a fraction as counted, not reduced, and the percent printed beside it.
// [NewRate] prints it; a rate that was read has the percent that is published.
type Rate struct {
	Num, Den int64
	Percent  string
}

// NewRate prints counts, both from 0 to 2^40, in percent with one decimal, half
// away from zero (§11): t = ⌊(2000·num + den) / (2·den)⌋, then ⌊t/10⌋ "." t mod
// 10. Of nothing it is 0.0.
func NewRate(num, den int64) Rate {
	r := Rate{Num: num, Den: den, Percent: "0.0"}
	if den > 0 {
		t := (2000*num + den) / (2 * den)
		r.Percent = strconv.FormatInt(t/10, 10) + "." + strconv.FormatInt(t%10, 10)
	}
	return r
}

// printedPercent accepts 0.0 to 100.0 as §11 prints them.
func printedPercent(s string) bool {
	n := len(s)
	if n < 3 || n > 5 || s[n-2] != '.' {
		return false
	}
	for i := range n {
		if i != n-2 && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}
