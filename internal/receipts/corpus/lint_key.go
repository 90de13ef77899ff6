package corpus

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// answer is one task of the key as read.
type answer struct {
	verdict  string
	families []string
	control  bool
	facts    []any
}

// checkKey checks the sealed key against the evaluation rules, and the tasks
// against what a composition promises about them.
func (l *linter) checkKey() {
	answers, ok := l.readKey()
	if !ok {
		return
	}
	byVerdict, byFamily, controls := map[string]int{}, map[string]int{}, 0
	classes := map[bounds]map[string]bool{}
	for i, t := range l.tasks {
		a := answers[i]
		byVerdict[a.verdict]++
		for _, f := range a.families {
			byFamily[f]++
		}
		if a.control {
			controls++
		}
		class := bounds{t.Minimum, t.Cap}
		if classes[class] == nil {
			classes[class] = map[string]bool{}
		}
		classes[class][a.verdict] = true
		l.checkAnswer(i, t, a)
	}
	for verdict, want := range publishedBreakdown() {
		if byVerdict[verdict] != want {
			l.fault("", "key.json", "/tasks", RuleBreakdown, "%d tasks of %s: %d are published (§5.5)", byVerdict[verdict], verdict, want)
		}
	}
	for _, f := range conformite.Families() {
		if least := map[string]int{"P5": minP5}[f]; byFamily[f] < max(1, least) {
			l.fault("", "key.json", "/tasks", RuleFamilies, "%d tasks of family %s: there must be at least %d", byFamily[f], f, max(1, least))
		}
	}
	if controls != 1 {
		l.fault("", "key.json", "/tasks", RuleControl, "%d controls: there must be exactly one", controls)
	}
	for class, set := range classes {
		if len(set) < 2 {
			l.fault("", "key.json", "/tasks", RuleBoundsTell, "all tasks with %d to %d assertions have one verdict: a class of bounds must hold two", class.minimum, class.maximum)
		}
	}
}

func (l *linter) readKey() ([]answer, bool) {
	if l.corpus.Key == nil {
		l.fault("", "key.json", "", RuleKey, "it is missing: put back the key that the build wrote; a corpus is linted with it")
		return nil, false
	}
	v, err := canonjson.ParseStrict(l.corpus.Key)
	if err != nil {
		l.fault("", "key.json", "", RuleKey, "%v", err)
		return nil, false
	}
	if member(v, "track") != any(l.corpus.Track) || member(v, "season") != any(canonjson.NewInt(int64(l.corpus.Season))) {
		l.fault("", "key.json", "/season", RuleKey, "season and track must be those of the corpus: %d, %s", l.corpus.Season, l.corpus.Track)
	}
	tasks, ok := member(v, "tasks").(*canonjson.Object)
	if !ok || tasks.Len() != len(l.tasks) {
		l.fault("", "key.json", "/tasks", RuleKey, "it must name exactly the tasks of tasks.json")
		return nil, false
	}
	out := make([]answer, len(l.tasks))
	for i, t := range l.tasks {
		value, ok := tasks.Get(t.ID)
		if !ok {
			l.fault(t.ID, "key.json", "/tasks", RuleKey, "it must name exactly the tasks of tasks.json")
			return nil, false
		}
		if out[i], ok = readAnswer(value); !ok {
			l.fault(t.ID, "key.json", "/tasks/"+t.ID, RuleKey, "it must have verdict, families, control and facts, of their types")
			return nil, false
		}
	}
	return out, true
}

func readAnswer(v any) (answer, bool) {
	var a answer
	var ok [4]bool
	a.verdict, ok[0] = member(v, "verdict").(string)
	a.control, ok[1] = member(v, "control").(bool)
	a.facts, ok[2] = member(v, "facts").([]any)
	families, isArray := member(v, "families").([]any)
	ok[3] = isArray
	for _, f := range families {
		name, isString := f.(string)
		ok[3] = ok[3] && isString && slices.Contains(conformite.Families(), name) && !slices.Contains(a.families, name)
		a.families = append(a.families, name)
	}
	return a, !slices.Contains(ok[:], false)
}

// checkAnswer checks one task of the key against the rules on the frozen values.
func (l *linter) checkAnswer(i int, t track.Task, a answer) {
	result, err := conformite.Evaluate(l.view, t.Target, l.referens)
	if err != nil {
		l.fault(t.ID, "", "", RuleVerdict, "%v", err)
		return
	}
	at := "/tasks/" + t.ID
	if result.Verdict != a.verdict {
		l.fault(t.ID, "key.json", at+"/verdict", RuleVerdict, "the evaluation rules give %s on the frozen values, the key says %s: correct the one that is not meant", result.Verdict, a.verdict)
	}
	want := make([]any, len(result.Facts))
	for j, f := range result.Facts {
		want[j] = f.Object()
	}
	if !canonjson.Equal(want, a.facts) {
		l.fault(t.ID, "key.json", at+"/facts", RuleFacts, "they must be the %d facts that ground the verdict on the frozen values, in their order", len(want))
	}
	l.checkOneReason(t, result)
	l.checkUnambiguous(t)
	l.checkGrounding(i, t, a)
	l.checkTraps(t, a, result.Verdict)
	l.checkCalls(i, t, a)
}

// checkOneReason: one criterion decides, so that the facts that ground are few and
// no second reason makes a guess right.
func (l *linter) checkOneReason(t track.Task, r conformite.Result) {
	count := map[conformite.State]int{}
	for _, s := range r.Criteria {
		count[s]++
	}
	switch {
	case r.Verdict == conformite.VerdictNonConforme && count[conformite.False] != 1:
		l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleOneReason, "%d criteria are false: exactly one must be", count[conformite.False])
	case r.Verdict == conformite.VerdictIndeterminable && count[conformite.NE] != 1:
		l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleOneReason, "%d criteria are not establishable: exactly one must be", count[conformite.NE])
	}
}

// checkUnambiguous refuses what the table of criteria leaves to interpretation: two
// licences or two attestations of a type that both satisfy, an absent rider on an
// attestation that satisfies without it, two list entries for one licence.
func (l *linter) checkUnambiguous(t track.Task) {
	for _, a := range conformite.Ambiguities(l.view, t.Target, l.referens) {
		l.fault(t.ID, a.Resource, "", RuleUnambiguous, "%s", a.Why)
	}
}

// checkGrounding: an agent can assert every fact within the bounds.
func (l *linter) checkGrounding(i int, t track.Task, a answer) {
	g, common := l.graphs[i], 0
	if len(a.facts) == 0 || len(a.facts) > t.Cap {
		l.fault(t.ID, "key.json", "/tasks/"+t.ID+"/facts", RuleGrounding, "%d facts: there must be from 1 to the cap of %d", len(a.facts), t.Cap)
	}
	for j, f := range a.facts {
		at := "/tasks/" + t.ID + "/facts/" + strconv.Itoa(j)
		l.checkFact(t, g, f, at)
		if resource, _ := member(f, "resource").(string); !g.Own(resource) {
			common++
		}
		equivalents, _ := member(f, "equivalents").([]any)
		for k, e := range equivalents {
			l.checkFact(t, g, e, at+"/equivalents/"+strconv.Itoa(k))
		}
	}
	if t.Cap-common < t.OwnMinimum() {
		l.fault(t.ID, "key.json", "/tasks/"+t.ID+"/facts", RuleGrounding, "%d facts on common lists leave no room for %d assertions on own resources under the cap", common, t.OwnMinimum())
	}
}

func (l *linter) checkFact(t track.Task, g *track.Graph, f any, at string) {
	resource, _ := member(f, "resource").(string)
	pointer, _ := member(f, "field").(string)
	switch {
	case !g.Contains(resource):
		l.fault(t.ID, "key.json", at+"/resource", RuleGrounding, "%s is outside the task graph", resource)
	case !l.rules.Probative(resource, pointer):
		l.fault(t.ID, "key.json", at+"/field", RuleGrounding, "%s of %s is not a probative field", pointer, resource)
	case !g.Concerns(resource, pointer):
		l.fault(t.ID, "key.json", at+"/field", RuleGrounding, "%s of %s is an entry that does not concern the entity", pointer, resource)
	default:
		v, _ := l.view.Value(resource)
		if got, ok := canonjson.Resolve(v, pointer); !ok || !canonjson.Equal(got, member(f, "value")) {
			l.fault(t.ID, resource, pointer, RuleGrounding, "the frozen resource must carry the value that the key gives for the fact")
		}
	}
}

// checkTraps: a trap tempts when a reading that its family names comes to another
// verdict; the control tempts nobody.
func (l *linter) checkTraps(t track.Task, a answer, verdict string) {
	if a.control != (len(a.families) == 0) {
		l.fault(t.ID, "key.json", "/tasks/"+t.ID+"/control", RuleControl, "the control is the task without a family, and only it")
	}
	for _, family := range conformite.Families() {
		tempts, err := conformite.Tempts(family, verdict, l.view, t.Target, l.referens)
		switch {
		case err != nil:
			l.fault(t.ID, "", "", RuleTempts, "%v", err)
		case a.control && tempts:
			l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleControl, "the control must be without a trap, it holds one of family %s", family)
		case !tempts && slices.Contains(a.families, family):
			l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleTempts, "family %s tempts nobody: its readings come to the same verdict; place a trap of that family or leave it out of the key", family)
		}
	}
}

// checkCalls counts what an agent needs to read: everything of the entity's own
// and the pages of a common list up to the entry that the verdict rests on; and
// everything there is, with the evaluation rules and all pages.
func (l *linter) checkCalls(i int, t track.Task, a answer) {
	all, needed := 1, 0
	last := map[string]int{}
	note := func(resource string) {
		if m := pageNumber.FindStringSubmatch(resource); m != nil {
			n, _ := strconv.Atoi(m[2])
			last[m[1]] = max(last[m[1]], n)
		}
	}
	for resource := range l.graphs[i].Resources() {
		all++
		if l.graphs[i].Own(resource) {
			needed++
		} else if strings.HasPrefix(resource, "/listes/") && l.lists(resource, t.Target.Entity) {
			note(resource)
		}
	}
	for _, f := range a.facts {
		if resource, _ := member(f, "resource").(string); strings.HasPrefix(resource, "/mesures-restrictives/") {
			note(resource)
		}
	}
	for _, n := range last {
		needed += n
	}
	if needed < minNeededCalls || needed > maxNeededCalls {
		l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleCalls, "an agent that follows every reference needs %d calls: it must be from %d to %d", needed, minNeededCalls, maxNeededCalls)
	}
	if all > maxCalls {
		l.fault(t.ID, "/entites/"+t.Target.Entity, "", RuleCalls, "with all list pages there are %d calls: at most %d; give the lists longer pages", all, maxCalls)
	}
}

// lists reports whether a page of a public list has an entry of the entity.
func (l *linter) lists(resource, entity string) bool {
	v, _ := l.view.Value(resource)
	entries, _ := member(v, "entrees").([]any)
	return slices.ContainsFunc(entries, func(e any) bool { return member(e, "entite") == any(entity) })
}
