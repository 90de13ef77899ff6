package track

import (
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// person is what identifies an entry of the restrictive-measures list with an
// owner: both parts equal by code point, without normalisation.
type person struct{ nom, prenoms string }

func personOf(entry any) (person, bool) {
	nom, ok := get(entry, "nom").(string)
	if !ok {
		return person{}, false
	}
	prenoms, ok := get(entry, "prenoms").(string)
	return person{nom, prenoms}, ok
}

// conformite collects the graph of a compliance task: the record, its licences,
// its attestations with their riders and its owners' pages are own resources (a
// record reached through the entity's is, even if it names another, D15); the
// licensed list of the activity and the restrictive-measures list are common.
func (w walk) conformite(t Target) map[role]func(*canonjson.Object) bool {
	record, _ := w.add("/entites/"+t.Entity, own)
	for ref := range refs(record, "agrements") {
		w.add("/agrements/"+ref, own)
	}
	for ref := range refs(record, "attestations") {
		w.attestation("/attestations/" + ref)
	}
	owners := map[person]bool{}
	for page := range w.chain(get(record, "beneficiaires"), own) {
		for _, entry := range list(page, "entrees") {
			if p, ok := personOf(entry); ok {
				owners[p] = true
			}
		}
	}
	for _, resource := range t.References {
		if strings.HasPrefix(resource, "/attestations/") {
			w.attestation(resource)
			continue
		}
		w.add(resource, own)
	}
	for range w.chain("/listes/agrees/"+t.Activity+"/1", licensedList) {
	}
	for range w.chain("/mesures-restrictives/1", measuresList) {
	}
	return map[role]func(*canonjson.Object) bool{
		licensedList: func(entry *canonjson.Object) bool {
			entity, ok := get(entry, "entite").(string)
			return ok && entity == t.Entity
		},
		measuresList: func(entry *canonjson.Object) bool {
			p, ok := personOf(entry)
			return ok && owners[p]
		},
	}
}

// attestation adds an attestation with the riders it lists.
func (w walk) attestation(resource string) {
	v, _ := w.add(resource, own)
	for ref := range refs(v, "avenants") {
		w.add("/avenants/"+ref, own)
	}
}
