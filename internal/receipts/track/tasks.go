package track

import (
	"fmt"
	"math"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// The two tracks of the challenge. They are never aggregated (§6).
const (
	Conformite = "conformite"
	Generique  = "generique"
)

// Known reports whether this program has the graph rules of the track.
func Known(name string) bool { return name == Conformite || name == Generique }

// Task is one question of a track with its bounds (bundle format §2).
type Task struct {
	// ID is the task's name, unique in the season, such as conf-03.
	ID string
	// Question is the text by language; "fr" and "en" are always there.
	Question map[string]string
	// Target is what the task is about.
	Target Target
	// Minimum and Cap bound the number of assertions (§5.5, §5.7); 1 ≤ Minimum ≤ Cap.
	Minimum, Cap int
}

// OwnMinimum is the number of assertions that must bear on the entity's own
// resources: half the minimum, rounded up (§5.7).
func (t Task) OwnMinimum() int { return t.Minimum/2 + t.Minimum%2 }

// Target is what a task examines. Which members are set depends on the track.
type Target struct {
	// Object is the target as published, unknown members included.
	Object *canonjson.Object
	// Entity, Activity and Date are those of conformite: a bare reference, the
	// activity's name, the examination date as YYYY-MM-DD.
	Entity, Activity, Date string
	// Category is that of generique.
	Category string
	// References are the resource paths that the question itself cites (D3).
	References []string
}

// ParseTasks reads the tasks of a track as season.json lists them. Names are
// unique within the list; a season checks them across tracks. The error names the
// pointer at fault.
func ParseTasks(v any, track string) ([]Task, error) {
	if !Known(track) {
		return nil, fmt.Errorf("track %q is unknown: this program knows %s and %s", track, Conformite, Generique)
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("the tasks are %s: they must be an array", canonjson.Kind(v))
	}
	tasks := make([]Task, 0, len(items))
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		at := fmt.Sprintf("/%d", i)
		task, err := parseTask(item, at, track)
		if err != nil {
			return nil, err
		}
		if seen[task.ID] {
			return nil, fmt.Errorf("%s/task_id: %q is there twice: each task needs a name of its own", at, task.ID)
		}
		seen[task.ID] = true
		tasks = append(tasks, task)
	}
	return tasks, nil
}

func parseTask(v any, at, track string) (Task, error) {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return Task{}, fmt.Errorf("%s is %s: a task must be an object", at, canonjson.Kind(v))
	}
	var t Task
	var err error
	if t.ID, err = text(o, at, "task_id"); err != nil {
		return Task{}, err
	}
	if !isTaskID(t.ID) {
		return Task{}, fmt.Errorf("%s/task_id is %q: it must be 1 to 64 of a-z, 0-9 and -, not starting with -", at, t.ID)
	}
	question, err := member[*canonjson.Object](o, at, "question", `an object with "fr" and "en"`)
	if err != nil {
		return Task{}, err
	}
	t.Question = map[string]string{}
	for _, language := range []string{"fr", "en"} {
		if t.Question[language], err = member[string](question, at+"/question", language, "a string"); err != nil {
			return Task{}, err
		}
	}
	target, err := member[*canonjson.Object](o, at, "target", "an object")
	if err != nil {
		return Task{}, err
	}
	if t.Target, err = parseTarget(target, at+"/target", track); err != nil {
		return Task{}, err
	}
	if t.Minimum, err = bound(o, at, "minimum", 1); err != nil {
		return Task{}, err
	}
	if t.Cap, err = bound(o, at, "cap", t.Minimum); err != nil {
		return Task{}, err
	}
	return t, nil
}

func parseTarget(o *canonjson.Object, at, track string) (Target, error) {
	t := Target{Object: o}
	var err error
	if track == Generique {
		if t.Category, err = text(o, at, "categorie"); err != nil {
			return Target{}, err
		}
	} else if err = parseExamination(&t, o, at); err != nil {
		return Target{}, err
	}
	cited, ok := o.Get("references")
	if !ok {
		return t, nil
	}
	if t.References, err = texts(cited, at+"/references"); err != nil {
		return Target{}, err
	}
	for i, resource := range t.References {
		if !strings.HasPrefix(resource, "/") {
			return Target{}, fmt.Errorf("%s/references/%d is %q: it must be a resource path that starts with /", at, i, resource)
		}
	}
	return t, nil
}

func parseExamination(t *Target, o *canonjson.Object, at string) error {
	var err error
	if t.Entity, err = text(o, at, "entite"); err != nil {
		return err
	}
	if strings.Contains(t.Entity, "/") {
		return fmt.Errorf("%s/entite is %q: it must be a bare reference, such as ENT-0007", at, t.Entity)
	}
	if t.Activity, err = text(o, at, "activite"); err != nil {
		return err
	}
	if t.Date, err = text(o, at, "date_examen"); err != nil {
		return err
	}
	if !calendarDay(t.Date) {
		return fmt.Errorf("%s/date_examen is %q: it must be a day that exists, as YYYY-MM-DD", at, t.Date)
	}
	return nil
}

// bound reads a number of assertions: any integer of the format (bundle format
// §1), at least as large as least. No submission has as many assertions as an int
// of a smaller machine counts, so a bound beyond that means the same as the
// largest.
func bound(o *canonjson.Object, at, name string, least int) (int, error) {
	n, err := member[canonjson.Int](o, at, name, "an integer")
	if err != nil {
		return 0, err
	}
	i, ok := n.Int64()
	if !ok || i < int64(least) {
		return 0, fmt.Errorf("%s/%s is %s: it must be an integer from %d to %d", at, name, n, least, int64(math.MaxInt64))
	}
	return int(min(i, math.MaxInt)), nil
}

func isTaskID(s string) bool {
	if s == "" || len(s) > 64 || s[0] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
