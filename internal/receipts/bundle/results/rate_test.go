package results_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/internal/receipts/bundle/results"
)

func TestSection11PercentsRoundHalfAwayFromZero(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		num, den int64
		want     string
	}{
		{1, 16, "6.3"}, {0, 7, "0.0"}, {7, 7, "100.0"}, {1, 3, "33.3"}, {2, 3, "66.7"}, {1, 2000, "0.1"}, {1, 2001, "0.0"}, {1999, 2000, "100.0"}, {1998, 2000, "99.9"},
		{4, 10, "40.0"}, {5, 5, "100.0"}, {1, 8, "12.5"}, {0, 0, "0.0"},
	} {
		if got := results.NewRate(c.num, c.den).Percent; got != c.want {
			t.Errorf("%d/%d prints %s, want %s", c.num, c.den, got, c.want)
		}
	}
}

// TestSection11PercentsAgreeWithExactFractions compares with rational arithmetic.
func TestSection11PercentsAgreeWithExactFractions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Int64Range(1, 1_000_000).Draw(t, "den")
		num := rapid.Int64Range(0, den).Draw(t, "num")
		got := results.NewRate(num, den).Percent
		printed, ok := new(big.Rat).SetString(got)
		if !ok || strings.IndexByte(got, '.') != len(got)-2 {
			t.Fatalf("%q is no number with one decimal", got)
		}
		exact := big.NewRat(num*100, den)
		off := new(big.Rat).Sub(printed, exact) // positive when rounded up
		half := big.NewRat(1, 20)
		if off.Cmp(half) > 0 || off.Cmp(new(big.Rat).Neg(half)) <= 0 {
			t.Fatalf("%d/%d is %s, printed %s: off by %s", num, den, exact.FloatString(6), got, off.FloatString(6))
		}
	})
}
