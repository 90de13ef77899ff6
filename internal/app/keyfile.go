package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
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

// lockWait is how long a start waits for another one on the same data directory.
const lockWait = 30 * time.Second

// lockKeys keeps other processes of the data directory from making keys at the
// same time, until release: the keys of the first start belong together, and half
// of each of two sets is none. The second process finds those of the first.
func lockKeys(ctx context.Context, c *Config) (release func() error, err error) {
	path := c.path(filepath.Join("keys", "lock"))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, fmt.Errorf("another process is still starting on this data directory: it holds %s", path))
	defer cancel()
	for {
		held, err := tryLock(f)
		if held {
			return f.Close, nil
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// randomHex is a fresh secret of n random bytes as lower-case hex.
func randomHex(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	return []byte(hex.EncodeToString(b)), nil
}
