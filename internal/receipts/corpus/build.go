package corpus

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// Options are what a corpus is built from. Two equal values give the same bytes.
type Options struct {
	// Track is the track's name; only "conformite" is generated.
	Track string
	// Season is the season's number, at least 1; it enters the key and the draw.
	Season int
	// Seed is the secret of the corpus: whoever has it has the key.
	Seed [32]byte
	// Composition says what the corpus is made of.
	Composition Composition
	// Size is the number of entity records; 0 means the composition's.
	Size int
	// Host is the canonical host, scheme included and without a trailing slash;
	// empty means [DefaultHost].
	Host string
}

// DefaultHost is a track's canonical host; names in .test never resolve.
func DefaultHost(trackName string) string { return "https://" + trackName + ".corpus.prova.test" }

// practiceSeed is the public seed of the built-in corpora.
func practiceSeed() [32]byte { return sha256.Sum256([]byte("prova practice corpus")) }

// Build makes a corpus. It is deterministic and touches nothing outside. The error
// says which option or which part of the composition does not do; it never holds
// the seed.
func Build(o Options) (*Corpus, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	label := fmt.Sprintf("%s/season %d", o.Track, o.Season)
	w, err := newWorld(o.Seed, label, o.Composition, o.Size)
	if err != nil {
		return nil, err
	}
	c := &Corpus{Track: o.Track, Season: o.Season, Host: o.Host, Practice: o.Seed == practiceSeed()}
	p := w.render()
	c.Files = p.files
	if c.Manifest, err = ManifestFor(p.files, o.Host, p.absent); err != nil {
		return nil, fmt.Errorf("building the corpus: %w", err)
	}
	questions := newStream(o.Seed, label+"/phrasings")
	tasks := make([]any, len(w.tasks))
	for i, e := range w.tasks {
		tasks[i] = w.task(questions, i, e)
	}
	c.Tasks = line(tasks)
	c.Rules = line(rulesJSON())
	c.RulesText = slices.Clone(rulesText)
	key, err := w.key(c, tasks)
	if err != nil {
		return nil, err
	}
	c.Key = line(key)
	return c, nil
}

func (o *Options) fill() error {
	if err := Generated(o.Track); err != nil {
		return err
	}
	if o.Season < 1 {
		return fmt.Errorf("season %d: a season's number is at least 1", o.Season)
	}
	if err := o.Composition.check(); err != nil {
		return fmt.Errorf("composition: %w", err)
	}
	if o.Composition.Track != o.Track {
		return fmt.Errorf("composition of track %q for track %q: they must be the same", o.Composition.Track, o.Track)
	}
	if o.Size == 0 {
		o.Size = o.Composition.Entities
	}
	if o.Host == "" {
		o.Host = DefaultHost(o.Track)
	}
	return checkSize(o.Size)
}

// line is a JSON document with a newline at its end.
func line(v any) []byte { return append(canonjson.Compact(v), '\n') }

// key is the answer key (bundle format §6). Verdicts and facts are what the
// evaluation rules give on the frozen values; a situation that came out otherwise
// is an error of this package.
func (w *world) key(c *Corpus, tasks []any) (*canonjson.Object, error) {
	parsed, err := track.ParseTasks(tasks, c.Track)
	if err != nil {
		return nil, fmt.Errorf("building the tasks: %w", err)
	}
	view, err := c.View()
	if err != nil {
		return nil, err
	}
	rules, err := view.Referentiel()
	if err != nil {
		return nil, err
	}
	answers := canonjson.NewObject()
	for i, t := range parsed {
		result, err := conformite.Evaluate(view, t.Target, rules)
		if err != nil {
			return nil, err
		}
		s := w.tasks[i].situation
		if result.Verdict != s.verdict {
			return nil, fmt.Errorf("task %s: situation %s came out as %s: this is a fault of the generator, not of the composition", t.ID, s.name, result.Verdict)
		}
		facts := make([]any, len(result.Facts))
		for j, f := range result.Facts {
			facts[j] = f.Object()
		}
		answers.Set(t.ID, canonjson.NewObject(
			"verdict", result.Verdict,
			"families", anys(s.families),
			"control", s.control(),
			"facts", facts,
		))
	}
	return canonjson.NewObject("season", canonjson.NewInt(int64(c.Season)), "track", c.Track, "tasks", answers), nil
}
