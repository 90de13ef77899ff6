package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// The marker file says what a folder is; it holds no secret.
const (
	markerName   = "corpus.json"
	markerFormat = "prova-corpus/1"
)

// maxFile bounds one file of a corpus folder, manifest and key included.
const maxFile = 1 << 30

// Write puts the corpus into a folder, which must be empty or not exist: files/,
// manifest.json, tasks.json, rules.json, rules.md, key.json (readable by its owner
// only) and corpus.json, which names track, season, host and whether it is a
// practice corpus. The error names the file.
func (c *Corpus) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the corpus folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the corpus folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: give a folder that is empty or does not exist yet", dir)
	}
	made := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		path := filepath.Join(dir, "files", filepath.FromSlash(name))
		if parent := filepath.Dir(path); !made[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return fmt.Errorf("writing the corpus: %w", err)
			}
			made[parent] = true
		}
		if err := os.WriteFile(path, c.Files[name], 0o644); err != nil {
			return fmt.Errorf("writing the corpus: %w", err)
		}
	}
	for _, f := range []struct {
		name string
		data []byte
		mode fs.FileMode
	}{
		{"manifest.json", c.Manifest, 0o644},
		{"tasks.json", c.Tasks, 0o644},
		{"rules.json", c.Rules, 0o644},
		{"rules.md", c.RulesText, 0o644},
		{"key.json", c.Key, 0o600},
		// Last: a folder without it is one whose writing did not end.
		{markerName, c.marker(), 0o644},
	} {
		if f.data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), f.data, f.mode); err != nil {
			return fmt.Errorf("writing the corpus: %w", err)
		}
	}
	return nil
}

func (c *Corpus) marker() []byte {
	return line(canonjson.NewObject(
		"format", markerFormat,
		"track", c.Track,
		"season", canonjson.NewInt(int64(c.Season)),
		"corpus_host", c.Host,
		"practice", c.Practice,
	))
}

// Load reads a folder that Write made. What the files say is not checked beyond
// what is needed to read them: [Lint] does that. A corpus whose manifest is the
// built-in one counts as practice whatever its marker says.
func Load(dir string) (*Corpus, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the corpus: %w; 'prova corpus build' writes one", err)
	}
	defer root.Close()
	marker, err := readFile(root, markerName)
	if err != nil {
		return nil, fmt.Errorf("%s is no corpus folder: %w; name a folder that 'prova corpus build' wrote", dir, err)
	}
	c, err := parseMarker(marker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, markerName), err)
	}
	for name, to := range map[string]*[]byte{
		"manifest.json": &c.Manifest, "tasks.json": &c.Tasks, "rules.json": &c.Rules, "rules.md": &c.RulesText,
	} {
		if *to, err = readFile(root, name); err != nil {
			return nil, fmt.Errorf("reading the corpus %s: %w; put back the file that the build wrote", dir, err)
		}
	}
	if c.Key, err = readFile(root, "key.json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the corpus %s: %w", dir, err)
	}
	if c.Files, err = readFiles(root); err != nil {
		return nil, fmt.Errorf("reading the corpus %s: %w", dir, err)
	}
	if !c.Practice && Generated(c.Track) == nil {
		built, err := Build(Practice(c.Track))
		if err != nil {
			return nil, err
		}
		c.Practice = ManifestHash(built.Manifest) == ManifestHash(c.Manifest)
	}
	return c, nil
}

func parseMarker(data []byte) (*Corpus, error) {
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, errors.New("it must be an object")
	}
	get := func(name string) any { m, _ := o.Get(name); return m }
	if get("format") != any(markerFormat) {
		return nil, fmt.Errorf("/format must be %q", markerFormat)
	}
	c := &Corpus{}
	if c.Track, ok = get("track").(string); !ok {
		return nil, errors.New("/track must be a string")
	}
	if c.Host, ok = get("corpus_host").(string); !ok {
		return nil, errors.New("/corpus_host must be a string")
	}
	if c.Practice, ok = get("practice").(bool); !ok {
		return nil, errors.New("/practice must be true or false")
	}
	season, _ := get("season").(canonjson.Int)
	n, ok := season.Int64()
	if !ok || n < 1 || n > 1<<31-1 {
		return nil, errors.New("/season must be an integer of at least 1")
	}
	c.Season = int(n)
	return c, nil
}

func readFiles(root *os.Root) (map[string][]byte, error) {
	files := map[string][]byte{}
	sub, err := root.OpenRoot("files")
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	err = fs.WalkDir(sub.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("files/%s is not a regular file: remove it or put a copy in its place", path)
		}
		if !validFile(path) {
			return fmt.Errorf("files/%s: a file's name must be segments of A-Z a-z 0-9 . _ - only", path)
		}
		files[path], err = readFile(sub, path)
		return err
	})
	return files, err
}

func readFile(root *os.Root, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s must be a regular file of at most %d bytes", name, maxFile)
	}
	return io.ReadAll(f)
}
