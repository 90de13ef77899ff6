package corpus_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

func practice(t testing.TB) *corpus.Corpus {
	t.Helper()
	c, err := corpus.Build(corpus.Practice(track.Conformite))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func seeded(text string, size int) corpus.Options {
	o := corpus.Practice(track.Conformite)
	o.Seed, o.Size = sha256.Sum256([]byte(text)), size
	return o
}

func parse(t testing.TB, data []byte) any {
	t.Helper()
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func member(v any, names ...string) any {
	for _, name := range names {
		o, ok := v.(*canonjson.Object)
		if !ok {
			return nil
		}
		v, _ = o.Get(name)
	}
	return v
}

func tasks(t testing.TB, c *corpus.Corpus) []track.Task {
	t.Helper()
	list, err := track.ParseTasks(parse(t, c.Tasks), c.Track)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSection55PracticeCorpusOfSeason1(t *testing.T) {
	t.Parallel()
	c := practice(t)
	if !c.Practice || c.Season != 1 || c.Host != "https://conformite.corpus.prova.test" {
		t.Errorf("practice %v, season %d, host %s", c.Practice, c.Season, c.Host)
	}
	for _, f := range corpus.Lint(c) {
		t.Error(f)
	}
	bounds := [][2]int{{2, 4}, {3, 6}, {2, 4}, {3, 6}, {4, 8}, {4, 8}, {3, 6}, {4, 8}, {3, 6}, {3, 6}}
	verdicts, families, controls := map[any]int{}, map[any]int{}, 0
	for i, task := range tasks(t, c) {
		if task.Minimum != bounds[i][0] || task.Cap != bounds[i][1] {
			t.Errorf("%s has bounds %d to %d, want %v", task.ID, task.Minimum, task.Cap, bounds[i])
		}
		answer := member(parse(t, c.Key), "tasks", task.ID)
		verdicts[member(answer, "verdict")]++
		for _, f := range member(answer, "families").([]any) {
			families[f]++
		}
		if member(answer, "control") == any(true) {
			controls++
		}
	}
	if want := map[any]int{"conforme": 3, "non_conforme": 4, "indeterminable": 3}; !maps.Equal(verdicts, want) {
		t.Errorf("verdicts %v, want %v", verdicts, want)
	}
	if controls != 1 || families["P5"] < 3 || len(families) != 5 {
		t.Errorf("%d controls, families %v", controls, families)
	}
}

func TestDesignSection2TwoBuildsAreByteIdentical(t *testing.T) {
	t.Parallel()
	o := seeded("twice", 60)
	a, err := corpus.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := corpus.LintBuild(a, o)
	if err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	if a.Practice {
		t.Error("a corpus of another seed is called practice")
	}
	other, err := corpus.Build(seeded("other", 60))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a.Manifest, other.Manifest) || bytes.Equal(a.Key, other.Key) {
		t.Error("two seeds give the same corpus")
	}
	o.Season = 2
	next, err := corpus.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a.Manifest, next.Manifest) {
		t.Error("two seasons of one seed have the same corpus")
	}
}

// TestPracticeCorpusStaysWhatItIs pins the bytes of the built-in corpus: published
// practice results refer to its manifest. A change of the generator that moves it
// needs a new season number or a note in the changelog.
func TestPracticeCorpusStaysWhatItIs(t *testing.T) {
	t.Parallel()
	c := practice(t)
	pinned(t, "practice.sha256", slices.Concat(c.Manifest, c.Tasks, c.Key))
}

// TestSection8RulesTextStaysWhatItIs pins the text of the scoring rules: a season's
// freeze anchors its hash. Once a season that counts was frozen with it, another
// text needs another version.
func TestSection8RulesTextStaysWhatItIs(t *testing.T) {
	t.Parallel()
	pinned(t, "conformite-bareme-v3.sha256", practice(t).RulesText)
}

// pinned compares bytes with the hash that testdata holds for them.
func pinned(t *testing.T, name string, data []byte) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != strings.TrimSpace(string(want)) {
		t.Errorf("the bytes hash to %s, %s pins %s", got, name, strings.TrimSpace(string(want)))
	}
}

// TestPropertyEverySeedGivesASoundCorpus is the promise of the generator: for any
// seed and size the lint passes, the key's verdicts are the rules' verdicts, and
// an agent that falls for a task's family answers it wrong.
func TestPropertyEverySeedGivesASoundCorpus(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := corpus.Practice(track.Conformite)
		copy(o.Seed[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		o.Size = rapid.IntRange(corpus.MinEntities, 90).Draw(t, "size")
		o.Season = rapid.IntRange(1, 9).Draw(t, "season")
		c, err := corpus.Build(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range corpus.Lint(c) {
			t.Error(f)
		}
		checkAnswers(t, c)
	})
}

type fataler interface {
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func checkAnswers(t fataler, c *corpus.Corpus) {
	view, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := view.Referentiel()
	if err != nil {
		t.Fatal(err)
	}
	key, err := canonjson.ParseStrict(c.Key)
	if err != nil {
		t.Fatal(err)
	}
	published, err := canonjson.ParseStrict(c.Tasks)
	if err != nil {
		t.Fatal(err)
	}
	list, err := track.ParseTasks(published, c.Track)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range list {
		result, err := conformite.Evaluate(view, task.Target, rules)
		if err != nil {
			t.Fatal(err)
		}
		answer := member(key, "tasks", task.ID)
		if member(answer, "verdict") != any(result.Verdict) {
			t.Errorf("%s: key %v, rules %s", task.ID, member(answer, "verdict"), result.Verdict)
		}
		for _, family := range member(answer, "families").([]any) {
			naive, err := conformite.Tempts(family.(string), result.Verdict, view, task.Target, rules)
			if err != nil {
				t.Fatal(err)
			}
			if !naive {
				t.Errorf("%s: an agent that falls for %s still answers right", task.ID, family)
			}
		}
	}
}

func TestSection25CatalogueTellsNothingOfAbsentReferences(t *testing.T) {
	t.Parallel()
	c := practice(t)
	urls, err := c.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(urls) {
		t.Error("the catalogue is not sorted")
	}
	absent := 0
	for name, body := range c.Files {
		resource := "/" + strings.TrimSuffix(name, ".json")
		_, listed := slices.BinarySearch(urls, c.Host+resource)
		if system := strings.HasPrefix(resource, "/_systeme/"); listed == system {
			t.Errorf("%s listed: %v", resource, listed)
		}
		if bytes.HasPrefix(body, []byte(`{"existe":false,`)) {
			absent++
		}
	}
	if absent < 3 {
		t.Errorf("%d absent references, want several", absent)
	}
}

func TestSection24RequestHashIsThatOfTheReference(t *testing.T) {
	t.Parallel()
	// Trust Layer reference 4.3, computed with CPython.
	const want = "bddf2156fd8aa0075470d98c2d3b51b6882da25be12c8a60106d1373cc4dd896"
	if got := corpus.RequestHash("https://corpus.example.test/entites/ENT-0001"); got != want {
		t.Errorf("request hash %s, want %s", got, want)
	}
}

func TestManifestForSaysWhichFileIsAtFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		files  map[string]string
		absent []string
		want   string
	}{
		{"a body that is no JSON", map[string]string{"a/b.json": `{`}, nil, "files/a/b.json: no JSON"},
		{"a body that is no object", map[string]string{"a/b.json": `[]`}, nil, "files/a/b.json: a body must be an object"},
		{"a body of another path", map[string]string{"a/b.json": `{"resource":"/a/c"}`}, nil, `/resource must be "/a/b"`},
		{"a body without a path", map[string]string{"a/b.json": `{"resource":7}`}, nil, `/resource must be "/a/b"`},
		{"an empty path", map[string]string{"a/b.json": `{"resource":""}`}, nil, `/resource must be "/a/b"`},
		{"a name that leaves the folder", map[string]string{"../b.json": `{"resource":"/../b"}`}, nil, "a file's name must be"},
		{"an absent reference without a file", map[string]string{"a/b.json": `{"resource":"/a/b"}`}, []string{"/a/x"}, "/a/x is cited and does not exist"},
		{"an absent reference that exists", map[string]string{"a/b.json": `{"existe":true,"resource":"/a/b"}`}, []string{"/a/b"}, "/a/b is cited and does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for name, text := range c.files {
				files[name] = []byte(text)
			}
			_, err := corpus.ManifestFor(files, "https://h.test", c.absent)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestBuildRefusesWhatItCannotMake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*corpus.Options)
		want   string
	}{
		{"the generic track, of a later issue", func(o *corpus.Options) { *o = corpus.Practice(track.Generique) }, "not generated yet"},
		{"an unknown track", func(o *corpus.Options) { o.Track = "x" }, `track "x" is unknown`},
		{"season 0", func(o *corpus.Options) { o.Season = 0 }, "at least 1"},
		{"eleven entities", func(o *corpus.Options) { o.Size = 11 }, "from 12 to 100000"},
		{"a hundred thousand and one", func(o *corpus.Options) { o.Size = 100_001 }, "from 12 to 100000"},
		{"no composition", func(o *corpus.Options) { o.Composition = corpus.Composition{} }, "composition: format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := corpus.Practice(track.Conformite)
			c.change(&o)
			_, err := corpus.Build(o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestWriteThenLoadGivesTheSameCorpus(t *testing.T) {
	t.Parallel()
	c := practice(t)
	dir := filepath.Join(t.TempDir(), "c")
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "key.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key.json: %v, %v", info.Mode(), err)
	}
	got, err := corpus.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := corpus.LintBuild(got, corpus.Practice(track.Conformite)); err != nil || len(faults) > 0 || !got.Practice {
		t.Errorf("read back: %v, %v, practice %v", faults, err, got.Practice)
	}
	if err := c.Write(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("writing over a corpus: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "key.json")); err != nil {
		t.Fatal(err)
	}
	if got, err = corpus.Load(dir); err != nil || got.Key != nil {
		t.Errorf("a folder without its key: %v", err)
	}
}

func TestLoadCallsThePracticeCorpusPracticeWhateverItsMarkerSays(t *testing.T) {
	t.Parallel()
	c := practice(t)
	c.Practice = false
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := corpus.Load(dir)
	if err != nil || !got.Practice {
		t.Errorf("practice %v, %v", got.Practice, err)
	}
}

func TestLoadRefusesFoldersThatAreNone(t *testing.T) {
	t.Parallel()
	good := practice(t)
	for _, c := range []struct {
		name  string
		spoil func(dir string) error
		want  string
	}{
		{"no marker", func(dir string) error { return os.Remove(filepath.Join(dir, "corpus.json")) }, "is no corpus folder"},
		{"a marker that is no JSON", func(dir string) error { return os.WriteFile(filepath.Join(dir, "corpus.json"), []byte("{"), 0o600) }, "corpus.json"},
		{"a marker of another format", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "corpus.json"), []byte(`{"format":"x"}`), 0o600)
		}, "/format must be"},
		{"no manifest", func(dir string) error { return os.Remove(filepath.Join(dir, "manifest.json")) }, "manifest.json"},
		{"no files", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "files")) }, "files"},
		{"a file name with a space", func(dir string) error { return os.WriteFile(filepath.Join(dir, "files", "a b.json"), nil, 0o600) }, "a b.json"},
		{"a link out of the folder", func(dir string) error { return os.Symlink("/etc/hostname", filepath.Join(dir, "files", "x.json")) }, "not a regular file"},
		{"a key that is a link out of the folder", func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "key.json")); err != nil {
				return err
			}
			return os.Symlink("/etc/hostname", filepath.Join(dir, "key.json"))
		}, "key.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := good.Write(dir); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := corpus.Load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
	if _, err := corpus.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there was loaded")
	}
}

func BenchmarkBuild(b *testing.B) {
	for _, size := range []int{60, 10_000} {
		b.Run(map[int]string{60: "entities=60", 10_000: "entities=10000"}[size], func(b *testing.B) {
			o := seeded("bench", size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := corpus.Build(o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLint(b *testing.B) {
	c, err := corpus.Build(seeded("bench", 60))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if faults := corpus.Lint(c); len(faults) > 0 {
			b.Fatal(faults[0])
		}
	}
}
