package track

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Corpus gives the frozen value of a resource, as parsed from the bytes served.
type Corpus interface {
	// Value returns the value of a resource that the manifest lists; ok is false
	// for every other resource. The value is not changed by the caller.
	Value(resource string) (v any, ok bool)
}

// Graph is the set of resources that the assertions of one task may bear on
// (§5.2, bundle format §9.1).
type Graph struct {
	nodes map[string]role
	// concerned decides whether an entry of a common list concerns the target, by
	// the role of the list.
	concerned map[role]func(entry *canonjson.Object) bool
	corpus    Corpus
}

// role says why a resource is in a graph.
type role uint8

const (
	own role = iota + 1
	licensedList
	measuresList
	catalogueList
)

// The collections that are common lists, whatever path leads to them: a page of
// one that a question cites stays a common list (bundle format §9.1).
var commonLists = map[string]map[string]role{
	Conformite: {"/listes/agrees/": licensedList, "/mesures-restrictives/": measuresList},
	Generique:  {"/catalogue/": catalogueList},
}

// BuildGraph walks from the target over the frozen resources. A reference that
// the corpus does not list is left out, a value of another type than expected
// cites nothing, a page chain stops at a page already seen. The error says that
// the track is unknown; no corpus makes it fail.
func BuildGraph(trackName string, t Target, c Corpus) (*Graph, error) {
	w := walk{corpus: c, common: commonLists[trackName], nodes: map[string]role{}}
	g := &Graph{nodes: w.nodes, corpus: c}
	switch trackName {
	case Conformite:
		g.concerned = w.conformite(t)
	case Generique:
		g.concerned = w.generique(t)
	default:
		return nil, fmt.Errorf("track %q has no graph rules here: known are %s and %s", trackName, Conformite, Generique)
	}
	return g, nil
}

// Contains reports whether the resource is in the graph, by exact string.
func (g *Graph) Contains(resource string) bool { return g.nodes[resource] != 0 }

// Own reports whether the resource concerns only the target (§5.2).
func (g *Graph) Own(resource string) bool { return g.nodes[resource] == own }

// Concerns reports whether an assertion on this field of a resource of the graph
// concerns the target: always on an own resource, on a common list only when the
// field is in an entry that exists and names the target or one of its owners.
func (g *Graph) Concerns(resource, field string) bool {
	kind := g.nodes[resource]
	if kind == own {
		return true
	}
	decide := g.concerned[kind]
	if decide == nil {
		return false
	}
	tokens, ok := fields(field)
	if !ok || len(tokens) < 2 || tokens[0] != "entrees" || !isIndex(tokens[1]) {
		return false
	}
	n, err := strconv.Atoi(tokens[1])
	if err != nil {
		return false
	}
	v, _ := g.corpus.Value(resource)
	entries := list(v, "entrees")
	if n >= len(entries) {
		return false
	}
	entry, ok := entries[n].(*canonjson.Object)
	return ok && decide(entry)
}

// Resources yields every resource of the graph in the order of its code points.
func (g *Graph) Resources() iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(g.nodes)))
}

// walk collects the nodes of one graph.
type walk struct {
	corpus Corpus
	common map[string]role
	nodes  map[string]role
}

// add puts a resource into the graph and returns its value. It returns false when
// the manifest does not list it; /_systeme/* is in no graph.
func (w walk) add(resource string, as role) (any, bool) {
	if strings.HasPrefix(resource, "/_systeme/") {
		return nil, false
	}
	v, ok := w.corpus.Value(resource)
	if !ok {
		return nil, false
	}
	for prefix, kind := range w.common {
		if strings.HasPrefix(resource, prefix) {
			as = kind
		}
	}
	// What an own path reaches is own, even when a list leads there as well.
	if as == own || w.nodes[resource] == 0 {
		w.nodes[resource] = as
	}
	return v, true
}

// chain follows page_suivante from a first page and yields the value of each page
// once. It stops at a page already seen and at one the manifest does not list.
func (w walk) chain(first any, as role) iter.Seq[any] {
	return func(yield func(any) bool) {
		seen := map[string]bool{}
		for {
			resource, ok := first.(string)
			if !ok || seen[resource] {
				return
			}
			seen[resource] = true
			v, ok := w.add(resource, as)
			if !ok || !yield(v) {
				return
			}
			first = get(v, "page_suivante")
		}
	}
}

// get reads a member; nil when v is no object or has no such member.
func get(v any, name string) any {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil
	}
	m, _ := o.Get(name)
	return m
}

// list reads a member that is an array; nil otherwise.
func list(v any, name string) []any {
	items, _ := get(v, name).([]any)
	return items
}

// refs yields the strings of a member that is an array.
func refs(v any, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, item := range list(v, name) {
			if s, ok := item.(string); ok && !yield(s) {
				return
			}
		}
	}
}
