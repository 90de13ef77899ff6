package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAreWrittenForTheOwnerOnlyAndReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("an older and longer text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeSecret(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	at, err := os.Stat(path)
	if err != nil || at.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", at.Mode(), err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "new" {
		t.Fatalf("%q, %v", data, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".prova-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNewSecretsAreNeverReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	if err := writeNewSecret(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(path); err != nil || at.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", at.Mode(), err)
	}
	if err := writeNewSecret(path, []byte("second")); err == nil || !strings.Contains(err.Error(), "never replaced") {
		t.Fatalf("%v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "first" {
		t.Errorf("replaced by %q", data)
	}
}

func TestSecretsAreRefusedInAGitCheckout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	checkout, worktree, outside := filepath.Join(dir, "checkout"), filepath.Join(dir, "worktree"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(checkout, ".git"), filepath.Join(checkout, "a", "b"), worktree, outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: elsewhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// A link from outside leads into the checkout all the same.
	if err := os.Symlink(filepath.Join(checkout, "a"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"at its root":             filepath.Join(checkout, "s"),
		"deep below":              filepath.Join(checkout, "a", "b", "s"),
		"in a worktree":           filepath.Join(worktree, "s"),
		"through a symbolic link": filepath.Join(outside, "link", "s"),
		"in the folder of git":    filepath.Join(checkout, ".git", "s"),
		"by a path with dots":     filepath.Join(outside, "..", "checkout", "s"),
	} {
		for _, write := range []func(string, []byte) error{writeSecret, writeNewSecret} {
			if err := write(path, []byte("secret")); err == nil || !strings.Contains(err.Error(), "git checkout") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if err := writeSecret(filepath.Join(outside, "s"), nil); err != nil {
		t.Errorf("outside: %v", err)
	}
	if err := writeSecret(filepath.Join(dir, "missing", "s"), nil); err == nil || !strings.Contains(err.Error(), "missing/s") {
		t.Errorf("missing folder: %v", err)
	}
	if err := writeSecret(filepath.Join(outside, "link"), nil); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("onto a link: %v", err)
	}
}
