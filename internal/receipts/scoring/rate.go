package scoring

import "strconv"

// Rate is a fraction as counted, not reduced.
type Rate struct{ Num, Den int }

// Percent prints the rate in percent with one decimal, half away from zero
// (§11): t = ⌊(2000·num + den) / (2·den)⌋, then ⌊t/10⌋ "." t mod 10. The
// denominator is positive.
func (r Rate) Percent() string {
	num, den := int64(r.Num), int64(r.Den)
	t := (2000*num + den) / (2 * den)
	return strconv.FormatInt(t/10, 10) + "." + strconv.FormatInt(t%10, 10)
}
