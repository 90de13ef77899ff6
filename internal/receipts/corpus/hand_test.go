package corpus_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// hand changes a good corpus by hand, keeping everything else in step.
type hand struct {
	testing.TB
	*corpus.Corpus
}

func (h hand) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h hand) remanifest() {
	h.Helper()
	data, err := corpus.ManifestFor(h.Files, h.Host, nil)
	h.must(err)
	h.Manifest = data
}

func file(resource string) string { return resource[1:] + ".json" }

func (h hand) body(resource string) *canonjson.Object {
	h.Helper()
	v, err := canonjson.Parse(h.Files[file(resource)])
	h.must(err)
	return v.(*canonjson.Object)
}

func (h hand) put(resource string, o *canonjson.Object) {
	h.Helper()
	h.Files[file(resource)] = canonjson.Compact(o)
	h.remanifest()
}

// set changes one member of a resource.
func (h hand) set(resource, name string, value any) {
	h.Helper()
	o := h.body(resource)
	o.Set(name, value)
	h.put(resource, o)
}

// answer changes one task of the key.
func (h hand) answer(id string, change func(*canonjson.Object)) {
	h.Helper()
	key := parse(h, h.Key)
	change(member(key, "tasks", id).(*canonjson.Object))
	h.Key = canonjson.Compact(key)
}

// task changes one task as published.
func (h hand) task(i int, change func(*canonjson.Object)) {
	h.Helper()
	list := parse(h, h.Tasks).([]any)
	change(list[i].(*canonjson.Object))
	h.Tasks = canonjson.Compact(list)
}

// rekey lets the evaluation rules answer again.
func (h hand) rekey() {
	h.Helper()
	view, err := h.View()
	h.must(err)
	rules, err := view.Referentiel()
	h.must(err)
	for _, t := range tasks(h, h.Corpus) {
		result, err := conformite.Evaluate(view, t.Target, rules)
		h.must(err)
		facts := make([]any, len(result.Facts))
		for i, f := range result.Facts {
			facts[i] = f.Object()
		}
		h.answer(t.ID, func(o *canonjson.Object) { o.Set("verdict", result.Verdict); o.Set("facts", facts) })
	}
}

// find returns the first task that the key describes so.
func (h hand) find(is func(verdict string, families []string, control bool, t track.Task) bool) (int, track.Task) {
	h.Helper()
	key := parse(h, h.Key)
	for i, t := range tasks(h, h.Corpus) {
		a := member(key, "tasks", t.ID)
		var families []string
		for _, f := range member(a, "families").([]any) {
			families = append(families, f.(string))
		}
		if is(member(a, "verdict").(string), families, member(a, "control").(bool), t) {
			return i, t
		}
	}
	h.Fatal("no such task")
	return 0, track.Task{}
}

// suspended is the task of a suspended entity with an absent attestation quoted:
// its verdict hangs on one status, so other things about it can be changed alone.
func (h hand) suspended() (int, track.Task) {
	h.Helper()
	return h.find(func(verdict string, families []string, _ bool, _ track.Task) bool {
		return verdict == "non_conforme" && slices.Equal(families, []string{"P1"})
	})
}

// citing is the task whose question cites a reference that exists.
func (h hand) citing() (int, track.Task) {
	h.Helper()
	return h.find(func(_ string, _ []string, _ bool, t track.Task) bool {
		return len(t.Target.References) > 0 && h.body(t.Target.References[0]).Len() > 2
	})
}

func (h hand) control() track.Task {
	h.Helper()
	_, t := h.find(func(_ string, _ []string, control bool, _ track.Task) bool { return control })
	return t
}

// unasked is a resource below a prefix that nothing about the tasks touches and
// that satisfies want.
func (h hand) unasked(prefix string, want func(resource string, body *canonjson.Object) bool) string {
	h.Helper()
	asked := map[any]bool{}
	for _, t := range tasks(h, h.Corpus) {
		asked[t.Target.Entity] = true
	}
	for _, name := range slices.Sorted(maps.Keys(h.Files)) {
		resource := "/" + strings.TrimSuffix(name, ".json")
		if !strings.HasPrefix(resource, prefix) {
			continue
		}
		o := h.body(resource)
		if asked[member(o, "entite")] || asked[strings.TrimPrefix(resource, "/entites/")] || !want(resource, o) {
			continue
		}
		return resource
	}
	h.Fatalf("nothing below %s", prefix)
	return ""
}

// spread writes the restrictive measures again on the pages there are, in order.
func (h hand) spread(first []any) {
	h.Helper()
	all := slices.Clone(first)
	pages := []string{"/mesures-restrictives/1", "/mesures-restrictives/2", "/mesures-restrictives/3"}
	for _, page := range pages[1:] {
		all = append(all, member(h.body(page), "entrees").([]any)...)
	}
	slices.SortFunc(all, func(a, b any) int {
		key := func(e any) string {
			born, _ := member(e, "date_naissance").(string)
			return member(e, "nom").(string) + "\x00" + member(e, "prenoms").(string) + "\x00" + born
		}
		return strings.Compare(key(a), key(b))
	})
	size := (len(all) + 2) / 3
	for i, page := range pages {
		o := h.body(page)
		o.Set("entrees", slices.Clone(all[i*size:min((i+1)*size, len(all))]))
		h.put(page, o)
	}
}

// renumber exchanges entity numbers throughout the corpus, so that those of the
// tasks ascend with the tasks, or stand side by side in a mixed order.
func (h hand) renumber(ascending bool) {
	h.Helper()
	var all, asked []string
	for name := range h.Files {
		if ref, ok := strings.CutPrefix(name, "entites/"); ok {
			all = append(all, strings.TrimSuffix(ref, ".json"))
		}
	}
	slices.Sort(all)
	for _, t := range tasks(h, h.Corpus) {
		asked = append(asked, t.Target.Entity)
	}
	to := slices.Sorted(slices.Values(asked))
	if !ascending {
		to = slices.Clone(all[20 : 20+len(asked)])
		to[0], to[5] = to[5], to[0]
	}
	moved := map[string]string{}
	for i, ref := range asked {
		moved[ref] = to[i]
	}
	// What gives up its number takes one that has become free.
	var free []string
	for _, ref := range asked {
		if !slices.Contains(to, ref) {
			free = append(free, ref)
		}
	}
	for _, ref := range to {
		if moved[ref] == "" {
			moved[ref], free = free[0], free[1:]
		}
	}
	var pairs []string
	for from, to := range moved {
		pairs = append(pairs, from, to)
	}
	replace := strings.NewReplacer(pairs...)
	files := map[string][]byte{}
	for name, body := range h.Files {
		files[replace.Replace(name)] = []byte(replace.Replace(string(body)))
	}
	h.Files = files
	h.Tasks, h.Key = []byte(replace.Replace(string(h.Tasks))), []byte(replace.Replace(string(h.Key)))
	h.remanifest()
}

// exchange exchanges the content of two tasks, whose numbers and bounds stay.
func (h hand) exchange(i, j int) {
	h.Helper()
	list := parse(h, h.Tasks).([]any)
	a, b := list[i].(*canonjson.Object), list[j].(*canonjson.Object)
	words := func(o *canonjson.Object, format string) string {
		return fmt.Sprintf(format, member(o, "minimum"), member(o, "cap"))
	}
	for _, name := range []string{"question", "target"} {
		va, vb := member(a, name), member(b, name)
		a.Set(name, vb)
		b.Set(name, va)
	}
	for language, format := range map[string]string{"fr": "avec %s à %s", "en": "with %s to %s"} {
		for _, pair := range [][2]*canonjson.Object{{a, b}, {b, a}} {
			q := member(pair[0], "question").(*canonjson.Object)
			q.Set(language, strings.ReplaceAll(member(q, language).(string), words(pair[1], format), words(pair[0], format)))
		}
	}
	h.Tasks = canonjson.Compact(list)
	key := parse(h, h.Key)
	answers := member(key, "tasks").(*canonjson.Object)
	ia, ib := member(a, "task_id").(string), member(b, "task_id").(string)
	va, vb := member(answers, ia), member(answers, ib)
	answers.Set(ia, vb)
	answers.Set(ib, va)
	h.Key = canonjson.Compact(key)
}
