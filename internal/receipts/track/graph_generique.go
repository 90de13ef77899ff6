package track

import "github.com/prova-dev/prova/evidence/canonjson"

// generique collects the graph of a purchasing task: the products of the
// category's catalogue, their suppliers and their delivery annexes are own
// resources; the catalogue pages are common, an entry concerning the task when
// its product is in the graph.
func (w walk) generique(t Target) map[role]func(*canonjson.Object) bool {
	for page := range w.chain("/catalogue/"+t.Category+"/1", catalogueList) {
		for _, entry := range list(page, "entrees") {
			w.supplier(entry)
			ref, ok := get(entry, "produit").(string)
			if !ok {
				continue
			}
			product, _ := w.add("/produits/"+ref, own)
			w.supplier(product)
			if annex, ok := get(product, "annexe_livraison").(string); ok {
				w.add("/annexes-livraison/"+annex, own)
			}
		}
	}
	for _, resource := range t.References {
		w.add(resource, own)
	}
	nodes := w.nodes
	return map[role]func(*canonjson.Object) bool{
		catalogueList: func(entry *canonjson.Object) bool {
			ref, ok := get(entry, "produit").(string)
			return ok && nodes["/produits/"+ref] != 0
		},
	}
}

// supplier adds the supplier that a catalogue entry or a product names.
func (w walk) supplier(v any) {
	if ref, ok := get(v, "fournisseur").(string); ok {
		w.add("/fournisseurs/"+ref, own)
	}
}
