package bundle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// The bounds of files that are read into memory, in bytes. The format sets none;
// without them one file would decide how much memory a scorer needs.
const (
	// MaxFileSize is for files that belong to the season. Most are a few
	// kilobytes; season.json and enrolments.json grow with the season and stay
	// far below.
	MaxFileSize = 64 << 20
	// MaxItemSize is for one submission, proof or log entry, a few kilobytes each.
	// A larger one reads as a malformed one.
	MaxItemSize = 8 << 20
)

// errTooLarge is the fault of a file above its bound.
var errTooLarge = errors.New("is larger than is accepted")

// source is where the files of a bundle lie: a folder or an archive. Both are
// safe for concurrent use.
type source interface {
	// open opens a regular file; fs.ErrNotExist for anything else under the name.
	open(name string) (io.ReadCloser, int64, error)
	// list names what a folder holds; fs.ErrNotExist when there is no such folder.
	list(dir string) ([]entry, error)
	close() error
}

// entry is one name in a folder.
type entry struct {
	name string
	kind entryKind
}

type entryKind uint8

const (
	otherEntry entryKind = iota // a link, a device: never looked at
	fileEntry
	folderEntry
)

// readAll reads a whole file of a source, at most MaxFileSize.
func readAll(src source, name string) ([]byte, error) { return readUpTo(src, name, MaxFileSize) }

func readUpTo(src source, name string, limit int64) ([]byte, error) {
	f, size, err := src.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	if size > limit {
		return nil, fmt.Errorf("%w: at most %d bytes", errTooLarge, limit)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// folder is a bundle in a file system: a directory opened as a root, or any
// other fs.FS.
type folder struct {
	fsys   fs.FS
	closer io.Closer // nil when there is nothing to close
}

func (f folder) open(name string) (io.ReadCloser, int64, error) {
	// The kind is looked at first: a link could lead elsewhere, and opening a
	// named pipe would wait for ever.
	info, err := fs.Lstat(f.fsys, name)
	if err != nil {
		return nil, 0, notThere(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fs.ErrNotExist
	}
	file, err := f.fsys.Open(name)
	if err != nil {
		return nil, 0, notThere(err)
	}
	return file, info.Size(), nil
}

func (f folder) list(dir string) ([]entry, error) {
	info, err := fs.Lstat(f.fsys, dir)
	if err != nil {
		return nil, notThere(err)
	}
	if !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	found, err := fs.ReadDir(f.fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	entries := make([]entry, len(found))
	for i, e := range found {
		entries[i] = entry{name: e.Name(), kind: kindOfMode(e.Type())}
	}
	return entries, nil
}

func (f folder) close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

func kindOfMode(m fs.FileMode) entryKind {
	switch {
	case m.IsDir():
		return folderEntry
	case m.IsRegular():
		return fileEntry
	}
	return otherEntry
}

// notThere maps the ways in which a name can lead to nothing to fs.ErrNotExist.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) ||
		errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return fs.ErrNotExist
	}
	return err
}
