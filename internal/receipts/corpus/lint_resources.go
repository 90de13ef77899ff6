package corpus

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// checkManifest recomputes the manifest from the files. Resources are unique by
// the form of a path, so request hashes are unique when the manifest is right.
func (l *linter) checkManifest() {
	want, err := ManifestFor(l.corpus.Files, l.corpus.Host, nil)
	if err != nil {
		if !l.found(RuleBody) { // a listed body is reported by that rule
			l.fault("", "manifest.json", "", RuleManifest, "%v", err)
		}
		return
	}
	if !bytes.Equal(want, l.corpus.Manifest) {
		l.fault("", "manifest.json", "", RuleManifest, "it is not the manifest of the files: put the files back, or run 'prova corpus manifest' when they are meant")
	}
	for path := range systemBodies() {
		if _, ok := l.view.files[path]; !ok {
			l.fault("", path, "", RuleManifest, "the fixed body is missing: put back that of a new build and run 'prova corpus manifest'")
		}
	}
}

// checkResources looks at every body on its own, then at what they cite.
func (l *linter) checkResources() {
	names := newLexicon()
	l.absent = map[string]bool{}
	cited := map[string]string{}
	form := collectionForm(l.corpus.Track)
	for _, resource := range l.view.Resources() {
		value, ok := l.view.Value(resource)
		if !ok {
			_, err := canonjson.Parse(l.view.files[resource])
			l.fault("", resource, "", RuleBody, "the body must be JSON: %v", err)
			continue
		}
		body, ok := value.(*canonjson.Object)
		if !ok || body.Len() == 0 {
			l.fault("", resource, "", RuleBody, "the body must be an object with members: the proxy replaces empty ones before it hashes")
			continue
		}
		if path, _ := body.Get("resource"); path != any(resource) {
			l.fault("", resource, "/resource", RuleBody, "it must be the path %q", resource)
		}
		l.checkNoNumbers(resource, "", value)
		if strings.HasPrefix(resource, systemPrefix) || resource == "/referentiel" {
			continue
		}
		if !form.MatchString(resource) {
			l.fault("", resource, "", RuleSchema, "the path has the form of no collection, so the server would not know an absent one like it")
			continue
		}
		if isAbsentBody(body) {
			l.absent[resource] = true
			continue
		}
		l.checkRecord(resource, body, names, cited)
	}
	for _, t := range l.tasks {
		for i, resource := range t.Target.References {
			if _, ok := l.view.files[resource]; !ok {
				l.fault(t.ID, "tasks.json", "/target/references/"+strconv.Itoa(i), RuleCited, "%s is not in the manifest: an absent reference is listed too", resource)
			}
			cited[resource] = "tasks.json"
		}
	}
	l.checkCited(cited)
	l.checkChains()
	l.checkAbsent(cited)
}

func isAbsentBody(body *canonjson.Object) bool {
	exists, ok := body.Get("existe")
	return ok && exists == any(false) && body.Len() == 2 && body.Has("resource")
}

func (l *linter) checkNoNumbers(resource, at string, v any) {
	switch v := v.(type) {
	case canonjson.Int, float64:
		l.fault("", resource, at, RuleNumbers, "a number: write it as a string; values are strings, booleans and null (§2.5)")
	case []any:
		for i, item := range v {
			l.checkNoNumbers(resource, at+"/"+strconv.Itoa(i), item)
		}
	case *canonjson.Object:
		for name, item := range v.All() {
			l.checkNoNumbers(resource, at+"/"+strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), item)
		}
	}
}

// checkCited finds references to nothing: what is cited must be listed, existing
// or not, or the scorer could not recompute its hash.
func (l *linter) checkCited(cited map[string]string) {
	for _, resource := range slices.Sorted(maps.Keys(cited)) {
		if _, ok := l.view.files[resource]; !ok && cited[resource] != "tasks.json" {
			l.fault("", cited[resource], "", RuleCited, "it cites %s, which is not in the manifest: an absent reference is listed too", resource)
		}
	}
}

var pageNumber = regexp.MustCompile(`^(/.*)/([1-9][0-9]*)$`)

// checkChains follows every list from its first page: pages count up by one, stay
// in their list, end, and leave none out.
func (l *linter) checkChains() {
	for _, resource := range l.view.Resources() {
		m := pageNumber.FindStringSubmatch(resource)
		if m == nil || strings.HasPrefix(resource, systemPrefix) {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		if previous := m[1] + "/" + strconv.Itoa(n-1); n > 1 {
			if v, ok := l.view.Value(previous); !ok || member(v, "page_suivante") != any(resource) {
				l.fault("", resource, "", RuleChain, "no chain leads here: %s must exist and name it as page_suivante", previous)
			}
		}
		v, _ := l.view.Value(resource)
		next := member(v, "page_suivante")
		if next == nil {
			continue
		}
		if want := m[1] + "/" + strconv.Itoa(n+1); next != any(want) || l.view.files[want] == nil {
			l.fault("", resource, "/page_suivante", RuleChain, "it must be null or the next page %s, which must exist", want)
		}
	}
}

// checkAbsent compares absent references with existing ones of their collection:
// as long, within the same range of numbers, and every one of them cited.
func (l *linter) checkAbsent(cited map[string]string) {
	type span struct {
		width     int
		low, high string
	}
	spans := map[string]*span{}
	for _, resource := range l.view.Resources() {
		collection, ref, ok := numberedRef(resource)
		if !ok || l.absent[resource] {
			continue
		}
		s := spans[collection]
		if s == nil {
			spans[collection] = &span{len(ref), ref, ref}
			continue
		}
		s.low, s.high = min(s.low, ref), max(s.high, ref)
		if len(ref) != s.width {
			l.fault("", resource, "", RuleAbsent, "references of %s must all have the same length", collection)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(l.absent)) {
		collection, ref, ok := numberedRef(resource)
		s := spans[collection]
		if !ok || s == nil || len(ref) != s.width || ref < s.low || ref > s.high {
			l.fault("", resource, "", RuleAbsent, "an absent reference must be numbered among the existing ones of its collection")
		}
		if _, ok := cited[resource]; !ok {
			l.fault("", resource, "", RuleAbsent, "nothing cites it: only absent references that are cited are listed; cite it or remove its file")
		}
	}
}

// numberedRef splits /<collection>/<ref> of the collections with numbered records.
func numberedRef(resource string) (collection, ref string, ok bool) {
	collection, ref, ok = strings.Cut(resource[1:], "/")
	return collection, ref, ok && !strings.Contains(ref, "/") && strings.Contains(ref, "-")
}

// member reads a member of an object; nil when v is none or lacks it.
func member(v any, name string) any {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil
	}
	m, _ := o.Get(name)
	return m
}
