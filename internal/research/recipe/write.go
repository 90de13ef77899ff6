package recipe

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// Write returns the canonical tar of a tree: ustar, entries sorted by name, each
// folder before what is in it, modes 0644 and 0755, owner 0, time 0, and the two
// blocks of zeros at the end. It refuses what [Read] would refuse, and a name that
// ustar has no room for.
func Write(t Tree) ([]byte, error) {
	t, err := FromEntries(t)
	if err != nil {
		return nil, err
	}
	if t.Bytes() == 0 {
		return nil, refuse("", "no file content: there is no file with a byte in it")
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	written := map[string]bool{}
	entries := 0
	for _, e := range t {
		for _, dir := range folders(e.Path) {
			if written[dir] {
				continue
			}
			written[dir] = true
			entries++
			if err := put(w, &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755}, nil); err != nil {
				return nil, err
			}
		}
		mode := int64(0o644)
		if e.Executable {
			mode = 0o755
		}
		entries++
		if err := put(w, &tar.Header{Typeflag: tar.TypeReg, Name: e.Path, Mode: mode, Size: int64(len(e.Data))}, e.Data); err != nil {
			return nil, err
		}
		if out.Len() > MaxTar {
			break
		}
	}
	if err := w.Close(); err != nil {
		return nil, refuse("", "%s", err)
	}
	switch {
	case out.Len() > MaxTar:
		return nil, refuse("", "the archive would have more than %d bytes", MaxTar)
	case entries > MaxEntries:
		return nil, refuse("", "it has %d files and folders, at most %d are allowed", entries, MaxEntries)
	}
	return out.Bytes(), nil
}

// folders returns the folders of a path, outermost first.
func folders(path string) []string {
	var out []string
	for i := range len(path) {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	return out
}

func put(w *tar.Writer, h *tar.Header, data []byte) error {
	h.Format, h.ModTime = tar.FormatUSTAR, time.Unix(0, 0)
	if err := w.WriteHeader(h); err != nil {
		// Nothing else of a header here can be beyond ustar.
		return refuse(h.Name, "the name does not fit a ustar header, which has 100 bytes for what follows some slash and 155 for what is before it; shorten it")
	}
	if _, err := w.Write(data); err != nil {
		return refuse(h.Name, "%s", err)
	}
	return nil
}

// Pack returns the canonical tar of the files of a folder; see [Write]. A file is
// executable if its owner may run it. What is named .git is left out; links and
// everything else that is neither file nor folder are refused, because a reader
// of the folder could not tell what was meant.
func Pack(dir fs.FS) ([]byte, error) {
	var entries []Entry
	total := int64(0)
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git" && path != ".":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return refuse(path, "it is a symbolic link; put the file there")
		case !d.Type().IsRegular():
			return refuse(path, "it is neither a file nor a folder")
		}
		// Before the content is read: a wrong folder may be very large.
		if why := SafePath(path, MaxPath); why != "" {
			return refuse(path, "%s", why)
		}
		if len(entries) == MaxEntries {
			return refuse("", "the folder has more than %d files", MaxEntries)
		}
		e, err := load(dir, path, MaxTar-total)
		if err != nil {
			return err
		}
		total += int64(len(e.Data))
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		if refused := (*Error)(nil); errors.As(err, &refused) {
			return nil, err
		}
		return nil, fmt.Errorf("pack recipe: %w", err)
	}
	return Write(entries)
}

// load reads a file of at most most bytes. Its size is that of what was read: the
// file may change meanwhile.
func load(dir fs.FS, path string, most int64) (Entry, error) {
	f, err := dir.Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	if !info.Mode().IsRegular() {
		return Entry{}, refuse(path, "it is neither a file nor a folder")
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > most {
		return Entry{}, refuse("", "the files up to %s have more than %d bytes", quote(path), MaxTar)
	}
	return Entry{Path: path, Executable: info.Mode()&0o100 != 0, Data: data}, nil
}
