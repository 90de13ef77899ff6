package canonjson

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// toUTF8 finds the encoding as json.detect_encoding does and returns the text in
// generalised UTF-8 without its byte order mark. UTF-8 is returned as it is: the
// parser checks it as it goes.
func toUTF8(data []byte) ([]byte, error) {
	var (
		le = binary.LittleEndian
		be = binary.BigEndian
	)
	switch {
	case bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}):
		return fromUTF32(data[4:], be)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}):
		return fromUTF32(data[4:], le)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return fromUTF16(data[2:], be)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return fromUTF16(data[2:], le)
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return data[3:], nil
	}
	switch n := len(data); {
	case n >= 4 && data[0] == 0 && data[1] == 0:
		return fromUTF32(data, be)
	case n >= 4 && data[0] == 0:
		return fromUTF16(data, be)
	case n >= 4 && data[1] == 0 && data[2] == 0 && data[3] == 0:
		return fromUTF32(data, le)
	case n >= 4 && data[1] == 0:
		return fromUTF16(data, le)
	case n == 2 && data[0] == 0:
		return fromUTF16(data, be)
	case n == 2 && data[1] == 0:
		return fromUTF16(data, le)
	}
	return data, nil
}

func fromUTF16(data []byte, order binary.ByteOrder) ([]byte, error) {
	if len(data)%2 != 0 {
		return nil, &SyntaxError{Reason: fmt.Sprintf("read as UTF-16 (%v) it ends inside a character", order)}
	}
	text := make([]byte, 0, len(data)/2+len(data)/8)
	for i := 0; i < len(data); i += 2 {
		r := rune(order.Uint16(data[i:]))
		if isHigh(r) && i+4 <= len(data) {
			if low := rune(order.Uint16(data[i+2:])); isLow(low) {
				r = join(r, low)
				i += 2
			}
		}
		text = appendCodePoint(text, r)
	}
	return text, nil
}

func fromUTF32(data []byte, order binary.ByteOrder) ([]byte, error) {
	if len(data)%4 != 0 {
		return nil, &SyntaxError{Reason: fmt.Sprintf("read as UTF-32 (%v) it ends inside a character", order)}
	}
	text := make([]byte, 0, len(data)/4+len(data)/16)
	for i := 0; i < len(data); i += 4 {
		u := order.Uint32(data[i:])
		if u > 0x10ffff {
			return nil, &SyntaxError{
				Offset: int64(len(text)),
				Reason: fmt.Sprintf("read as UTF-32 (%v) it has 0x%x, which is no code point", order, u),
			}
		}
		text = appendCodePoint(text, rune(u))
	}
	return text, nil
}
