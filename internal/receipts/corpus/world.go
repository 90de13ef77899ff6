package corpus

import (
	"fmt"
	"slices"

	"github.com/prova-dev/prova/internal/receipts/track/conformite"
)

// world is a corpus in the making.
type world struct {
	draw        *stream
	composition Composition
	from, to    day
	entities    []*entity
	measures    []*person
	persons     map[[2]string]bool
	companies   map[string]bool
	tasks       []*entity // the entities that are asked, by task number
}

// Calls that reading a whole list may take when its page size is automatic.
const listPages = 3

// newWorld makes every record of a corpus of so many entities, without numbers.
func newWorld(seed [32]byte, label string, c Composition, size int) (*world, error) {
	from, to, err := c.examination()
	if err != nil {
		return nil, err
	}
	w := &world{
		draw: newStream(seed, label+"/records"), composition: c, from: from, to: to,
		persons: map[[2]string]bool{}, companies: map[string]bool{},
	}
	chosen, err := assign(newStream(seed, label+"/tasks"), c)
	if err != nil {
		return nil, err
	}
	for i := range size {
		e := w.plain(i < len(chosen))
		switch {
		case e.asked:
			e.situation = chosen[i]
			w.tasks = append(w.tasks, e)
		case w.draw.chance(c.Background.Situations):
			e.situation = pick(w.draw, situations())
		default:
			e.situation, _ = situationNamed("control")
		}
		e.situation.apply(w, e)
		w.enrich(e)
		w.entities = append(w.entities, e)
	}
	for range c.Measures.Strangers {
		p := w.newPerson()
		if w.draw.chance(80) {
			p.born = 0
		}
		w.list(p)
	}
	if err := w.quoteExisting(newStream(seed, label+"/questions")); err != nil {
		return nil, err
	}
	w.number(newStream(seed, label+"/numbers"))
	return w, nil
}

// assign draws a situation for each slot and a slot for each task number, so that
// the facts fit under the cap and each class of bounds holds two verdicts.
func assign(s *stream, c Composition) ([]situation, error) {
	types := 0
	for _, a := range c.Activities {
		types = max(types, len(a.RequiredTypes))
	}
	// Far more tries than a composition that can be assigned at all needs.
	for range 20_000 {
		chosen := make([]situation, len(c.Tasks))
		for i, slot := range c.Tasks {
			chosen[i], _ = situationNamed(pick(s, slot.Situations))
		}
		shuffle(s, chosen)
		if fits(chosen, types) {
			return chosen, nil
		}
	}
	return nil, fmt.Errorf("composition: no order of these situations fits the bounds of §5.5 (facts at most the cap, at least two verdicts a class of bounds, families P1 to P5, three tasks of P5)")
}

func fits(chosen []situation, types int) bool {
	verdicts := map[bounds]map[string]bool{}
	families := map[string]int{}
	absent := 0
	for i, s := range chosen {
		b := taskBounds[i]
		if s.facts(types) > b.maximum {
			return false
		}
		if verdicts[b] == nil {
			verdicts[b] = map[string]bool{}
		}
		verdicts[b][s.verdict] = true
		for _, f := range s.families {
			families[f]++
		}
		if s.quotesAbsent {
			absent++
		}
	}
	for _, set := range verdicts {
		if len(set) < 2 {
			return false
		}
	}
	for _, f := range conformite.Families() {
		if families[f] == 0 {
			return false
		}
	}
	return families["P5"] >= minP5 && 2*absent <= len(chosen)
}

// plain makes an entity whose five criteria are true, with nothing beyond them.
func (w *world) plain(asked bool) *entity {
	s := w.draw
	e := &entity{
		asked:    asked,
		activity: pick(s, w.composition.Activities),
		date:     w.from + day(s.between(0, int(w.to-w.from))),
		name:     w.newCompany(),
		form:     pick(s, legalForms),
		seat:     s.seat(),
		status:   "active",
	}
	e.licences = []*licence{{
		activity: e.activity.Name, status: "valide", listed: "valide",
		from: e.date - day(s.between(200, 1400)), to: e.date + day(s.between(45, 900)),
	}}
	for _, kind := range e.activity.RequiredTypes {
		e.certificates = append(e.certificates, &certificate{
			kind: kind, issued: e.date - day(s.between(20, 320)), end: e.date + day(s.between(25, 340)),
		})
	}
	for range s.between(1, w.composition.Pages.Owners) {
		e.owners = append(e.owners, w.newPerson())
	}
	e.declarations = []string{"complete"}
	return e
}

// secondPage gives an entity owners on a second page.
func (w *world) secondPage(e *entity) {
	size := w.composition.Pages.Owners
	for len(e.owners) <= size {
		e.owners = append(e.owners, w.newPerson())
	}
	for e.pages()*size < len(e.owners) {
		e.declarations = append(e.declarations, "complete")
	}
}

// enrich adds what changes no criterion: another licence, an older attestation,
// riders on other matters, more owners. It stops where reading everything that is
// needed would take more than twelve calls (§5.6).
func (w *world) enrich(e *entity) {
	s := w.draw
	limit := maxNeededCalls - listPages
	if e.situation.listed {
		limit -= listPages
	}
	if s.chance(250) && e.ownCalls() < limit {
		e.licences = append(e.licences, w.otherLicence(e))
	}
	for _, c := range slices.Clone(e.certificates) {
		if !c.settled && !c.absent && s.chance(350) && e.ownCalls() < limit {
			c.riders = append(c.riders, w.neutralRider(e, c))
		}
		if !c.settled && s.chance(150) && e.ownCalls() < limit {
			e.certificates = append(e.certificates, w.olderCertificate(e, c.kind))
		}
	}
	if e.pages() == 1 && s.chance(300) && e.ownCalls() < limit {
		w.secondPage(e)
	}
	if e.situation.name != "suspended_absent_source" && !e.asked && s.chance(40) {
		e.status = pick(s, []string{"suspendue", "radiee"})
	}
}

func (w *world) otherLicence(e *entity) *licence {
	s := w.draw
	others := slices.DeleteFunc(slices.Clone(w.composition.Activities), func(a Activity) bool { return a.Name == e.activity.Name })
	l := &licence{
		activity: pick(s, others).Name, status: "valide",
		from: e.date - day(s.between(200, 1400)), to: e.date + day(s.between(-60, 700)),
	}
	if s.chance(200) {
		l.status = pick(s, []string{"suspendu", "retire"})
	}
	l.listed = l.status
	return l
}

func (w *world) neutralRider(e *entity, c *certificate) *rider {
	s := w.draw
	r := &rider{object: pick(s, neutralObjects), effect: c.issued + day(s.between(1, max(1, int(e.date-c.issued)+30)))}
	if s.chance(300) {
		others := slices.DeleteFunc(slices.Clone(w.composition.Activities), func(a Activity) bool { return a.Name == e.activity.Name })
		r.object, r.excludes = "retrait d’activité", pick(s, others).Name
	}
	return r
}

func (w *world) olderCertificate(e *entity, kind string) *certificate {
	end := e.date - day(w.draw.between(90, 400))
	return &certificate{kind: kind, settled: true, issued: end - day(w.draw.between(300, 365)), end: end}
}

func (w *world) newCompany() string {
	for {
		if name := w.draw.company(); !w.companies[name] {
			w.companies[name] = true
			return name
		}
	}
}

// newPerson makes a person whose name nobody bears yet: homonyms are made on
// purpose only.
func (w *world) newPerson() *person {
	s := w.draw
	for try := 0; ; try++ {
		p := &person{nom: s.stem(), prenoms: s.given(try > 2 || s.chance(250))}
		name := [2]string{p.nom, p.prenoms}
		if w.persons[name] {
			continue
		}
		w.persons[name] = true
		p.born = w.birth()
		return p
	}
}

// birth is a date of birth of somebody of 25 to 80 years.
func (w *world) birth() day { return w.from - day(w.draw.between(25*365, 80*365)) }

// otherBirth is a date of birth at least a year from d.
func (w *world) otherBirth(d day) day {
	for {
		if o := w.birth(); o-d > 365 || d-o > 365 {
			return o
		}
	}
}

// list puts a person on the restrictive-measures list.
func (w *world) list(p *person) {
	p.reason = pick(w.draw, reasons)
	w.measures = append(w.measures, p)
}

// quoteExisting lets as many questions cite a reference that exists as cite one
// that does not, so that being cited tells nothing.
func (w *world) quoteExisting(s *stream) error {
	var free []*entity
	absent := 0
	for _, e := range w.tasks {
		if e.situation.quotesAbsent {
			absent++
		} else {
			free = append(free, e)
		}
	}
	if absent > len(free) {
		return fmt.Errorf("composition: %d questions cite absent references and only %d others could cite existing ones", absent, len(free))
	}
	shuffle(s, free)
	for _, e := range free[:absent] {
		w.quote(s, e)
	}
	return nil
}

// quote lets the question cite an existing attestation, often one that the record
// leaves out, as absent ones are.
func (w *world) quote(s *stream, e *entity) {
	var movable, existing []*certificate
	for _, c := range e.certificates {
		if c.absent {
			continue
		}
		existing = append(existing, c)
		if !c.settled {
			movable = append(movable, c)
		}
	}
	if len(movable) > 0 && s.chance(700) {
		c := pick(s, movable)
		c.quotedOnly = true
		e.quoted = append(e.quoted, quotation{certificate: c})
		return
	}
	if len(existing) > 0 {
		e.quoted = append(e.quoted, quotation{certificate: pick(s, existing)})
		return
	}
	e.quoted = append(e.quoted, quotation{licence: e.main()})
}
