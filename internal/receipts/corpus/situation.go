package corpus

import (
	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// situation is what is particular about an entity: the verdict it leads to and
// the trap families that tempt to another one.
type situation struct {
	name     string
	verdict  string
	families []string
	// facts is how many facts ground the verdict when the activity requires n types.
	facts func(n int) int
	// listed says that the restrictive-measures list has to be read for it.
	listed bool
	// quotesAbsent says that the question cites a reference that does not exist.
	quotesAbsent bool
	apply        func(w *world, e *entity)
}

func (s situation) control() bool { return len(s.families) == 0 }

func count(n int) func(int) int { return func(int) int { return n } }

// conformeFacts: status, licence, one end a type, and what comes on top.
func conformeFacts(more int) func(int) int { return func(types int) int { return 2 + types + more } }

// situations lists them all; the composition chooses by name.
func situations() []situation {
	const yes, no, open = conformite.VerdictConforme, conformite.VerdictNonConforme, conformite.VerdictIndeterminable
	return []situation{
		{name: "control", verdict: yes, facts: conformeFacts(0), apply: func(*world, *entity) {}},
		{name: "rider_extends", verdict: yes, families: []string{"P4", "P5"}, facts: conformeFacts(1), apply: riderExtends},
		{name: "homonym", verdict: yes, families: []string{"P5"}, facts: conformeFacts(2), listed: true, apply: homonym},
		{name: "boundary_day", verdict: yes, families: []string{"P5"}, facts: conformeFacts(0), apply: boundaryDay},

		{name: "licence_expired", verdict: no, families: []string{"P2"}, facts: count(2), apply: licenceExpired},
		{name: "certificate_expired", verdict: no, families: []string{"P2"}, facts: count(2), apply: certificateExpired},
		{name: "rider_not_yet", verdict: no, families: []string{"P2", "P5"}, facts: count(2), apply: riderNotYet},
		{name: "rider_excludes", verdict: no, families: []string{"P4"}, facts: count(4), apply: riderExcludes},
		{name: "rider_shortens", verdict: no, families: []string{"P4"}, facts: count(4), apply: riderShortens},
		{name: "listed_owner", verdict: no, families: []string{"P4"}, facts: count(2), listed: true, apply: listedOwner},
		{name: "licence_suspended", verdict: no, families: []string{"P5"}, facts: count(2), apply: licenceSuspended},
		{name: "suspended_absent_source", verdict: no, families: []string{"P1"}, facts: count(1), quotesAbsent: true, apply: suspendedAbsentSource},

		{name: "certificate_absent", verdict: open, families: []string{"P1"}, facts: count(2), apply: certificateAbsent},
		{name: "licence_absent", verdict: open, families: []string{"P1", "P5"}, facts: count(2), apply: licenceAbsent},
		{name: "rider_absent", verdict: open, families: []string{"P1", "P4"}, facts: count(2), apply: riderAbsent},
		{name: "quoted_certificate_absent", verdict: open, families: []string{"P1"}, facts: count(1), quotesAbsent: true, apply: quotedCertificateAbsent},
		{name: "registers_differ", verdict: open, families: []string{"P3"}, facts: count(2), apply: registersDiffer},
		{name: "register_silent", verdict: open, families: []string{"P3"}, facts: count(2), apply: registerSilent},
		{name: "birth_date_unknown", verdict: open, families: []string{"P5"}, facts: count(2), listed: true, apply: birthDateUnknown},
		{name: "partial_declaration", verdict: open, families: []string{"P4"}, facts: count(1), apply: partialDeclaration},
	}
}

func situationNamed(name string) (situation, bool) {
	for _, s := range situations() {
		if s.name == name {
			return s, true
		}
	}
	return situation{}, false
}

func situationNames() []string {
	var out []string
	for _, s := range situations() {
		out = append(out, s.name)
	}
	return out
}

// settle draws the required attestation that a situation rests on.
func (w *world) settle(e *entity) *certificate {
	c := pick(w.draw, e.certificates)
	c.settled = true
	return c
}

func riderExtends(w *world, e *entity) {
	c := w.settle(e)
	c.end = e.date - day(w.draw.between(3, 60))
	c.issued = c.end - day(w.draw.between(200, 360))
	c.riders = append(c.riders, &rider{
		object: "prorogation de la validité",
		effect: c.end - day(w.draw.between(0, 20)),
		newEnd: e.date + day(w.draw.between(40, 300)),
	})
}

func homonym(w *world, e *entity) {
	owner := pick(w.draw, e.owners)
	w.list(&person{nom: owner.nom, prenoms: owner.prenoms, born: w.otherBirth(owner.born)})
}

func boundaryDay(w *world, e *entity) {
	if w.draw.chance(400) {
		e.main().to = e.date
		return
	}
	w.settle(e).end = e.date
}

func licenceExpired(w *world, e *entity) {
	e.main().to = e.date - day(w.draw.between(1, 90))
}

func certificateExpired(w *world, e *entity) {
	c := w.settle(e)
	c.end = e.date - day(w.draw.between(1, 60))
	c.issued = c.end - day(w.draw.between(200, 360))
}

func riderNotYet(w *world, e *entity) {
	certificateExpired(w, e)
	for _, c := range e.certificates {
		if c.settled {
			c.riders = append(c.riders, &rider{
				object: "prorogation de la validité",
				effect: e.date + day(w.draw.between(1, 40)),
				newEnd: e.date + day(w.draw.between(200, 400)),
			})
		}
	}
}

func riderExcludes(w *world, e *entity) {
	c := w.settle(e)
	c.riders = append(c.riders, &rider{
		object:   "retrait d’activité",
		effect:   max(c.issued, e.date-day(w.draw.between(2, 80))),
		excludes: e.activity.Name,
	})
}

func riderShortens(w *world, e *entity) {
	c := w.settle(e)
	newEnd := e.date - day(w.draw.between(1, 8))
	c.issued = min(c.issued, newEnd-day(w.draw.between(60, 200)))
	c.riders = append(c.riders, &rider{
		object: "fin de validité anticipée",
		effect: newEnd - day(w.draw.between(5, 50)),
		newEnd: newEnd,
	})
}

func listedOwner(w *world, e *entity) {
	w.secondPage(e)
	owner := e.owners[len(e.owners)-1]
	w.list(&person{nom: owner.nom, prenoms: owner.prenoms, born: owner.born})
}

func licenceSuspended(_ *world, e *entity) {
	e.main().status = "suspendu"
}

func suspendedAbsentSource(w *world, e *entity) {
	e.status = "suspendue"
	w.quoteAbsent(e, pick(w.draw, e.activity.RequiredTypes))
}

func certificateAbsent(w *world, e *entity) {
	w.settle(e).absent = true
}

func licenceAbsent(_ *world, e *entity) {
	e.main().absent = true
}

func riderAbsent(w *world, e *entity) {
	certificateExpired(w, e)
	for _, c := range e.certificates {
		if c.settled {
			c.riders = append(c.riders, &rider{absent: true})
		}
	}
}

func quotedCertificateAbsent(w *world, e *entity) {
	c := w.settle(e)
	if !e.asked {
		// Nobody cites it: the record of an entity that is not asked does instead.
		c.absent = true
		return
	}
	c.absent, c.quotedOnly = true, true
	e.quoted = append(e.quoted, quotation{certificate: c})
}

func registersDiffer(w *world, e *entity) {
	e.main().listed = pick(w.draw, []string{"suspendu", "retire"})
}

func registerSilent(_ *world, e *entity) {
	e.main().listed = ""
}

func birthDateUnknown(w *world, e *entity) {
	owner := pick(w.draw, e.owners)
	born := owner.born
	if w.draw.chance(500) {
		owner.born = 0
	} else {
		born = 0
	}
	w.list(&person{nom: owner.nom, prenoms: owner.prenoms, born: born})
}

func partialDeclaration(w *world, e *entity) {
	w.secondPage(e)
	e.declarations[len(e.declarations)-1] = "partielle"
}

// quoteAbsent lets the question cite an attestation that does not exist, beside
// those of the record.
func (w *world) quoteAbsent(e *entity, kind string) {
	if !e.asked {
		return
	}
	c := &certificate{absent: true, quotedOnly: true, settled: true, kind: kind}
	e.certificates = append(e.certificates, c)
	e.quoted = append(e.quoted, quotation{certificate: c})
}
