package agent

import (
	"cmp"
	"slices"
)

// finding is what the dossier establishes about a criterion. The order serves: of
// several ways to satisfy one the greatest counts, of several demands the least.
type finding uint8

const (
	fails finding = iota
	open          // cannot be established
	holds
)

func (f finding) words() (fr, en string) {
	switch f {
	case fails:
		return "n’est pas rempli", "is not met"
	case open:
		return "ne peut pas être établi", "cannot be established"
	}
	return "est rempli", "is met"
}

func holdsIf(b bool) finding {
	if b {
		return holds
	}
	return fails
}

// inOrder compares two dates, bounds included. A term that is no text leaves the
// comparison open.
func inOrder(earlier, later any) finding {
	from, ok := earlier.(string)
	if !ok {
		return open
	}
	to, ok := later.(string)
	if !ok {
		return open
	}
	return holdsIf(from <= to)
}

// evaluate gives the five criteria, the first at index 0.
func (f *dossier) evaluate() [5]finding {
	return [5]finding{f.entity(), f.licensed(), f.certified(), f.registered(), f.ownership()}
}

// verdict applies the precedence that the rules publish.
func (f *dossier) verdict(criteria [5]finding) string {
	return f.guide.precedence[slices.Min(criteria[:])]
}

func (f *dossier) entity() finding {
	if !f.record.exists() {
		return open
	}
	return holdsIf(word(f.record.body, "statut") == "active")
}

func (f *dossier) licensed() finding {
	if !f.record.exists() {
		return open // Without a record nothing says which licences there are.
	}
	best := fails
	for _, l := range f.licences {
		best = max(best, f.satisfies(l))
	}
	return best
}

func (f *dossier) concerns(l licence) bool {
	return word(l.body, "entite") == f.target.entity && word(l.body, "activite") == f.target.activity
}

func (f *dossier) satisfies(l licence) finding {
	switch {
	case !l.exists():
		return open
	case !f.concerns(l), word(l.body, "statut") != "valide":
		return fails
	}
	return min(inOrder(member(l.body, "date_debut"), f.target.date), inOrder(f.target.date, member(l.body, "date_fin_validite")))
}

func (f *dossier) certified() finding {
	if !f.record.exists() {
		return open
	}
	worst := holds
	for _, kind := range f.guide.required[f.target.activity] {
		worst = min(worst, f.certifiedFor(kind))
	}
	return worst
}

func (f *dossier) certifiedFor(kind string) finding {
	best := fails
	for _, c := range f.certs {
		best = max(best, f.covers(c, kind))
	}
	return best
}

// covers says whether one attestation satisfies a required type. An absent one
// may be of any type; an absent rider may be anything, so what would fail without
// it stays open.
func (f *dossier) covers(c cert, kind string) finding {
	if !c.exists() {
		return open
	}
	if word(c.body, "type") != kind {
		return fails
	}
	result := fails
	if word(c.body, "entite") == f.target.entity {
		result = f.inForce(c)
	}
	if slices.ContainsFunc(c.riders, func(r cited) bool { return !r.exists() }) {
		result = max(result, open)
	}
	return result
}

func (f *dossier) inForce(c cert) finding {
	t := f.term(c)
	switch {
	case t.unclear:
		return open
	case t.excludedBy != nil:
		return fails
	}
	return min(inOrder(member(c.body, "date_emission"), f.target.date), inOrder(f.target.date, t.end))
}

// term is what the riders in effect leave of an attestation.
type term struct {
	end        any
	endBy      *cited // the rider that sets the end, or nil
	excludedBy *cited // the rider that excludes the activity, or nil
	unclear    bool   // a rider has no date of effect
}

func (f *dossier) term(c cert) term {
	t := term{end: member(c.body, "date_fin_validite")}
	riders := slices.DeleteFunc(slices.Clone(c.riders), func(r cited) bool { return !r.exists() })
	slices.SortStableFunc(riders, func(a, b cited) int {
		return cmp.Or(cmp.Compare(word(a.body, "date_effet"), word(b.body, "date_effet")), cmp.Compare(a.ref, b.ref))
	})
	for _, r := range riders {
		switch inOrder(member(r.body, "date_effet"), f.target.date) {
		case fails:
			continue
		case open:
			t.unclear = true
			continue
		}
		if end := member(r.body, "nouvelle_date_fin"); end != nil {
			t.end, t.endBy = end, &r
		}
		if word(r.body, "activite_exclue") == f.target.activity {
			t.excludedBy = &r
		}
	}
	return t
}

// satisfying is the licence of criterion 2.
func (f *dossier) satisfying() (licence, bool) {
	for _, l := range f.licences {
		if f.satisfies(l) == holds {
			return l, true
		}
	}
	return licence{}, false
}

func (f *dossier) registered() finding {
	l, ok := f.satisfying()
	if !ok {
		return holds
	}
	for _, e := range f.listed(l) {
		if word(e.value, "statut") == word(l.body, "statut") {
			return holds
		}
	}
	return open
}

// listed are the entries of the public list for a licence of the entity.
func (f *dossier) listed(l licence) []entry {
	return slices.DeleteFunc(entries(f.register), func(e entry) bool {
		return word(e.value, "agrement") != l.ref || word(e.value, "entite") != f.target.entity
	})
}

// ownership is open without a record, which then names no page of owners either.
func (f *dossier) ownership() finding {
	result := holds
	if !f.ownersNamed || len(f.incomplete()) > 0 {
		result = open
	}
	for _, n := range f.namesakes() {
		result = min(result, n.finding())
	}
	return result
}

func (f *dossier) incomplete() []*page {
	return slices.DeleteFunc(slices.Clone(f.owners), func(p *page) bool {
		return word(p.body, "statut_declaration") == "complete"
	})
}

// namesake is an owner and a listed person with the same names.
type namesake struct{ owner, listed entry }

func (n namesake) finding() finding {
	owner, ok := member(n.owner.value, "date_naissance").(string)
	if !ok {
		return open
	}
	listed, ok := member(n.listed.value, "date_naissance").(string)
	if !ok {
		return open
	}
	return holdsIf(owner != listed)
}

// namesakes compares names character by character, without normalisation.
func (f *dossier) namesakes() []namesake {
	type name struct{ nom, prenoms string }
	of := func(e entry) name { return name{word(e.value, "nom"), word(e.value, "prenoms")} }
	listed := map[name][]entry{}
	for _, e := range entries(f.measures) {
		listed[of(e)] = append(listed[of(e)], e)
	}
	var out []namesake
	for _, o := range entries(f.owners) {
		if of(o) == (name{}) {
			continue
		}
		for _, e := range listed[of(o)] {
			out = append(out, namesake{o, e})
		}
	}
	return out
}
