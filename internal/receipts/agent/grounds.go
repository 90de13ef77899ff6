package agent

import "slices"

// grounds collects the assertions that carry a verdict (§5.7): for each criterion
// that decides it the terms that were compared and the links between resources.
type grounds struct {
	list []Assertion
	seen map[[2]string]bool
}

// add asserts fields of a page that it has; one asserted already is not repeated.
func (g *grounds) add(p *page, fields ...string) {
	if g.seen == nil {
		g.seen = map[[2]string]bool{}
	}
	for _, field := range fields {
		a, ok := p.claim(field)
		at := [2]string{p.path, field}
		if ok && !g.seen[at] {
			g.seen[at] = true
			g.list = append(g.list, a)
		}
	}
}

// link asserts the place that cites a reference; the question's own need none.
func (g *grounds) link(c cited) {
	if c.by != nil {
		g.add(c.by, c.link)
	}
}

func (g *grounds) absent(c cited) {
	g.add(c.page, "/existe")
	g.link(c)
}

// ground gives the assertions for a verdict, the decisive ones and nothing else.
func (f *dossier) ground(criteria [5]finding) []Assertion {
	var g grounds
	decisive := slices.Min(criteria[:])
	if decisive == holds {
		f.groundAll(&g)
		return g.list
	}
	by := [5]func(*grounds, finding){f.groundEntity, f.groundLicence, f.groundCerts, f.groundRegister, f.groundOwners}
	for i, c := range criteria {
		if c == decisive {
			by[i](&g, decisive)
		}
	}
	return g.list
}

// groundAll is for a verdict that every criterion holds.
func (f *dossier) groundAll(g *grounds) {
	g.add(f.record, "/statut")
	if l, ok := f.satisfying(); ok {
		g.add(l.page, "/date_fin_validite")
	}
	for _, kind := range f.guide.required[f.target.activity] {
		i := slices.IndexFunc(f.certs, func(c cert) bool { return f.covers(c, kind) == holds })
		if i < 0 {
			continue
		}
		if t := f.term(f.certs[i]); t.endBy != nil {
			g.add(t.endBy.page, "/nouvelle_date_fin")
			g.link(*t.endBy)
		} else {
			g.add(f.certs[i].page, "/date_fin_validite")
		}
	}
	for _, n := range f.namesakes() {
		g.births(n)
	}
}

func (g *grounds) births(n namesake) {
	g.add(n.owner.page, n.owner.at+"/date_naissance")
	g.add(n.listed.page, n.listed.at+"/date_naissance")
}

func (f *dossier) groundEntity(g *grounds, _ finding) {
	if !f.record.exists() {
		g.add(f.record, "/existe")
		return
	}
	g.add(f.record, "/statut")
}

func (f *dossier) groundLicence(g *grounds, decisive finding) {
	if !f.record.exists() {
		f.groundEntity(g, decisive)
		return
	}
	before := len(g.list)
	for _, l := range f.licences {
		switch {
		case !l.exists():
			if decisive == open {
				g.absent(l.cited)
			}
		case f.concerns(l) && f.satisfies(l) == decisive:
			g.add(l.page, f.failing(l))
			g.link(l.cited)
		}
	}
	if len(g.list) == before { // No licence for the activity: the array shows it.
		g.add(f.record, "/agrements")
	}
}

// failing is the first field by which a licence for the activity does not satisfy.
func (f *dossier) failing(l licence) string {
	switch {
	case word(l.body, "statut") != "valide":
		return "/statut"
	case inOrder(f.target.date, member(l.body, "date_fin_validite")) != holds:
		return "/date_fin_validite"
	}
	return "/date_debut"
}

func (f *dossier) groundCerts(g *grounds, decisive finding) {
	if !f.record.exists() {
		f.groundEntity(g, decisive)
		return
	}
	for _, kind := range f.guide.required[f.target.activity] {
		if f.certifiedFor(kind) != decisive {
			continue
		}
		before := len(g.list)
		for _, c := range f.certs {
			f.groundCert(g, c, kind, decisive)
		}
		if len(g.list) == before {
			g.add(f.record, "/attestations")
		}
	}
}

func (f *dossier) groundCert(g *grounds, c cert, kind string, decisive finding) {
	if !c.exists() {
		if decisive == open {
			g.absent(c.cited)
		}
		return
	}
	if word(c.body, "type") != kind || f.covers(c, kind) != decisive {
		return
	}
	absent := false
	for _, r := range c.riders {
		if !r.exists() {
			absent = true
			g.absent(r)
		}
	}
	if absent {
		return
	}
	t := f.term(c)
	rider := func(r *cited, field string) {
		g.add(r.page, field, "/date_effet")
		g.link(*r)
	}
	switch {
	case word(c.body, "entite") != f.target.entity:
		g.add(c.page, "/entite")
	case t.excludedBy != nil:
		rider(t.excludedBy, "/activite_exclue")
	case inOrder(f.target.date, t.end) != holds && t.endBy != nil:
		rider(t.endBy, "/nouvelle_date_fin")
	case inOrder(f.target.date, t.end) != holds:
		g.add(c.page, "/date_fin_validite")
	case t.unclear:
		for _, r := range c.riders {
			g.add(r.page, "/date_effet")
		}
	default:
		g.add(c.page, "/date_emission")
	}
	g.link(c.cited)
}

// groundRegister is for registers that differ, or for one that is silent.
func (f *dossier) groundRegister(g *grounds, _ finding) {
	l, ok := f.satisfying()
	if !ok {
		return
	}
	g.add(l.page, "/statut")
	listed := f.listed(l)
	if len(listed) == 0 {
		g.add(l.page, "/date_fin_validite")
	}
	for _, e := range listed {
		g.add(e.page, e.at+"/statut")
	}
}

func (f *dossier) groundOwners(g *grounds, decisive finding) {
	if !f.record.exists() {
		f.groundEntity(g, decisive)
		return
	}
	for _, n := range f.namesakes() {
		if n.finding() == decisive {
			g.births(n)
		}
	}
	if decisive == fails {
		return
	}
	if !f.ownersNamed {
		g.add(f.record, "/beneficiaires")
	}
	for _, p := range f.incomplete() {
		g.add(p, "/statut_declaration")
	}
}
