package recipe

import "github.com/prova-dev/prova/internal/sandbox/wire"

// FromFiles returns the tree of the files that an inspection listed (R§16.6), in
// any order. It fails as [FromEntries] does.
func FromFiles(files []wire.File) (Tree, error) {
	if len(files) > MaxEntries {
		return nil, refuse("", "it has %d files, at most %d are allowed", len(files), MaxEntries)
	}
	entries := make([]Entry, len(files))
	for i, f := range files {
		entries[i] = Entry{Path: f.Path, Executable: f.Executable, Data: f.Bytes}
	}
	return FromEntries(entries)
}

// Files returns the tree as an inspection lists it.
func (t Tree) Files() []wire.File {
	files := make([]wire.File, len(t))
	for i, e := range t {
		files[i] = wire.File{Path: e.Path, Bytes: e.Data, Executable: e.Executable}
	}
	return files
}
