package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/topic"
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

// TestAFileOfSeveralTopicsLosesNoneAndOneOfOneTopicIsNotReplacedByAnother walks every
// ceremony that writes what cannot be made again.
func TestAFileOfSeveralTopicsLosesNoneAndOneOfOneTopicIsNotReplacedByAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("baseline.tar", "the baseline's tar")
	figures := `"holdout_nll":0,"split_nll":{`
	for i, split := range holdout.Splits() {
		if i > 0 {
			figures += ","
		}
		figures += `"` + string(split) + `":0`
	}
	measured := func(id string) string { return b.write(id+"-m.json", `{"custom_value":0.3,`+figures+`}}`) }
	draft := func(id string) string {
		text, err := b.plane.Document(t, id, topic.Draft).JSON()
		if err != nil {
			t.Fatal(err)
		}
		return b.write(id+".json", string(text))
	}
	seal := func(id, file, out string) []string {
		return []string{
			"topic", "seal", draft(id), "--measurement", measured(id), "--script", b.path("baseline.tar"), "--secret", b.path("topic.key"),
			"--pin", b.path("pin.toml"), "--baseline-out", b.path(file), "--out", b.path(out),
		}
	}
	has := func(file string, ids ...string) {
		t.Helper()
		f, err := baseline.ParseFile([]byte(b.read(file)))
		if err != nil || !slices.Equal(f.Topics(), ids) {
			t.Errorf("%s has %v, want %v: %v", file, f.Topics(), ids, err)
		}
	}
	for _, id := range []string{"topic-a", "topic-b", "topic-a"} {
		b.expect(0, seal(id, "baseline.json", id+"-signed.json")...)
	}
	has("baseline.json", "topic-a", "topic-b")
	b.expect(0, "baseline", "seal", "--measurement", measured("topic-c"), "--script", b.path("baseline.tar"), "--topic", draft("topic-c"),
		"--pin", b.path("pin.toml"), "--out", b.path("baseline.json"))
	has("baseline.json", "topic-a", "topic-b", "topic-c")

	signed := b.read("topic-a-signed.json")
	b.expect(1, seal("topic-b", "baseline.json", "topic-a-signed.json")...).err("topic-a-signed.json is left as it is: it is of the topic topic-a; name another output for topic-b")
	b.expect(1, "topic", "sign", draft("topic-b"), "--secret", b.path("topic.key"), "--pin", b.path("pin.toml"), "--out", b.path("topic-a-signed.json")).
		err("it is of the topic topic-a")
	if b.read("topic-a-signed.json") != signed {
		t.Error("the signed topic was replaced")
	}
	for _, thing := range []string{b.path("topic.key"), b.path("baseline.json"), b.write("empty.json", "[]")} {
		was := b.read(filepath.Base(thing))
		b.expect(1, seal("topic-b", "baseline-b.json", filepath.Base(thing))...).err("is left as it is: it holds something else")
		if b.read(filepath.Base(thing)) != was {
			t.Errorf("%s was replaced", thing)
		}
	}
	b.write("broken.json", `{"topic-a":`)
	b.expect(1, seal("topic-b", "broken.json", "topic-b-signed.json")...).err("broken.json is left as it is: parse baseline file: ")
}
