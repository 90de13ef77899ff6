package artefact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/prova-dev/prova/internal/research/shape"
)

// ErrNotFound says that a row has no published zip.
var ErrNotFound = errors.New("artefact: no such zip")

// Root is the folder that holds a folder of zips for each topic. Its methods are
// safe for use by several goroutines of one process; one process at a time writes
// to a root.
type Root struct {
	root *os.Root
	mu   sync.Mutex // of the projections

	// step is told of each step that a crash can follow, by tests.
	step func(step string)
}

// OpenRoot opens a root and makes the folder if it is not there.
func OpenRoot(dir string) (*Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("artefact root: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("artefact root: %w", err)
	}
	return &Root{root: root, step: func(string) {}}, nil
}

// Close releases the folder.
func (r *Root) Close() error { return r.root.Close() }

// checkIDs refuses a topic id that is no slug and a row id that is not pf_ and 16
// lower-case hexadecimal digits: paths are built of both (R§20).
func checkIDs(topicID, rowID string) error {
	if err := checkTopic(topicID); err != nil {
		return err
	}
	if !rowIDForm(rowID) {
		return fmt.Errorf("submission id %.80q is not pf_ and 16 lower-case hexadecimal digits", rowID)
	}
	return nil
}

func checkTopic(topicID string) error {
	if !shape.Slug(topicID) {
		return fmt.Errorf("topic id %.80q must match [a-z0-9][a-z0-9-]{1,62}", topicID)
	}
	return nil
}

func rowIDForm(s string) bool {
	digits, ok := strings.CutPrefix(s, "pf_")
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// Staged is a zip on disk under a temporary name.
type Staged struct {
	TopicID, RowID string
	Path           string // where Publish puts it, in the root: TOPIC/ROW.zip
	SHA256         string // of the bytes on disk, hexadecimal
	Bytes          int64

	root *Root
	temp string
}

// zipPath is the path of a row's zip in the root.
func zipPath(topicID, rowID string) string { return topicID + "/" + rowID + ".zip" }

const stagedSuffix = ".staged"

// stagedPath names the content too, so that a zip that was built again because
// its crown was lost does not overwrite the first while that may still be wanted.
func stagedPath(topicID, rowID, sum string) string {
	return topicID + "/." + rowID + "." + sum + stagedSuffix
}

// Stage writes a row's zip under a temporary name. When it returns, content and
// name are on disk. Staging the same bytes again is the same file.
func (r *Root) Stage(topicID, rowID string, archive []byte) (*Staged, error) {
	if err := checkIDs(topicID, rowID); err != nil {
		return nil, fmt.Errorf("artefact: stage: %w", err)
	}
	sum := sha256.Sum256(archive)
	s := &Staged{TopicID: topicID, RowID: rowID, Path: zipPath(topicID, rowID), SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(archive)), root: r}
	s.temp = stagedPath(topicID, rowID, s.SHA256)
	// Told now, and not by Publish, when the row is written already.
	if published, _, err := r.sum(s.Path); err == nil && published != s.SHA256 {
		return nil, fmt.Errorf("artefact: stage: %s is there with other content (sha256 %s) and is never replaced", s.Path, published)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("artefact: stage: %w", err)
	}
	if err := r.makeFolder(topicID); err != nil {
		return nil, fmt.Errorf("artefact: stage: %w", err)
	}
	if err := r.write(s.temp, archive); err != nil {
		return nil, errors.Join(fmt.Errorf("artefact: stage: %w", err), gone(r.root.Remove(s.temp)))
	}
	if err := r.sync(topicID); err != nil {
		return nil, fmt.Errorf("artefact: stage: %w", err)
	}
	return s, nil
}

// Publish gives the zip its name; when it returns, the name is on disk. It may be
// repeated. It never replaces a zip of other content.
func (s *Staged) Publish() error {
	if err := s.publish(); err != nil {
		return fmt.Errorf("artefact: publish %s: %w", s.Path, err)
	}
	return nil
}

func (s *Staged) publish() error {
	r := s.root
	sum, _, err := r.sum(s.Path)
	switch {
	case err == nil && sum != s.SHA256:
		return fmt.Errorf("a zip of other content (sha256 %s) has the name already; it is never replaced", sum)
	case err == nil:
		if err := gone(r.root.Remove(s.temp)); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	default:
		if err := r.root.Rename(s.temp, s.Path); err != nil {
			return err
		}
	}
	r.step("rename " + s.Path)
	return r.sync(s.TopicID)
}

// Discard removes the temporary file of a zip that no row refers to. It may be
// repeated, and leaves a published zip alone. What it cannot remove is found again
// by [Root.Leftovers].
func (s *Staged) Discard() error {
	if err := gone(s.root.root.Remove(s.temp)); err != nil {
		return fmt.Errorf("artefact: discard: %w", err)
	}
	return nil
}

// gone takes what is not there for removed.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open returns the published zip of a row, unread: [Read] says what it holds. The
// error is [ErrNotFound] when there is none.
func (r *Root) Open(topicID, rowID string) ([]byte, error) {
	if err := checkIDs(topicID, rowID); err != nil {
		return nil, fmt.Errorf("artefact: open: %w", err)
	}
	f, err := r.open(zipPath(topicID, rowID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("artefact: open: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxZip+1))
	if err != nil {
		return nil, fmt.Errorf("artefact: open: %w", r.inside(err))
	}
	if len(data) > MaxZip {
		return nil, fmt.Errorf("artefact: open: %s has more than %d bytes", zipPath(topicID, rowID), MaxZip)
	}
	return data, nil
}

// Leftovers returns the staged zips of all topics, sorted by topic and row: those
// of a process that ended between Stage and Publish or Discard. SHA256 is of what
// is on disk, so a file that was cut off by the end has the hash of no row. No
// Stage may run meanwhile.
func (r *Root) Leftovers() ([]Staged, error) {
	topics, err := fs.ReadDir(r.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("artefact: leftovers: %w", err)
	}
	var found []Staged
	for _, topic := range topics {
		if !topic.IsDir() || !shape.Slug(topic.Name()) {
			continue
		}
		files, err := fs.ReadDir(r.root.FS(), topic.Name())
		if err != nil {
			return nil, fmt.Errorf("artefact: leftovers: %w", err)
		}
		for _, f := range files {
			rowID, ok := stagedRow(f.Name())
			if !ok || !f.Type().IsRegular() {
				continue
			}
			s := Staged{TopicID: topic.Name(), RowID: rowID, Path: zipPath(topic.Name(), rowID), root: r, temp: topic.Name() + "/" + f.Name()}
			if s.SHA256, s.Bytes, err = r.sum(s.temp); err != nil {
				return nil, fmt.Errorf("artefact: leftovers: %w", err)
			}
			found = append(found, s)
		}
	}
	return found, nil
}

// stagedRow returns the row in a name of stagedPath.
func stagedRow(name string) (rowID string, ok bool) {
	parts := strings.Split(name, ".")
	ok = len(parts) == 4 && parts[0] == "" && rowIDForm(parts[1]) && lowerHex64(parts[2]) && "."+parts[3] == stagedSuffix
	if !ok {
		return "", false
	}
	return parts[1], true
}

// Rows returns the ids of the rows of a topic that have a published zip, sorted.
func (r *Root) Rows(topicID string) ([]string, error) {
	if err := checkTopic(topicID); err != nil {
		return nil, fmt.Errorf("artefact: rows: %w", err)
	}
	files, err := fs.ReadDir(r.root.FS(), topicID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("artefact: rows: %w", err)
	}
	var rows []string
	for _, f := range files {
		if rowID, ok := strings.CutSuffix(f.Name(), ".zip"); ok && rowIDForm(rowID) && f.Type().IsRegular() {
			rows = append(rows, rowID)
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// inside takes the way to the root out of an error of an open file, which names the
// operator's folders; those of the root itself name what is in it.
func (r *Root) inside(err error) error {
	fault, is := errors.AsType[*fs.PathError](err)
	if !is {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(fault.Path, r.root.Name()), "/")
	return &fs.PathError{Op: fault.Op, Path: name, Err: fault.Err}
}

// probeName is a file that is written and removed again.
const probeName = ".probe"

// probeSize is more than most zips have, so that a disk that is full is not missed
// by what fits into its last block.
const probeSize = 256 << 10

// Writable reports whether a zip could be stored now: the folder is there and the
// disk has room. It is asked before work that would be lost otherwise.
func (r *Root) Writable() error {
	err := r.write(probeName, make([]byte, probeSize))
	if err = errors.Join(err, gone(r.root.Remove(probeName))); err != nil {
		return fmt.Errorf("artefact: the root cannot be written: %w", err)
	}
	return nil
}

// open opens a regular file for reading. A link is refused, even one within the
// root: nothing here makes any.
func (r *Root) open(name string) (*os.File, error) {
	info, err := r.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return r.root.Open(name)
}

// sum returns hash and size of a file.
func (r *Root) sum(name string) (sum string, size int64, err error) {
	f, err := r.open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return "", 0, fmt.Errorf("read %s: %w", name, r.inside(err))
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// makeFolder makes the folder of a topic durably.
func (r *Root) makeFolder(topicID string) error {
	err := r.root.Mkdir(topicID, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, err := r.root.Lstat(topicID)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder", topicID)
		}
		return err
	}
	if err != nil {
		return err
	}
	r.step("mkdir " + topicID)
	return r.sync(".")
}

// write writes a whole file and brings its content to the disk. Its name is there
// only after a sync of the folder.
func (r *Root) write(name string, data []byte) error {
	if info, err := r.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", name)
	}
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	r.step("create " + name)
	if _, err = f.Write(data); err == nil {
		r.step("write " + name)
		err = f.Sync()
	}
	if err = errors.Join(r.inside(err), r.inside(f.Close())); err != nil {
		return err
	}
	r.step("sync " + name)
	return nil
}

// sync brings the names of a folder to the disk.
func (r *Root) sync(dir string) error {
	f, err := r.root.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(r.inside(f.Sync()), r.inside(f.Close())); err != nil {
		return fmt.Errorf("sync the folder %s: %w", path.Clean(dir), err)
	}
	r.step("sync " + dir)
	return nil
}
