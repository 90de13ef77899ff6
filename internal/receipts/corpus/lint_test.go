package corpus_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/corpus"
	"github.com/prova-dev/prova/internal/receipts/track"
)

func rulesOf(faults []corpus.Fault) map[string]bool {
	out := map[string]bool{}
	for _, f := range faults {
		out[f.Rule] = true
	}
	return out
}

func anyRecord(string, *canonjson.Object) bool { return true }

func TestDesignSection2LintOfAComposition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rule string
		spoil      func(h hand)
		// task, resource and pointer that the fault must name; "" asks for nothing.
		resource, pointer string
		perTask           bool
	}{
		{name: "a manifest that is not that of the files", rule: corpus.RuleManifest, resource: "manifest.json", spoil: func(h hand) {
			h.Manifest = bytes.Replace(h.Manifest, []byte(`"request_sha256":"`), []byte(`"request_sha256":"0`), 1)
		}},
		{name: "a file that the manifest leaves out", rule: corpus.RuleManifest, resource: "manifest.json", spoil: func(h hand) {
			h.Files["autre.json"] = []byte(`{"resource":"/autre"}`)
		}},
		{name: "a body without its path", rule: corpus.RuleBody, resource: "/_systeme/404", pointer: "/resource", spoil: func(h hand) {
			h.Files["_systeme/404.json"] = []byte(`{"erreur":"x","resource":"/autre"}`)
		}},
		{name: "an empty body", rule: corpus.RuleBody, resource: "/_systeme/404", spoil: func(h hand) {
			h.Files["_systeme/404.json"] = []byte(`{}`)
		}},
		{name: "a body that is no JSON", rule: corpus.RuleBody, resource: "/_systeme/404", spoil: func(h hand) {
			h.Files["_systeme/404.json"] = []byte(`<html>`)
		}},
		{name: "a number", rule: corpus.RuleNumbers, resource: "/referentiel", pointer: "/seuils/0", spoil: func(h hand) {
			h.set("/referentiel", "seuils", []any{canonjson.NewInt(7)})
		}},
		{name: "a member too many", rule: corpus.RuleSchema, resource: "/agrements/", spoil: func(h hand) {
			h.set(h.unasked("/agrements/", func(_ string, o *canonjson.Object) bool { return o.Len() > 2 }), "note", "x")
		}},
		{name: "a status that is none", rule: corpus.RuleSchema, resource: "/entites/", pointer: "/statut", spoil: func(h hand) {
			h.set(h.unasked("/entites/", anyRecord), "statut", "dissoute")
		}},
		{name: "an entry without its statut", rule: corpus.RuleSchema, resource: "/mesures-restrictives/1", pointer: "/entrees", spoil: func(h hand) {
			o := h.body("/mesures-restrictives/1")
			list := member(o, "entrees").([]any)
			list[0].(*canonjson.Object).Delete("motif")
			h.put("/mesures-restrictives/1", o)
		}},
		{name: "a page chain in a circle", rule: corpus.RuleChain, resource: "/mesures-restrictives/3", pointer: "/page_suivante", spoil: func(h hand) {
			h.set("/mesures-restrictives/3", "page_suivante", "/mesures-restrictives/1")
		}},
		{name: "a page that no chain leads to", rule: corpus.RuleChain, resource: "/mesures-restrictives/9", spoil: func(h hand) {
			h.put("/mesures-restrictives/9", canonjson.NewObject("entrees", []any{}, "page_suivante", nil, "resource", "/mesures-restrictives/9"))
		}},
		{name: "a reference that the manifest lacks", rule: corpus.RuleCited, resource: "/entites/", spoil: func(h hand) {
			entity := h.unasked("/entites/", func(_ string, o *canonjson.Object) bool { return len(member(o, "agrements").([]any)) > 0 })
			refs := member(h.body(entity), "agrements").([]any)
			last := refs[len(refs)-1].(string)
			h.set(entity, "agrements", append(slices.Clone(refs), last+"0"))
		}},
		{name: "references out of order", rule: corpus.RuleOrder, resource: "/entites/", pointer: "/attestations/1", spoil: func(h hand) {
			entity := h.unasked("/entites/", func(_ string, o *canonjson.Object) bool { return len(member(o, "attestations").([]any)) == 2 })
			refs := slices.Clone(member(h.body(entity), "attestations").([]any))
			slices.Reverse(refs)
			h.set(entity, "attestations", refs)
		}},
		{name: "a list out of order", rule: corpus.RuleOrder, resource: "/listes/agrees/", spoil: func(h hand) {
			asked := map[any]bool{}
			for _, t := range tasks(h, h.Corpus) {
				asked[t.Target.Entity] = true
			}
			free := func(list []any) int {
				return slices.IndexFunc(list[:max(0, len(list)-1)], func(e any) bool {
					i := slices.Index(list, e)
					return !asked[member(e, "entite")] && !asked[member(list[i+1], "entite")]
				})
			}
			page := h.unasked("/listes/", func(_ string, o *canonjson.Object) bool { return free(member(o, "entrees").([]any)) >= 0 })
			o := h.body(page)
			list := member(o, "entrees").([]any)
			i := free(list)
			list[i], list[i+1] = list[i+1], list[i]
			h.put(page, o)
		}},
		{name: "a company that is not invented", rule: corpus.RuleNames, resource: "/entites/", pointer: "/denomination", spoil: func(h hand) {
			h.set(h.unasked("/entites/", anyRecord), "denomination", "Banque Nationale")
		}},
		{name: "a person that is not invented", rule: corpus.RuleNames, resource: "/mesures-restrictives/1", pointer: "/entrees/0/nom", spoil: func(h hand) {
			o := h.body("/mesures-restrictives/1")
			member(o, "entrees").([]any)[0].(*canonjson.Object).Set("nom", "Aa")
			h.put("/mesures-restrictives/1", o)
		}},
		{name: "an absent reference that nothing cites", rule: corpus.RuleAbsent, resource: "/agrements/", spoil: func(h hand) {
			for n := 5000; ; n++ {
				resource := fmt.Sprintf("/agrements/AGR-%d", n)
				if h.Files[file(resource)] == nil {
					h.put(resource, canonjson.NewObject("existe", false, "resource", resource))
					return
				}
			}
		}},
		{name: "an absent reference outside the numbers", rule: corpus.RuleAbsent, resource: "/agrements/AGR-9999", spoil: func(h hand) {
			entity := h.unasked("/entites/", anyRecord)
			h.Files[file("/agrements/AGR-9999")] = []byte(`{"existe":false,"resource":"/agrements/AGR-9999"}`)
			h.set(entity, "agrements", append(slices.Clone(member(h.body(entity), "agrements").([]any)), "AGR-9999"))
		}},
		{name: "an absent reference of another length", rule: corpus.RuleAbsent, resource: "/agrements/AGR-50000", spoil: func(h hand) {
			entity := h.unasked("/entites/", anyRecord)
			h.Files[file("/agrements/AGR-50000")] = []byte(`{"existe":false,"resource":"/agrements/AGR-50000"}`)
			refs := append(slices.Clone(member(h.body(entity), "agrements").([]any)), "AGR-50000")
			slices.SortFunc(refs, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			h.set(entity, "agrements", refs)
		}},
		{name: "another text of the rules", rule: corpus.RuleRules, resource: "rules.md", spoil: func(h hand) {
			h.RulesText = append(slices.Clone(h.RulesText), ' ')
		}},
		{name: "a probative field more", rule: corpus.RuleRules, resource: "rules.json", spoil: func(h hand) {
			h.Rules = bytes.Replace(h.Rules, []byte(`"/existe",`), []byte(`"/existe","/siege",`), 1)
		}},
		{name: "tasks out of their order", rule: corpus.RuleTasks, resource: "tasks.json", perTask: true, spoil: func(h hand) {
			list := parse(h, h.Tasks).([]any)
			list[1], list[3] = list[3], list[1]
			h.Tasks = canonjson.Compact(list)
		}},
		{name: "a question that leaves out the date", rule: corpus.RuleQuestion, resource: "tasks.json", pointer: "/4/question/en", perTask: true, spoil: func(h hand) {
			date, err := time.Parse(time.DateOnly, tasks(h, h.Corpus)[4].Target.Date)
			h.must(err)
			h.task(4, func(o *canonjson.Object) {
				q := member(o, "question").(*canonjson.Object)
				q.Set("en", strings.ReplaceAll(member(q, "en").(string), date.Format("2 January 2006"), "today"))
			})
		}},
		{name: "a question that cites the evaluation rules", rule: corpus.RuleReferences, resource: "tasks.json", perTask: true, spoil: func(h hand) {
			i, _ := h.citing()
			h.task(i, func(o *canonjson.Object) {
				target := member(o, "target").(*canonjson.Object)
				target.Set("references", append(slices.Clone(member(target, "references").([]any)), "/referentiel"))
			})
		}},
		{name: "a question that cites another entity's licence", rule: corpus.RuleReferences, resource: "tasks.json", perTask: true, spoil: func(h hand) {
			i, _ := h.citing()
			other := h.unasked("/agrements/", func(_ string, o *canonjson.Object) bool { return o.Len() > 2 })
			h.task(i, func(o *canonjson.Object) {
				target := member(o, "target").(*canonjson.Object)
				target.Set("references", append(slices.Clone(member(target, "references").([]any)), other))
				q := member(o, "question").(*canonjson.Object)
				for _, language := range []string{"fr", "en"} {
					q.Set(language, member(q, language).(string)+" "+other)
				}
			})
		}},
		{name: "more tasks that cite existing references than absent ones", rule: corpus.RuleReferTell, resource: "tasks.json", spoil: func(h hand) {
			i, task := h.find(func(_ string, _ []string, control bool, t track.Task) bool {
				return !control && len(t.Target.References) == 0
			})
			ref := "/agrements/" + member(h.body("/entites/"+task.Target.Entity), "agrements").([]any)[0].(string)
			h.task(i, func(o *canonjson.Object) {
				member(o, "target").(*canonjson.Object).Set("references", []any{ref})
				q := member(o, "question").(*canonjson.Object)
				for _, language := range []string{"fr", "en"} {
					q.Set(language, member(q, language).(string)+" "+ref)
				}
			})
			h.rekey()
		}},
		{name: "entities numbered in the order of the tasks", rule: corpus.RuleNumberTell, resource: "tasks.json", spoil: func(h hand) { h.renumber(true) }},
		{name: "entities of the tasks numbered side by side", rule: corpus.RuleNumberTell, resource: "tasks.json", spoil: func(h hand) { h.renumber(false) }},
		{name: "no key", rule: corpus.RuleKey, resource: "key.json", spoil: func(h hand) { h.Key = nil }},
		{name: "another season's key", rule: corpus.RuleKey, resource: "key.json", pointer: "/season", spoil: func(h hand) {
			h.Key = bytes.Replace(h.Key, []byte(`"season":1`), []byte(`"season":2`), 1)
		}},
		{name: "a key that lacks a task", rule: corpus.RuleKey, resource: "key.json", spoil: func(h hand) {
			h.Key = bytes.Replace(h.Key, []byte(`"conf-05"`), []byte(`"conf-55"`), 1)
		}},
		{name: "a family that is none", rule: corpus.RuleKey, resource: "key.json", perTask: true, spoil: func(h hand) {
			h.answer("conf-05", func(o *canonjson.Object) { o.Set("families", []any{"P6"}) })
		}},
		{name: "verdicts of two tasks exchanged", rule: corpus.RuleVerdict, resource: "key.json", perTask: true, spoil: func(h hand) {
			key := parse(h, h.Key)
			a, b := member(key, "tasks", "conf-01").(*canonjson.Object), member(key, "tasks", "conf-03").(*canonjson.Object)
			va, vb := member(a, "verdict"), member(b, "verdict")
			a.Set("verdict", vb)
			b.Set("verdict", va)
			h.Key = canonjson.Compact(key)
		}},
		{name: "a fact left out", rule: corpus.RuleFacts, resource: "key.json", perTask: true, spoil: func(h hand) {
			control := h.control()
			h.answer(control.ID, func(o *canonjson.Object) { o.Set("facts", member(o, "facts").([]any)[1:]) })
		}},
		{name: "more facts than the cap", rule: corpus.RuleGrounding, resource: "key.json", perTask: true, spoil: func(h hand) {
			_, t := h.find(func(verdict string, families []string, _ bool, _ track.Task) bool {
				return verdict == "conforme" && slices.Contains(families, "P5")
			})
			owner := member(h.body("/beneficiaires/"+t.Target.Entity+"/1"), "entrees").([]any)[0]
			o := h.body("/mesures-restrictives/1")
			list := slices.Clone(member(o, "entrees").([]any))
			for i := range 9 {
				list = append(list, canonjson.NewObject("nom", member(owner, "nom"), "prenoms", member(owner, "prenoms"), "date_naissance", fmt.Sprintf("19%d1-02-03", i), "motif", "x"))
			}
			h.spread(list)
			h.rekey()
		}},
		{name: "another breakdown of verdicts", rule: corpus.RuleBreakdown, resource: "key.json", spoil: func(h hand) {
			_, t := h.suspended()
			h.set("/entites/"+t.Target.Entity, "statut", "active")
			h.rekey()
		}},
		{name: "two tasks of P5", rule: corpus.RuleFamilies, resource: "key.json", spoil: func(h hand) {
			// A corpus with just two tasks of P5 alone: take the family from the others.
			for n := 0; ; n++ {
				c, err := corpus.Build(seeded(fmt.Sprint("P5", n), 30))
				h.must(err)
				key, left := parse(h, c.Key), 0
				for _, v := range member(key, "tasks").(*canonjson.Object).All() {
					families := member(v, "families").([]any)
					if len(families) > 1 {
						families = slices.DeleteFunc(slices.Clone(families), func(f any) bool { return f == any("P5") })
						v.(*canonjson.Object).Set("families", families)
					}
					if slices.Contains(families, any("P5")) {
						left++
					}
				}
				if left == 2 {
					*h.Corpus = *c
					h.Key = canonjson.Compact(key)
					return
				}
			}
		}},
		{name: "no control", rule: corpus.RuleControl, resource: "key.json", spoil: func(h hand) {
			h.answer(h.control().ID, func(o *canonjson.Object) { o.Set("control", false) })
		}},
		{name: "a control with a trap", rule: corpus.RuleControl, resource: "/entites/", perTask: true, spoil: func(h hand) {
			t := h.control()
			for _, ref := range member(h.body("/entites/"+t.Target.Entity), "agrements").([]any) {
				if member(h.body("/agrements/"+ref.(string)), "activite") == any(t.Target.Activity) {
					h.set("/agrements/"+ref.(string), "date_fin_validite", t.Target.Date)
				}
			}
			h.rekey()
		}},
		{name: "two reasons for one verdict", rule: corpus.RuleOneReason, resource: "/entites/", perTask: true, spoil: func(h hand) {
			_, t := h.suspended()
			for _, ref := range member(h.body("/entites/"+t.Target.Entity), "agrements").([]any) {
				if member(h.body("/agrements/"+ref.(string)), "activite") == any(t.Target.Activity) {
					h.set("/agrements/"+ref.(string), "statut", "retire")
				}
			}
			h.rekey()
		}},
		{name: "two list entries for one licence", rule: corpus.RuleUnambiguous, resource: "/agrements/", perTask: true, spoil: func(h hand) {
			_, t := h.suspended()
			page := h.unasked("/listes/agrees/"+t.Target.Activity, func(_ string, o *canonjson.Object) bool {
				return slices.ContainsFunc(member(o, "entrees").([]any), func(e any) bool { return member(e, "entite") == any(t.Target.Entity) })
			})
			o := h.body(page)
			list := member(o, "entrees").([]any)
			i := slices.IndexFunc(list, func(e any) bool { return member(e, "entite") == any(t.Target.Entity) })
			double := list[i].(*canonjson.Object).Clone()
			double.Set("statut", "retire")
			o.Set("entrees", slices.Insert(slices.Clone(list), i+1, any(double)))
			h.put(page, o)
		}},
		{name: "a family that tempts nobody", rule: corpus.RuleTempts, resource: "/entites/", perTask: true, spoil: func(h hand) {
			_, t := h.suspended()
			h.answer(t.ID, func(o *canonjson.Object) { o.Set("families", []any{"P1", "P3"}) })
		}},
		{name: "an activity without required types", rule: corpus.RuleTasks, resource: "tasks.json", pointer: "/target/activite", perTask: true, spoil: func(h hand) {
			h.task(0, func(o *canonjson.Object) { member(o, "target").(*canonjson.Object).Set("activite", "peche") })
		}},
		{name: "a track that is not generated", rule: corpus.RuleTasks, resource: "corpus.json", spoil: func(h hand) { h.Track = track.Generique }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := hand{t, practice(t)}
			c.spoil(h)
			faults := corpus.Lint(h.Corpus)
			if len(faults) == 0 {
				t.Fatal("the lint finds nothing")
			}
			for _, f := range faults {
				if f.Rule != c.rule {
					t.Errorf("breaks another rule too: %s", f)
				}
				if f.Message == "" || (f.Task == "") == c.perTask && c.perTask {
					t.Errorf("no task or message: %+v", f)
				}
				if !strings.HasPrefix(f.Resource, c.resource) || c.pointer != "" && f.Pointer != c.pointer {
					t.Errorf("names %s %s, want %s %s", f.Resource, f.Pointer, c.resource, c.pointer)
				}
			}
		})
	}
}

func TestLintFindsAClassOfBoundsWithOneVerdict(t *testing.T) {
	t.Parallel()
	// Exchange the content of conf-03 with that of a task that has conf-01's verdict
	// and few facts: then both tasks of two to four assertions have one verdict.
	for n := range 200 {
		c, err := corpus.Build(seeded(fmt.Sprint("bounds", n), 30))
		if err != nil {
			t.Fatal(err)
		}
		h := hand{t, c}
		key := parse(t, h.Key)
		answer := func(i int) any { return member(key, "tasks", fmt.Sprintf("conf-%02d", i+1)) }
		verdict := member(answer(0), "verdict")
		for _, i := range []int{1, 3, 6, 8, 9} {
			if member(answer(i), "verdict") != verdict || len(member(answer(i), "facts").([]any)) > 4 {
				continue
			}
			h.exchange(2, i)
			if rules := rulesOf(corpus.Lint(h.Corpus)); len(rules) == 1 && rules[corpus.RuleBoundsTell] {
				return
			}
			h.exchange(2, i)
		}
	}
	t.Error("no exchange breaks just this rule")
}

func TestLintFindsTooManyCalls(t *testing.T) {
	t.Parallel()
	o := seeded("calls", 60)
	o.Composition.Pages.Register = 1 // as many pages as entries
	c, err := corpus.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	if rules := rulesOf(corpus.Lint(c)); len(rules) != 1 || !rules[corpus.RuleCalls] {
		t.Errorf("rules broken: %v, want only calls", rules)
	}
}

func TestLintBuildNamesEveryFileThatDiffers(t *testing.T) {
	t.Parallel()
	c := practice(t)
	c.Files["referentiel.json"] = append(c.Files["referentiel.json"], ' ')
	delete(c.Files, "_systeme/404.json")
	faults, err := corpus.LintBuild(c, corpus.Practice(track.Conformite))
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) != 2 || faults[0].Resource != "files/_systeme/404.json" || faults[1].Resource != "files/referentiel.json" || faults[0].Rule != corpus.RuleRebuild {
		t.Errorf("faults %v", faults)
	}
}

func TestFaultReadsAsOneLine(t *testing.T) {
	t.Parallel()
	f := corpus.Fault{Task: "conf-01", Resource: "/entites/ENT-1", Pointer: "/statut", Rule: corpus.RuleSchema, Message: "it must be active"}
	if got := f.String(); got != "conf-01 /entites/ENT-1/statut [schema] it must be active (files/entites/ENT-1.json)" {
		t.Error(got)
	}
	if got := (corpus.Fault{Rule: "x", Message: "y"}).String(); got != "- - [x] y" {
		t.Error(got)
	}
}

// FuzzLint puts any bytes in place of one document of a good corpus. Lint reports
// faults; it never panics, and it never finds a changed corpus in order.
func FuzzLint(f *testing.F) {
	good, err := corpus.Build(seeded("fuzz", corpus.MinEntities))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint(0), good.Manifest)
	f.Add(uint(1), good.Tasks)
	f.Add(uint(2), good.Rules)
	f.Add(uint(3), good.Key)
	for i, name := range []string{"referentiel.json", "mesures-restrictives/2.json", "mesures-restrictives/1.json", "_systeme/404.json"} {
		f.Add(uint(4+i), good.Files[name])
	}
	f.Add(uint(5), []byte(`{"entrees":[{"nom":1}],"page_suivante":[],"resource":"/mesures-restrictives/2"}`))
	names := slices.Sorted(maps.Keys(good.Files))
	f.Fuzz(func(t *testing.T, which uint, data []byte) {
		c := *good
		var old []byte
		switch which {
		case 0:
			old, c.Manifest = c.Manifest, data
		case 1:
			old, c.Tasks = c.Tasks, data
		case 2:
			old, c.Rules = c.Rules, data
		case 3:
			old, c.Key = c.Key, data
		default:
			name := names[int(which%uint(len(names)))]
			c.Files = maps.Clone(good.Files)
			old, c.Files[name] = c.Files[name], data
			if m, err := corpus.ManifestFor(c.Files, c.Host, nil); err == nil {
				c.Manifest = m
			}
		}
		faults := corpus.Lint(&c)
		if which == 0 && len(faults) == 0 && !bytes.Equal(old, data) {
			t.Error("another manifest passes")
		}
		for _, fault := range faults {
			if fault.Rule == "" || fault.Message == "" {
				t.Errorf("fault %+v", fault)
			}
		}
	})
}
