package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// secretFile returns the contents of a 0600 file below the data directory, and
// makes it with the contents of create when it is missing. It is durable before
// it returns and never replaces a file, so two processes that start at once
// agree on one secret.
func secretFile(path string, create func() ([]byte, error)) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return data, checkSecretMode(path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read secret file %s: %w", path, err)
	}
	if data, err = create(); err != nil {
		return nil, err
	}
	if err := writeOnce(path, data, 0o600); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return os.ReadFile(path)
		}
		return nil, err
	}
	return data, nil
}

// checkSecretMode refuses a secret that others may read.
func checkSecretMode(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("secret file %s has mode %04o: others can read it; run 'chmod 600 %s'", path, info.Mode().Perm(), path)
	}
	return nil
}

// writeOnce writes a file that must not exist yet, whole or not at all: a
// temporary file, fsync, a link under the final name, fsync of the folder.
func writeOnce(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Link(tmp.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// randomHex is a fresh secret of n random bytes as lower-case hex.
func randomHex(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(b)), nil
}
