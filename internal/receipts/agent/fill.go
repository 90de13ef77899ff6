package agent

import (
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// probative reports whether the rules admit an assertion on a field of a resource
// (bundle format §4): the longest prefix names the collection.
func (r Rules) probative(resource, field string) bool {
	for _, pattern := range r.patterns(resource) {
		if matches(pattern, field) {
			return true
		}
	}
	return false
}

func (r Rules) patterns(resource string) []string {
	var best Collection
	for _, c := range r.Collections {
		if strings.HasPrefix(resource, c.Prefix) && len(c.Prefix) > len(best.Prefix) {
			best = c
		}
	}
	return best.Fields
}

func matches(pattern, field string) bool {
	if field == "" {
		return false // The whole document is never probative.
	}
	want, got := strings.Split(pattern, "/"), strings.Split(field, "/")
	return slices.EqualFunc(want, got, func(p, token string) bool {
		switch p {
		case "<n>":
			return isIndex(token)
		case "<k>":
			return true
		}
		return canonjson.UnescapeToken(p) == canonjson.UnescapeToken(token)
	})
}

func isIndex(token string) bool {
	return token != "" && (token == "0" || token[0] != '0') && strings.Trim(token, "0123456789") == ""
}

// fillers are the probative fields of pages that a plain pointer names, as
// assertions with the pages' receipts: what a page says first, then lists and
// mere existence, so that what is filled in is worth reading.
func (r Rules) fillers(pages []*page) []Assertion {
	var telling, plain []Assertion
	for _, p := range pages {
		for _, pattern := range r.patterns(p.path) {
			if strings.Contains(pattern, "<") {
				continue
			}
			a, ok := p.claim(pattern)
			if !ok {
				continue
			}
			if _, text := a.Value.(string); text {
				telling = append(telling, a)
			} else {
				plain = append(plain, a)
			}
		}
	}
	return append(telling, plain...)
}

// bounded makes assertions fit a task: inadmissible fields go, then fillers of
// the entity's own are added up to the minimum and up to half of it on own
// resources, never beyond the cap.
func bounded(t Task, r Rules, list, fillers []Assertion) []Assertion {
	list = slices.DeleteFunc(slices.Clone(list), func(a Assertion) bool { return !r.probative(a.Resource, a.Field) })
	list = list[:min(len(list), t.Cap)]
	taken := map[[2]string]bool{}
	own := 0
	count := func(a Assertion) {
		taken[[2]string{a.Resource, a.Field}] = true
		if isOwn(a.Resource) {
			own++
		}
	}
	for _, a := range list {
		count(a)
	}
	for _, a := range fillers {
		if len(list) >= t.Cap || len(list) >= t.Minimum && own >= t.ownMinimum() {
			break
		}
		if taken[[2]string{a.Resource, a.Field}] || !isOwn(a.Resource) || !r.probative(a.Resource, a.Field) {
			continue
		}
		count(a)
		list = append(list, a)
	}
	return list
}
