package corpus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/receipts/track"
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// Fault is one broken rule of a composition's lint.
type Fault struct {
	// Task is the task at fault, "" when the fault is no single task's.
	Task string
	// Resource is the resource or the file at fault, "" for the corpus as a whole.
	Resource string
	// Pointer is the place in it (JSON Pointer), "" for the whole.
	Pointer string
	// Rule is the rule's name, one of the Rule constants.
	Rule string
	// Message says what is wrong and what it must be. It may speak of the key, so
	// faults are as secret as the key is.
	Message string
}

// String is the fault as one line: task, place, rule, message and, for a resource,
// the file that holds it.
func (f Fault) String() string {
	task, at := f.Task, f.Resource+f.Pointer
	if task == "" {
		task = "-"
	}
	if at == "" {
		at = "-"
	}
	text := fmt.Sprintf("%s %s [%s] %s", task, at, f.Rule, f.Message)
	if strings.HasPrefix(f.Resource, "/") {
		text += " (files/" + fileOf(f.Resource) + ")"
	}
	return text
}

// The rules of the lint (design, section 2).
const (
	RuleManifest    = "manifest"        // the manifest is that of the files, request hashes are unique
	RuleBody        = "body"            // no empty body, each with its resource path
	RuleNumbers     = "numbers"         // no value is a number
	RuleSchema      = "schema"          // each record has its collection's fields, of their types
	RuleChain       = "page-chain"      // page chains end and stay in their list
	RuleCited       = "cited"           // every reference that is cited is listed
	RuleOrder       = "order"           // every order is one of content
	RuleNames       = "names"           // names come from the word lists
	RuleAbsent      = "absent"          // absent references look like existing ones
	RuleRules       = "rules"           // rules.json and rules.md are the published rules
	RuleTasks       = "tasks"           // ten tasks with the bounds of §5.5
	RuleQuestion    = "question"        // both languages name everything required
	RuleReferences  = "references"      // what a question may cite
	RuleReferTell   = "references-tell" // as many tasks cite existing as absent references
	RuleBoundsTell  = "bounds-tell"     // a class of bounds holds two verdicts
	RuleNumberTell  = "numbering-tell"  // numbers follow no task order
	RuleKey         = "key"             // the key has exactly the tasks, in its form
	RuleVerdict     = "verdict"         // the key's verdict is the rules' verdict
	RuleFacts       = "facts"           // the key's facts are those that ground it
	RuleGrounding   = "grounding"       // facts are probative, in the graph, under the cap, own rule satisfiable
	RuleBreakdown   = "breakdown"       // verdicts as published
	RuleFamilies    = "families"        // at least three P5, all five families
	RuleControl     = "control"         // exactly one control, without a trap
	RuleOneReason   = "one-reason"      // one criterion decides
	RuleUnambiguous = "unambiguous"     // no criterion can be read in two ways
	RuleTempts      = "tempts"          // each trap tempts
	RuleCalls       = "calls"           // 2 to 12 calls needed, 20 with all list pages
	RuleRebuild     = "rebuild"         // a second build gives the same bytes
)

// Lint checks everything that a composition promises, on the corpus as it stands.
// It needs the key. Faults come in the order of the rules above, then of the
// manifest and the tasks; none means that the corpus may be frozen. That two builds
// are byte-identical needs the seed: see [LintBuild].
func Lint(c *Corpus) []Fault {
	l := &linter{corpus: c}
	if !l.open() {
		return l.faults
	}
	l.checkResources()
	l.checkManifest()
	l.checkRules()
	l.checkTasks()
	l.checkKey()
	return l.faults
}

// LintBuild builds again from the options and compares every byte of the corpus.
func LintBuild(c *Corpus, o Options) ([]Fault, error) {
	again, err := Build(o)
	if err != nil {
		return nil, err
	}
	return compare(c, again), nil
}

type linter struct {
	corpus   *Corpus
	faults   []Fault
	view     *View
	rules    *track.Rules
	referens conformite.Referentiel
	tasks    []track.Task
	graphs   []*track.Graph
	absent   map[string]bool // cited references that do not exist
	schemas  map[string][]field
}

// found reports whether a rule is already known to be broken.
func (l *linter) found(rule string) bool {
	return slices.ContainsFunc(l.faults, func(f Fault) bool { return f.Rule == rule })
}

func (l *linter) fault(task, resource, pointer, rule, format string, args ...any) {
	l.faults = append(l.faults, Fault{task, resource, pointer, rule, fmt.Sprintf(format, args...)})
}

// open reads what all rules build on; without it nothing else can be checked.
func (l *linter) open() bool {
	if err := Generated(l.corpus.Track); err != nil {
		l.fault("", markerName, "/track", RuleTasks, "%v", err)
		return false
	}
	var err error
	if l.view, err = l.corpus.View(); err != nil {
		l.fault("", "manifest.json", "", RuleManifest, "%s: put the file back, or run 'prova corpus manifest' to list those that are there", strings.TrimPrefix(err.Error(), "manifest.json: "))
		return false
	}
	if l.referens, err = l.view.Referentiel(); err != nil {
		l.fault("", conformite.ReferentielPath, "/types_requis", RuleSchema, "%s, as in a new build", strings.TrimPrefix(err.Error(), conformite.ReferentielPath+": "))
		return false
	}
	rules, err := canonjson.ParseStrict(l.corpus.Rules)
	if err == nil {
		l.rules, err = track.ParseRules(rules)
	}
	if err != nil {
		l.fault("", "rules.json", "", RuleRules, "%v", err)
		return false
	}
	tasks, err := canonjson.ParseStrict(l.corpus.Tasks)
	if err == nil {
		l.tasks, err = track.ParseTasks(tasks, l.corpus.Track)
	}
	if err != nil {
		l.fault("", "tasks.json", "", RuleTasks, "%v", err)
		return false
	}
	for _, t := range l.tasks {
		if _, ok := l.referens.RequiredTypes[t.Target.Activity]; !ok {
			l.fault(t.ID, "tasks.json", "/target/activite", RuleTasks, "activity %q is not in the types_requis of /referentiel: it must be one of them", t.Target.Activity)
			return false
		}
		g, err := track.BuildGraph(l.corpus.Track, t.Target, l.view)
		if err != nil {
			l.fault(t.ID, "tasks.json", "", RuleTasks, "%v", err)
			return false
		}
		l.graphs = append(l.graphs, g)
	}
	return true
}
