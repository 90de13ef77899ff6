package conformite

import (
	"fmt"
	"strconv"

	"github.com/prova-dev/prova/internal/receipts/track"
)

// file is everything about one entity that the criteria look at, gathered once.
type file struct {
	target       track.Target
	required     []string
	record       any
	licences     []licence
	certificates []certificate
	ownersGiven  bool // the record names a first page of owners
	owners       []page
	register     []page // the public list of the activity
	measures     []page
}

// citation is a reference and where it is cited: by the record or an attestation,
// or by the question itself, which leaves by empty.
type citation struct {
	resource string // what is cited
	ref      string
	by       string // the resource that cites it
	array    string // pointer of the array there
	index    int
	all      []any // the whole array
}

// licence is a cited agrément; body is nil when no resource of it exists.
type licence struct {
	citation
	body any
}

func (l licence) absent() bool { return !exists(l.body) }

// certificate is a cited attestation with its riders.
type certificate struct {
	citation
	body   any
	riders []rider
}

func (c certificate) absent() bool { return !exists(c.body) }

// rider is a cited avenant.
type rider struct {
	citation
	body any
}

func (r rider) absent() bool { return !exists(r.body) }

// page is one page of a list.
type page struct {
	resource string
	body     any
}

// entry is one entry of a page, with the pointer that names it.
type entry struct {
	page  string
	at    string // /entrees/<n>
	value any
}

func (p page) entries() []entry {
	values := items(p.body, "entrees")
	out := make([]entry, len(values))
	for i, v := range values {
		out[i] = entry{page: p.resource, at: "/entrees/" + strconv.Itoa(i), value: v}
	}
	return out
}

func entries(pages []page) []entry {
	var out []entry
	for _, p := range pages {
		out = append(out, p.entries()...)
	}
	return out
}

const (
	licencePrefix     = "/agrements/"
	certificatePrefix = "/attestations/"
	riderPrefix       = "/avenants/"
)

// gather reads an entity's file from the frozen values.
func gather(c track.Corpus, t track.Target, r Referentiel) (*file, error) {
	required, ok := r.RequiredTypes[t.Activity]
	if !ok {
		return nil, fmt.Errorf("activity %q is not in the référentiel: nothing says which attestations it requires", t.Activity)
	}
	f := &file{target: t, required: required}
	record := "/entites/" + t.Entity
	f.record = value(c, record)
	cited := map[string]bool{}
	for _, at := range citations(record, f.record, "/agrements", licencePrefix) {
		cited[at.resource] = true
		f.licences = append(f.licences, licence{at, value(c, at.resource)})
	}
	for _, at := range citations(record, f.record, "/attestations", certificatePrefix) {
		cited[at.resource] = true
		f.certificates = append(f.certificates, gatherCertificate(c, at))
	}
	for _, resource := range t.References {
		f.addQuoted(c, resource, cited)
	}
	first := member(f.record, "beneficiaires")
	f.ownersGiven = first != nil
	f.owners = chain(c, first)
	f.register = chain(c, "/listes/agrees/"+t.Activity+"/1")
	f.measures = chain(c, "/mesures-restrictives/1")
	return f, nil
}

// addQuoted adds a reference that the question cites and the record does not.
func (f *file) addQuoted(c track.Corpus, resource string, cited map[string]bool) {
	if cited[resource] {
		return
	}
	at := citation{resource: resource}
	if ref, ok := cut(resource, licencePrefix); ok {
		at.ref = ref
		f.licences = append(f.licences, licence{at, value(c, resource)})
	}
	if ref, ok := cut(resource, certificatePrefix); ok {
		at.ref = ref
		f.certificates = append(f.certificates, gatherCertificate(c, at))
	}
}

func cut(resource, prefix string) (string, bool) {
	if len(resource) <= len(prefix) || resource[:len(prefix)] != prefix {
		return "", false
	}
	return resource[len(prefix):], true
}

func gatherCertificate(c track.Corpus, at citation) certificate {
	cert := certificate{citation: at, body: value(c, at.resource)}
	for _, to := range citations(at.resource, cert.body, "/avenants", riderPrefix) {
		cert.riders = append(cert.riders, rider{to, value(c, to.resource)})
	}
	return cert
}

// citations lists the references that an array of a record cites.
func citations(by string, body any, array, prefix string) []citation {
	all := items(body, array[1:])
	var out []citation
	for i, item := range all {
		if ref, ok := item.(string); ok {
			out = append(out, citation{resource: prefix + ref, ref: ref, by: by, array: array, index: i, all: all})
		}
	}
	return out
}

func value(c track.Corpus, resource string) any {
	v, _ := c.Value(resource)
	return v
}

// chain follows page_suivante; a page already seen ends it. A page that does not
// exist is part of the chain, so that it can be found incomplete.
func chain(c track.Corpus, first any) []page {
	var out []page
	seen := map[string]bool{}
	for {
		resource, ok := first.(string)
		if !ok || seen[resource] {
			return out
		}
		seen[resource] = true
		p := page{resource, value(c, resource)}
		out = append(out, p)
		first = member(p.body, "page_suivante")
	}
}
