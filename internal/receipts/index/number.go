package index

import (
	"cmp"
	"math/bits"
)

// cmpProducts compares a·b with c·d without overflow.
func cmpProducts(a, b, c, d uint64) int {
	abHigh, abLow := bits.Mul64(a, b)
	cdHigh, cdLow := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(abHigh, cdHigh), cmp.Compare(abLow, cdLow))
}
