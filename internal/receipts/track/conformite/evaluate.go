package conformite

import (
	"cmp"
	"slices"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// State is what the corpus establishes about a criterion.
type State uint8

// The order serves: of several ways to satisfy a criterion the best counts, of
// several things it asks for the worst.
const (
	False State = iota
	NE          // not establishable
	True
)

// String is the state in English.
func (s State) String() string {
	switch s {
	case True:
		return "true"
	case NE:
		return "not establishable"
	}
	return "false"
}

// Result is the evaluation of one task.
type Result struct {
	// Criteria are the five criteria of the table, criterion 1 first.
	Criteria [5]State
	// Verdict is one of the three verdicts.
	Verdict string
	// Facts ground the verdict (§5.7): those of every criterion that decides it,
	// in the order of the criteria.
	Facts []Fact
}

// Evaluate applies the evaluation rules to a target over the frozen values. The
// error says that the référentiel does not know the target's activity.
func Evaluate(c track.Corpus, t track.Target, r Referentiel) (Result, error) {
	f, err := gather(c, t, r)
	if err != nil {
		return Result{}, err
	}
	criteria := f.criteria(lens{})
	return Result{Criteria: criteria, Verdict: verdict(criteria), Facts: f.facts(criteria)}, nil
}

// verdict is the precedence of §5.3.
func verdict(criteria [5]State) string {
	switch slices.Min(criteria[:]) {
	case False:
		return VerdictNonConforme
	case NE:
		return VerdictIndeterminable
	}
	return VerdictConforme
}

func (f *file) criteria(l lens) [5]State {
	return [5]State{f.entity(), f.licensed(l), f.certified(l), f.registered(l), f.ownership(l)}
}

// entity is criterion 1.
func (f *file) entity() State {
	if !exists(f.record) {
		return NE
	}
	return holds(word(f.record, "statut") == "active")
}

// licensed is criterion 2.
func (f *file) licensed(l lens) State {
	if l.listIsEnough && f.listedAsValid() {
		return True
	}
	if !exists(f.record) {
		return NE
	}
	state := False
	for _, lic := range f.licences {
		state = max(state, f.licence(lic, l))
	}
	return state
}

func (f *file) licence(lic licence, l lens) State {
	if lic.absent() {
		return l.absence()
	}
	if !f.forActivity(lic) || word(lic.body, "statut") != "valide" {
		return False
	}
	if l.ignoreDates {
		return True
	}
	return min(notAfter(member(lic.body, "date_debut"), f.target.Date),
		l.valid(f.target.Date, member(lic.body, "date_fin_validite")))
}

func (f *file) forActivity(lic licence) bool {
	return word(lic.body, "entite") == f.target.Entity && word(lic.body, "activite") == f.target.Activity
}

func (f *file) listedAsValid() bool {
	return slices.ContainsFunc(entries(f.register), func(e entry) bool {
		return word(e.value, "entite") == f.target.Entity && word(e.value, "statut") == "valide"
	})
}

// certified is criterion 3: the worst of the types that the activity requires.
func (f *file) certified(l lens) State {
	if !exists(f.record) {
		return NE
	}
	state := True
	for _, kind := range f.required {
		state = min(state, f.certifiedFor(kind, l))
	}
	return state
}

func (f *file) certifiedFor(kind string, l lens) State {
	state := False
	for _, c := range f.certificates {
		state = max(state, f.certificate(c, kind, l))
	}
	return state
}

// certificate says whether one cited attestation satisfies a required type. An
// absent one might be of any type.
func (f *file) certificate(c certificate, kind string, l lens) State {
	if c.absent() {
		return l.absence()
	}
	if word(c.body, "type") != kind {
		return False
	}
	state := f.satisfies(c, l)
	if !l.noRiders && slices.ContainsFunc(c.riders, rider.absent) {
		state = max(state, l.absence())
	}
	return state
}

func (f *file) satisfies(c certificate, l lens) State {
	if word(c.body, "entite") != f.target.Entity {
		return False
	}
	v := f.validity(c, l)
	if v.unknown {
		return NE
	}
	if v.excludedBy != nil {
		return False
	}
	if l.ignoreDates {
		return True
	}
	return min(notAfter(member(c.body, "date_emission"), f.target.Date), l.valid(f.target.Date, v.end))
}

// validity is what an attestation's riders leave of it at the examination date.
type validity struct {
	end        any    // the effective end; null when the attestation's own is
	endBy      *rider // the rider that sets it, or nil
	excludedBy *rider // the rider in effect that excludes the activity, or nil
	unknown    bool   // a rider's date of effect is no date
}

func (f *file) validity(c certificate, l lens) validity {
	v := validity{end: member(c.body, "date_fin_validite")}
	for _, r := range f.ridersInOrder(c, l) {
		switch l.inEffect(member(r.body, "date_effet"), f.target.Date) {
		case False:
			continue
		case NE:
			v.unknown = true
			continue
		}
		if end := member(r.body, "nouvelle_date_fin"); end != nil {
			v.end, v.endBy = end, &r
		}
		if word(r.body, "activite_exclue") == f.target.Activity {
			v.excludedBy = &r
		}
	}
	return v
}

// ridersInOrder are the riders that exist, by date of effect, then reference.
func (f *file) ridersInOrder(c certificate, l lens) []rider {
	if l.noRiders {
		return nil
	}
	riders := slices.DeleteFunc(slices.Clone(c.riders), rider.absent)
	slices.SortStableFunc(riders, func(a, b rider) int {
		return cmp.Or(cmp.Compare(word(a.body, "date_effet"), word(b.body, "date_effet")), cmp.Compare(a.ref, b.ref))
	})
	return riders
}

// registered is criterion 4; it is never false.
func (f *file) registered(l lens) State {
	if l.oneRegister || l.listIsEnough && f.listedAsValid() {
		return True
	}
	lic, ok := f.satisfyingLicence(l)
	if !ok {
		return True
	}
	statut := word(lic.body, "statut")
	for _, e := range f.registerEntries(lic) {
		if word(e.value, "statut") == statut {
			return True
		}
	}
	return NE
}

// satisfyingLicence is the licence of criterion 2, the first as cited. One that
// exists only by assumption of a reading has no entry to compare.
func (f *file) satisfyingLicence(l lens) (licence, bool) {
	for _, lic := range f.licences {
		if !lic.absent() && f.licence(lic, l) == True {
			return lic, true
		}
	}
	return licence{}, false
}

// registerEntries are the entries of the public list for a licence of the target.
func (f *file) registerEntries(lic licence) []entry {
	return slices.DeleteFunc(entries(f.register), func(e entry) bool {
		return word(e.value, "agrement") != lic.ref || word(e.value, "entite") != f.target.Entity
	})
}

// ownership is criterion 5. A match is false before anything is not establishable.
func (f *file) ownership(l lens) State {
	state := True
	if len(f.incompletePages(l)) > 0 || !f.ownersGiven {
		state = NE
	}
	for _, p := range f.namesakes(l) {
		state = min(state, p.state(l))
	}
	return state
}

func (f *file) incompletePages(l lens) []page {
	return slices.DeleteFunc(slices.Clone(l.first(f.owners, l.firstOwnersPage)), func(p page) bool {
		return word(p.body, "statut_declaration") == "complete"
	})
}

// namesake is an owner and a listed person of the same name and first names.
type namesake struct{ owner, listed entry }

// state is False for the same person, True for another one, NE when a date of
// birth is missing.
func (n namesake) state(l lens) State {
	if l.nameIsEnough {
		return False
	}
	owner, ok := member(n.owner.value, "date_naissance").(string)
	if !ok {
		return NE
	}
	listed, ok := member(n.listed.value, "date_naissance").(string)
	if !ok {
		return NE
	}
	return holds(owner != listed)
}

func (f *file) namesakes(l lens) []namesake {
	type name struct{ nom, prenoms string }
	listed := map[name][]entry{}
	for _, e := range entries(l.first(f.measures, l.firstMeasuresPage)) {
		n := name{word(e.value, "nom"), word(e.value, "prenoms")}
		listed[n] = append(listed[n], e)
	}
	var out []namesake
	for _, o := range entries(l.first(f.owners, l.firstOwnersPage)) {
		n := name{word(o.value, "nom"), word(o.value, "prenoms")}
		if n == (name{}) {
			continue
		}
		for _, e := range listed[n] {
			out = append(out, namesake{o, e})
		}
	}
	return out
}

func holds(b bool) State {
	if b {
		return True
	}
	return False
}
