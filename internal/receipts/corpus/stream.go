package corpus

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/bits"
	"math/rand/v2"
)

// stream is a deterministic sequence of choices. Each part of a build draws from
// a stream of its own, derived from the seed by HMAC-SHA-256 over the part's
// name, so one more choice in one part moves nothing in another. The generator is
// ChaCha8 as C2SP specifies it; the reduction to a range is written out here,
// because only the generator's output is fixed for all releases of Go.
type stream struct{ source *rand.ChaCha8 }

func newStream(seed [32]byte, label string) *stream {
	mac := hmac.New(sha256.New, seed[:])
	mac.Write([]byte("prova corpus 1\x00" + label))
	var key [32]byte
	mac.Sum(key[:0])
	return &stream{source: rand.NewChaCha8(key)}
}

// below draws from 0 to n-1 without bias (Lemire's method); n must be positive.
func (s *stream) below(n int) int {
	bound := uint64(n)
	for {
		high, low := bits.Mul64(s.source.Uint64(), bound)
		if low >= bound || low >= -bound%bound {
			return int(high)
		}
	}
}

// between draws from low to high, both included.
func (s *stream) between(low, high int) int { return low + s.below(high-low+1) }

// chance is true n times in a thousand.
func (s *stream) chance(n int) bool { return s.below(1000) < n }

// pick draws one of a non-empty list.
func pick[T any](s *stream, list []T) T { return list[s.below(len(list))] }

// shuffle puts a list into an order drawn uniformly (Fisher–Yates).
func shuffle[T any](s *stream, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
