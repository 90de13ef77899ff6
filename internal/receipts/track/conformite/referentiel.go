package conformite

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// The three verdicts of the track (§5.3).
const (
	VerdictConforme       = "conforme"
	VerdictNonConforme    = "non_conforme"
	VerdictIndeterminable = "indeterminable"
)

// ReferentielPath is the resource that publishes the evaluation rules.
const ReferentielPath = "/referentiel"

// Referentiel is the part of /referentiel that an evaluation depends on.
type Referentiel struct {
	// RequiredTypes maps an activity to the types of attestation it requires, in
	// the order published.
	RequiredTypes map[string][]string
}

// ParseReferentiel reads the value of /referentiel: the object types_requis maps
// each activity to a non-empty array of distinct attestation types.
func ParseReferentiel(v any) (Referentiel, error) {
	table, ok := member(v, "types_requis").(*canonjson.Object)
	if !ok {
		return Referentiel{}, fmt.Errorf("%s: /types_requis must be an object of arrays", ReferentielPath)
	}
	r := Referentiel{RequiredTypes: map[string][]string{}}
	for activity, value := range table.All() {
		items, ok := value.([]any)
		if !ok || len(items) == 0 {
			return Referentiel{}, fmt.Errorf("%s: /types_requis/%s must be an array of at least one type", ReferentielPath, activity)
		}
		seen := map[string]bool{}
		for i, item := range items {
			name, ok := item.(string)
			if !ok || name == "" || seen[name] {
				return Referentiel{}, fmt.Errorf("%s: /types_requis/%s/%d must be a type named once", ReferentielPath, activity, i)
			}
			seen[name] = true
			r.RequiredTypes[activity] = append(r.RequiredTypes[activity], name)
		}
	}
	return r, nil
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

// word reads a string member; "" when it is none. No identifier, status or type
// of the corpus is empty, so "" equals nothing that counts.
func word(v any, name string) string {
	s, _ := member(v, name).(string)
	return s
}

// items reads an array member; nil when it is none.
func items(v any, name string) []any {
	a, _ := member(v, name).([]any)
	return a
}

// exists reports whether a body is a record, not the body of an absent reference.
func exists(v any) bool {
	e, _ := member(v, "existe").(bool)
	return e
}
