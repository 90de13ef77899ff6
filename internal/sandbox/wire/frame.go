package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrFrame is wrapped by refusals of a frame's length. The stream cannot be read
// any further then.
var ErrFrame = errors.New("bad frame")

// ReadFrame reads one frame: its length as 32 bits, big end first, and that many
// bytes (R§23.1). A frame longer than max, which is at most [MaxFrame], or of
// length 0 wraps [ErrFrame] before any of it is read. A stream that ends between
// frames gives io.EOF, one that ends within a frame io.ErrUnexpectedEOF.
//
// Memory is taken as bytes arrive, not as the length promises them.
func ReadFrame(r io.Reader, max int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if limit := int64(min(max, MaxFrame)); n > limit {
		return nil, fmt.Errorf("%w: %d bytes announced, at most %d are read", ErrFrame, n, limit)
	}
	if n == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrFrame)
	}
	var body bytes.Buffer
	body.Grow(int(min(n, 64<<10)))
	got, err := body.ReadFrom(io.LimitReader(r, n))
	if err != nil {
		return nil, err
	}
	if got < n {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

// WriteFrame writes one frame. A payload that no reader would take wraps
// [ErrFrame], and nothing is written.
func WriteFrame(w io.Writer, payload []byte) error {
	if len(payload) == 0 || len(payload) > MaxFrame {
		return fmt.Errorf("%w: %d bytes, want 1 to %d", ErrFrame, len(payload), MaxFrame)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))
	if len(payload) <= 64<<10 { // one write, one packet
		_, err := w.Write(append(head, payload...))
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}
