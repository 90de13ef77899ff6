package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeSecret writes what must stay out of git (keys, signed topics, holdouts,
// offers) to path with mode 0600. It refuses a path inside a git checkout, and
// one that is there but no regular file. An existing file is replaced as a whole
// or not at all.
func writeSecret(path string, data []byte) error {
	dir, err := secretDir(path)
	if err != nil {
		return err
	}
	if at, err := os.Lstat(path); err == nil && !at.Mode().IsRegular() {
		return fmt.Errorf("%s is there and is no regular file; name another output", path)
	}
	f, err := os.CreateTemp(dir, ".prova-*") // mode 0600
	if err != nil {
		return err
	}
	if err := finish(f, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, filepath.Base(path))); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// writeNewSecret is writeSecret that never replaces: a key that is overwritten
// is lost.
func writeNewSecret(path string, data []byte) error {
	dir, err := secretDir(path)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, filepath.Base(path))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and is never replaced; name another output or move it away", path)
	}
	if err != nil {
		return err
	}
	if err := finish(f, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(name))
	}
	return nil
}

// putSecret is writeSecret of a file that several topics share: put makes the new
// content out of what is there, empty for a file that is not. Where it refuses, the
// file stays as it is.
func putSecret(path string, put func(old []byte) ([]byte, error)) error {
	var old []byte
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !at.Mode().IsRegular(): // a pipe would hold up the reading
		return fmt.Errorf("%s is there and is no regular file; name another output", path)
	default:
		if old, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	data, err := put(old)
	if err != nil {
		return fmt.Errorf("%s is left as it is: %w", path, err)
	}
	return writeSecret(path, data)
}

// writeSecretOf is writeSecret of a file that belongs to one topic. It replaces an
// earlier one of the same topic, and nothing else: topicOf tells whose a file is,
// "" when it is of no topic.
func writeSecretOf(path, id string, data []byte, topicOf func([]byte) string) error {
	return putSecret(path, func(old []byte) ([]byte, error) {
		switch was := topicOf(old); {
		case len(bytes.TrimSpace(old)) == 0 || was == id:
			return data, nil
		case was == "":
			return nil, errors.New("it holds something else than this writes; name another output or move it away")
		default:
			return nil, fmt.Errorf("it is of the topic %s; name another output for %s or move it away", was, id)
		}
	})
}

func finish(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// secretDir returns the folder of path with its links resolved, or why a secret
// must not lie there.
func secretDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("folder of the output %s: %w", path, err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		// A worktree or a submodule has a file of this name, not a folder.
		_, err := os.Lstat(filepath.Join(at, ".git"))
		if err == nil {
			return "", fmt.Errorf("%s is in the git checkout %s, where a secret is one commit away from being public; write it elsewhere", path, at)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for a git checkout around %s: %w", path, err)
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}
