//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tlog

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// acquire takes the lock of a store's folder for as long as the file is open, so that the kernel releases it when the
// process dies.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process holds %s; stop it first", path)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
