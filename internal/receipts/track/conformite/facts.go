package conformite

import (
	"slices"
	"strconv"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// Fact is what a supported assertion must carry for a verdict to be grounded.
type Fact struct {
	Resource, Field string
	Value           any
	// Equivalents are other assertions that carry the same fact; theirs are empty.
	Equivalents []Fact
}

// Object is the fact as a sealed key holds it (bundle format §6).
func (f Fact) Object() *canonjson.Object {
	equivalents := make([]any, len(f.Equivalents))
	for i, e := range f.Equivalents {
		equivalents[i] = e.claim()
	}
	o := f.claim()
	o.Set("equivalents", equivalents)
	return o
}

func (f Fact) claim() *canonjson.Object {
	return canonjson.NewObject("resource", f.Resource, "field", f.Field, "value", f.Value)
}

func fact(resource string, body any, field string) Fact {
	return Fact{Resource: resource, Field: field, Value: member(body, field[1:])}
}

// link is the fact that ties what is cited to what cites it: the reference at its
// place, or the whole array, or what the cited record says of its owner (back).
// A reference that only the question cites has no link.
func (c citation) link(back ...Fact) []Fact {
	if c.by == "" {
		return nil
	}
	f := Fact{Resource: c.by, Field: c.array + "/" + strconv.Itoa(c.index), Value: c.ref}
	f.Equivalents = append([]Fact{{Resource: c.by, Field: c.array, Value: c.all}}, back...)
	return []Fact{f}
}

func (l licence) link() []Fact     { return l.citation.link(fact(l.resource, l.body, "/entite")) }
func (c certificate) link() []Fact { return c.citation.link(fact(c.resource, c.body, "/entite")) }
func (r rider) link() []Fact       { return r.citation.link(fact(r.resource, r.body, "/attestation")) }

// absence grounds that a cited reference does not exist.
func (c citation) absence() []Fact {
	return append([]Fact{{Resource: c.resource, Field: "/existe", Value: false}}, c.link()...)
}

// facts are those of every criterion that decides the verdict.
func (f *file) facts(criteria [5]State) []Fact {
	decisive := slices.Min(criteria[:])
	if decisive == True {
		return distinct(f.conformeFacts())
	}
	var out []Fact
	grounds := [5]func(State) []Fact{f.entityFacts, f.licenceFacts, f.certificateFacts, f.registerFacts, f.ownerFacts}
	for i, state := range criteria {
		if state == decisive {
			out = append(out, grounds[i](state)...)
		}
	}
	return distinct(out)
}

// distinct keeps the first of each (resource, field).
func distinct(facts []Fact) []Fact {
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(facts, func(f Fact) bool {
		at := [2]string{f.Resource, f.Field}
		twice := seen[at]
		seen[at] = true
		return twice
	})
}

func (f *file) recordPath() string { return "/entites/" + f.target.Entity }

func (f *file) entityFacts(state State) []Fact {
	if state == NE {
		return []Fact{{Resource: f.recordPath(), Field: "/existe", Value: false}}
	}
	return []Fact{fact(f.recordPath(), f.record, "/statut")}
}

// licenceFacts ground criterion 2 when no licence satisfies it.
func (f *file) licenceFacts(state State) []Fact {
	if !exists(f.record) {
		return f.entityFacts(NE)
	}
	var out []Fact
	for _, lic := range f.licences {
		switch {
		case state == NE && lic.absent():
			out = append(out, lic.absence()...)
		case state == NE && f.licence(lic, lens{}) == NE, state == False && f.forActivity(lic):
			out = append(out, f.licenceFailure(lic)...)
		}
	}
	if len(out) == 0 {
		return []Fact{fact(f.recordPath(), f.record, "/agrements")}
	}
	return out
}

// licenceFailure is the first field that keeps a licence for the activity from
// satisfying, the others like it as equivalents, and the link.
func (f *file) licenceFailure(lic licence) []Fact {
	var failing []Fact
	if word(lic.body, "statut") != "valide" {
		failing = append(failing, fact(lic.resource, lic.body, "/statut"))
	}
	if notAfter(f.target.Date, member(lic.body, "date_fin_validite")) != True {
		failing = append(failing, fact(lic.resource, lic.body, "/date_fin_validite"))
	}
	if notAfter(member(lic.body, "date_debut"), f.target.Date) != True {
		failing = append(failing, fact(lic.resource, lic.body, "/date_debut"))
	}
	failing[0].Equivalents = failing[1:]
	return append(failing[:1:1], lic.link()...)
}

// certificateFacts ground criterion 3 for each required type in this state.
func (f *file) certificateFacts(state State) []Fact {
	if !exists(f.record) {
		return f.entityFacts(NE)
	}
	var out []Fact
	for _, kind := range f.required {
		if f.certifiedFor(kind, lens{}) == state {
			out = append(out, f.typeFacts(kind, state)...)
		}
	}
	return out
}

func (f *file) typeFacts(kind string, state State) []Fact {
	var out []Fact
	for _, c := range f.certificates {
		switch {
		case c.absent():
			// With a type that is false nothing cited is absent.
			out = append(out, c.absence()...)
		case word(c.body, "type") != kind || f.certificate(c, kind, lens{}) != state:
		case slices.ContainsFunc(c.riders, rider.absent):
			for _, r := range c.riders {
				if r.absent() {
					out = append(out, r.absence()...)
				}
			}
		default:
			out = append(out, f.certificateFailure(c)...)
		}
	}
	if len(out) == 0 {
		return []Fact{fact(f.recordPath(), f.record, "/attestations")}
	}
	return out
}

// certificateFailure grounds that one attestation of the right type does not
// satisfy: what excludes or ends it, and the links down to it.
func (f *file) certificateFailure(c certificate) []Fact {
	v := f.validity(c, lens{})
	var out []Fact
	switch {
	case word(c.body, "entite") != f.target.Entity:
		out = append(out, fact(c.resource, c.body, "/entite"))
		return append(out, c.citation.link()...)
	case v.excludedBy != nil:
		out = append(out, decidedBy(v.excludedBy, "/activite_exclue")...)
	case notAfter(f.target.Date, v.end) != True && v.endBy != nil:
		out = append(out, decidedBy(v.endBy, "/nouvelle_date_fin")...)
	case notAfter(f.target.Date, v.end) != True:
		out = append(out, fact(c.resource, c.body, "/date_fin_validite"))
	case v.unknown:
		for _, r := range c.riders {
			out = append(out, fact(r.resource, r.body, "/date_effet"))
		}
	default:
		out = append(out, fact(c.resource, c.body, "/date_emission"))
	}
	return append(out, c.link()...)
}

// decidedBy is a rider's decision: the field, that it is in effect, and the link.
func decidedBy(r *rider, field string) []Fact {
	out := []Fact{fact(r.resource, r.body, field), fact(r.resource, r.body, "/date_effet")}
	return append(out, r.link()...)
}

// registerFacts ground that the registers differ, or that one is silent.
func (f *file) registerFacts(State) []Fact {
	lic, _ := f.satisfyingLicence(lens{})
	out := []Fact{fact(lic.resource, lic.body, "/statut")}
	listed := f.registerEntries(lic)
	if len(listed) == 0 {
		return append(out, fact(lic.resource, lic.body, "/date_fin_validite"))
	}
	for _, e := range listed {
		out = append(out, e.fact("statut"))
	}
	return out
}

func (e entry) fact(name string) Fact {
	return Fact{Resource: e.page, Field: e.at + "/" + name, Value: member(e.value, name)}
}

// both are the two terms of a comparison of dates of birth.
func (n namesake) both() []Fact {
	return []Fact{n.owner.fact("date_naissance"), n.listed.fact("date_naissance")}
}

func (f *file) ownerFacts(state State) []Fact {
	if !exists(f.record) {
		return f.entityFacts(NE)
	}
	var out []Fact
	for _, n := range f.namesakes(lens{}) {
		if n.state(lens{}) == state {
			out = append(out, n.both()...)
		}
	}
	if state == False {
		return out
	}
	if !f.ownersGiven {
		out = append(out, fact(f.recordPath(), f.record, "/beneficiaires"))
	}
	for _, p := range f.incompletePages(lens{}) {
		out = append(out, fact(p.resource, p.body, "/statut_declaration"))
	}
	return out
}

// conformeFacts are what a conforming verdict rests on.
func (f *file) conformeFacts() []Fact {
	out := []Fact{fact(f.recordPath(), f.record, "/statut")}
	if lic, ok := f.satisfyingLicence(lens{}); ok {
		out = append(out, fact(lic.resource, lic.body, "/date_fin_validite"))
	}
	for _, kind := range f.required {
		for _, c := range f.certificates {
			if f.certificate(c, kind, lens{}) == True {
				out = append(out, f.effectiveEnd(c)...)
				break
			}
		}
	}
	for _, n := range f.namesakes(lens{}) {
		out = append(out, n.both()...)
	}
	return out
}

// effectiveEnd is the end that an attestation has, with the rider's link when a
// rider decides.
func (f *file) effectiveEnd(c certificate) []Fact {
	v := f.validity(c, lens{})
	if v.endBy == nil {
		return []Fact{fact(c.resource, c.body, "/date_fin_validite")}
	}
	return append([]Fact{fact(v.endBy.resource, v.endBy.body, "/nouvelle_date_fin")}, v.endBy.link()...)
}
