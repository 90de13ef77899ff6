package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
	oracle "github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// altered is a corpus with some values changed: the frozen view under a map.
type altered struct {
	view    *corpus.View
	changed map[string]any
}

func (a altered) Value(resource string) (any, bool) {
	if v, ok := a.changed[resource]; ok {
		return v, true
	}
	return a.view.Value(resource)
}

func (a altered) String() string {
	var b strings.Builder
	for r, v := range a.changed {
		fmt.Fprintf(&b, "%s %s\n", r, canonjson.Compact(v))
	}
	return b.String()
}

// notes is a notebook that holds everything already; it makes no call.
func (a altered) notes() *notebook {
	b := newNotebook(nil, "")
	done := make(chan struct{})
	close(done)
	for _, r := range append(a.view.Resources(), "/agrements/AGR-0000", "/attestations/ATT-0000", "/avenants/AVN-0000") {
		v, ok := a.Value(r)
		if !ok {
			v = canonjson.NewObject("existe", false, "resource", r)
		}
		b.kept[r] = &note{done: done, page: &page{path: r, body: v, proof: "prf_20260921_101233_000000"}}
	}
	return b
}

// alter changes one member of a resource to something that its rules have to say
// something about.
func alter(lot *rand.Rand, v any, resource string) any {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return v
	}
	if lot.IntN(8) == 0 {
		return canonjson.NewObject("existe", false, "resource", resource)
	}
	o = o.Clone()
	names := slices.DeleteFunc(o.Names(), func(n string) bool { return n == "resource" || n == "page_suivante" })
	name := names[lot.IntN(len(names))]
	old, _ := o.Get(name)
	pick := func(values ...any) any { return values[lot.IntN(len(values))] }
	switch {
	case strings.HasPrefix(name, "date_"), strings.HasPrefix(name, "nouvelle_"):
		o.Set(name, pick(nil, "2020-01-01", "2026-09-30", "2031-12-31", "2026-10-01"))
	case name == "statut", name == "statut_declaration":
		o.Set(name, pick("active", "suspendue", "valide", "suspendu", "retire", "complete", "partielle", nil, true))
	case name == "beneficiaires":
		o.Set(name, pick(nil, true, "/mesures-restrictives/1"))
	case name == "agrements", name == "attestations", name == "avenants":
		list, _ := old.([]any)
		absent := map[string]string{"agrements": "AGR-0000", "attestations": "ATT-0000", "avenants": "AVN-0000"}[name]
		o.Set(name, pick([]any{}, append(slices.Clone(list), absent), append([]any{absent}, list...), append([]any{true}, list...)))
	case name == "entrees":
		list, _ := old.([]any)
		list = slices.Clone(list)
		if len(list) > 0 {
			i := lot.IntN(len(list))
			list[i] = pick(nil, alter(lot, list[i], resource), canonjson.NewObject("nom", "X", "prenoms", "Y", "date_naissance", nil))
		}
		o.Set(name, list)
	case name == "existe":
		o.Set(name, pick(false, true))
	default:
		o.Set(name, pick(nil, "autre", old))
	}
	return o
}

// The Reader's rules were written from the published text, the key's from the
// same table: on corpora that no composition would make they still agree.
func TestReaderAgreesWithTheKeysEvaluationOnAlteredCorpora(t *testing.T) {
	s := newStandIn(t, practice())
	lot := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for round := range 1000 {
		task := s.tasks[round%len(s.tasks)]
		graph, err := track.BuildGraph(track.Conformite, task.Target, s.view)
		check(t, err)
		resources := slices.Sorted(graph.Resources())
		c := altered{s.view, map[string]any{}}
		for range 1 + lot.IntN(3) {
			r := resources[lot.IntN(len(resources))]
			v, _ := c.Value(r)
			c.changed[r] = alter(lot, v, r)
		}
		rules, err := s.view.Referentiel()
		check(t, err)
		want, err := oracle.Evaluate(c, task.Target, rules)
		check(t, err)
		f, err := compile(t.Context(), &desk{notes: c.notes(), target: target{
			entity: task.Target.Entity, activity: task.Target.Activity, date: task.Target.Date, references: task.Target.References,
		}})
		check(t, err)
		criteria := f.evaluate()
		var same [5]oracle.State // Both count from false over open to true.
		for i, c := range criteria {
			same[i] = oracle.State(c)
		}
		if got, want := fmt.Sprint(same), fmt.Sprint(want.Criteria); got != want {
			t.Fatalf("round %d, %s: criteria %s, want %s\n%s", round, task.ID, got, want, c)
		}
		if got := f.verdict(criteria); got != want.Verdict {
			t.Fatalf("round %d, %s: %s, want %s", round, task.ID, got, want.Verdict)
		}
		seen[want.Verdict]++
		asserted := map[string]bool{}
		for _, a := range f.ground(criteria) {
			asserted[bundle.TripletKey(bundle.Triplet{Resource: a.Resource, Field: a.Field, Value: a.Value})] = true
		}
		for _, fact := range want.Facts {
			if !slices.ContainsFunc(append([]oracle.Fact{fact}, fact.Equivalents...), func(f oracle.Fact) bool {
				if v, ok := c.Value(f.Resource); ok {
					if _, there := canonjson.Resolve(v, f.Field); !there {
						return true // No agent can assert a member that is not there.
					}
				}
				return asserted[bundle.TripletKey(bundle.Triplet{Resource: f.Resource, Field: f.Field, Value: f.Value})]
			}) {
				t.Fatalf("round %d, %s: the fact %s%s is not asserted\n%s", round, task.ID, fact.Resource, fact.Field, c)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("the alterations lead to %v, want all three verdicts", seen)
	}
}
