package agent

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// guide is the part of /referentiel that the Reader applies as data.
type guide struct {
	required   map[string][]string // activity → types of attestation
	precedence [3]string           // verdicts: some criterion false, else some open, else none
}

// parseGuide reads the evaluation rules. The Reader refuses rules that it was not
// written for, instead of applying others under their name.
func parseGuide(v any) (guide, error) {
	g := guide{required: map[string][]string{}}
	table, ok := member(v, "types_requis").(*canonjson.Object)
	if !ok {
		return g, fmt.Errorf("%s: types_requis is not an object", referentielPath)
	}
	for activity := range table.All() {
		g.required[activity] = texts(table, activity)
	}
	if n := copy(g.precedence[:], texts(v, "precedence")); n != len(g.precedence) {
		return g, fmt.Errorf("%s: precedence does not name three verdicts", referentielPath)
	}
	if bounds := word(v, "bornes"); bounds != "incluses" {
		return g, fmt.Errorf("%s: bornes is %q: this reader knows inclusive bounds only", referentielPath, oneLine(bounds))
	}
	var numbers []string
	for _, c := range items(v, "criteres") {
		numbers = append(numbers, word(c, "numero"))
	}
	if !slices.Equal(numbers, []string{"1", "2", "3", "4", "5"}) {
		return g, fmt.Errorf("%s: criteres are not 1 to 5: this reader knows these five only", referentielPath)
	}
	return g, nil
}

// dossier is everything that the criteria look at for one target, with receipts.
type dossier struct {
	target   target
	guide    guide
	record   *page
	licences []licence
	certs    []cert
	owners   []*page
	// ownersNamed says that the record names a first page of owners.
	ownersNamed bool
	register    []*page
	measures    []*page
}

// cited is a consulted reference and the place that cites it.
type cited struct {
	*page
	ref  string
	by   *page  // nil when only the question cites it
	link string // pointer at by, such as /agrements/0
}

type licence struct{ cited }

type cert struct {
	cited
	riders []cited
}

// compile consults everything that the rules ask to look at: the rules
// themselves, the record, all that it and the question cite, the riders, and the
// three lists to their last page.
func compile(ctx context.Context, d *desk) (*dossier, error) {
	rules, err := d.notes.read(ctx, referentielPath)
	if err != nil {
		return nil, err
	}
	f := &dossier{target: d.target}
	if f.guide, err = parseGuide(rules.body); err != nil {
		return nil, err
	}
	if _, ok := f.guide.required[d.target.activity]; !ok {
		return nil, fmt.Errorf("%s does not say which attestations the activity %q requires", referentielPath, oneLine(d.target.activity))
	}
	if f.record, err = d.notes.read(ctx, d.target.record()); err != nil {
		return nil, err
	}
	if err := f.readLicences(ctx, d.notes); err != nil {
		return nil, err
	}
	if err := f.readCerts(ctx, d.notes); err != nil {
		return nil, err
	}
	return f, f.readLists(ctx, d.notes)
}

// citations are the references that an array of a record cites, then those of the
// question with the same prefix that the record does not cite.
func (f *dossier) citations(by *page, array, prefix string, quoted []string) []cited {
	var out []cited
	known := map[string]bool{}
	for i, item := range items(by.body, array) {
		if ref, ok := item.(string); ok && ref != "" {
			known[prefix+ref] = true
			out = append(out, cited{ref: ref, by: by, link: "/" + array + "/" + strconv.Itoa(i)})
		}
	}
	for _, path := range quoted {
		if ref, ok := strings.CutPrefix(path, prefix); ok && ref != "" && !known[path] {
			known[path] = true
			out = append(out, cited{ref: ref})
		}
	}
	return out
}

// consult reads the pages of citations.
func consult(ctx context.Context, b *notebook, prefix string, list []cited) error {
	paths := make([]string, len(list))
	for i, c := range list {
		paths[i] = prefix + c.ref
	}
	pages, err := b.readAll(ctx, paths)
	for i := range list {
		list[i].page = pages[i]
	}
	return err
}

func (f *dossier) readLicences(ctx context.Context, b *notebook) error {
	list := f.citations(f.record, "agrements", licencePrefix, f.target.references)
	err := consult(ctx, b, licencePrefix, list)
	for _, c := range list {
		f.licences = append(f.licences, licence{c})
	}
	return err
}

func (f *dossier) readCerts(ctx context.Context, b *notebook) error {
	list := f.citations(f.record, "attestations", certPrefix, f.target.references)
	if err := consult(ctx, b, certPrefix, list); err != nil {
		return err
	}
	for _, c := range list {
		riders := f.citations(c.page, "avenants", riderPrefix, nil)
		if err := consult(ctx, b, riderPrefix, riders); err != nil {
			return err
		}
		f.certs = append(f.certs, cert{c, riders})
	}
	return nil
}

func (f *dossier) readLists(ctx context.Context, b *notebook) (err error) {
	first := member(f.record.body, "beneficiaires")
	f.ownersNamed = first != nil
	path, _ := first.(string)
	if f.owners, err = b.chain(ctx, path); err != nil {
		return err
	}
	if f.register, err = b.chain(ctx, f.target.register()); err != nil {
		return err
	}
	f.measures, err = b.chain(ctx, measuresFirst)
	return err
}

// entry is one entry of a list page.
type entry struct {
	page  *page
	at    string // /entrees/<n>
	value any
}

func entries(pages []*page) []entry {
	var out []entry
	for _, p := range pages {
		for i, v := range items(p.body, "entrees") {
			out = append(out, entry{p, "/entrees/" + strconv.Itoa(i), v})
		}
	}
	return out
}

// own are the pages of the dossier that concern the entity alone, in the order in
// which one would read them.
func (f *dossier) own() []*page {
	out := []*page{f.record}
	for _, l := range f.licences {
		out = append(out, l.page)
	}
	for _, c := range f.certs {
		out = append(out, c.page)
		for _, r := range c.riders {
			out = append(out, r.page)
		}
	}
	return append(out, f.owners...)
}
