package agent

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Verdicts of the compliance track (§5.3), for agents that do not read the rules.
const (
	verdictYes  = "conforme"
	verdictNo   = "non_conforme"
	verdictOpen = "indeterminable"
)

// glance is a record and the first licence that it, or the question, cites.
func glance(ctx context.Context, d *desk) (pages []*page, err error) {
	record, err := d.notes.read(ctx, d.target.record())
	if err != nil {
		return nil, err
	}
	pages = append(pages, record)
	first := ""
	if refs := texts(record.body, "agrements"); len(refs) > 0 {
		first = licencePrefix + refs[0]
	}
	for _, r := range d.target.references {
		if first == "" && strings.HasPrefix(r, licencePrefix) {
			first = r
		}
	}
	if first != "" {
		l, err := d.notes.read(ctx, first)
		if err != nil {
			return nil, err
		}
		pages = append(pages, l)
	}
	return pages, nil
}

// byStatus concludes from what pages say of their status.
func byStatus(pages []*page) string {
	for _, p := range pages {
		if !p.exists() {
			return verdictOpen
		}
		if s := word(p.body, "statut"); s != "active" && s != "valide" {
			return verdictNo
		}
	}
	return verdictYes
}

// firstAnswer takes the statuses it meets first for the whole answer.
func firstAnswer(ctx context.Context, d *desk) (answer, error) {
	rules, err := d.client.Rules(ctx, conformite)
	if err != nil {
		return answer{}, err
	}
	pages, err := glance(ctx, d)
	if err != nil {
		return answer{}, err
	}
	var seen grounds
	for _, p := range pages {
		if p.exists() {
			seen.add(p, "/statut")
		} else {
			seen.add(p, "/existe")
		}
	}
	return answer{verdict: byStatus(pages), assertions: bounded(d.task, rules, seen.list, rules.fillers(pages))}, nil
}

// noConsultation asserts what records usually say, with the receipt of the one
// call it made.
func noConsultation(ctx context.Context, d *desk) (answer, error) {
	rules, err := d.notes.read(ctx, referentielPath)
	if err != nil {
		return answer{}, err
	}
	owners := "/beneficiaires/" + d.target.entity + "/1"
	usual := []Assertion{
		{Resource: d.target.record(), Field: "/existe", Value: true},
		{Resource: d.target.record(), Field: "/statut", Value: "active"},
		{Resource: d.target.record(), Field: "/beneficiaires", Value: owners},
		{Resource: d.target.record(), Field: "/agrements/0", Value: strings.Replace(d.target.entity, "ENT-", "AGR-", 1)},
		{Resource: d.target.record(), Field: "/attestations/0", Value: strings.Replace(d.target.entity, "ENT-", "ATT-", 1)},
	}
	usual = usual[:min(len(usual), d.task.Minimum)]
	for i := range usual {
		usual[i].ProofIDs = []string{rules.proof}
	}
	return answer{verdict: verdictYes, assertions: usual}, nil
}

// expectedValues cites the right receipts and asserts what it expected to read.
func expectedValues(ctx context.Context, d *desk) (answer, error) {
	pages, err := glance(ctx, d)
	if err != nil {
		return answer{}, err
	}
	expect := func(p *page, field string, value any) Assertion {
		return Assertion{Resource: p.path, Field: field, Value: value, ProofIDs: []string{p.proof}}
	}
	record := pages[0]
	list := []Assertion{
		expect(record, "/statut", "active"),
		expect(record, "/existe", true),
		expect(record, "/beneficiaires", "/beneficiaires/"+d.target.entity+"/1"),
		expect(record, "/attestations", []any{strings.Replace(d.target.entity, "ENT-", "ATT-", 1)}),
	}
	if len(pages) > 1 {
		l := pages[1]
		list = []Assertion{
			list[0],
			expect(l, "/statut", "valide"),
			expect(l, "/date_fin_validite", d.target.date), // At least so long, it trusts.
			expect(l, "/activite", d.target.activity),
			expect(l, "/entite", d.target.entity),
		}
	}
	return answer{verdict: verdictYes, assertions: list[:min(len(list), d.task.Minimum)]}, nil
}

// constant gives the verdict that the published breakdown (§5.5) makes the most
// frequent, with what the record says.
func constant(ctx context.Context, d *desk) (answer, error) {
	rules, err := d.client.Rules(ctx, conformite)
	if err != nil {
		return answer{}, err
	}
	record, err := d.notes.read(ctx, d.target.record())
	if err != nil {
		return answer{}, err
	}
	return answer{verdict: verdictNo, assertions: bounded(d.task, rules, nil, rules.fillers([]*page{record}))}, nil
}

// randomReceipts asserts what it read and draws the receipt to cite by lot. The
// lot depends on the task alone, so every run draws the same places.
func randomReceipts(ctx context.Context, d *desk) (answer, error) {
	rules, err := d.client.Rules(ctx, conformite)
	if err != nil {
		return answer{}, err
	}
	pages, err := glance(ctx, d)
	if err != nil {
		return answer{}, err
	}
	more := []string{referentielPath}
	for _, ref := range texts(pages[0].body, "attestations") {
		more = append(more, certPrefix+ref)
	}
	if first := word(pages[0].body, "beneficiaires"); first != "" {
		more = append(more, first)
	}
	others, err := d.notes.readAll(ctx, more)
	if err != nil {
		return answer{}, err
	}
	pages = append(pages, others...)
	h := fnv.New64a()
	_, _ = h.Write([]byte(d.task.TaskID)) // A hash does not fail.
	lot := rand.New(rand.NewPCG(h.Sum64(), 1))
	claims := rules.fillers(pages)
	lot.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
	a := answer{verdict: []string{verdictYes, verdictNo, verdictOpen}[lot.IntN(3)], assertions: bounded(d.task, rules, nil, claims)}
	for i := range a.assertions {
		a.assertions[i].ProofIDs = []string{pages[lot.IntN(len(pages))].proof}
	}
	return a, nil
}
