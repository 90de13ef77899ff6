package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Collections of the compliance corpus (design §2).
const (
	referentielPath = "/referentiel"
	entityPrefix    = "/entites/"
	licencePrefix   = "/agrements/"
	certPrefix      = "/attestations/"
	riderPrefix     = "/avenants/"
	registerPrefix  = "/listes/agrees/"
	measuresFirst   = "/mesures-restrictives/1"
)

// target is what a compliance task examines.
type target struct {
	entity, activity, date string
	references             []string
}

func parseTarget(t Task) (target, error) {
	v, err := canonjson.Parse(t.Target)
	if err != nil {
		return target{}, fmt.Errorf("task %s: target: %w", t.TaskID, err)
	}
	out := target{entity: word(v, "entite"), activity: word(v, "activite"), date: word(v, "date_examen"), references: texts(v, "references")}
	if out.entity == "" || out.activity == "" || out.date == "" {
		return target{}, fmt.Errorf("task %s: target has no entite, activite or date_examen", t.TaskID)
	}
	return out, nil
}

func (t target) record() string   { return entityPrefix + t.entity }
func (t target) register() string { return registerPrefix + t.activity + "/1" }

// conformite is the track that the reference agents know.
const conformite = "conformite"

// desk is what a reference agent has when it sits down to one task.
type desk struct {
	client *Client
	notes  *notebook
	track  TrackWork
	task   Task
	target target
}

// answer is what an agent concludes for a task.
type answer struct {
	verdict    string
	assertions []Assertion
	narrative  string
}

// tasksAtOnce is how many tasks an agent has open at a time.
const tasksAtOnce = 4

// perTask makes a reference run of what an agent does for one compliance task. A
// task that fails does not stop the others; all errors are returned at the end. A
// track that the agent does not know is an error as well.
func perTask(solve func(ctx context.Context, d *desk) (answer, error)) func(context.Context, *Client, *Work) error {
	return func(ctx context.Context, c *Client, w *Work) error {
		var errs []error
		for _, name := range sortedTracks(w) {
			if name != conformite {
				errs = append(errs, fmt.Errorf("track %s: the reference agents know %s only", oneLine(name), conformite))
				continue
			}
			errs = append(errs, runTrack(ctx, c, w.Tracks[name], solve))
		}
		return errors.Join(errs...)
	}
}

func sortedTracks(w *Work) []string {
	var names []string
	for name := range w.Tracks {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func runTrack(ctx context.Context, c *Client, track TrackWork, solve func(context.Context, *desk) (answer, error)) error {
	notes := newNotebook(c, track.CorpusHost)
	var wg sync.WaitGroup
	slots := make(chan struct{}, tasksAtOnce)
	errs := make([]error, len(track.Tasks))
	for i, task := range track.Tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = runTask(ctx, &desk{client: c, notes: notes, track: track, task: task}, solve)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func runTask(ctx context.Context, d *desk, solve func(context.Context, *desk) (answer, error)) error {
	var err error
	if d.target, err = parseTarget(d.task); err != nil {
		return err
	}
	a, err := solve(ctx, d)
	if err != nil {
		return fmt.Errorf("task %s: %w", d.task.TaskID, err)
	}
	if len(a.assertions) > d.task.Cap {
		a.assertions = a.assertions[:d.task.Cap]
	}
	return d.client.Submit(ctx, Submission{
		Track: conformite, TaskID: d.task.TaskID, Verdict: a.verdict, Assertions: a.assertions, Narrative: a.narrative,
	})
}

// isOwn reports whether a resource of the task's graph concerns the entity alone
// (§5.2): everything but the two common lists.
func isOwn(resource string) bool {
	return !strings.HasPrefix(resource, registerPrefix) && !strings.HasPrefix(resource, "/mesures-restrictives/")
}
