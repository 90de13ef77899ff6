package meter

import (
	"io"
	"maps"
	"slices"

	experimental "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// handle is an open file or folder.
type handle struct {
	experimental.UnimplementedFile
	v              *volume
	n              *node
	at             int64 // of a folder: the entry that comes next
	names          []string
	appends        bool
	reads, writes  bool
	closed, listed bool
}

func (h *handle) Dev() (uint64, experimental.Errno)                   { return h.v.stat(h.n).Dev, 0 }
func (h *handle) Ino() (sys.Inode, experimental.Errno)                { return h.n.ino, 0 }
func (h *handle) IsDir() (bool, experimental.Errno)                   { return h.n.dir(), 0 }
func (h *handle) IsAppend() bool                                      { return h.appends }
func (h *handle) SetAppend(on bool) experimental.Errno                { h.appends = on; return 0 }
func (h *handle) Stat() (sys.Stat_t, experimental.Errno)              { return h.v.stat(h.n), 0 }
func (h *handle) Utimens(_, _ int64) experimental.Errno               { return 0 }
func (h *handle) Pread(p []byte, off int64) (int, experimental.Errno) { return h.read(p, off) }

func (h *handle) Read(p []byte) (int, experimental.Errno) {
	n, errno := h.read(p, h.at)
	h.at += int64(n)
	return n, errno
}

func (h *handle) read(p []byte, off int64) (int, experimental.Errno) {
	switch {
	case h.n.dir():
		return 0, experimental.EISDIR
	case !h.reads:
		return 0, experimental.EBADF
	case off < 0:
		return 0, experimental.EINVAL
	case off >= int64(len(h.n.data)):
		return 0, 0
	}
	return copy(p, h.n.data[off:]), 0
}

func (h *handle) Write(p []byte) (int, experimental.Errno) {
	if h.appends {
		h.at = int64(len(h.n.data))
	}
	n, errno := h.write(p, h.at)
	h.at += int64(n)
	return n, errno
}

func (h *handle) Pwrite(p []byte, off int64) (int, experimental.Errno) { return h.write(p, off) }

func (h *handle) write(p []byte, off int64) (int, experimental.Errno) {
	if errno := h.writable(); errno != 0 {
		return 0, errno
	}
	end := off + int64(len(p))
	if off < 0 || end < off {
		return 0, experimental.EINVAL
	}
	if len(p) > 0 && end > int64(len(h.n.data)) {
		if errno := h.v.resize(h.n, end); errno != 0 {
			return 0, errno
		}
	}
	if len(p) == 0 {
		return 0, 0
	}
	return copy(h.n.data[off:], p), 0
}

func (h *handle) writable() experimental.Errno {
	switch {
	case h.n.dir():
		return experimental.EISDIR
	case !h.writes:
		return experimental.EBADF
	}
	return 0
}

func (h *handle) Truncate(size int64) experimental.Errno {
	if errno := h.writable(); errno != 0 {
		return errno
	}
	return h.v.resize(h.n, size)
}

// offset is int64 by another name: vet takes a Seek of int64 for that of [io.Seeker],
// and the runtime's returns its own errors.
type offset = int64

func (h *handle) Seek(offset offset, whence int) (int64, experimental.Errno) {
	if h.n.dir() {
		// Only back to the start, where the folder is read anew.
		if offset != 0 || whence != io.SeekStart {
			return 0, experimental.EINVAL
		}
		h.at, h.listed = 0, false
		return 0, 0
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += h.at
	case io.SeekEnd:
		offset += int64(len(h.n.data))
	default:
		return 0, experimental.EINVAL
	}
	if offset < 0 {
		return 0, experimental.EINVAL
	}
	h.at = offset
	return offset, 0
}

func (h *handle) Readdir(n int) ([]experimental.Dirent, experimental.Errno) {
	if !h.n.dir() {
		return nil, experimental.ENOTDIR
	}
	if !h.listed {
		h.names, h.listed = slices.Sorted(maps.Keys(h.n.entries)), true
	}
	var out []experimental.Dirent
	for ; h.at < int64(len(h.names)) && (n <= 0 || len(out) < n); h.at++ {
		name := h.names[h.at]
		if child := h.n.entries[name]; child != nil {
			out = append(out, experimental.Dirent{Ino: child.ino, Name: name, Type: h.v.stat(child).Mode.Type()})
		}
	}
	return out, 0
}

func (h *handle) Close() experimental.Errno {
	if !h.closed {
		h.closed = true
		h.n.opened--
		h.v.forget(h.n)
	}
	return 0
}
