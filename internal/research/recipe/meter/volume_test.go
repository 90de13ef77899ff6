package meter

import (
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	experimental "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/prova-dev/prova/internal/research/recipe"
)

func put(t *testing.T, v *volume, name, text string) experimental.Errno {
	t.Helper()
	f, errno := v.OpenFile(name, experimental.O_CREAT|experimental.O_WRONLY, 0o644)
	if errno != 0 {
		return errno
	}
	defer f.Close()
	_, errno = f.Write([]byte(text))
	return errno
}

func TestVolumeTakesBackTheRoomOfWhatIsRemoved(t *testing.T) {
	v := newVolume(10, 3, recipe.SafePath)
	for round := range 5 {
		if errno := put(t, v, "a", "0123456789"); errno != 0 {
			t.Fatalf("round %d: %v", round, errno)
		}
		if errno := put(t, v, "b", "x"); errno != full {
			t.Fatalf("round %d: %v", round, errno)
		}
		if errno := v.Unlink("b"); errno != 0 {
			t.Fatal(errno)
		}
		if errno := v.Unlink("a"); errno != 0 {
			t.Fatal(errno)
		}
	}
	// A file that is still open keeps its room.
	f, _ := v.OpenFile("a", experimental.O_CREAT|experimental.O_RDWR, 0o644)
	if _, errno := f.Write([]byte("0123456789")); errno != 0 {
		t.Fatal(errno)
	}
	if errno := v.Unlink("a"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := put(t, v, "b", "x"); errno != full {
		t.Fatal(errno)
	}
	got := make([]byte, 4)
	if n, errno := f.Pread(got, 3); n != 4 || errno != 0 || string(got) != "3456" {
		t.Errorf("%d %v %q", n, errno, got)
	}
	if errno := f.Close(); errno != 0 || v.bytes != 10 {
		t.Errorf("%v, %d bytes are free", errno, v.bytes)
	}
	if errno := f.Close(); errno != 0 || v.bytes != 10 {
		t.Errorf("closed twice: %v, %d bytes are free", errno, v.bytes)
	}
}

func TestVolumeBoundsBytesNodesAndNames(t *testing.T) {
	v := newVolume(8, 4, recipe.SafePath)
	f, _ := v.OpenFile("a", experimental.O_CREAT|experimental.O_RDWR, 0)
	for name, errno := range map[string]experimental.Errno{
		"truncate beyond":    f.Truncate(9),
		"write far away":     second(f.Pwrite([]byte("x"), 1<<40)),
		"write at the end":   second(f.Pwrite([]byte("x"), 1<<63-1)),
		"a space":            v.Mkdir("a b", 0),
		"a control":          v.Mkdir("a\n", 0),
		"a path too long":    put(t, v, strings.Repeat("x", recipe.MaxPath+1), "x"),
		"the parent":         v.Mkdir("../x", 0),
		"below a file":       v.Mkdir("a/b", 0),
		"no folder":          v.Mkdir("none/b", 0),
		"the root":           v.Rmdir("."),
		"a file as a folder": v.Rmdir("a"),
	} {
		if errno == 0 {
			t.Errorf("%s is allowed", name)
		}
	}
	if errno := f.Truncate(8); errno != 0 {
		t.Error(errno)
	}
	for _, name := range []string{"d", "d/e", "d/e/f"} {
		if errno := v.Mkdir(name, 0); errno != 0 {
			t.Errorf("%s: %v", name, errno)
		}
	}
	if errno := v.Mkdir("g", 0); errno != full {
		t.Errorf("a fifth node: %v", errno)
	}
	if errno := v.Rename("d", "d/e/x"); errno != experimental.EINVAL {
		t.Errorf("a folder into itself: %v", errno)
	}
	long := strings.Repeat("x", recipe.MaxPath-len("/e/f")+1)
	if errno := v.Rename("d", long); errno != experimental.EINVAL {
		t.Errorf("a name that makes those below too long: %v", errno)
	}
	if errno := v.Rename("d", long[1:]); errno != 0 {
		t.Error(errno)
	}
	if errno := v.Rename("a", long[1:]); errno != experimental.EISDIR {
		t.Errorf("a file over a folder: %v", errno)
	}
	if errno := v.Rename(long[1:], "a"); errno != experimental.ENOTDIR {
		t.Errorf("a folder over a file: %v", errno)
	}
	tree, err := v.tree()
	if err != nil || len(tree) != 1 || len(tree[0].Data) != 8 {
		t.Errorf("%v, %v", tree, err)
	}
}

func second(_ int, errno experimental.Errno) experimental.Errno { return errno }

func TestVolumeOfInputsCannotBeChanged(t *testing.T) {
	v, err := load(fstest.MapFS{"a": {Data: []byte("text")}, "d/b": {}})
	if err != nil {
		t.Fatal(err)
	}
	f, errno := v.OpenFile("a", experimental.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	_, create := v.OpenFile("new", experimental.O_CREAT, 0)
	_, write := v.OpenFile("a", experimental.O_RDWR, 0)
	_, truncate := v.OpenFile("a", experimental.O_TRUNC, 0)
	for name, errno := range map[string]experimental.Errno{
		"create": create, "open for writing": write, "truncate": truncate, "mkdir": v.Mkdir("x", 0), "unlink": v.Unlink("a"), "rmdir": v.Rmdir("d"),
		"rename": v.Rename("a", "b"), "write": second(f.Write([]byte("x"))), "pwrite": second(f.Pwrite([]byte("x"), 0)), "ftruncate": f.Truncate(0),
	} {
		if errno == 0 {
			t.Errorf("%s is allowed", name)
		}
	}
	data := make([]byte, 10)
	if n, _ := f.Read(data); string(data[:n]) != "text" {
		t.Errorf("it reads %q", data[:n])
	}
	if s, _ := v.Stat("d"); s.Mode != fs.ModeDir|0o555 || s.Mtim != 0 {
		t.Errorf("%+v", s)
	}
}

func TestVolumeListsFoldersInTheOrderOfNamesAndInPieces(t *testing.T) {
	v, err := load(fstest.MapFS{"c": {}, "a": {}, "b/x": {}, "d": {}})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := v.OpenFile(".", experimental.O_RDONLY|experimental.O_DIRECTORY, 0)
	list := func(n int) string {
		entries, errno := f.Readdir(n)
		if errno != 0 {
			t.Fatal(errno)
		}
		var out string
		for _, e := range entries {
			out += e.Name
		}
		return out
	}
	if got := list(3) + "|" + list(3) + "|" + list(3); got != "abc|d|" {
		t.Errorf("%s", got)
	}
	if _, errno := f.Seek(0, io.SeekStart); errno != 0 || list(-1) != "abcd" {
		t.Error(errno)
	}
}

func TestClockStaysInItsCentury(t *testing.T) {
	c := &clock{}
	for range 3 {
		c.sleep(1<<63 - 1)
	}
	c.sleep(-5)
	if sec, _ := c.walltime(); sec < clockStart || sec > clockStart+100*366*24*3600 {
		t.Errorf("%d", sec)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	for _, size := range []int{1, 3, 7, 100, 1000} {
		w, all := &tail{most: 50}, ""
		for i := 0; i < 500; i += size {
			piece := strings.Repeat(string(rune('a'+i%26)), size)
			all += piece
			if n, err := w.Write([]byte(piece)); n != size || err != nil {
				t.Fatal(n, err)
			}
			if w.kept.Len() > 75 {
				t.Fatalf("it keeps %d bytes", w.kept.Len())
			}
		}
		if got := string(w.bytes()); got != all[max(0, len(all)-50):] {
			t.Errorf("pieces of %d: %q", size, got)
		}
	}
}
