package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// The most that one recipe may be.
const (
	MaxTar     = 64 << 20 // bytes of the tar (R§23.2), and so of all contents
	MaxEntries = 4096     // files and folders
	// MaxPath is the longest path in bytes. An artefact's zip has the file under
	// "artifact/", and its names end at 256 bytes (R§20).
	MaxPath = 256 - len("artifact/")
)

// treeTag keeps the digest of a tree apart from every other hash.
const treeTag = "prova-recipe-tree-v1\xff"

// Entry is a file.
type Entry struct {
	Path       string // slashes between segments, none before or after
	Executable bool
	Data       []byte // of [Read], a part of the tar that was read
}

// Tree is the files of a recipe, sorted by path. Folders are known by the paths
// of their files; an empty folder is nothing.
type Tree []Entry

// Error says which entry was refused and why.
type Error struct {
	Path   string // as it was written; empty for the whole archive
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return "recipe: " + e.Reason
	}
	return fmt.Sprintf("recipe: %s: %s", quote(e.Path), e.Reason)
}

// quote shows a name of outside at a length that fits a message.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		return fmt.Sprintf("%q…", name[:most])
	}
	return fmt.Sprintf("%q", name)
}

func refuse(path, format string, args ...any) error {
	return &Error{Path: path, Reason: fmt.Sprintf(format, args...)}
}

// SafePath returns why a path may not stand in a recipe or a zip of artefacts, or
// "" when it may: at most most bytes, no slash at either end, and segments of
// [A-Za-z0-9._-] that are not empty, "." or ".." (R§20).
func SafePath(path string, most int) string {
	switch {
	case path == "":
		return "the name is empty"
	case len(path) > most:
		return fmt.Sprintf("the name has %d bytes, at most %d are allowed", len(path), most)
	case path[0] == '/':
		return "the name is absolute; write it relative to the recipe"
	case path[len(path)-1] == '/':
		return "the name of a file ends in a slash"
	}
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "":
			return "the name has an empty segment"
		case ".", "..":
			return fmt.Sprintf("the name has the segment %q", segment)
		}
		for i := range len(segment) {
			if !safeByte(segment[i]) {
				return fmt.Sprintf("the name has the byte %#02x; use letters, digits, '.', '_' and '-' of ASCII", segment[i])
			}
		}
	}
	return ""
}

func safeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// FromEntries returns the tree of some files, in any order, or an *[Error] that
// names the file that no tree can have. It takes an empty list.
func FromEntries(entries []Entry) (Tree, error) {
	if len(entries) > MaxEntries {
		return nil, refuse("", "it has %d files, at most %d are allowed", len(entries), MaxEntries)
	}
	t := Tree(slices.Clone(entries))
	slices.SortFunc(t, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	total := 0
	for i, e := range t {
		if why := SafePath(e.Path, MaxPath); why != "" {
			return nil, refuse(e.Path, "%s", why)
		}
		if i > 0 && t[i-1].Path == e.Path {
			return nil, refuse(e.Path, "the name is twice in the recipe")
		}
		for dir := parent(e.Path); dir != ""; dir = parent(dir) {
			if t.has(dir) {
				return nil, refuse(dir, "it is a file, and the folder of %s", quote(e.Path))
			}
		}
		if total += len(e.Data); total > MaxTar {
			return nil, refuse("", "its files have more than %d bytes", MaxTar)
		}
	}
	return t, nil
}

// parent returns the folder of a path, "" at the top.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 0)]
}

func (t Tree) has(path string) bool {
	_, found := t.find(path)
	return found
}

func (t Tree) find(path string) (int, bool) {
	return slices.BinarySearchFunc(t, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
}

// File returns the content of a file.
func (t Tree) File(path string) (data []byte, found bool) {
	i, found := t.find(path)
	if !found {
		return nil, false
	}
	return t[i].Data, true
}

// Bytes returns the size of all contents together.
func (t Tree) Bytes() int64 {
	var n int64
	for _, e := range t {
		n += int64(len(e.Data))
	}
	return n
}

// Digest returns the SHA-256 of
//
//	"prova-recipe-tree-v1" 0xff
//	for each file, sorted by the bytes of its path:
//	    length of the path (4 bytes, big-endian), path
//	    01 if it is executable, else 00
//	    SHA-256 of its content (32 bytes)
//
// so it depends on files alone and on no property of the archive.
func (t Tree) Digest() [32]byte {
	h := sha256.New()
	h.Write([]byte(treeTag))
	for _, e := range slices.SortedFunc(slices.Values(t), func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }) {
		frame := binary.BigEndian.AppendUint32(nil, uint32(len(e.Path)))
		frame = append(frame, e.Path...)
		if e.Executable {
			frame = append(frame, 1)
		} else {
			frame = append(frame, 0)
		}
		content := sha256.Sum256(e.Data)
		h.Write(append(frame, content[:]...))
	}
	return [32]byte(h.Sum(nil))
}
