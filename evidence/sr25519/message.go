package sr25519

import (
	"encoding/binary"
	"math/bits"
)

// Message returns what is signed: the domain and the payload, each as a SCALE
// byte vector.
func Message(domain string, payload []byte) []byte {
	const longest = 9 // bytes of a length
	m := make([]byte, 0, len(domain)+len(payload)+2*longest)
	m = append(AppendLength(m, uint64(len(domain))), domain...)
	return append(AppendLength(m, uint64(len(payload))), payload...)
}

// AppendLength appends n as a SCALE compact integer, the length of a SCALE
// vector: below 2^6 one byte, below 2^14 two, below 2^30 four, little endian with
// the number of the mode in the two low bits; from there on a byte that counts
// the bytes that follow, at least four of them.
func AppendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n<<2))
	case n < 1<<14:
		return binary.LittleEndian.AppendUint16(dst, uint16(n<<2|1))
	case n < 1<<30:
		return binary.LittleEndian.AppendUint32(dst, uint32(n<<2|2))
	}
	size := max(4, (bits.Len64(n)+7)/8)
	dst = append(dst, byte((size-4)<<2|3))
	for range size {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}
