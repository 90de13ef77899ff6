package meter

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	experimental "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/prova-dev/prova/internal/research/recipe"
)

// volume is a file system in memory: the same on every machine, with the times of
// all files at zero, in the order of their names, and bounded. A module has one
// thread, so nothing is locked.
type volume struct {
	experimental.UnimplementedFS
	root     *node
	readOnly bool
	bytes    int64 // that may still be written
	nodes    int   // that may still be made
	last     sys.Inode
	refused  func(path string, most int) string // why a path cannot be an output
}

// full is what a module sees when there is no more room: the runtime has no name
// for it.
const full = experimental.EIO

// node is a file or a folder.
type node struct {
	ino     sys.Inode
	entries map[string]*node // of a folder; nil of a file
	data    []byte
	opened  int
	removed bool
}

func (n *node) dir() bool { return n.entries != nil }

func newVolume(most int64, nodes int, refused func(string, int) string) *volume {
	v := &volume{bytes: most, nodes: nodes, refused: refused}
	v.root = v.node(true)
	return v
}

func (v *volume) node(dir bool) *node {
	v.last++
	n := &node{ino: v.last}
	if dir {
		n.entries = map[string]*node{}
	}
	return n
}

// load copies the files of a folder into a volume that cannot be written to. A link
// would show what is outside, so it is refused.
func load(input fs.FS) (*volume, error) {
	v := newVolume(MaxInputBytes, MaxInputFiles, nil)
	v.readOnly = true
	return v, v.add(v.root, input)
}

// add copies the files of a folder into a folder of the volume.
func (v *volume) add(into *node, input fs.FS) error {
	if input == nil {
		return nil
	}
	folders := map[string]*node{".": into}
	return fs.WalkDir(input, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%q is neither a file nor a folder", name)
		}
		var data []byte
		if !d.IsDir() {
			f, err := input.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			if data, err = io.ReadAll(io.LimitReader(f, v.bytes+1)); err != nil {
				return fmt.Errorf("read %q: %w", name, err)
			}
		}
		n, err := v.place(folders[path.Dir(name)], path.Base(name), d.IsDir(), data)
		if d.IsDir() {
			folders[name] = n
		}
		return err
	})
}

// place puts a file or folder of an input where it belongs.
func (v *volume) place(in *node, name string, dir bool, data []byte) (*node, error) {
	v.nodes--
	v.bytes -= int64(len(data))
	switch {
	case v.nodes < 0:
		return nil, fmt.Errorf("it has more than %d files and folders", MaxInputFiles)
	case v.bytes < 0:
		return nil, fmt.Errorf("its files have more than %d bytes", MaxInputBytes)
	}
	n := v.node(dir)
	n.data = data
	in.entries[name] = n
	return n, nil
}

// folder returns a new folder at the top of an input.
func (v *volume) folder(name string) *node {
	n := v.node(true)
	v.root.entries[name] = n
	return n
}

// addTree copies the files of a tree into a folder of the volume.
func (v *volume) addTree(into *node, t recipe.Tree) error {
	for _, e := range t {
		in := into
		dir, name := path.Split(e.Path)
		for s := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
			if s == "" {
				continue
			}
			next := in.entries[s]
			if next == nil {
				var err error
				if next, err = v.place(in, s, true, nil); err != nil {
					return err
				}
			}
			in = next
		}
		if _, err := v.place(in, name, false, e.Data); err != nil {
			return err
		}
	}
	return nil
}

// tree returns the files of a volume.
func (v *volume) tree() (recipe.Tree, error) {
	var entries []recipe.Entry
	var walk func(prefix string, n *node)
	walk = func(prefix string, n *node) {
		for name, child := range n.entries {
			if child.dir() {
				walk(prefix+name+"/", child)
			} else {
				entries = append(entries, recipe.Entry{Path: prefix + name, Data: child.data})
			}
		}
	}
	walk("", v.root)
	return recipe.FromEntries(entries)
}

// segments returns the names of a path below the root. Paths come cleaned from the
// runtime; what still leads upwards is refused.
func segments(name string) ([]string, experimental.Errno) {
	name = strings.Trim(name, "/")
	if name == "" || name == "." {
		return nil, 0
	}
	names := strings.Split(name, "/")
	if slices.Contains(names, "..") {
		return nil, experimental.EPERM
	}
	return slices.DeleteFunc(names, func(s string) bool { return s == "" || s == "." }), 0
}

func (v *volume) find(name string) (*node, experimental.Errno) {
	names, errno := segments(name)
	if errno != 0 {
		return nil, errno
	}
	n := v.root
	for _, s := range names {
		if !n.dir() {
			return nil, experimental.ENOTDIR
		}
		child, found := n.entries[s]
		if !found {
			return nil, experimental.ENOENT
		}
		n = child
	}
	return n, 0
}

// parent returns the folder and the last name of a path that can be changed.
func (v *volume) parent(name string) (*node, string, experimental.Errno) {
	if v.readOnly {
		return nil, "", experimental.EROFS
	}
	names, errno := segments(name)
	if errno != 0 {
		return nil, "", errno
	}
	if len(names) == 0 {
		return nil, "", experimental.EINVAL
	}
	dir, errno := v.find(strings.Join(names[:len(names)-1], "/"))
	if errno != 0 {
		return nil, "", errno
	}
	if !dir.dir() {
		return nil, "", experimental.ENOTDIR
	}
	return dir, names[len(names)-1], 0
}

// make puts a new file or folder at a path that an output may have.
func (v *volume) make(name string, dir bool) (*node, experimental.Errno) {
	in, last, errno := v.parent(name)
	switch {
	case errno != 0:
		return nil, errno
	case in.entries[last] != nil:
		return nil, experimental.EEXIST
	case v.refused(strings.Trim(name, "/"), recipe.MaxPath) != "":
		return nil, experimental.EINVAL
	case v.nodes == 0:
		return nil, full
	}
	v.nodes--
	n := v.node(dir)
	in.entries[last] = n
	return n, 0
}

// resize gives a file another length, if there is room for it.
func (v *volume) resize(n *node, size int64) experimental.Errno {
	more := size - int64(len(n.data))
	if size < 0 {
		return experimental.EINVAL
	}
	if more > v.bytes {
		return full
	}
	v.bytes -= more
	if more <= 0 {
		n.data = n.data[:size]
		return 0
	}
	n.data = append(n.data, make([]byte, more)...)
	return 0
}

// forget gives back the room of a file that nobody can reach any more.
func (v *volume) forget(n *node) {
	if n.removed && n.opened == 0 {
		v.bytes += int64(len(n.data))
		n.data = nil
		v.nodes++
	}
}

func (v *volume) OpenFile(name string, flag experimental.Oflag, _ fs.FileMode) (experimental.File, experimental.Errno) {
	writes := flag&(experimental.O_WRONLY|experimental.O_RDWR|experimental.O_TRUNC|experimental.O_APPEND) != 0
	if v.readOnly && (writes || flag&experimental.O_CREAT != 0) {
		return nil, experimental.EROFS
	}
	n, errno := v.find(name)
	switch {
	case errno == experimental.ENOENT && flag&experimental.O_CREAT != 0 && flag&experimental.O_DIRECTORY == 0:
		if n, errno = v.make(name, false); errno != 0 {
			return nil, errno
		}
	case errno != 0:
		return nil, errno
	case flag&experimental.O_CREAT != 0 && flag&experimental.O_EXCL != 0:
		return nil, experimental.EEXIST
	case n.dir() && writes:
		return nil, experimental.EISDIR
	case !n.dir() && flag&experimental.O_DIRECTORY != 0:
		return nil, experimental.ENOTDIR
	}
	if flag&experimental.O_TRUNC != 0 && !n.dir() {
		if errno := v.resize(n, 0); errno != 0 {
			return nil, errno
		}
	}
	n.opened++
	return &handle{v: v, n: n, appends: flag&experimental.O_APPEND != 0,
		reads: flag&experimental.O_WRONLY == 0, writes: writes}, 0
}

func (v *volume) Stat(name string) (sys.Stat_t, experimental.Errno) {
	n, errno := v.find(name)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	return v.stat(n), 0
}

// Lstat is Stat: there are no links.
func (v *volume) Lstat(name string) (sys.Stat_t, experimental.Errno) { return v.Stat(name) }

func (v *volume) stat(n *node) sys.Stat_t {
	s := sys.Stat_t{Dev: 1, Ino: n.ino, Nlink: 1, Mode: 0o644, Size: int64(len(n.data))}
	if n.dir() {
		s.Mode = fs.ModeDir | 0o755
	}
	if v.readOnly {
		s.Dev, s.Mode = 2, s.Mode&^0o222
	}
	return s
}

func (v *volume) Mkdir(name string, _ fs.FileMode) experimental.Errno {
	_, errno := v.make(name, true)
	return errno
}

func (v *volume) Rmdir(name string) experimental.Errno  { return v.remove(name, true) }
func (v *volume) Unlink(name string) experimental.Errno { return v.remove(name, false) }

func (v *volume) remove(name string, dir bool) experimental.Errno {
	in, last, errno := v.parent(name)
	if errno != 0 {
		return errno
	}
	n := in.entries[last]
	switch {
	case n == nil:
		return experimental.ENOENT
	case dir && !n.dir():
		return experimental.ENOTDIR
	case !dir && n.dir():
		return experimental.EISDIR
	case len(n.entries) > 0:
		return experimental.ENOTEMPTY
	}
	delete(in.entries, last)
	n.removed = true
	v.forget(n)
	return 0
}

func (v *volume) Rename(from, to string) experimental.Errno {
	in, last, errno := v.parent(from)
	if errno != 0 {
		return errno
	}
	n := in.entries[last]
	if n == nil {
		return experimental.ENOENT
	}
	target, name, errno := v.parent(to)
	if errno != 0 {
		return errno
	}
	from, to = path.Clean(strings.Trim(from, "/")), path.Clean(strings.Trim(to, "/"))
	old := target.entries[name]
	switch {
	case n == old:
		return 0
	case strings.HasPrefix(to, from+"/"):
		return experimental.EINVAL
	case v.longest(to, n) > recipe.MaxPath || v.refused(to, recipe.MaxPath) != "":
		return experimental.EINVAL
	case old != nil && old.dir() && !n.dir():
		return experimental.EISDIR
	case old != nil && !old.dir() && n.dir():
		return experimental.ENOTDIR
	case old != nil && len(old.entries) > 0:
		return experimental.ENOTEMPTY
	}
	delete(in.entries, last)
	target.entries[name] = n
	if old != nil {
		old.removed = true
		v.forget(old)
	}
	return 0
}

// longest returns the length of the longest path that a node and what is in it
// would have.
func (v *volume) longest(at string, n *node) int {
	most := len(at)
	for name, child := range n.entries {
		most = max(most, v.longest(at+"/"+name, child))
	}
	return most
}

// Chmod and Utimens change nothing: a volume has neither modes nor times.
func (v *volume) Chmod(name string, _ fs.FileMode) experimental.Errno {
	_, errno := v.find(name)
	return errno
}

func (v *volume) Utimens(name string, _, _ int64) experimental.Errno {
	_, errno := v.find(name)
	return errno
}
