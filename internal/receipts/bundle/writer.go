package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle/strict"
)

// Writer builds a bundle folder that appears whole or not at all: files go into
// a temporary folder beside it, which [Writer.Commit] flushes to disk and
// renames. It is safe for concurrent use.
type Writer struct {
	target, temp string

	mu      sync.Mutex
	folders map[string]bool // made already, relative to temp
	done    bool
}

// Create starts a bundle that will be the folder dir, which must not exist yet.
func Create(dir string) (*Writer, error) {
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("create bundle: %s exists already: give a new folder", dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create bundle: %w", err)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("create bundle: %w", err)
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".partial-*")
	if err != nil {
		return nil, fmt.Errorf("create bundle: %w", err)
	}
	if err := os.Chmod(temp, 0o755); err != nil { // MkdirTemp makes 0700, a bundle is public
		return nil, errors.Join(fmt.Errorf("create bundle: %w", err), os.RemoveAll(temp))
	}
	return &Writer{target: dir, temp: temp, folders: map[string]bool{".": true}}, nil
}

// Put writes one file. The name is a path of the layout, built by the functions
// of this package ([SubmissionPath], [ProofPath] …); a file written twice keeps
// the later bytes.
func (w *Writer) Put(name string, data []byte) error {
	return w.Stream(name, func(dst io.Writer) error {
		_, err := dst.Write(data)
		return err
	})
}

// PutJSON writes a value of canonjson's model in the compact form.
func (w *Writer) PutJSON(name string, v any) error { return w.Put(name, canonjson.Compact(v)) }

// Stream writes one file through fn.
func (w *Writer) Stream(name string, fn func(io.Writer) error) error {
	if !ValidPath(name) {
		return fmt.Errorf("write bundle: %s is no path of a bundle", strict.Quote(name))
	}
	if err := w.folder(filepath.Dir(filepath.FromSlash(name))); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(w.temp, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if err := errors.Join(fn(f), f.Close()); err != nil {
		return fmt.Errorf("write bundle: %s: %w", name, err)
	}
	return nil
}

func (w *Writer) folder(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return errors.New("write bundle: it is committed or aborted already")
	}
	if w.folders[name] {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(w.temp, name), 0o755); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	w.folders[name] = true
	return nil
}

// Commit flushes every file and folder to disk and gives the folder its name.
// After an error nothing stands under that name.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return errors.New("commit bundle: it is committed or aborted already")
	}
	w.done = true
	if err := syncTree(ctx, w.temp); err != nil {
		return errors.Join(fmt.Errorf("commit bundle: %w", err), os.RemoveAll(w.temp))
	}
	// Rename refuses a folder that came to exist meanwhile, unless it is empty.
	if err := os.Rename(w.temp, w.target); err != nil {
		return errors.Join(fmt.Errorf("commit bundle: %w", err), os.RemoveAll(w.temp))
	}
	return syncPath(filepath.Dir(w.target))
}

// Abort removes what was written; after Commit it does nothing, so it can be
// deferred.
func (w *Writer) Abort() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.done = true
	return os.RemoveAll(w.temp)
}

// syncTree flushes a folder, deepest first; the many small files of a season
// wait for the disk side by side.
func syncTree(ctx context.Context, root string) error {
	var folders []string
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.IsDir() {
			folders = append(folders, path)
			return nil
		}
		g.Go(func() error { return syncPath(path) })
		return nil
	})
	if err := errors.Join(g.Wait(), err); err != nil {
		return err
	}
	for _, path := range slices.Backward(folders) {
		if err := syncPath(path); err != nil {
			return err
		}
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Replace writes one file of an existing bundle folder whole or not at all: the
// results after scoring, corrections before a new publication.
func Replace(dir, name string, fn func(io.Writer) error) error {
	if !ValidPath(name) {
		return fmt.Errorf("replace in bundle: %s is no path of a bundle", strict.Quote(name))
	}
	return atomically(filepath.Join(dir, filepath.FromSlash(name)), fn)
}

// atomically writes a file under a temporary name, flushes and renames it.
func atomically(path string, fn func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*")
	if err != nil {
		return err
	}
	err = errors.Join(fn(f), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncPath(filepath.Dir(path))
}

// Pack writes the tar.zst of a bundle folder. The same files give the same
// bytes: names in byte order, no times, owners or permissions of this machine,
// one compressor thread. Only files of the layout are packed.
func Pack(ctx context.Context, dir, out string) error {
	names, err := layoutFiles(ctx, dir)
	if err != nil {
		return fmt.Errorf("pack bundle: %w", err)
	}
	if len(names) == 0 {
		return fmt.Errorf("pack bundle: %s holds no file of a bundle", dir)
	}
	err = atomically(out, func(w io.Writer) error {
		encoder, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			return err
		}
		tw := tar.NewWriter(encoder)
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return errors.Join(err, encoder.Close())
			}
			if err := packFile(tw, dir, name); err != nil {
				return errors.Join(err, encoder.Close())
			}
		}
		return errors.Join(tw.Close(), encoder.Close())
	})
	if err != nil {
		return fmt.Errorf("pack bundle: %w", err)
	}
	return nil
}

func layoutFiles(ctx context.Context, dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if name := filepath.ToSlash(rel); ValidPath(name) {
			names = append(names, name)
		}
		return nil
	})
	slices.SortFunc(names, strings.Compare)
	return names, err
}

func packFile(tw *tar.Writer, dir, name string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close() // read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(tw, f)
	return err
}
