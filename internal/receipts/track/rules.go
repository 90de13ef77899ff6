package track

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Rules is the part of a track's frozen scoring rules that a program applies:
// the content of rules/<track>.json (bundle format §4).
type Rules struct {
	// Version names the scoring rules, such as conformite-bareme-v3.
	Version string
	// TextSHA256 is the SHA-256 of the bytes of rules/<track>.md, 64 lower-case hex.
	TextSHA256 string
	// Verdicts are the fixed verdicts of the set, in the order published.
	Verdicts []string
	// VerdictCollection is a collection whose references are verdicts too
	// ("/produits/"), or nil.
	VerdictCollection *string
	// ProbativeFields maps a collection to its pointer patterns, as published.
	ProbativeFields map[string][]string

	// collections are the names of ProbativeFields, longest first, so that the
	// first one that is a prefix is the longest; patterns are split once.
	collections []string
	patterns    map[string][][]string
}

// The two tokens of a pattern that stand for more than themselves.
const (
	anyIndex = "<n>"
	anyToken = "<k>"
)

// ParseRules reads the value of rules/<track>.json. Unknown members are ignored;
// they still count in the rules hash, which covers the value as it stands. The
// error names the pointer at fault.
func ParseRules(v any) (*Rules, error) {
	o, ok := v.(*canonjson.Object)
	if !ok {
		return nil, fmt.Errorf("the rules are %s: they must be an object", canonjson.Kind(v))
	}
	r := &Rules{ProbativeFields: map[string][]string{}, patterns: map[string][][]string{}}
	var err error
	if r.Version, err = text(o, "", "version"); err != nil {
		return nil, err
	}
	if r.TextSHA256, err = text(o, "", "text_sha256"); err != nil {
		return nil, err
	}
	if !isHash(r.TextSHA256) {
		return nil, fmt.Errorf("/text_sha256 is %q: it must be 64 lower-case hex digits", r.TextSHA256)
	}
	verdicts, err := member[[]any](o, "", "verdicts", "an array of strings")
	if err != nil {
		return nil, err
	}
	if r.Verdicts, err = texts(verdicts, "/verdicts"); err != nil {
		return nil, err
	}
	if r.VerdictCollection, err = verdictCollection(o); err != nil {
		return nil, err
	}
	listed, err := member[*canonjson.Object](o, "", "probative_fields", "an object")
	if err != nil {
		return nil, err
	}
	for name, patterns := range listed.All() {
		if err := r.addCollection(name, patterns); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(r.collections, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return r, nil
}

func verdictCollection(o *canonjson.Object) (*string, error) {
	v, ok := o.Get("verdict_collection")
	if !ok {
		return nil, fmt.Errorf("/verdict_collection is missing: it must be a collection or null")
	}
	if v == nil {
		return nil, nil
	}
	s, ok := v.(string)
	if !ok || !isCollection(s) {
		return nil, fmt.Errorf("/verdict_collection must be null or a path with slashes at both ends, such as /produits/")
	}
	return &s, nil
}

func (r *Rules) addCollection(name string, patterns any) error {
	at := "/probative_fields/" + escape(name)
	if !isCollection(name) {
		return fmt.Errorf("%s: a collection is a path with slashes at both ends, such as /entites/", at)
	}
	list, err := texts(patterns, at)
	if err != nil {
		return err
	}
	split := make([][]string, len(list))
	for i, pattern := range list {
		tokens, ok := fields(pattern)
		if !ok {
			return fmt.Errorf("%s/%d: %q is no JSON Pointer: it must start with / and escape ~ as ~0", at, i, pattern)
		}
		split[i] = tokens
	}
	r.ProbativeFields[name] = list
	r.collections = append(r.collections, name)
	r.patterns[name] = split
	return nil
}

func isCollection(s string) bool {
	return strings.HasPrefix(s, "/") && strings.HasSuffix(s, "/")
}

func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// Collection returns the longest listed prefix that the resource starts with: the
// collection the resource belongs to.
func (r *Rules) Collection(resource string) (string, bool) {
	for _, name := range r.collections {
		if strings.HasPrefix(resource, name) {
			return name, true
		}
	}
	return "", false
}

// Probative reports whether an assertion may bear on this field of this resource
// (§5.7, probative fields). The whole document, an empty field, never is.
func (r *Rules) Probative(resource, field string) bool {
	name, ok := r.Collection(resource)
	if !ok || field == "" {
		return false
	}
	tokens, ok := fields(field)
	if !ok {
		return false
	}
	return slices.ContainsFunc(r.patterns[name], func(pattern []string) bool {
		return matches(pattern, tokens)
	})
}

func matches(pattern, tokens []string) bool {
	if len(pattern) != len(tokens) {
		return false
	}
	for i, want := range pattern {
		switch {
		case want == anyToken:
		case want == anyIndex:
			if !isIndex(tokens[i]) {
				return false
			}
		case want != tokens[i]:
			return false
		}
	}
	return true
}

// VerdictAllowed reports whether v is in the track's set: one of the fixed
// verdicts, or any text for which the manifest lists the verdict collection with
// that text behind it (bundle format §4). Nothing else is asked of the text: what
// the manifest lists decides. inManifest is asked only when a verdict collection
// exists.
func (r *Rules) VerdictAllowed(v string, inManifest func(resource string) bool) bool {
	if slices.Contains(r.Verdicts, v) {
		return true
	}
	return r.VerdictCollection != nil && inManifest(*r.VerdictCollection+v)
}
