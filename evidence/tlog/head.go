package tlog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// headFormat is the first line of a head file. The second is the SHA-256 of the rest, the third and fourth are the
// acknowledged records and bytes, and after them comes the checkpoint as it is.
const headFormat = "prova-tlog-store/1"

// head is what a FileStore has acknowledged.
type head struct {
	Records    uint64
	Bytes      int64
	Checkpoint string
}

// errHeadUncertain says that the new head may or may not be what a crash would leave.
var errHeadUncertain = errors.New("the head file may not be durable")

func (h head) text() string {
	rest := fmt.Sprintf("%d\n%d\n%s", h.Records, h.Bytes, h.Checkpoint)
	sum := sha256.Sum256([]byte(rest))
	return headFormat + "\n" + hex.EncodeToString(sum[:]) + "\n" + rest
}

func parseHead(text string) (head, error) {
	parts := strings.SplitN(text, "\n", 5)
	if len(parts) != 5 || parts[0] != headFormat {
		return head{}, fmt.Errorf("%w: the file %q does not start with %q; restore it from a copy, or use the version that wrote it", ErrCorrupt, headFile, headFormat)
	}
	records, errRecords := parseDecimal(parts[2])
	bytes, errBytes := parseDecimal(parts[3])
	h := head{Records: records, Bytes: int64(bytes), Checkpoint: parts[4]}
	if errRecords != nil || errBytes != nil || h.Bytes < 0 || h.text() != text {
		return head{}, fmt.Errorf("%w: the file %q does not match its checksum; restore the folder from a copy", ErrCorrupt, headFile)
	}
	return h, nil
}

func readHead(path string) (h head, found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return head{}, false, nil
	}
	if err != nil {
		return head{}, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 2*maxCheckpoint))
	if err != nil {
		return head{}, false, err
	}
	h, err = parseHead(string(data))
	return h, true, err
}

// writeHead replaces the head: a new file, synced, is renamed over the old one, and the folder is synced.
func writeHead(dir string, h head) error {
	path := filepath.Join(dir, headFile)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(h.text())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", errHeadUncertain, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
