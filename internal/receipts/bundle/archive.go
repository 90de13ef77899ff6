package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// ArchiveLimits bound what reading a tar.zst may cost. A small archive can name
// millions of files or unpack to terabytes, so both are counted while reading.
type ArchiveLimits struct {
	Files  int   // entries, folders included
	Bytes  int64 // unpacked size of the whole tar stream
	Name   int   // length of one name in bytes
	Window int64 // memory of the decompressor, in bytes
}

// DefaultArchiveLimits hold a season of several thousand participants. The
// window is the one up to which the zstd command unpacks without being asked.
func DefaultArchiveLimits() ArchiveLimits {
	return ArchiveLimits{Files: 4_000_000, Bytes: 64 << 30, Name: 1024, Window: 128 << 20}
}

// archive is a bundle unpacked into one temporary file. Names lead to places in
// that file and never to a file system, so that colons, letter case and dots in
// them mean nothing.
type archive struct {
	spool    *os.File
	files    map[string]span
	folders  map[string]bool     // every folder, named or implied
	children map[string][]string // of submissions/ and its folders only
}

type span struct{ offset, size int64 }

// readArchive unpacks r. The caller closes the archive, which removes the
// temporary file. Errors say what is wrong with the archive, without its path.
func readArchive(r io.Reader, limits ArchiveLimits) (*archive, error) {
	decoder, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(limits.Window)))
	if err != nil {
		return nil, fmt.Errorf("cannot be unpacked: %w", err)
	}
	defer decoder.Close()
	spool, err := os.CreateTemp("", "prova-bundle-*")
	if err != nil {
		return nil, fmt.Errorf("cannot be unpacked: %w", err)
	}
	// Where the system allows it the name goes at once, so that even a killed
	// process leaves nothing behind; close tries again.
	_ = os.Remove(spool.Name())
	a := &archive{spool: spool, files: map[string]span{}, folders: map[string]bool{}, children: map[string][]string{}}
	if err := a.unpack(decoder, limits); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// bounded counts the unpacked bytes and fails when there are too many.
type bounded struct {
	r    io.Reader
	left int64
}

var errUnpacksTooLarge = errors.New("unpacks to more bytes than are accepted")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errUnpacksTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (a *archive) unpack(r io.Reader, limits ArchiveLimits) error {
	stream := &bounded{r: r, left: limits.Bytes}
	tr := tar.NewReader(stream)
	var end int64
	for count := 1; ; count++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("is no readable tar.zst: %w", err)
		}
		if count > limits.Files {
			return fmt.Errorf("holds more than %d files", limits.Files)
		}
		n, err := a.add(h, tr, end, limits)
		if err != nil {
			return err
		}
		end += n
	}
	// The rest holds padding; reading it lets the decompressor check its sums.
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return fmt.Errorf("is no readable tar.zst: %w", err)
	}
	return nil
}

// add takes one entry and returns how many bytes the spool grew by.
func (a *archive) add(h *tar.Header, body io.Reader, end int64, limits ArchiveLimits) (int64, error) {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return 0, nil // metadata of the archive, no file
	}
	name := strings.TrimSuffix(h.Name, "/")
	if len(name) > limits.Name {
		return 0, fmt.Errorf("holds a name of %d bytes, %s: at most %d are accepted", len(name), strict.Quote(name), limits.Name)
	}
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "\x00") {
		return 0, fmt.Errorf("holds the name %s: names must be relative to the bundle's root, without leading ./ and without . or .. in them", strict.Quote(h.Name))
	}
	if _, taken := a.files[name]; taken {
		return 0, fmt.Errorf("holds %s twice", strict.Quote(name))
	}
	switch {
	case h.Typeflag == tar.TypeDir:
		return 0, a.addFolder(name)
	case h.Typeflag != tar.TypeReg:
		return 0, fmt.Errorf("holds %s, which is neither a regular file nor a folder: links and devices are not accepted", strict.Quote(name))
	case a.folders[name]:
		return 0, fmt.Errorf("holds %s both as a file and as a folder", strict.Quote(name))
	case sparse(h):
		return 0, fmt.Errorf("holds %s as a sparse file: pack it without holes (tar without --sparse)", strict.Quote(name))
	}
	if parent := parentOf(name); parent != "" {
		if err := a.addFolder(parent); err != nil {
			return 0, err
		}
	}
	if !ValidPath(name) && !strings.HasPrefix(name, submissionsDir+"/") {
		return 0, nil // a file that the layout does not name: ignored
	}
	n, err := io.Copy(a.spool, body)
	if err != nil {
		return n, fmt.Errorf("%s cannot be unpacked: %w", strict.Quote(name), err)
	}
	a.files[name] = span{offset: end, size: n}
	a.child(name)
	return n, nil
}

// sparse reports whether an entry has holes. A few bytes of an archive can claim
// exabytes of them, which no count of the bytes read would notice.
func sparse(h *tar.Header) bool {
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// addFolder notes a folder and the folders above it.
func (a *archive) addFolder(name string) error {
	for ; name != "" && !a.folders[name]; name = parentOf(name) {
		if _, taken := a.files[name]; taken {
			return fmt.Errorf("holds %s both as a file and as a folder", strict.Quote(name))
		}
		a.folders[name] = true
		a.child(name)
	}
	return nil
}

// child notes a name under the folder it is in, where folders are ever listed.
func (a *archive) child(name string) {
	if parent := parentOf(name); parent == submissionsDir || strings.HasPrefix(parent, submissionsDir+"/") {
		a.children[parent] = append(a.children[parent], name[len(parent)+1:])
	}
}

func parentOf(name string) string {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)]
}

func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	s, ok := a.files[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(a.spool, s.offset, s.size)), s.size, nil
}

func (a *archive) list(dir string) ([]entry, error) {
	if !a.folders[dir] {
		return nil, fs.ErrNotExist
	}
	entries := make([]entry, 0, len(a.children[dir]))
	for _, name := range a.children[dir] {
		kind := fileEntry
		if a.folders[dir+"/"+name] {
			kind = folderEntry
		}
		entries = append(entries, entry{name: name, kind: kind})
	}
	return entries, nil
}

func (a *archive) close() error {
	err := a.spool.Close()
	if removed := os.Remove(a.spool.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
