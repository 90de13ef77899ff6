package corpus

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
)

// checkRules compares rules.json and rules.md with the published rules.
func (l *linter) checkRules() {
	if !bytes.Equal(l.corpus.RulesText, rulesText) {
		l.fault("", "rules.md", "", RuleRules, "it is not the frozen text of %s: put back the rules.md of a new build", RulesVersion)
	}
	got, err := canonjson.ParseStrict(l.corpus.Rules)
	if err != nil || !canonjson.Equal(got, rulesJSON()) {
		l.fault("", "rules.json", "", RuleRules, "it must hold version %s, the hash of its text, the three verdicts and the probative fields of §5.7", RulesVersion)
	}
}

// checkTasks checks what is published about the tasks.
func (l *linter) checkTasks() {
	if len(l.tasks) != len(taskBounds) {
		l.fault("", "tasks.json", "", RuleTasks, "%d tasks: there must be %d", len(l.tasks), len(taskBounds))
	}
	entities := map[string]bool{}
	for i, t := range l.tasks {
		if i < len(taskBounds) && (t.ID != taskID(i) || t.Minimum != taskBounds[i].minimum || t.Cap != taskBounds[i].maximum) {
			l.fault(t.ID, "tasks.json", "/"+strconv.Itoa(i), RuleTasks, "task %d must be %s with %d to %d assertions (§5.5)", i+1, taskID(i), taskBounds[i].minimum, taskBounds[i].maximum)
		}
		if entities[t.Target.Entity] {
			l.fault(t.ID, "tasks.json", "/"+strconv.Itoa(i)+"/target/entite", RuleTasks, "another task asks about %s: each asks about an entity of its own", t.Target.Entity)
		}
		entities[t.Target.Entity] = true
		l.checkQuestion(i, t)
		l.checkReferences(i, t)
	}
	l.checkReferenceTell()
	l.checkNumberTell()
}

// checkQuestion looks for everything that a reader needs, in each language.
func (l *linter) checkQuestion(i int, t track.Task) {
	record, _ := l.view.Value("/entites/" + t.Target.Entity)
	name, _ := member(record, "denomination").(string)
	required := append([]string{t.Target.Entity, name, t.Target.Activity, "/referentiel",
		strconv.Itoa(t.Minimum), strconv.Itoa(t.Cap)}, t.Target.References...)
	required = append(required, verdicts()...)
	examined, err := parseDay(t.Target.Date)
	if err != nil {
		l.fault(t.ID, "tasks.json", fmt.Sprintf("/%d/target/date_examen", i), RuleTasks, "%v", err)
		return
	}
	for _, q := range []struct{ language, date string }{{"fr", examined.french()}, {"en", examined.english()}} {
		at := fmt.Sprintf("/%d/question/%s", i, q.language)
		text := " " + t.Question[q.language]
		if !strings.Contains(text, " "+q.date) { // the 1st of a month is no part of its 11th
			l.fault(t.ID, "tasks.json", at, RuleQuestion, "it must name the examination date as %q", q.date)
		}
		for _, need := range required {
			if !strings.Contains(text, need) {
				l.fault(t.ID, "tasks.json", at, RuleQuestion, "it must name %q, as the target and the rules do", need)
			}
		}
	}
}

// checkReferences keeps questions from naming other worlds: another entity's
// records, the evaluation rules, the lists.
func (l *linter) checkReferences(i int, t track.Task) {
	for j, resource := range t.Target.References {
		at := fmt.Sprintf("/%d/target/references/%d", i, j)
		collection, _, ok := numberedRef(resource)
		if !ok || collection != "agrements" && collection != "attestations" {
			l.fault(t.ID, "tasks.json", at, RuleReferences, "a question may cite a licence or an attestation, not %s", resource)
			continue
		}
		v, _ := l.view.Value(resource)
		if owner := member(v, "entite"); owner != nil && owner != any(t.Target.Entity) {
			l.fault(t.ID, "tasks.json", at, RuleReferences, "%s is another entity's: it must be one of %s, or absent", resource, t.Target.Entity)
		}
	}
}

func (l *linter) checkReferenceTell() {
	existing, absent := 0, 0
	for _, t := range l.tasks {
		switch {
		case slices.ContainsFunc(t.Target.References, func(r string) bool { return l.absent[r] }):
			absent++
		case len(t.Target.References) > 0:
			existing++
		}
	}
	if existing != absent {
		l.fault("", "tasks.json", "", RuleReferTell, "%d tasks cite existing references and %d absent ones: there must be as many, or citing tells", existing, absent)
	}
}

// checkNumberTell finds numbers that follow the tasks: all ten in order, or next
// to each other among all entities.
func (l *linter) checkNumberTell() {
	if len(l.tasks) < 4 {
		return
	}
	var all []string
	for _, resource := range l.view.Resources() {
		if ref, ok := strings.CutPrefix(resource, "/entites/"); ok {
			all = append(all, ref)
		}
	}
	slices.Sort(all)
	rank := func(t track.Task) int { n, _ := slices.BinarySearch(all, t.Target.Entity); return n }
	ranks := make([]int, len(l.tasks))
	for i, t := range l.tasks {
		ranks[i] = rank(t)
	}
	ascending := slices.IsSorted(ranks)
	descending := slices.IsSortedFunc(ranks, func(a, b int) int { return b - a })
	if ascending || descending {
		l.fault("", "tasks.json", "", RuleNumberTell, "the entities' numbers follow the order of the tasks: they must not tell it")
	}
	if len(all) >= 2*len(l.tasks) && slices.Max(ranks)-slices.Min(ranks) < len(l.tasks) {
		l.fault("", "tasks.json", "", RuleNumberTell, "the entities of the tasks stand together in the numbering: they must be spread among all")
	}
}

// compare names each file that differs between two builds.
func compare(a, b *Corpus) []Fault {
	var faults []Fault
	differs := func(name string, x, y []byte) {
		if !bytes.Equal(x, y) {
			faults = append(faults, Fault{Resource: name, Rule: RuleRebuild, Message: "a second build from this seed and composition gives other bytes: put back the file of that build, or name the options this corpus was built with"})
		}
	}
	differs("manifest.json", a.Manifest, b.Manifest)
	differs("tasks.json", a.Tasks, b.Tasks)
	differs("rules.json", a.Rules, b.Rules)
	differs("rules.md", a.RulesText, b.RulesText)
	if a.Key != nil {
		differs("key.json", a.Key, b.Key)
	}
	all := maps.Clone(a.Files)
	maps.Copy(all, b.Files)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		differs("files/"+name, a.Files[name], b.Files[name])
	}
	return faults
}
