package receipt_test

import (
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// TestT14Identity covers the list "Identity" and step 2 of bundle-format §10.
// Every case leaves step 1 intact: the proof itself is admitted.
func TestT14Identity(t *testing.T) {
	t.Parallel()
	disclosed := func(field, member string, v any) func(*testing.T, *season, *canonjson.Object) {
		return set([]string{"disclosed", field}, member, v)
	}
	bound := map[string]any{"agent_identity": "did:web:a.test", "agent_identity_verified": true, "did_resolution_status": "bound", "identity_consistent": true}
	with := func(field string, v any) receipttest.Spec {
		m := map[string]any{}
		for k, value := range bound {
			m[k] = value
		}
		m[field] = v
		return receipttest.Spec{Identity: m}
	}
	cases := []struct {
		name   string
		spec   receipttest.Spec
		edit   func(*testing.T, *season, *canonjson.Object)
		detail string         // of Checker.Identity
		report receipt.Status // of the identity witness
		words  string         // in its detail
	}{
		{"a bound DID", receipttest.Spec{}, nil, "", receipt.OK, "verified DID \"did:web:agent.prova.test\""},
		{"agent_identity restated", receipttest.Spec{}, disclosed("agent_identity", "value", "did:web:other.test"), receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity"},
		{"agent_identity_verified restated", with("agent_identity_verified", nil), disclosed("agent_identity_verified", "value", true), receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity_verified"},
		{"did_resolution_status restated", with("did_resolution_status", "unverified"), disclosed("did_resolution_status", "value", "bound"), receipt.DetailDisclosedMismatch, receipt.Fail, "did_resolution_status"},
		{"identity_consistent restated", with("identity_consistent", false), disclosed("identity_consistent", "value", true), receipt.DetailDisclosedMismatch, receipt.Fail, "identity_consistent"},
		{"3.1 without a disclosed block", receipttest.Spec{}, func(_ *testing.T, _ *season, o *canonjson.Object) { o.Delete("disclosed") }, receipt.DetailDisclosedMismatch, receipt.Fail, "not disclosed"},
		{"a disclosed block that is an array", receipttest.Spec{}, set(nil, "disclosed", []any{}), receipt.DetailDisclosedMismatch, receipt.Fail, "not disclosed"},
		{"one of the four not disclosed", receipttest.Spec{}, func(t *testing.T, _ *season, o *canonjson.Object) {
			at(t, o, "disclosed").Delete("identity_consistent")
		}, receipt.DetailDisclosedMismatch, receipt.Fail, "identity_consistent"},
		{"a nonce in upper case", receipttest.Spec{}, func(t *testing.T, _ *season, o *canonjson.Object) {
			in := at(t, o, "disclosed", "agent_identity")
			in.Set("nonce", strings.ToUpper(str(t, in, "nonce")))
		}, receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity"},
		{"a nonce that is too short", receipttest.Spec{}, disclosed("agent_identity", "nonce", "00"), receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity"},
		{"an entry that is no object", receipttest.Spec{}, set([]string{"disclosed"}, "agent_identity", "did:web:agent.prova.test"), receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity"},
		{"an entry without a value", receipttest.Spec{}, func(t *testing.T, _ *season, o *canonjson.Object) {
			at(t, o, "disclosed", "agent_identity").Delete("value")
		}, receipt.DetailDisclosedMismatch, receipt.Fail, "agent_identity"},
		{"the string \"true\" is not true", with("agent_identity_verified", "true"), nil, receipt.DetailIdentityUnverified, receipt.OK, "NOT a verified DID"},
		{"an unverified identity is ok but worded as such", receipttest.Spec{Identity: map[string]any{
			"agent_identity": "me", "agent_identity_verified": nil, "did_resolution_status": "unverified", "identity_consistent": true,
		}}, nil, receipt.DetailIdentityUnverified, receipt.OK, "self-declared, NOT a verified DID"},
		{"verified but not bound", with("did_resolution_status", "unverified"), nil, receipt.DetailIdentityUnverified, receipt.OK, "not bound"},
		{"no identity commits nulls", receipttest.Spec{Identity: map[string]any{}}, nil, receipt.DetailIdentityUnverified, receipt.OK, "no identity was declared"},
		{"an inconsistent identity may be bound", with("identity_consistent", false), nil, "", receipt.OK, "verified DID"},
		{"spec 3.0 carries no disclosed and anchors no identity", receipttest.Spec{Version: "3.0"}, nil, receipt.DetailSpecVersionTooOld, receipt.NotChecked, "not evidence"},
		{"spec 3.0 without an identity is silent", receipttest.Spec{Version: "3.0", Identity: map[string]any{}}, nil, receipt.DetailSpecVersionTooOld, receipt.NotChecked, "no identity is claimed"},
		{"spec 3.10 is later than 3.9", receipttest.Spec{Version: "3.10"}, nil, "", receipt.OK, "verified DID"},
		{"spec 4.0 follows the rules of 3.1", receipttest.Spec{Version: "4.0"}, nil, "", receipt.OK, "verified DID"},
		{"spec 3.1 restated as a number", receipttest.Spec{}, set(nil, "spec_version", 3.1), receipt.DetailSpecVersionTooOld, receipt.NotChecked, "not known"},
		{"spec 3.1 restated as 3.1.0", receipttest.Spec{}, set(nil, "spec_version", "3.1.0"), receipt.DetailSpecVersionTooOld, receipt.NotChecked, "not known"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSeason(t, c.spec)
			p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) {
				if c.edit != nil {
					c.edit(t, s, o)
				}
			})
			ck := receipt.NewChecker(s.is.Trust())
			e, refusal := ck.Admit(p, s.is.Entry, receipt.Policy{RequireLog: true})
			if refusal != nil {
				t.Fatalf("step 1 refuses: %v", refusal)
			}
			id, refusal := ck.Identity(p, e)
			if detailOf(refusal) != c.detail {
				t.Errorf("Identity: %v, want %q", refusal, c.detail)
			}
			if refusal == nil && id.DID == "" {
				t.Error("the identity has no DID")
			}
			if w := s.verify(p).Witness(receipt.WitnessIdentity); w.Status != c.report || !strings.Contains(w.Detail, c.words) {
				t.Errorf("identity is %s (%s), want %s with %q", w.Status, w.Detail, c.report, c.words)
			}
		})
	}
}

// TestT14IdentityDroppedAndRootRebuilt: an issuer that drops the four fields and
// signs the root of what remains makes a sound chain and no identity.
func TestT14IdentityDroppedAndRootRebuilt(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	d := is.Issue(receipttest.Spec{})
	commitments := at(t, d.Doc, "commitments")
	for _, field := range receipttest.IdentityFields() {
		commitments.Delete(field)
	}
	d.Doc.Delete("disclosed")
	d.Seal()
	is.Batch(d)
	ck := receipt.NewChecker(is.Trust())
	e, refusal := ck.Admit(d.Proof(), is.Entry, receipt.Policy{RequireLog: true})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if _, refusal := ck.Identity(d.Proof(), e); detailOf(refusal) != receipt.DetailDisclosedMismatch {
		t.Errorf("Identity: %v, want disclosed_mismatch", refusal)
	}
	r := ck.Verify(d.Proof(), receipt.VerifyOptions{Entry: is.FetchEntry})
	if w := r.Witness(receipt.WitnessIdentity); w.Status != receipt.Fail || r.Verdict != receipt.VerdictInvalid {
		t.Errorf("verdict %s, identity is %s (%s), want fail", r.Verdict, w.Status, w.Detail)
	}
	if w := r.Witness(receipt.WitnessChain); w.Status != receipt.OK {
		t.Errorf("chain is %s (%s), want ok", w.Status, w.Detail)
	}
}

// TestT14IdentityStoredAndReloadedStillOpens, through any number of rewrites.
func TestT14IdentityStoredAndReloadedStillOpens(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{DID: "did:web:caf\u00e9.test"})
	p := s.draft.Proof()
	for range 3 {
		p = parseProof(t, canonjson.Marshal(p.Object()))
		p = parseProof(t, canonjson.Compact(p.Object()))
	}
	r := s.verify(p)
	if r.Verdict != receipt.VerdictValid {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// TestSection10FlatFieldsAreIncidentsNothingMore: a flat member that differs is
// reported and changes no status; one that is absent is no difference.
func TestSection10FlatFieldsAreIncidentsNothingMore(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		edit func(t *testing.T, o *canonjson.Object)
		want []string
	}{
		{"nothing changed", func(*testing.T, *canonjson.Object) {}, nil},
		{"hashes.request altered", func(t *testing.T, o *canonjson.Object) {
			at(t, o, "hashes").Set("request", "sha256:"+strings.Repeat("0", 64))
		}, []string{"hashes.request"}},
		{"hashes.request without its prefix", func(t *testing.T, o *canonjson.Object) {
			at(t, o, "hashes").Set("request", strings.Repeat("a", 64))
		}, []string{"hashes.request"}},
		{"hashes.response null", func(t *testing.T, o *canonjson.Object) { at(t, o, "hashes").Set("response", nil) }, []string{"hashes.response"}},
		{"the identity's four members altered", func(_ *testing.T, o *canonjson.Object) {
			o.Set("agent_identity", "x")
			o.Set("agent_identity_verified", false)
			o.Set("did_resolution_status", "x")
			o.Set("identity_consistent", 1)
		}, []string{"agent_identity", "agent_identity_verified", "did_resolution_status", "identity_consistent"}},
		{"flat members left out", func(t *testing.T, o *canonjson.Object) {
			at(t, o, "hashes").Delete("request")
			o.Delete("agent_identity")
		}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSeason(t, receipttest.Spec{})
			p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) { c.edit(t, o) })
			e, refusal := s.admit(p)
			if refusal != nil {
				t.Fatal(refusal)
			}
			opened := receipt.Opened(p, e)
			opened["request_hash"], opened["response_hash"] = strings.Repeat("a", 64), strings.Repeat("b", 64)
			if got := receipt.FlatDivergences(p, opened); strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("FlatDivergences: %q, want %q", got, c.want)
			}
			r := receipt.NewChecker(s.is.Trust()).Verify(p, receipt.VerifyOptions{
				Require: receipt.RequireBoth, Entry: s.is.FetchEntry,
				Disclosures: s.draft.Disclosures("request_hash", "response_hash"),
			})
			var got []string
			for _, i := range r.Incidents {
				if i.Kind != receipt.IncidentFlatField {
					t.Errorf("incident of kind %q", i.Kind)
				}
				got = append(got, i.Detail)
			}
			if r.Verdict != receipt.VerdictValid || strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("verdict %s (%s), incidents %q, want valid and %q", r.Verdict, r.Reason, got, c.want)
			}
		})
	}
}

// TestOpenedOfAProofWithoutDisclosedIsAnEmptyMap, which the caller may fill.
func TestOpenedOfAProofWithoutDisclosedIsAnEmptyMap(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{Version: "3.0"})
	e, refusal := s.admit(s.draft.Proof())
	if refusal != nil {
		t.Fatal(refusal)
	}
	opened := receipt.Opened(s.draft.Proof(), e)
	opened["request_hash"] = "x"
	if got := receipt.FlatDivergences(s.draft.Proof(), opened); len(got) != 1 || got[0] != "hashes.request" {
		t.Errorf("divergences %q", got)
	}
}
