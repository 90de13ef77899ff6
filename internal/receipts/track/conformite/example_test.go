package conformite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// TestSection53VerdictsAgreeWithAnIndependentKey evaluates a corpus that another
// implementation made, and compares with the verdicts that its author put down.
func TestSection53VerdictsAgreeWithAnIndependentKey(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "example.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := canonjson.ParseStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) any { m, _ := v.(*canonjson.Object).Get(name); return m }
	files := get("files").(*canonjson.Object)
	table, _ := files.Get(conformite.ReferentielPath)
	rules, err := conformite.ParseReferentiel(table)
	if err != nil {
		t.Fatal(err)
	}
	list, err := track.ParseTasks(get("tasks"), track.Conformite)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 10 {
		t.Fatalf("%d tasks", len(list))
	}
	for _, task := range list {
		result, err := conformite.Evaluate(frozen{files}, task.Target, rules)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := get("verdicts").(*canonjson.Object).Get(task.ID)
		if any(result.Verdict) != want {
			t.Errorf("%s: %s, the independent key says %v", task.ID, result.Verdict, want)
		}
		g, err := track.BuildGraph(track.Conformite, task.Target, frozen{files})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range result.Facts {
			got, ok := canonjson.Resolve(value(files, f.Resource), f.Field)
			if !g.Contains(f.Resource) || !g.Concerns(f.Resource, f.Field) || !ok || !canonjson.Equal(got, f.Value) {
				t.Errorf("%s: fact %s%s is outside the graph or not what the file says", task.ID, f.Resource, f.Field)
			}
		}
	}
}

type frozen struct{ files *canonjson.Object }

func (f frozen) Value(resource string) (any, bool) { return f.files.Get(resource) }

func value(files *canonjson.Object, resource string) any {
	v, _ := files.Get(resource)
	return v
}
