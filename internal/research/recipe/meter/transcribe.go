package meter

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Error says why a module is refused, and where.
type Error struct {
	Offset int    // into the module
	Reason string // names the value and what is wrong with it
}

func (e *Error) Error() string {
	return fmt.Sprintf("wasm module: byte %d: %s", e.Offset, e.Reason)
}

// transcriber reads a module and writes what it understood, in the shortest
// encoding. What it writes is all that a runtime sees, so that no second reader
// can understand the same bytes otherwise. The first fault ends the reading: each
// method does nothing after it, and returns zero.
type transcriber struct {
	in    []byte
	pos   int
	end   int // of the section or the body that is read
	out   []byte
	fault *Error
}

func (t *transcriber) refuse(at int, format string, args ...any) {
	if t.fault == nil {
		t.fault = &Error{Offset: at, Reason: fmt.Sprintf(format, args...)}
		t.pos = t.end
	}
}

// more reports whether there is anything left to read.
func (t *transcriber) more() bool { return t.fault == nil && t.pos < t.end }

// next reads a byte without writing it.
func (t *transcriber) next(what string) byte {
	if t.fault != nil {
		return 0
	}
	if t.pos >= t.end {
		t.refuse(t.pos, "it ends where %s should stand", what)
		return 0
	}
	b := t.in[t.pos]
	t.pos++
	return b
}

// byte copies a byte that must be one of some.
func (t *transcriber) byte(what string, allowed ...byte) byte {
	at := t.pos
	b := t.next(what)
	if t.fault == nil && !slices.Contains(allowed, b) {
		t.refuse(at, "%s is %#02x, which this method does not take", what, b)
		return 0
	}
	t.out = append(t.out, b)
	return b
}

// copy copies n bytes as they are.
func (t *transcriber) copy(what string, n int) {
	if t.fault != nil {
		return
	}
	if n > t.end-t.pos {
		t.refuse(t.pos, "%s has %d bytes, %d are left", what, n, t.end-t.pos)
		return
	}
	t.out = append(t.out, t.in[t.pos:t.pos+n]...)
	t.pos += n
}

// readU32 reads an unsigned number of LEB128 without writing it.
func (t *transcriber) readU32(what string) uint32 {
	at := t.pos
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := t.next(what)
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	t.refuse(at, "%s is no number of 32 bits", what)
	return 0
}

// u32 copies an unsigned number.
func (t *transcriber) u32(what string) uint32 {
	v := t.readU32(what)
	t.out = appendU32(t.out, v)
	return v
}

// below copies an index that must be smaller than a count.
func (t *transcriber) below(what string, count uint32) uint32 {
	at := t.pos
	v := t.u32(what)
	if t.fault == nil && v >= count {
		t.refuse(at, "%s is %d, the module has %d", what, v, count)
		return 0
	}
	return v
}

// signed copies a signed number of some bits, at most 64.
func (t *transcriber) signed(what string, bits int) int64 {
	at := t.pos
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := t.next(what)
		if rest := bits - shift; rest < 7 {
			// The bits beyond the number repeat its sign.
			if top := int8(b<<1) >> rest; b >= 0x80 || top != 0 && top != -1 {
				break
			}
		}
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			t.out = appendSigned(t.out, v)
			return v
		}
	}
	t.refuse(at, "%s is no signed number of %d bits", what, bits)
	return 0
}

// count copies the length of a vector. Each of its items has at least one byte,
// so a length beyond what is left is refused before anything is made for it.
func (t *transcriber) count(what string) int {
	at := t.pos
	n := t.u32("the number of " + what)
	if t.fault == nil && int64(n) > int64(t.end-t.pos) {
		t.refuse(at, "it names %d %s, %d bytes are left", n, what, t.end-t.pos)
		return 0
	}
	return int(n)
}

// name copies a name and returns it.
func (t *transcriber) name(what string) string {
	n := t.count("bytes of " + what)
	at := t.pos
	t.copy(what, n)
	if t.fault != nil {
		return ""
	}
	if !utf8.Valid(t.in[at:t.pos]) {
		t.refuse(at, "%s is not UTF-8", what)
		return ""
	}
	return string(t.in[at:t.pos])
}

func appendU32(out []byte, v uint32) []byte { return binary.AppendUvarint(out, uint64(v)) }

func appendSigned(out []byte, v int64) []byte {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
