package track_test

import (
	"math"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
)

const taskText = `[{"task_id":"conf-01","question":{"fr":"Oui ?","en":"Yes?"},
"target":{"entite":"ENT-0007","activite":"courtage","date_examen":"2026-09-02","references":["/attestations/ATT-1"],"x":true},
"minimum":3,"cap":6}]`

func TestSection2TasksAreReadWithTargetAndBounds(t *testing.T) {
	t.Parallel()
	tasks, err := track.ParseTasks(parse(t, taskText), track.Conformite)
	if err != nil {
		t.Fatal(err)
	}
	got := tasks[0]
	if got.ID != "conf-01" || got.Minimum != 3 || got.Cap != 6 || got.Question["en"] != "Yes?" {
		t.Errorf("task read as %+v", got)
	}
	if got.Target.Entity != "ENT-0007" || got.Target.Activity != "courtage" || got.Target.Date != "2026-09-02" || len(got.Target.References) != 1 {
		t.Errorf("target read as %+v", got.Target)
	}
	if !got.Target.Object.Has("x") {
		t.Error("the target lost an unknown member, which the rules hash covers")
	}
}

func TestSection57OwnMinimumIsHalfRoundedUp(t *testing.T) {
	t.Parallel()
	for minimum, want := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3} {
		if got := (track.Task{Minimum: minimum}).OwnMinimum(); got != want {
			t.Errorf("minimum %d asks for %d own assertions, want %d", minimum, got, want)
		}
	}
}

func TestParseTasksNamesTheMemberAtFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"a name in upper case", `conf-01`, `Conf-01`, "/0/task_id"},
		{"a missing English question", `,"en":"Yes?"`, ``, "/0/question/en is missing"},
		{"a target that is no object", `"target":{`, `"target":1,"t":{`, "/0/target is an integer"},
		{"an entity with a path", `ENT-0007`, `/entites/ENT-0007`, "/0/target/entite"},
		{"a day that does not exist", `2026-09-02`, `2026-02-30`, "/0/target/date_examen"},
		{"a reference without a slash", `"/attestations/ATT-1"`, `"ATT-1"`, "/0/target/references/0"},
		{"references that are null", `["/attestations/ATT-1"]`, `null`, "/0/target/references is null"},
		{"a minimum of zero", `"minimum":3`, `"minimum":0`, "/0/minimum"},
		{"a minimum with a fraction", `"minimum":3`, `"minimum":3.0`, "/0/minimum is a number with a fraction"},
		{"a cap below the minimum", `"cap":6`, `"cap":2`, "/0/cap"},
		{"a cap past the integers of the format", `"cap":6`, `"cap":9223372036854775808`, "/0/cap"},
		{"a minimum past the integers of the format", `"minimum":3`, `"minimum":99999999999999999999`, "/0/minimum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(taskText, c.from, c.to, 1)
			if text == taskText {
				t.Fatal("the case changes nothing")
			}
			_, err := track.ParseTasks(parse(t, text), track.Conformite)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want it to say %q", err, c.want)
			}
		})
	}
	twice := taskText[:len(taskText)-1] + "," + taskText[1:]
	if _, err := track.ParseTasks(parse(t, twice), track.Conformite); err == nil || !strings.Contains(err.Error(), "/1/task_id") {
		t.Errorf("the same name twice: %v", err)
	}
	if _, err := track.ParseTasks(parse(t, taskText), "other"); err == nil {
		t.Error("an unknown track was accepted")
	}
	if _, err := track.ParseTasks(parse(t, taskText), track.Generique); err == nil || !strings.Contains(err.Error(), "/0/target/categorie") {
		t.Errorf("a compliance target in the generic track: %v", err)
	}
}

func TestBundleSection1BoundsMayBeAnyIntegerOfTheFormat(t *testing.T) {
	t.Parallel()
	const largest = "9223372036854775807" // 2^63 - 1
	text := strings.Replace(taskText, `"cap":6`, `"cap":`+largest, 1)
	tasks, err := track.ParseTasks(parse(t, text), track.Conformite)
	if err != nil {
		t.Fatal(err)
	}
	if tasks[0].Cap != math.MaxInt {
		t.Errorf("the cap reads as %d, want the largest count there is", tasks[0].Cap)
	}
	tasks, err = track.ParseTasks(parse(t, strings.Replace(text, `"minimum":3`, `"minimum":`+largest, 1)), track.Conformite)
	if err != nil {
		t.Fatal(err)
	}
	// Half of it, rounded up: the sum must not run over.
	if got, want := tasks[0].OwnMinimum(), math.MaxInt/2+1; got != want {
		t.Errorf("a minimum of %s asks for %d own assertions, want %d", largest, got, want)
	}
}

func FuzzParseTasks(f *testing.F) {
	f.Add([]byte(taskText), true)
	f.Add([]byte(`[{"task_id":"gen-01","question":{"fr":"","en":""},"target":{"categorie":"velos"},"minimum":1,"cap":1}]`), false)
	f.Add([]byte(`{}`), true)
	f.Fuzz(func(t *testing.T, data []byte, conformite bool) {
		v, err := canonjson.Parse(data)
		if err != nil {
			return
		}
		name := track.Generique
		if conformite {
			name = track.Conformite
		}
		tasks, err := track.ParseTasks(v, name)
		if err != nil {
			return
		}
		for _, task := range tasks {
			if task.Minimum < 1 || task.Cap < task.Minimum || task.OwnMinimum() > task.Minimum || task.Target.Object == nil {
				t.Errorf("task %q read with bounds %d to %d", task.ID, task.Minimum, task.Cap)
			}
			if _, err := track.BuildGraph(name, task.Target, frozen{}); err != nil {
				t.Errorf("no graph: %v", err)
			}
		}
	})
}
