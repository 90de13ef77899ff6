//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package tlog

import "os"

// acquire opens the lock file. Where the system has no advisory locks that die with their process, keeping a second
// process away is the operator's task.
func acquire(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
