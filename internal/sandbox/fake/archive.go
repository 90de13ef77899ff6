package fake

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// The bounds of one artefact (R§23.2, design decision 16).
const (
	// MaxArchive is the size in bytes of the largest archive that is read.
	MaxArchive = 64 << 20
	// maxEntries bounds the files and folders of an archive, maxPath the bytes of a
	// path: an artefact's zip has it below artifact/, and its names end at 256 (R§20).
	maxEntries = 4096
	maxPath    = 256 - len("artifact/")
	// block is what a tar is a multiple of.
	block = 512
)

// readArchive returns the regular files of an artefact in the order of the
// archive, or why it is not taken (R§23.2): an uncompressed tar (ustar, GNU or
// pax) of regular files and folders, none of which could land anywhere but
// below the folder it is unpacked in, with some content. Contents share memory
// with nothing.
func readArchive(archive []byte) ([]wire.File, error) {
	switch {
	case len(archive) == 0:
		return nil, errors.New("the artefact is empty; serve an uncompressed tar")
	case len(archive) > MaxArchive:
		return nil, fmt.Errorf("the artefact has %d bytes; at most %d are taken", len(archive), MaxArchive)
	case bytes.HasPrefix(archive, []byte{0x1f, 0x8b}):
		return nil, errors.New("the artefact is compressed with gzip; serve the uncompressed tar, and its digest")
	}
	rest := bytes.NewReader(archive)
	r := tar.NewReader(rest)
	var files []wire.File
	seen := make(map[string]bool)
	content := false
	end := 0 // Of the last entry, its padding included.
	for entries := 0; ; entries++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if entries == 0 {
				return nil, fmt.Errorf("the artefact is not a tar: %w", err)
			}
			return nil, fmt.Errorf("the artefact is broken after %d entries: %w", entries, err)
		}
		if entries == maxEntries {
			return nil, fmt.Errorf("the artefact has more than %d entries", maxEntries)
		}
		at := len(archive) - rest.Len() // Where the content begins: nothing is read ahead.
		if h.Size < 0 || h.Size > int64(rest.Len()) {
			return nil, fmt.Errorf("the artefact is cut off inside %.80q", h.Name)
		}
		end = (at + int(h.Size) + block - 1) / block * block
		if comment(h) {
			continue
		}
		name, err := entryName(h)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue // The folder that the archive is of.
		}
		if seen[name] {
			return nil, fmt.Errorf("the artefact has %q twice", name)
		}
		seen[name] = true
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("the artefact is broken inside %q: %w", name, err)
		}
		content = content || len(data) > 0
		files = append(files, wire.File{Path: name, Bytes: data, Executable: h.Mode&0o111 != 0})
	}
	if len(archive)-rest.Len() != end+2*block {
		return nil, fmt.Errorf("the artefact is cut off: the two blocks of zeros at byte %d that end a tar are not there", end)
	}
	if tail := archive[end:]; len(bytes.Trim(tail, "\x00")) > 0 {
		return nil, fmt.Errorf("the artefact goes on for %d bytes after the end of the tar", len(tail)-2*block)
	}
	if !content {
		return nil, errors.New("the artefact has no file content: no regular file with at least one byte")
	}
	return files, fits(files, seen)
}

// comment tells the global header in which git archive leaves the commit's
// name; any other global header would change what follows.
func comment(h *tar.Header) bool {
	if h.Typeflag != tar.TypeXGlobalHeader {
		return false
	}
	for key := range h.PAXRecords {
		if key != "comment" {
			return false
		}
	}
	return true
}

// entryName returns the path of a regular file or folder, "" for the root
// folder itself.
func entryName(h *tar.Header) (string, error) {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink, tar.TypeLink:
		return "", fmt.Errorf("the artefact has the link %.80q; only regular files and folders are taken", h.Name)
	default:
		return "", fmt.Errorf("the artefact has %.80q of type %q; only regular files and folders are taken", h.Name, string(h.Typeflag))
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "", fmt.Errorf("the artefact has the sparse file %.80q; write it whole", h.Name)
		}
	}
	name := strings.TrimPrefix(h.Name, "./")
	if h.Typeflag == tar.TypeDir {
		if name = strings.TrimSuffix(name, "/"); name == "" || name == "." {
			return "", nil
		}
	}
	if err := safePath(name); err != nil {
		return "", fmt.Errorf("the artefact has the path %.80q: %w", h.Name, err)
	}
	return name, nil
}

// safePath holds a path to the alphabet of artefact zips (R§20), so that what
// is inspected can also be kept.
func safePath(name string) error {
	if len(name) > maxPath {
		return fmt.Errorf("it is longer than %d bytes", maxPath)
	}
	if strings.HasPrefix(name, "/") {
		return errors.New("it is absolute")
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch segment {
		case "":
			return errors.New("it has an empty segment")
		case ".", "..":
			return fmt.Errorf("it has the segment %q", segment)
		}
		for _, c := range []byte(segment) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", rune(c)) {
				return errors.New("only letters, digits, dot, underscore and hyphen are taken")
			}
		}
	}
	return nil
}

// fits refuses a file below another file, which no disk can hold, and a tree
// whose answer would be larger than a frame (design decision 17): its bytes
// travel as decimal numbers, up to four characters each.
func fits(files []wire.File, seen map[string]bool) error {
	size := 0
	isFile := make(map[string]bool, len(files))
	for _, f := range files {
		isFile[f.Path] = true
		size += len(f.Path) + 64
		for _, b := range f.Bytes {
			switch {
			case b < 10:
				size += 2
			case b < 100:
				size += 3
			default:
				size += 4
			}
		}
	}
	for name := range seen {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if isFile[dir] {
				return fmt.Errorf("the artefact has %q both as a file and as a folder", dir)
			}
		}
	}
	// The checklist and the envelope around the tree are below a sixteenth of a frame.
	if limit := wire.MaxFrame - wire.MaxFrame/16; size > limit {
		return fmt.Errorf("the artefact takes %d bytes as an answer; at most %d fit into a frame", size, limit)
	}
	return nil
}
