package scoring_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/internal/receipts/bundle"
	"github.com/prova-dev/prova/internal/receipts/bundle/bundletest"
	"github.com/prova-dev/prova/internal/receipts/bundle/results"
	"github.com/prova-dev/prova/internal/receipts/scoring"
)

func flag(b *bool) string {
	switch {
	case b == nil:
		return "null"
	case *b:
		return "true"
	}
	return "false"
}

// TestSection9Point2StateOfATask makes each row of the table, and pairs of rows
// in which the earlier decides. conf-01 takes 2 to 4 assertions, at least one on
// an own resource.
func TestSection9Point2StateOfATask(t *testing.T) {
	t.Parallel()
	list := bundletest.Claim{Resource: "/listes/agrees/courtage/1", Field: "/entrees/0/statut", Value: "valide"}
	foreign := bundletest.Claim{Resource: "/entites/ENT-0002", Field: "/statut", Value: "active"}
	cases := []struct {
		name          string
		claims        func(sound []bundletest.Claim) []bundletest.Claim
		change        func(s *bundletest.Season, did string) // after the submission is recorded
		state, reason string
		assertions    int    // how many are verified and reported
		exact         string // verdict_exact
	}{
		{name: "row 1: no file is absent", change: func(s *bundletest.Season, did string) { delete(s.Files, bundle.SubmissionPath(did, "conf-01")) },
			state: "not_submitted", reason: "absent", exact: "false"},
		{name: "row 2: a broken rule is not_conforming", change: func(s *bundletest.Season, did string) {
			bundletest.Edit(t, s.Files, bundle.SubmissionPath(did, "conf-01"), func(o *canonjson.Object) { o.Set("verdict", "peut-être") })
		}, state: "not_submitted", reason: "not_conforming", exact: "false"},
		{name: "row 2: a file that is no JSON is not_conforming", change: func(s *bundletest.Season, did string) {
			s.Files[bundle.SubmissionPath(did, "conf-01")] = []byte("{")
		}, state: "not_submitted", reason: "not_conforming", exact: "false"},
		{name: "row 3: one more than the cap is over_cap", claims: func(c []bundletest.Claim) []bundletest.Claim { return append(c, list) },
			state: "rejected", reason: "over_cap", exact: "false"},
		{name: "row 3 before row 4", claims: func(c []bundletest.Claim) []bundletest.Claim { return append(c, foreign) },
			state: "rejected", reason: "over_cap", exact: "false"},
		{name: "row 4: another entity's record is outside_task_graph", claims: func(c []bundletest.Claim) []bundletest.Claim { return append(c[:2], foreign) },
			state: "rejected", reason: "outside_task_graph", exact: "false"},
		{name: "row 4 before row 5, wherever it stands", claims: func(c []bundletest.Claim) []bundletest.Claim {
			return []bundletest.Claim{{Resource: c[0].Resource, Field: "/denomination", Value: "Maison 0001"}, foreign}
		}, state: "rejected", reason: "outside_task_graph", exact: "false"},
		{name: "row 4: the référentiel is outside_task_graph", claims: func(c []bundletest.Claim) []bundletest.Claim {
			return append(c[:2], bundletest.Claim{Resource: "/referentiel", Field: "/version", Value: "x"})
		}, state: "rejected", reason: "outside_task_graph", exact: "false"},
		{name: "row 5: a field no criterion reads is field_not_probative", claims: func(c []bundletest.Claim) []bundletest.Claim {
			return append(c[:2], bundletest.Claim{Resource: c[0].Resource, Field: "/denomination", Value: "Maison 0001"})
		}, state: "rejected", reason: "field_not_probative", exact: "false"},
		{name: "row 5: the whole document is field_not_probative", claims: func(c []bundletest.Claim) []bundletest.Claim {
			return append(c[:2], bundletest.Claim{Resource: c[0].Resource, Field: "", Value: "x"})
		}, state: "rejected", reason: "field_not_probative", exact: "false"},
		{name: "row 6: an entry of another entity is common_list_entry_not_concerned", claims: func(c []bundletest.Claim) []bundletest.Claim {
			return append(c[:2], bundletest.Claim{Resource: list.Resource, Field: "/entrees/1/statut", Value: "valide"})
		}, state: "rejected", reason: "common_list_entry_not_concerned", exact: "false"},
		{name: "row 7: a pending assertion makes the task pending", claims: func(c []bundletest.Claim) []bundletest.Claim { return c[:3] },
			change: func(s *bundletest.Season, did string) { makePending(t, s, did) }, state: "pending", assertions: 3, exact: "null"},
		{name: "row 7 before row 8", claims: func(c []bundletest.Claim) []bundletest.Claim { return c[:1] },
			change: func(s *bundletest.Season, did string) { makePending(t, s, did) }, state: "pending", assertions: 1, exact: "null"},
		{name: "row 8: one below the minimum is below_minimum", claims: func(c []bundletest.Claim) []bundletest.Claim { return c[:1] },
			state: "not_submitted", reason: "below_minimum", assertions: 1, exact: "false"},
		{name: "row 8: no assertion at all is below_minimum", claims: func([]bundletest.Claim) []bundletest.Claim { return nil },
			state: "not_submitted", reason: "below_minimum", exact: "false"},
		{name: "row 9: only common lists is below_own_minimum", claims: func([]bundletest.Claim) []bundletest.Claim {
			return []bundletest.Claim{list, {Resource: list.Resource, Field: "/entrees/0/entite", Value: "ENT-0001"}}
		}, state: "not_submitted", reason: "below_own_minimum", assertions: 2, exact: "false"},
		{name: "row 10: the minimum is submitted", claims: func(c []bundletest.Claim) []bundletest.Claim { return []bundletest.Claim{c[0], list} },
			state: "submitted", assertions: 2, exact: "true"},
		{name: "row 10: the cap is submitted", claims: func(c []bundletest.Claim) []bundletest.Claim { return c }, state: "submitted", assertions: 4, exact: "true"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := bundletest.New(t, bundletest.Compliance(2))
			did := s.Enrol("alpha")
			s.Submit(did, "conf-02", "conforme", s.Claims("conf-02")...) // keeps the row when conf-01 is absent
			claims := s.Claims("conf-01")
			if c.claims != nil {
				claims = c.claims(claims)
			}
			s.Submit(did, "conf-01", "conforme", claims...)
			if c.change != nil {
				c.change(s, did)
			}
			p := row(t, scored(t, s.Files), "conformite", did)
			task := taskOf(t, p, "conf-01")
			if task.State != c.state || text(task.Reason) != c.reason {
				t.Errorf("got %s/%s, want %s/%s", task.State, text(task.Reason), c.state, c.reason)
			}
			if len(task.Assertions) != c.assertions {
				t.Errorf("%d assertions, want %d", len(task.Assertions), c.assertions)
			}
			if flag(task.VerdictExact) != c.exact {
				t.Errorf("verdict_exact %s, want %s", flag(task.VerdictExact), c.exact)
			}
			if (task.Verdict == nil) != (c.reason == "absent" || c.reason == "not_conforming") {
				t.Errorf("verdict is %s with reason %s", text(task.Verdict), c.reason)
			}
			submitted := int64(1)
			if c.state == "submitted" {
				submitted = 2
			}
			if p.TasksSubmitted != submitted {
				t.Errorf("%d tasks submitted, want %d", p.TasksSubmitted, submitted)
			}
		})
	}
}

// makePending takes the first proof of conf-01 out of its batch.
func makePending(t *testing.T, s *bundletest.Season, did string) {
	t.Helper()
	var id string
	bundletest.Edit(t, s.Files, bundle.SubmissionPath(did, "conf-01"), func(o *canonjson.Object) { id = getIn(o, "/assertions/0/proof_ids/0").(string) })
	bundletest.Edit(t, s.Files, bundle.ProofPath(id), func(o *canonjson.Object) {
		o.Set("batch_anchor", canonjson.NewObject("status", "pending"))
		o.Set("timestamp_authority", canonjson.NewObject("status", "pending_batch"))
		o.Set("transparency_log", nil)
	})
}

// TestSection9Point2InstrumentFaultsCountForTheCapAndNoMinimum is D13.
func TestSection9Point2InstrumentFaultsCountForTheCapAndNoMinimum(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	claims := s.Claims("conf-01", 2)
	sound := s.Cite(did, "conf-01", claims[1])
	spec := s.Spec(did, "conformite", claims[0].Resource)
	spec.ResponseHash = s.ResponseHash("conformite", "/_systeme/503")
	fault := s.Issuer.Issue(spec)
	s.Issuer.Batch(fault)
	s.Publish(fault)
	s.Record(did, "conf-01", "conforme", sound[0], bundletest.Assertion{Claim: claims[0], Proofs: []*receipttest.Draft{fault}})
	p := row(t, scored(t, s.Files), "conformite", did)
	if got := taskOf(t, p, "conf-01"); got.State != "not_submitted" || text(got.Reason) != "below_minimum" {
		t.Errorf("got %s/%s, want not_submitted/below_minimum: the fault does not count", got.State, text(got.Reason))
	}
	id, _ := fault.Doc.Get("proof_id")
	if len(p.Incidents) != 1 || p.Incidents[0].Kind != "instrument_fault" || p.Incidents[0].ProofID != id ||
		text(p.Incidents[0].TaskID) != "conf-01" || text(p.Incidents[0].AssertionID) != "a2" || p.Incidents[0].Detail != "/_systeme/503" {
		t.Errorf("incidents %+v", p.Incidents)
	}
	if p.Overclaim != nil {
		t.Errorf("overclaim %v of a task that is not submitted", *p.Overclaim)
	}
}

// TestSection10FlatFieldsAreIncidentsAndNothingMore alters flat members beside a
// pending and an invalid proof of the same assertion.
func TestSection10FlatFieldsAreIncidentsAndNothingMore(t *testing.T) {
	t.Parallel()
	for _, beside := range []string{"alone", "invalid", "pending"} {
		t.Run(beside, func(t *testing.T) {
			t.Parallel()
			s := bundletest.New(t, bundletest.Compliance(1))
			did := s.Enrol("alpha")
			a := s.Cite(did, "conf-01", s.Claims("conf-01", 2)...)
			flat := a[0].Proofs[0]
			setIn(flat.Doc, "sha256:"+strings.Repeat("0", 64), "hashes", "request")
			s.Publish(flat)
			other := s.Issuer.Issue(s.Spec(did, "conformite", a[0].Resource))
			otherID, _ := other.Doc.Get("proof_id")
			switch beside {
			case "pending":
				s.Files[bundle.ProofPath(otherID.(string))] = other.JSON()
				a[0].Proofs = []*receipttest.Draft{other, flat}
			case "invalid":
				a[0].Proofs = []*receipttest.Draft{other, flat} // its file is missing
			}
			s.Record(did, "conf-01", "conforme", a...)
			p := row(t, scored(t, s.Files), "conformite", did)
			want := map[string]string{"alone": "supported", "invalid": "unsupported", "pending": "pending"}[beside]
			if got := taskOf(t, p, "conf-01").Assertions[0].Status; got != want {
				t.Errorf("status %s, want %s", got, want)
			}
			if len(p.Incidents) != 1 || p.Incidents[0].Kind != "flat_field_diverges" || p.Incidents[0].Detail != "hashes.request" || p.Incidents[0].TaskID != nil {
				t.Errorf("incidents %+v", p.Incidents)
			}
		})
	}
}

// TestSection10SeveralProofsEachStepRunsOverAllBeforeTheNext is D10.
func TestSection10SeveralProofsEachStepRunsOverAllBeforeTheNext(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1))
	did := s.Enrol("alpha")
	claims := s.Claims("conf-01", 2)
	proof := func(change func(spec *receipttest.Spec)) *receipttest.Draft {
		spec := s.Spec(did, "conformite", claims[0].Resource)
		change(&spec)
		d := s.Issuer.Issue(spec)
		s.Issuer.Batch(d)
		s.Publish(d)
		return d
	}
	wrongResource := proof(func(spec *receipttest.Spec) { spec.RequestHash = strings.Repeat("1", 64) })
	invalid := proof(func(*receipttest.Spec) {})
	invalid.Doc.Set("arkforge_signature", nil)
	s.Publish(invalid)
	fault := proof(func(spec *receipttest.Spec) { spec.ResponseHash = s.ResponseHash("conformite", "/_systeme/400") })
	otherBody := proof(func(spec *receipttest.Spec) { spec.ResponseHash = strings.Repeat("2", 64) })
	sound := s.Cite(did, "conf-01", claims...)
	for _, c := range []struct {
		name   string
		proofs []*receipttest.Draft
		want   string
	}{
		{"an invalid proof outranks the first one's wrong resource", []*receipttest.Draft{wrongResource, invalid}, "unsupported invalid_proof signature_invalid"},
		{"a wrong resource outranks a fault", []*receipttest.Draft{fault, wrongResource}, "unsupported resource_mismatch request_hash_differs"},
		{"one fault among several is enough", []*receipttest.Draft{otherBody, fault}, "instrument_fault  /_systeme/400"},
		{"all sound", []*receipttest.Draft{sound[0].Proofs[0], proof(func(*receipttest.Spec) {})}, "supported  "},
	} {
		s.Record(did, "conf-01", "conforme", bundletest.Assertion{Claim: claims[0], Proofs: c.proofs}, sound[1])
		a := taskOf(t, row(t, scored(t, s.Files), "conformite", did), "conf-01").Assertions[0]
		if got := strings.Join([]string{a.Status, text(a.Cause), text(a.Detail)}, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestSection11GroundedVerdict is specification §5.7, grounded verdict.
func TestSection11GroundedVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		verdict         string
		claims          func(sound []bundletest.Claim) []bundletest.Claim
		exact, grounded string
		missing         int
	}{
		{"exact with its fact is grounded", "conforme", func(c []bundletest.Claim) []bundletest.Claim { return c[:2] }, "true", "true", 0},
		{"exact with an equivalent is grounded", "conforme", func(c []bundletest.Claim) []bundletest.Claim {
			return []bundletest.Claim{c[1], {Resource: c[0].Resource, Field: "/existe", Value: true}}
		}, "true", "true", 0},
		{"exact without its fact is not, and names it", "conforme", func(c []bundletest.Claim) []bundletest.Claim { return c[1:3] }, "true", "false", 1},
		{"a fact with another value grounds nothing", "conforme", func(c []bundletest.Claim) []bundletest.Claim {
			return []bundletest.Claim{c[1], {Resource: c[0].Resource, Field: "/statut", Value: "radiee"}}
		}, "true", "false", 1},
		{"inexact names no missing facts", "indeterminable", func(c []bundletest.Claim) []bundletest.Claim { return c[:2] }, "false", "false", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := bundletest.New(t, bundletest.Compliance(1))
			did := s.Enrol("alpha")
			s.Submit(did, "conf-01", c.verdict, c.claims(s.Claims("conf-01"))...)
			p := row(t, scored(t, s.Files), "conformite", did)
			task := taskOf(t, p, "conf-01")
			if flag(task.VerdictExact) != c.exact || flag(task.Grounded) != c.grounded || len(task.MissingFacts) != c.missing {
				t.Errorf("exact %s, grounded %s, missing %v", flag(task.VerdictExact), flag(task.Grounded), task.MissingFacts)
			}
			if got := p.Success.Num == 1; got != (c.grounded == "true") {
				t.Errorf("success %v", p.Success)
			}
		})
	}
}

// TestSection6GenericTrackScoresByItsOwnRules scores both tracks of one season;
// a participant has a row only where it submitted.
func TestSection6GenericTrackScoresByItsOwnRules(t *testing.T) {
	t.Parallel()
	s := bundletest.New(t, bundletest.Compliance(1), bundletest.Purchasing())
	buyer, both := s.Enrol("buyer"), s.Enrol("both")
	s.Submit(buyer, "gen-01", "PRD-0001", s.Claims("gen-01")...)
	s.Submit(buyer, "gen-02", "PRD-0002", s.Claims("gen-02")...)
	s.Submit(both, "gen-02", "aucune_option_valide", bundletest.Claim{Resource: "/produits/PRD-0003", Field: "/prix", Value: "120.00"})
	s.Submit(both, "conf-01", "conforme", s.Claims("conf-01", 2)...)
	s.Submit(both, "gen-01", "PRD-9999", s.Claims("gen-01")...)
	r := scored(t, s.Files)
	if got := r.Tracks["conformite"].Participants; len(got) != 1 || got[0].AgentDID != both {
		t.Errorf("compliance rows %v", got)
	}
	p := row(t, r, "generique", buyer)
	if p.Success != results.NewRate(1, 2) || *p.Overclaim != results.NewRate(0, 6) || p.TasksSubmitted != 2 {
		t.Errorf("buyer: success %v, overclaim %v, submitted %d", p.Success, *p.Overclaim, p.TasksSubmitted)
	}
	q := row(t, r, "generique", both)
	if got := taskOf(t, q, "gen-02"); text(got.Reason) != "outside_task_graph" {
		t.Errorf("a product outside the category's catalogue: %s", text(got.Reason))
	}
	if got := taskOf(t, q, "gen-01"); text(got.Reason) != "not_conforming" {
		t.Errorf("a verdict that the manifest does not list: %s/%s", got.State, text(got.Reason))
	}
	if best := r.Tracks["generique"].Best; best.Verdict != "PRD-0001" || best.Num != 1 || best.Den != 2 {
		t.Errorf("best constant answer %+v: of two with one task each the smaller by code points", best)
	}
}

// TestSection13Corrections applies, in order, what a dispute decided.
func TestSection13Corrections(t *testing.T) {
	t.Parallel()
	season := func() (*bundletest.Season, string) {
		s := bundletest.New(t, bundletest.Compliance(2))
		did := s.Enrol("alpha")
		claims := s.Claims("conf-01", 3)
		claims[0].Value = "radiee"
		s.Submit(did, "conf-01", "conforme", claims...)
		s.Submit(did, "conf-02", "conforme", s.Claims("conf-02", 1)...)
		return s, did
	}
	entry := func(did, task, assertion, status string, cause any) *canonjson.Object {
		return canonjson.NewObject("agent_did", did, "track", "conformite", "task_id", task, "assertion_id", assertion, "status", status,
			"cause", cause, "reason", "la réponse était exacte", "dispute_id", "disp_00000001", "decided_at", "2026-11-20T10:00:00Z")
	}
	file := func(entries ...any) []byte {
		return canonjson.Compact(canonjson.NewObject("version", 2, "previous_sha256", strings.Repeat("a", 64), "corrections", entries))
	}
	s, did := season()
	first := scored(t, s.Files)
	if p := row(t, first, "conformite", did); *p.Overclaim != results.NewRate(1, 3) || first.Version != 0 {
		t.Fatalf("before any correction: %v, version %d", *p.Overclaim, first.Version)
	}
	s.Files[bundle.CorrectionsPath] = file(entry(did, "conf-01", "a1", "unsupported", "invalid_proof"), entry(did, "conf-01", "a1", "supported", nil))
	b := openFiles(t, s.Files)
	out := score(t, b)
	r, err := results.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	p := row(t, r, "conformite", did)
	if *p.Overclaim != results.NewRate(0, 3) || text(taskOf(t, p, "conf-01").Assertions[0].Detail) != "" {
		t.Errorf("overclaim %v after the correction, first assertion %+v", *p.Overclaim, taskOf(t, p, "conf-01").Assertions[0])
	}
	if r.Version != 2 || r.PreviousSHA256 != strings.Repeat("a", 64) || len(r.Corrections) != 2 || r.Corrections[1].Status != "supported" {
		t.Errorf("version %d, previous %s, corrections %+v", r.Version, r.PreviousSHA256, r.Corrections)
	}
	parsed, err := canonjson.ParseStrict(out)
	if err != nil || !bytes.Equal(append(canonjson.Marshal(parsed), '\n'), out) {
		t.Errorf("the bytes are not C(results) and a line feed (%v)", err)
	}
	for name, corrections := range map[string][]byte{
		"a task that is not submitted":    file(entry(did, "conf-02", "a1", "supported", nil)),
		"an assertion that is not there":  file(entry(did, "conf-01", "a9", "supported", nil)),
		"a DID that is not enrolled":      file(entry("did:web:nobody.prova.test", "conf-01", "a1", "supported", nil)),
		"a task of no track":              file(entry(did, "conf-09", "a1", "supported", nil)),
		"a supported status with a cause": file(entry(did, "conf-01", "a1", "supported", "invalid_proof")),
		"an unsupported one without":      file(entry(did, "conf-01", "a1", "unsupported", nil)),
	} {
		s.Files[bundle.CorrectionsPath] = corrections
		var out bytes.Buffer
		b, err := bundle.OpenFS(bundletest.FS(s.Files))
		if err == nil {
			err = scoring.Score(b, nil, &out)
		}
		var unreadable *bundle.UnreadableError
		if !errors.As(err, &unreadable) || unreadable.Path != bundle.CorrectionsPath {
			t.Errorf("%s: got %v, want corrections.json unreadable", name, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes were written before the fault", name, out.Len())
		}
	}
}
