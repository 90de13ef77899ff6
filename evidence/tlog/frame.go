package tlog

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame holds one record of a FileStore: four bytes length of the rest without the sum, eight bytes integrated time,
// the body, and a SHA-256 over the record's number and all before. The number is in the sum so that a frame in another
// place is not taken for the right one.
const (
	frameLength = 4
	frameTime   = 8
	// maxBody bounds one record. An entry has less than a kilobyte; a length beyond this one is damage.
	maxBody = 1 << 20
)

// errNoFrame says that no whole frame starts here: the file ends, or it is torn or damaged.
var errNoFrame = errors.New("no whole record")

func frameSum(number uint64, frame []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, number))
	h.Write(frame)
	return [sha256.Size]byte(h.Sum(nil))
}

func appendFrame(dst []byte, number uint64, r Record) ([]byte, error) {
	if len(r.Body) > maxBody {
		return nil, fmt.Errorf("record %d: body of %d bytes, at most %d", number, len(r.Body), maxBody)
	}
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(frameTime+len(r.Body)))
	dst = binary.BigEndian.AppendUint64(dst, uint64(r.IntegratedTime))
	dst = append(dst, r.Body...)
	sum := frameSum(number, dst[start:])
	return append(dst, sum[:]...), nil
}

// readFrame reads the frame of the record with the given number and returns its size in bytes. The error wraps
// errNoFrame when what is there is not such a frame, and is another when reading itself fails.
func readFrame(r io.Reader, number uint64) (Record, int64, error) {
	var length [frameLength]byte
	if err := readFull(r, length[:]); err != nil {
		return Record{}, 0, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < frameTime || n > frameTime+maxBody {
		return Record{}, 0, fmt.Errorf("%w: impossible length %d", errNoFrame, n)
	}
	frame := make([]byte, frameLength+int(n)+sha256.Size)
	copy(frame, length[:])
	if err := readFull(r, frame[frameLength:]); err != nil {
		return Record{}, 0, err
	}
	content := frame[:frameLength+int(n)]
	if frameSum(number, content) != [sha256.Size]byte(frame[len(content):]) {
		return Record{}, 0, fmt.Errorf("%w: its checksum differs", errNoFrame)
	}
	return Record{
		IntegratedTime: int64(binary.BigEndian.Uint64(content[frameLength:])),
		Body:           content[frameLength+frameTime:],
	}, int64(len(frame)), nil
}

func readFull(r io.Reader, dst []byte) error {
	_, err := io.ReadFull(r, dst)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file ends", errNoFrame)
	}
	return err
}
