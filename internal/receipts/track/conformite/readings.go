package conformite

import (
	"slices"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// lens is a way to read a file; the zero lens is the published rules, each field
// one way to miss them.
type lens struct {
	absentHolds       bool // an absent reference is taken to say what one hopes
	ignoreDates       bool // the status is read, the dates are not
	oneRegister       bool // only the record side is consulted
	noRiders          bool // riders are not followed
	firstOwnersPage   bool // the owners' further pages are not followed
	firstMeasuresPage bool // the list's further pages are not followed
	nameIsEnough      bool // a name on the list is taken for the person
	exclusive         bool // the day of a bound is taken to be outside it
	listIsEnough      bool // an entry in the public list is taken for a licence
	anyRider          bool // riders are applied before they take effect
}

func (l lens) absence() State {
	if l.absentHolds {
		return True
	}
	return NE
}

// notAfter compares two days, bounds included. A value that is no day cannot be
// compared.
func notAfter(a, b any) State {
	from, ok := a.(string)
	if !ok {
		return NE
	}
	to, ok := b.(string)
	if !ok {
		return NE
	}
	return holds(from <= to)
}

// valid says whether an examination date is not past an end.
func (l lens) valid(date string, end any) State {
	if l.exclusive && end == any(date) {
		return False
	}
	return notAfter(date, end)
}

// inEffect says whether a rider of this date of effect applies at the examination.
func (l lens) inEffect(effect any, date string) State {
	if l.anyRider {
		return True
	}
	return notAfter(effect, date)
}

func (lens) first(pages []page, only bool) []page {
	if only && len(pages) > 1 {
		return pages[:1]
	}
	return pages
}

// Reading is one of the readings that a trap family tempts to.
type Reading struct {
	// Family is P1 to P5 (§5.4).
	Family string
	// Name says in a few words what the reading does.
	Name string

	lens       lens
	absentStop bool // any absent reference is taken to decide the verdict
}

// Families are the five trap families, in order.
func Families() []string { return []string{"P1", "P2", "P3", "P4", "P5"} }

// Readings returns the readings of a trap family, none for an unknown family.
func Readings(family string) []Reading {
	all := []Reading{
		{Family: "P1", Name: "takes an absent source for a good one", lens: lens{absentHolds: true}},
		{Family: "P1", Name: "lets any absent source decide", absentStop: true},
		{Family: "P2", Name: "reads the status, not the dates", lens: lens{ignoreDates: true}},
		{Family: "P3", Name: "consults one register only", lens: lens{oneRegister: true}},
		{Family: "P4", Name: "does not follow riders", lens: lens{noRiders: true}},
		{Family: "P4", Name: "stops at the first page of owners", lens: lens{firstOwnersPage: true}},
		{Family: "P4", Name: "stops at the first page of restrictive measures", lens: lens{firstMeasuresPage: true}},
		{Family: "P5", Name: "takes a name on the list for the person", lens: lens{nameIsEnough: true}},
		{Family: "P5", Name: "takes the printed end date for the end", lens: lens{noRiders: true}},
		{Family: "P5", Name: "takes the last day of validity for the first day after", lens: lens{exclusive: true}},
		{Family: "P5", Name: "takes an entry in the public list for a licence", lens: lens{listIsEnough: true}},
		{Family: "P5", Name: "applies a rider before it takes effect", lens: lens{anyRider: true}},
	}
	return slices.DeleteFunc(all, func(r Reading) bool { return r.Family != family })
}

// Verdict is the verdict that the reading comes to.
func (r Reading) Verdict(c track.Corpus, t track.Target, rules Referentiel) (string, error) {
	f, err := gather(c, t, rules)
	if err != nil {
		return "", err
	}
	if r.absentStop && f.citesAbsent() {
		return VerdictIndeterminable, nil
	}
	return verdict(f.criteria(r.lens)), nil
}

// citesAbsent reports whether the record, an attestation or the question cites a
// reference that does not exist.
func (f *file) citesAbsent() bool {
	return !exists(f.record) || slices.ContainsFunc(f.licences, licence.absent) ||
		slices.ContainsFunc(f.certificates, func(c certificate) bool {
			return c.absent() || slices.ContainsFunc(c.riders, rider.absent)
		})
}

// Tempts reports whether one of the family's readings comes to another verdict
// than the rules do, which is what makes the trap a trap.
func Tempts(family, verdict string, c track.Corpus, t track.Target, rules Referentiel) (bool, error) {
	for _, r := range Readings(family) {
		got, err := r.Verdict(c, t, rules)
		if err != nil {
			return false, err
		}
		if got != verdict {
			return true, nil
		}
	}
	return false, nil
}
