package corpus

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// Composition says what a corpus is made of; every field is documented in
// conformite.toml, the composition of the practice corpus.
type Composition struct {
	Format      string `toml:"format"`
	Track       string `toml:"track"`
	Entities    int    `toml:"entities"`
	Examination struct {
		From string `toml:"from"`
		To   string `toml:"to"`
	} `toml:"examination"`
	Pages struct {
		Register int `toml:"register"`
		Measures int `toml:"measures"`
		Owners   int `toml:"owners"`
	} `toml:"pages"`
	Measures struct {
		Strangers int `toml:"strangers"`
	} `toml:"measures"`
	Background struct {
		Situations int `toml:"situations"`
	} `toml:"background"`
	Activities []Activity `toml:"activities"`
	Tasks      []TaskSlot `toml:"tasks"`
}

// Activity is a licensed activity with the attestation types it requires.
type Activity struct {
	Name          string   `toml:"name"`
	LabelFR       string   `toml:"label_fr"`
	LabelEN       string   `toml:"label_en"`
	RequiredTypes []string `toml:"required_types"`
}

// TaskSlot is one task: the situations of which the seed draws one.
type TaskSlot struct {
	Situations []string `toml:"situations"`
}

const compositionFormat = "prova-composition/1"

// Limits of a corpus's size (design, "Making corpora").
const (
	MinEntities = 12
	MaxEntities = 100_000
)

//go:embed conformite.toml
var practiceComposition []byte

// maxComposition bounds a composition file; the practice one has 6 KB.
const maxComposition = 1 << 20

// ParseComposition reads a composition. An unknown key is refused by name; the
// error names the key at fault and what it may be.
func ParseComposition(data []byte) (Composition, error) {
	var c Composition
	if len(data) > maxComposition {
		return c, fmt.Errorf("composition: %d bytes, at most %d are read", len(data), maxComposition)
	}
	meta, err := toml.Decode(string(data), &c)
	if err != nil {
		return Composition{}, fmt.Errorf("composition: %w", err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Composition{}, fmt.Errorf("composition: unknown key %q: see the practice composition for those there are", unknown[0])
	}
	if err := c.check(); err != nil {
		return Composition{}, fmt.Errorf("composition: %w", err)
	}
	return c, nil
}

func (c Composition) check() error {
	if c.Format != compositionFormat {
		return fmt.Errorf("format is %q: it must be %q", c.Format, compositionFormat)
	}
	if err := Generated(c.Track); err != nil {
		return err
	}
	if err := checkSize(c.Entities); err != nil {
		return fmt.Errorf("entities: %w", err)
	}
	if _, _, err := c.examination(); err != nil {
		return err
	}
	for _, n := range []struct {
		name             string
		value, low, high int
	}{
		{"pages.register", c.Pages.Register, 0, MaxEntities},
		{"pages.measures", c.Pages.Measures, 0, MaxEntities},
		{"pages.owners", c.Pages.Owners, 1, 10},
		{"measures.strangers", c.Measures.Strangers, 3, 10_000},
		{"background.situations", c.Background.Situations, 0, 1000},
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s is %d: it must be from %d to %d", n.name, n.value, n.low, n.high)
		}
	}
	if err := c.checkActivities(); err != nil {
		return err
	}
	return c.checkTasks()
}

// Generated refuses tracks whose corpora this program does not make.
func Generated(name string) error {
	switch name {
	case track.Conformite:
		return nil
	case track.Generique:
		return fmt.Errorf("track %q: its corpus is not generated yet; only %q is", name, track.Conformite)
	}
	return fmt.Errorf("track %q is unknown: it must be %q", name, track.Conformite)
}

func checkSize(n int) error {
	if n < MinEntities || n > MaxEntities {
		return fmt.Errorf("a corpus of %d entities: it must have from %d to %d", n, MinEntities, MaxEntities)
	}
	return nil
}

// The range of days in which an examination may lie: 1 January 1990 to 1 January 2190.
const (
	earliest day = 7305
	latest   day = 80354
)

// examination is the range of examination dates.
func (c Composition) examination() (from, to day, err error) {
	if from, err = parseDay(c.Examination.From); err != nil {
		return 0, 0, fmt.Errorf("examination.from: %w", err)
	}
	if to, err = parseDay(c.Examination.To); err != nil {
		return 0, 0, fmt.Errorf("examination.to: %w", err)
	}
	// All dates of a corpus lie within eighty years before and five after.
	if from < earliest || to > latest {
		return 0, 0, fmt.Errorf("examination is from %s to %s: it must lie from %s to %s", from, to, earliest, latest)
	}
	if to < from || to-from > 731 {
		return 0, 0, fmt.Errorf("examination.to is %s: it must lie from %s to two years later", c.Examination.To, c.Examination.From)
	}
	return from, to, nil
}

var (
	activityName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	typeName     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

func (c Composition) checkActivities() error {
	if len(c.Activities) < 3 || len(c.Activities) > 40 {
		return fmt.Errorf("activities: there are %d, there must be from 3 to 40", len(c.Activities))
	}
	seen := map[string]bool{}
	for i, a := range c.Activities {
		at := fmt.Sprintf("activities[%d]", i)
		if !activityName.MatchString(a.Name) || seen[a.Name] {
			return fmt.Errorf("%s.name is %q: it must be of a-z, 0-9 and -, and another for each activity", at, a.Name)
		}
		seen[a.Name] = true
		if strings.TrimSpace(a.LabelFR) == "" || strings.TrimSpace(a.LabelEN) == "" {
			return fmt.Errorf("%s: label_fr and label_en must both have content", at)
		}
		if len(a.RequiredTypes) < 1 || len(a.RequiredTypes) > 2 {
			return fmt.Errorf("%s.required_types: there are %d, there must be 1 or 2", at, len(a.RequiredTypes))
		}
		for j, kind := range a.RequiredTypes {
			if !typeName.MatchString(kind) || slices.Contains(a.RequiredTypes[:j], kind) {
				return fmt.Errorf("%s.required_types[%d] is %q: it must be of a-z, 0-9 and _, and named once", at, j, kind)
			}
		}
	}
	return nil
}

func (c Composition) checkTasks() error {
	if len(c.Tasks) != len(taskBounds) {
		return fmt.Errorf("tasks: there are %d, there must be %d (§5.5)", len(c.Tasks), len(taskBounds))
	}
	verdicts := map[string]int{}
	for i, slot := range c.Tasks {
		if len(slot.Situations) == 0 {
			return fmt.Errorf("tasks[%d].situations is empty: it must name at least one", i)
		}
		first, ok := situationNamed(slot.Situations[0])
		for _, name := range slot.Situations {
			s, known := situationNamed(name)
			if !known {
				return fmt.Errorf("tasks[%d].situations: %q is unknown: known are %s", i, name, strings.Join(situationNames(), ", "))
			}
			if !ok || s.verdict != first.verdict || s.control() != first.control() {
				return fmt.Errorf("tasks[%d].situations: %q and %q differ in verdict or in being the control", i, first.name, name)
			}
		}
		verdicts[first.verdict]++
		if first.control() {
			verdicts["control"]++
		}
	}
	for name, want := range publishedBreakdown() {
		if verdicts[name] != want {
			return fmt.Errorf("tasks: %d of %s, there must be %d (§5.5)", verdicts[name], name, want)
		}
	}
	if verdicts["control"] != 1 {
		return fmt.Errorf("tasks: %d controls, there must be exactly one (§5.5)", verdicts["control"])
	}
	return nil
}

// Practice returns the options of the built-in practice corpus of season 1. Its
// seed is public: anyone can compute its key. For a track that is not generated
// the options carry the track's name, and [Build] says so.
func Practice(trackName string) Options {
	o := Options{Track: trackName, Season: 1, Seed: practiceSeed()}
	if trackName != track.Conformite {
		return o
	}
	c, err := ParseComposition(practiceComposition)
	if err != nil {
		panic("corpus: the embedded composition is broken: " + err.Error()) //nolint:forbidigo // Embedded and read by a test: it cannot be broken at run time.
	}
	o.Composition = c
	return o
}
