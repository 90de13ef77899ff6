package artefact

import (
	"encoding/binary"
	"math/bits"
)

// The compressor is our own so that a zip is a function of its contents alone:
// what compress/flate writes may change with the version of Go, and then no older
// zip could be held against its contents byte for byte. It is the plain part of
// RFC 1951: one block with the fixed codes, greedy matches with the last place of
// the same four bytes; or blocks that are stored where that is shorter. Its output
// is frozen by golden files.
const (
	window   = 1 << 15
	minMatch = 4
	maxMatch = 258
	hashBits = 15
	// maxRatio is above what a block with the fixed codes can reach: 258 bytes in 13
	// bits. A zip that promises more was not written here.
	maxRatio = 160
)

// Base and count of extra bits of each length code from 257, and of each distance
// code (RFC 1951 §3.2.5).
var (
	lengthBase  = [29]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthExtra = [29]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
	distBase    = [30]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distExtra   = [30]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// deflate returns data as a deflate stream, at most storedSize of it.
func deflate(data []byte) []byte {
	w := &bitWriter{out: make([]byte, 0, len(data)/2+16)}
	limit := storedSize(len(data))
	w.write(1|1<<1, 3) // last block, fixed codes
	var last [1 << hashBits]int32
	for at := 0; at < len(data); {
		length, distance := 0, 0
		if at+minMatch <= len(data) {
			h := hash(data[at:])
			if from := int(last[h]) - 1; from >= 0 && at-from <= window {
				length, distance = matching(data, from, at), at-from
			}
			last[h] = int32(at) + 1
		}
		if length < minMatch {
			w.symbol(uint(data[at]))
			at++
			continue
		}
		w.match(length, distance)
		for i := at + 1; i < at+length && i+minMatch <= len(data); i++ {
			last[hash(data[i:])] = int32(i) + 1
		}
		at += length
		if len(w.out) >= limit {
			return stored(data)
		}
	}
	w.symbol(256) // end of the block
	if out := w.flush(); len(out) < limit {
		return out
	}
	return stored(data)
}

func hash(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - hashBits)
}

// matching returns how many bytes are the same from two places on, at most
// maxMatch.
func matching(data []byte, from, at int) int {
	n, most := 0, min(maxMatch, len(data)-at)
	for n < most && data[from+n] == data[at+n] {
		n++
	}
	return n
}

const maxStored = 1<<16 - 1

// storedSize is the size of n bytes in stored blocks.
func storedSize(n int) int { return n + 5*max(1, (n+maxStored-1)/maxStored) }

func stored(data []byte) []byte {
	out := make([]byte, 0, storedSize(len(data)))
	for {
		n := min(len(data), maxStored)
		final := byte(0)
		if n == len(data) {
			final = 1
		}
		out = append(out, final, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		out = append(out, data[:n]...)
		if data = data[n:]; final == 1 {
			return out
		}
	}
}

// bitWriter packs bits from the lowest of each byte on.
type bitWriter struct {
	out   []byte
	acc   uint64
	count uint
}

func (w *bitWriter) write(v uint64, n uint) {
	w.acc |= v << w.count
	for w.count += n; w.count >= 8; w.count -= 8 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) flush() []byte {
	if w.count > 0 {
		w.write(0, 8-w.count)
	}
	return w.out
}

// code writes a Huffman code, whose bits come highest first.
func (w *bitWriter) code(v, n uint) {
	w.write(uint64(bits.Reverse16(uint16(v))>>(16-n)), n)
}

// symbol writes a literal, the end or a length by the fixed code (RFC 1951
// §3.2.6).
func (w *bitWriter) symbol(s uint) {
	switch {
	case s < 144:
		w.code(0x30+s, 8)
	case s < 256:
		w.code(0x190+s-144, 9)
	case s < 280:
		w.code(s-256, 7)
	default:
		w.code(0xc0+s-280, 8)
	}
}

func (w *bitWriter) match(length, distance int) {
	i := len(lengthBase) - 1
	for int(lengthBase[i]) > length {
		i--
	}
	w.symbol(257 + uint(i))
	w.write(uint64(length-int(lengthBase[i])), uint(lengthExtra[i]))
	i = len(distBase) - 1
	for int(distBase[i]) > distance {
		i--
	}
	w.code(uint(i), 5)
	w.write(uint64(distance-int(distBase[i])), uint(distExtra[i]))
}
