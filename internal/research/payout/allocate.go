package payout

import (
	"cmp"
	"math/big"
	"math/bits"
	"slices"
)

// share is one part of an allocated mass.
type share struct {
	units uint64
	extra bool // one of the units is a left-over one
}

// allocate splits mass in proportion to weights (R§13.7): each gets the integer
// part of mass*weight/total, then the left-over units go one each to the largest
// remainders, ties to the earlier index. A weight of zero gets nothing. The
// shares sum to mass, or to zero when all weights are zero.
func allocate(mass uint64, weights []uint64) []share {
	shares := make([]share, len(weights))
	var hi, lo uint64
	for _, w := range weights {
		var carry uint64
		lo, carry = bits.Add64(lo, w, 0)
		hi += carry
	}
	if hi == 0 && lo == 0 {
		return shares
	}
	rests := make([]rest, 0, len(weights))
	divide := divisor(mass, hi, lo)
	left := mass
	for i, w := range weights {
		if w == 0 {
			continue
		}
		units, r := divide(w)
		shares[i].units = units
		left -= units
		r.index = i
		rests = append(rests, r)
	}
	slices.SortFunc(rests, func(a, b rest) int {
		return cmp.Or(cmp.Compare(b.hi, a.hi), cmp.Compare(b.lo, a.lo), cmp.Compare(a.index, b.index))
	})
	// Each remainder is below the total, so fewer units are left than weights.
	for _, r := range rests[:left] {
		shares[r.index].units++
		shares[r.index].extra = true
	}
	return shares
}

// rest is a remainder of 128 bits and whose it is.
type rest struct {
	hi, lo uint64
	index  int
}

// divisor returns the division of mass*w by the total hi:lo.
func divisor(mass, hi, lo uint64) func(w uint64) (uint64, rest) {
	if hi == 0 {
		return func(w uint64) (uint64, rest) {
			// w <= total, so the high word of the product is below the total.
			ph, pl := bits.Mul64(mass, w)
			q, r := bits.Div64(ph, pl, lo)
			return q, rest{lo: r}
		}
	}
	// Only saturated weights sum beyond 64 bits.
	word := func(h, l uint64) *big.Int {
		v := new(big.Int).SetUint64(h)
		return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(l))
	}
	total, mask := word(hi, lo), word(0, ^uint64(0))
	return func(w uint64) (uint64, rest) {
		ph, pl := bits.Mul64(mass, w)
		q, r := new(big.Int).QuoRem(word(ph, pl), total, new(big.Int))
		low := new(big.Int).And(r, mask).Uint64()
		return q.Uint64(), rest{hi: r.Rsh(r, 64).Uint64(), lo: low}
	}
}
