package corpus

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// pages turns the world into resources. Every order that shows is an order of
// content: references by number, lists by reference, persons by name.
type pages struct {
	files map[string][]byte
	// absent are the references that a record or a question cites and that do not
	// exist.
	absent []string
}

func (w *world) render() pages {
	p := pages{files: map[string][]byte{}}
	p.put("/referentiel", referentiel(w.composition.Activities))
	for _, e := range w.entities {
		w.renderEntity(&p, e)
	}
	w.renderRegisters(&p)
	w.renderMeasures(&p)
	for path, body := range systemBodies() {
		p.put(path, body)
	}
	return p
}

// put freezes a resource.
func (p *pages) put(resource string, body *canonjson.Object) {
	p.files[fileOf(resource)] = canonjson.Compact(body)
}

func (p *pages) putAbsent(resource string) {
	p.files[fileOf(resource)] = absentBody(resource)
	p.absent = append(p.absent, resource)
}

// absentBody is what a reference of a collection that does not exist answers.
func absentBody(resource string) []byte {
	return canonjson.Compact(canonjson.NewObject("existe", false, "resource", resource))
}

// fileOf is the path of a resource's file below files/.
func fileOf(resource string) string { return resource[1:] + ".json" }

func (w *world) renderEntity(p *pages, e *entity) {
	path := "/entites/" + e.ref.name
	var licences, certificates []string
	for _, l := range e.licences {
		licences = append(licences, l.name)
		w.renderLicence(p, e, l)
	}
	for _, c := range e.certificates {
		if !c.quotedOnly {
			certificates = append(certificates, c.name)
		}
		w.renderCertificate(p, e, c)
	}
	slices.Sort(licences)
	slices.Sort(certificates)
	p.put(path, canonjson.NewObject(
		"existe", true,
		"denomination", e.name,
		"forme_juridique", e.form,
		"siege", e.seat,
		"statut", e.status,
		"agrements", anys(licences),
		"attestations", anys(certificates),
		"beneficiaires", "/beneficiaires/"+e.ref.name+"/1",
		"resource", path,
	))
	size := w.composition.Pages.Owners
	for i, declaration := range e.declarations {
		owners := e.owners[i*size : min((i+1)*size, len(e.owners))]
		body := canonjson.NewObject("statut_declaration", declaration)
		p.putPage("/beneficiaires/"+e.ref.name, i, len(e.declarations), body, anys(personEntries(owners, false)))
	}
}

// putPage completes a page of a list: entries, link to the next page, path.
func (p *pages) putPage(base string, i, n int, body *canonjson.Object, entries []any) {
	path := base + "/" + strconv.Itoa(i+1)
	body.Set("entrees", entries)
	body.Set("page_suivante", nil)
	if i+1 < n {
		body.Set("page_suivante", base+"/"+strconv.Itoa(i+2))
	}
	body.Set("resource", path)
	p.put(path, body)
}

func personEntries(list []*person, reason bool) []*canonjson.Object {
	out := make([]*canonjson.Object, len(list))
	for i, one := range list {
		out[i] = canonjson.NewObject("nom", one.nom, "prenoms", one.prenoms, "date_naissance", one.born.orNull())
		if reason {
			out[i].Set("motif", one.reason)
		}
	}
	return out
}

func (w *world) renderLicence(p *pages, e *entity, l *licence) {
	path := "/agrements/" + l.name
	if l.absent {
		p.putAbsent(path)
		return
	}
	p.put(path, canonjson.NewObject(
		"existe", true,
		"entite", e.ref.name,
		"activite", l.activity,
		"statut", l.status,
		"date_debut", l.from.String(),
		"date_fin_validite", l.to.String(),
		"resource", path,
	))
}

func (w *world) renderCertificate(p *pages, e *entity, c *certificate) {
	path := "/attestations/" + c.name
	if c.absent {
		p.putAbsent(path)
		return
	}
	var riders []string
	for _, r := range c.riders {
		riders = append(riders, r.name)
		at := "/avenants/" + r.name
		if r.absent {
			p.putAbsent(at)
			continue
		}
		var excluded any
		if r.excludes != "" {
			excluded = r.excludes
		}
		p.put(at, canonjson.NewObject(
			"existe", true,
			"attestation", c.name,
			"objet", r.object,
			"date_effet", r.effect.String(),
			"nouvelle_date_fin", r.newEnd.orNull(),
			"activite_exclue", excluded,
			"resource", at,
		))
	}
	slices.Sort(riders)
	p.put(path, canonjson.NewObject(
		"existe", true,
		"entite", e.ref.name,
		"type", c.kind,
		"date_emission", c.issued.String(),
		"date_fin_validite", c.end.String(),
		"avenants", anys(riders),
		"resource", path,
	))
}

type registerEntry struct{ licence, entity, status string }

// renderRegisters makes the public list of each activity, by licence number.
func (w *world) renderRegisters(p *pages) {
	lists := map[string][]registerEntry{}
	longest := 0
	for _, e := range w.entities {
		for _, l := range e.licences {
			if l.listed != "" {
				lists[l.activity] = append(lists[l.activity], registerEntry{l.name, e.ref.name, l.listed})
				longest = max(longest, len(lists[l.activity]))
			}
		}
	}
	size := pageSize(w.composition.Pages.Register, longest)
	for _, a := range w.composition.Activities {
		list := lists[a.Name]
		slices.SortFunc(list, func(x, y registerEntry) int { return strings.Compare(x.licence, y.licence) })
		n := max(1, (len(list)+size-1)/size)
		for i := range n {
			var entries []any
			for _, one := range list[i*size : min((i+1)*size, len(list))] {
				entries = append(entries, canonjson.NewObject("agrement", one.licence, "entite", one.entity, "statut", one.status))
			}
			p.putPage("/listes/agrees/"+a.Name, i, n, canonjson.NewObject(), entries)
		}
	}
}

// renderMeasures makes the restrictive-measures list, by name.
func (w *world) renderMeasures(p *pages) {
	list := slices.Clone(w.measures)
	slices.SortFunc(list, func(a, b *person) int {
		return cmp.Or(strings.Compare(a.nom, b.nom), strings.Compare(a.prenoms, b.prenoms), cmp.Compare(a.born, b.born))
	})
	size := pageSize(w.composition.Pages.Measures, len(list))
	n := (len(list) + size - 1) / size
	for i := range n {
		entries := personEntries(list[i*size:min((i+1)*size, len(list))], true)
		p.putPage("/mesures-restrictives", i, n, canonjson.NewObject(), anys(entries))
	}
}

func pageSize(asked, longest int) int {
	if asked > 0 {
		return asked
	}
	return max(1, (longest+listPages-1)/listPages)
}

// systemBodies are the fixed bodies of §2.5, in the manifest but never served as
// resources of their own.
func systemBodies() map[string]*canonjson.Object {
	bodies := map[string]*canonjson.Object{}
	for _, b := range []struct{ status, code, fr, en string }{
		{
			"400", "requete_invalide",
			"Seul GET est admis, sans corps ni paramètres, sur l’URL canonique du catalogue.",
			"Only GET is allowed, without body or query, on the canonical URL of the catalogue.",
		},
		{
			"403", "acces_direct",
			"Le corpus ne répond qu’au proxy. Appelez POST /v1/proxy avec votre clé : target = URL canonique, method = GET, payload = {}, currency = eur, sans extra_headers.",
			"The corpus answers the proxy only. Call POST /v1/proxy with your key: target = canonical URL, method = GET, payload = {}, currency = eur, no extra_headers.",
		},
		{
			"404", "hors_collection",
			"Ce chemin n’appartient à aucune collection ; le catalogue publie les URL canoniques.",
			"This path belongs to no collection; the catalogue publishes the canonical URLs.",
		},
		{
			"503", "corpus_indisponible",
			"Le corpus est momentanément indisponible ; réessayez plus tard.",
			"The corpus is unavailable for the moment; try again later.",
		},
	} {
		path := systemPrefix + b.status
		bodies[path] = canonjson.NewObject("erreur", b.code, "explication", canonjson.NewObject("fr", b.fr, "en", b.en), "resource", path)
	}
	return bodies
}
