package recipe

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
)

const block = 512

// packed are archives and compressions that are not a tar, by their first bytes.
var packed = []struct{ magic, name string }{
	{"\x1f\x8b", "gzip"},
	{"BZh", "bzip2"},
	{"\xfd7zXZ\x00", "xz"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"PK\x03\x04", "a zip"},
}

// Read returns the files of an uncompressed tar, or an *[Error] that names the
// entry and the fault. A name may begin with "./", as tar -C writes it. The
// contents are parts of archive, which must not change while the tree is in use.
func Read(archive []byte) (Tree, error) {
	switch {
	case len(archive) == 0:
		return nil, refuse("", "the archive is empty")
	case len(archive) > MaxTar:
		return nil, refuse("", "the archive has %d bytes, at most %d are allowed", len(archive), MaxTar)
	}
	for _, p := range packed {
		if bytes.HasPrefix(archive, []byte(p.magic)) {
			return nil, refuse("", "the archive is %s, not an uncompressed tar; the digest is of the tar as it is served", p.name)
		}
	}
	r := &reader{all: archive, in: bytes.NewReader(archive), folders: map[string]bool{}}
	for {
		more, err := r.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	t, err := FromEntries(r.files)
	if err != nil {
		return nil, err
	}
	for dir := range r.folders {
		if t.has(dir) {
			return nil, refuse(dir, "it is a file and a folder")
		}
	}
	if t.Bytes() == 0 {
		return nil, refuse("", "no file content: the archive has no regular file with a byte in it")
	}
	return t, nil
}

type reader struct {
	all     []byte
	in      *bytes.Reader
	tar     *tar.Reader
	end     int // of the last entry, its padding included
	entries int
	files   []Entry
	folders map[string]bool
}

// next reads one entry. more is false at the end of the archive.
func (r *reader) next() (more bool, err error) {
	if r.tar == nil {
		r.tar = tar.NewReader(r.in)
	}
	h, err := r.tar.Next()
	at := len(r.all) - r.in.Len() // where the content begins: nothing is read ahead
	if errors.Is(err, io.EOF) {
		return false, r.checkEnd(at)
	}
	if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // such a name is refused below, with its reason
		return false, refuse("", "not a tar, or cut off, after byte %d: %s", r.end, strings.TrimPrefix(err.Error(), "archive/tar: "))
	}
	if r.entries++; r.entries > MaxEntries {
		return false, refuse("", "it has more than %d entries", MaxEntries)
	}
	if err := plain(h); err != nil {
		return false, err
	}
	if h.Size < 0 || h.Size > int64(len(r.all)-at) {
		return false, refuse(h.Name, "it says that it has %d bytes, and the archive ends before", h.Size)
	}
	size := int(h.Size)
	r.end = (at + size + block - 1) / block * block
	if r.end > len(r.all) {
		return false, refuse(h.Name, "the archive ends within the padding of it")
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return true, nil
	}
	name := strings.TrimPrefix(h.Name, "./")
	if h.Typeflag == tar.TypeDir {
		return true, r.folder(h.Name, strings.TrimSuffix(name, "/"), size)
	}
	r.files = append(r.files, Entry{Path: name, Executable: h.Mode&0o111 != 0, Data: r.all[at : at+size : at+size]})
	return true, nil
}

func (r *reader) folder(written, name string, size int) error {
	if size != 0 {
		return refuse(written, "it is a folder with %d bytes of content", size)
	}
	if name == "" && written == "./" {
		return nil // the folder that was packed
	}
	if why := SafePath(name, MaxPath); why != "" {
		return refuse(written, "%s", why)
	}
	if r.folders[name] {
		return refuse(written, "the name is twice in the recipe")
	}
	r.folders[name] = true
	return nil
}

// plain refuses what is neither a regular file nor a folder.
func plain(h *tar.Header) error {
	for name := range h.PAXRecords {
		if strings.HasPrefix(name, "GNU.sparse.") {
			return refuse(h.Name, "it is a sparse file; write it in full")
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
		return nil
	case tar.TypeXGlobalHeader:
		// git archive writes the commit so. Any other record would change entries
		// for some readers and not for others.
		for name := range h.PAXRecords {
			if name != "comment" {
				return refuse("", "a pax header for the whole archive sets %s; only a comment may stand there", quote(name))
			}
		}
		return nil
	case tar.TypeLink:
		return refuse(h.Name, "it is a hard link; put the file there")
	case tar.TypeSymlink:
		return refuse(h.Name, "it is a symbolic link; put the file there")
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return refuse(h.Name, "it is a device or pipe; only files and folders are allowed")
	case tar.TypeGNUSparse:
		return refuse(h.Name, "it is a sparse file; write it in full")
	}
	return refuse(h.Name, "its type is %q; only files and folders are allowed", string(rune(h.Typeflag)))
}

// checkEnd refuses an archive that does not end with two blocks of zeros and
// nothing but zeros after them: one that was cut off between two entries, or that
// another reader would read on. at is where reading stopped.
func (r *reader) checkEnd(at int) error {
	if at != r.end+2*block {
		return refuse("", "the archive is cut off: the two blocks of zeros at byte %d that end a tar are not there", r.end)
	}
	for i, c := range r.all[at:] {
		if c != 0 {
			return refuse("", "something follows the end of the archive, at byte %d", at+i)
		}
	}
	return nil
}
