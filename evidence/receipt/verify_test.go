package receipt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
	"github.com/prova-dev/prova/evidence/tlog"
)

// TestT6EverySpecVersionVerifies: each version, batched and not, with and
// without the optional values, in the owner's view, which has the preimage.
func TestT6EverySpecVersionVerifies(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"absent", "1.0", "1.1", "1.2", "2.0", "2.1", "3.0", "3.1", "3.2", "3.17"} {
		for _, spec := range []receipttest.Spec{{}, {NoUpstream: true}, {Receipt: true}, {NoUpstream: true, Receipt: true}} {
			spec.Version = version
			t.Run(fmt.Sprintf("%s upstream %t receipt %t", version, !spec.NoUpstream, spec.Receipt), func(t *testing.T) {
				t.Parallel()
				is := receipttest.New(t)
				d, other := is.Issue(spec), is.Issue(spec)
				for _, anchor := range []func(){func() { is.Anchor(d) }, func() { is.Batch(d, other) }} {
					anchor()
					r := receipt.NewChecker(is.Trust()).Verify(d.FullProof(), receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: is.FetchEntry})
					if r.Verdict != receipt.VerdictValid || r.Witness(receipt.WitnessChain).Status != receipt.OK || len(r.Incidents) > 0 {
						t.Errorf("%s (%s); chain %v; incidents %v", r.Verdict, r.Reason, r.Witness(receipt.WitnessChain), r.Incidents)
					}
				}
			})
		}
	}
}

// TestT14VerifierOldVersions: what the list "Verifier" says of proofs before 3.0.
func TestT14VerifierOldVersions(t *testing.T) {
	t.Parallel()
	other := "sha256:" + strings.Repeat("0", 64)
	cases := []struct {
		name    string
		version string
		edit    func(t *testing.T, o *canonjson.Object)
		witness string
		status  receipt.Status
		verdict receipt.Verdict
	}{
		{"response hash swapped, legacy", "1.1", func(t *testing.T, o *canonjson.Object) { at(t, o, "hashes").Set("response", other) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"response hash swapped, 1.2", "1.2", func(t *testing.T, o *canonjson.Object) { at(t, o, "hashes").Set("response", other) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"right preimage under the wrong version", "1.1", func(_ *testing.T, o *canonjson.Object) { o.Set("spec_version", "1.2") }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"canonical preimage as a concatenation", "2.1", func(_ *testing.T, o *canonjson.Object) { o.Set("spec_version", "2.0") }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"a value without its prefix", "2.1", func(t *testing.T, o *canonjson.Object) { at(t, o, "hashes").Set("request", strings.Repeat("a", 64)) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"a value of another type", "2.1", func(_ *testing.T, o *canonjson.Object) { o.Set("timestamp", 5) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"fingerprint redacted", "1.2", func(t *testing.T, o *canonjson.Object) { at(t, o, "parties").Delete("buyer_fingerprint") }, receipt.WitnessChain, receipt.NotChecked, receipt.VerdictValid},
		{"parties redacted", "1.1", func(_ *testing.T, o *canonjson.Object) { o.Delete("parties") }, receipt.WitnessChain, receipt.NotChecked, receipt.VerdictValid},
		{"fingerprint blanked", "1.2", func(t *testing.T, o *canonjson.Object) { at(t, o, "parties").Set("buyer_fingerprint", "") }, receipt.WitnessChain, receipt.NotChecked, receipt.VerdictValid},
		{"fee redacted", "2.0", func(_ *testing.T, o *canonjson.Object) { o.Set("certification_fee", nil) }, receipt.WitnessChain, receipt.NotChecked, receipt.VerdictValid},
		{"fee under its name in the specification", "2.0", func(t *testing.T, o *canonjson.Object) {
			o.Set("payment", at(t, o, "certification_fee"))
			o.Delete("certification_fee")
		}, receipt.WitnessChain, receipt.OK, receipt.VerdictValid},
		{"commitments on a version that has none", "2.1", func(_ *testing.T, o *canonjson.Object) { o.Set("commitments", canonjson.NewObject("a", other)) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"disclosed pairs on a version without commitments", "2.1", func(_ *testing.T, o *canonjson.Object) { o.Set("disclosed", canonjson.NewObject()) }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"an identity before 3.1 is flagged", "1.2", func(_ *testing.T, o *canonjson.Object) { o.Set("agent_identity", "did:web:x.test") }, receipt.WitnessIdentity, receipt.NotChecked, receipt.VerdictValid},
		{"a version of no known form", "2.1", func(_ *testing.T, o *canonjson.Object) { o.Set("spec_version", "two") }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
		{"3.0 restated as 2.1", "3.0", func(_ *testing.T, o *canonjson.Object) { o.Set("spec_version", "2.1") }, receipt.WitnessChain, receipt.Fail, receipt.VerdictInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			is := receipttest.New(t)
			d := is.Issue(receipttest.Spec{Version: c.version})
			is.Anchor(d)
			p := is.Edit(d.FullJSON(), func(o *canonjson.Object) { c.edit(t, o) })
			r := receipt.NewChecker(is.Trust()).Verify(p, receipt.VerifyOptions{Entry: is.FetchEntry})
			if w := r.Witness(c.witness); w.Status != c.status || r.Verdict != c.verdict {
				t.Errorf("verdict %s (%s), %s is %s (%s); want %s, %s", r.Verdict, r.Reason, c.witness, w.Status, w.Detail, c.verdict, c.status)
			}
		})
	}
}

// TestT14VerifierPendingBatch: a pending proof is neither valid nor invalid, but
// what does fail in it still does.
func TestT14VerifierPendingBatch(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	d := is.Issue(receipttest.Spec{})
	ck := receipt.NewChecker(is.Trust())
	r := ck.Verify(d.Proof(), receipt.VerifyOptions{Entry: is.FetchEntry})
	if r.Verdict != receipt.VerdictPending || !receipt.Pending(d.Proof()) {
		t.Errorf("verdict %s (%s), Pending %t", r.Verdict, r.Reason, receipt.Pending(d.Proof()))
	}
	for _, name := range []string{receipt.WitnessBatch, receipt.WitnessTimestamp, receipt.WitnessLog} {
		if w := r.Witness(name); w.Status != receipt.Waiting {
			t.Errorf("%s is %s (%s), want pending", name, w.Status, w.Detail)
		}
	}
	if _, refusal := ck.Admit(d.Proof(), is.Entry, receipt.Policy{}); detailOf(refusal) != receipt.DetailBatchMalformed {
		t.Errorf("Admit: %v, want batch_malformed", refusal)
	}
	broken := is.Edit(d.JSON(), func(o *canonjson.Object) { at(t, o, "commitments").Delete("seller") })
	if r := ck.Verify(broken, receipt.VerifyOptions{}); r.Verdict != receipt.VerdictInvalid {
		t.Errorf("a pending proof with a broken chain is %s", r.Verdict)
	}
}

// TestT14VerifierFailedInclusionDoesNotReadAsPending.
func TestT14VerifierFailedInclusionDoesNotReadAsPending(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) { at(t, o, "batch_anchor").Set("leaf_index", 1) })
	r := s.verify(p)
	for _, name := range []string{receipt.WitnessTimestamp, receipt.WitnessLog} {
		if w := r.Witness(name); w.Status != receipt.NotChecked || !strings.Contains(w.Detail, "did not verify") {
			t.Errorf("%s is %s (%s), want not_checked", name, w.Status, w.Detail)
		}
	}
	if r.Verdict != receipt.VerdictInvalid {
		t.Errorf("verdict %s", r.Verdict)
	}
}

// TestT14VerifierDisclosure covers the pairs handed over beside a proof and
// those of the owner's view.
func TestT14VerifierDisclosure(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	pair := func(field string) *canonjson.Object { return s.draft.Pair(field) }
	forged := pair("seller")
	forged.Set("value", "elsewhere.test")
	restated := pair("agent_identity")
	restated.Set("value", "did:web:other.test")
	cases := []struct {
		name   string
		pairs  *canonjson.Object
		status receipt.Status
	}{
		{"true pairs", s.draft.Disclosures("request_hash", "response_hash", "seller"), receipt.OK},
		{"a forged disclosed value", canonjson.NewObject("seller", forged), receipt.Fail},
		{"a pair moved to another field", canonjson.NewObject("response_hash", pair("request_hash")), receipt.Fail},
		{"an unknown disclosed field", canonjson.NewObject("price", pair("seller")), receipt.Fail},
		{"a restated identity", canonjson.NewObject("agent_identity", restated), receipt.Fail},
		{"a pair that is no object", canonjson.NewObject("seller", "corpus.prova.test"), receipt.Fail},
		{"a pair without a nonce", canonjson.NewObject("seller", canonjson.NewObject("value", "corpus.prova.test")), receipt.Fail},
	}
	for _, c := range cases {
		r := receipt.NewChecker(s.is.Trust()).Verify(s.draft.Proof(), receipt.VerifyOptions{Entry: s.is.FetchEntry, Disclosures: c.pairs})
		if w := r.Witness(receipt.WitnessDisclosure); w.Status != c.status || (r.Verdict == receipt.VerdictValid) != (c.status == receipt.OK) {
			t.Errorf("%s: verdict %s, disclosure is %s (%s), want %s", c.name, r.Verdict, w.Status, w.Detail, c.status)
		}
	}
	old := s.is.Issue(receipttest.Spec{Version: "1.2"})
	s.is.Anchor(old)
	r := receipt.NewChecker(s.is.Trust()).Verify(old.Proof(), receipt.VerifyOptions{Disclosures: s.draft.Disclosures("seller")})
	if w := r.Witness(receipt.WitnessDisclosure); w.Status != receipt.Fail {
		t.Errorf("pairs on a proof without commitments: disclosure is %s (%s), want fail", w.Status, w.Detail)
	}
	plain := s.is.Issue(receipttest.Spec{Version: "3.0"})
	s.is.Batch(plain)
	if w := s.verify(plain.Proof()).Witness(receipt.WitnessDisclosure); w.Status != receipt.NotChecked {
		t.Errorf("nothing disclosed: disclosure is %s (%s), want not_checked", w.Status, w.Detail)
	}
}

// TestT7FullViewOpensEveryField, and an owner's view whose values were changed
// does not.
func TestT7FullViewOpensEveryField(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{Receipt: true})
	w := s.verify(s.draft.FullProof()).Witness(receipt.WitnessDisclosure)
	if w.Status != receipt.OK || !strings.HasPrefix(w.Detail, "16 pairs") {
		t.Errorf("disclosure is %s (%s), want ok over 12 fields and the 4 disclosed", w.Status, w.Detail)
	}
	cases := []struct {
		name string
		edit func(o *canonjson.Object)
	}{
		{"a stored value altered", func(o *canonjson.Object) { at(t, o, "chain_data").Set("seller", "elsewhere.test") }},
		{"a nonce missing", func(o *canonjson.Object) { at(t, o, "commitment_nonces").Delete("seller") }},
		{"another field's nonce", func(o *canonjson.Object) {
			at(t, o, "commitment_nonces").Set("seller", s.draft.Nonces["timestamp"].String())
		}},
		{"a field renamed", func(o *canonjson.Object) {
			at(t, o, "commitment_nonces").Delete("seller")
			at(t, o, "commitment_nonces").Set("price", s.draft.Nonces["seller"].String())
		}},
		{"chain_data an array", func(o *canonjson.Object) { o.Set("chain_data", []any{}) }},
	}
	for _, c := range cases {
		r := s.verify(s.is.Edit(s.draft.FullJSON(), c.edit))
		if w := r.Witness(receipt.WitnessDisclosure); w.Status != receipt.Fail {
			t.Errorf("%s: disclosure is %s (%s), want fail", c.name, w.Status, w.Detail)
		}
	}
	flat := s.verify(s.is.Edit(s.draft.FullJSON(), func(o *canonjson.Object) {
		o.Set("timestamp", "2026-09-21T09:00:00Z")
		at(t, o, "parties").Set("seller", "elsewhere.test")
	}))
	if got := fmt.Sprint(flat.Incidents); flat.Verdict != receipt.VerdictValid || !strings.Contains(got, "{flat_field_diverges timestamp}") || !strings.Contains(got, "parties.seller") {
		t.Errorf("verdict %s, incidents %s", flat.Verdict, got)
	}
}

// TestRequireDecidesTheVerdict: what any, both and local accept.
func TestRequireDecidesTheVerdict(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	outside, local := receipt.NewChecker(s.is.Trust()), receipt.NewChecker(s.is.LocalTrust())
	tokenless := func(o *canonjson.Object) {
		o.Set("timestamp_authority", canonjson.NewObject("status", "failed", "error", "timeout"))
	}
	logless := func(o *canonjson.Object) { o.Set("transparency_log", nil) }
	lost := func(o *canonjson.Object) { at(t, o, "transparency_log").Set("uuid", "_already_exists") }
	unsigned := func(o *canonjson.Object) { o.Set("arkforge_signature", nil) }
	keep := func(*canonjson.Object) {}
	both := func(f, g func(*canonjson.Object)) func(*canonjson.Object) {
		return func(o *canonjson.Object) { f(o); g(o) }
	}
	const one, two, loc = receipt.RequireAny, receipt.RequireBoth, receipt.RequireLocal
	const valid, invalid = receipt.VerdictValid, receipt.VerdictInvalid
	cases := []struct {
		name    string
		ck      *receipt.Checker
		edit    func(*canonjson.Object)
		require receipt.Require
		offline bool
		want    receipt.Verdict
	}{
		{"both there, any", outside, keep, one, false, valid},
		{"both there, both", outside, keep, two, false, valid},
		{"both there, default", outside, keep, "", false, valid},
		{"both there, local accepts independent ones too", outside, keep, loc, false, valid},
		{"no token, any", outside, tokenless, one, false, valid},
		{"no token, both", outside, tokenless, two, false, invalid},
		{"no entry, any", outside, logless, one, false, valid},
		{"no entry, both", outside, logless, two, false, invalid},
		{"the issuer lost the entry's id, any", outside, lost, one, false, valid},
		{"neither, any", outside, both(tokenless, logless), one, false, invalid},
		{"neither, local", local, both(tokenless, logless), loc, false, invalid},
		{"offline, any", outside, keep, one, true, valid},
		{"offline, both", outside, keep, two, true, invalid},
		{"local witnesses, any", local, keep, one, false, invalid},
		{"local witnesses, both", local, keep, two, false, invalid},
		{"local witnesses, local", local, keep, loc, false, valid},
		{"local log only, local", local, tokenless, loc, false, valid},
		{"unsigned but logged by the issuer's key", outside, unsigned, one, false, valid},
		{"unsigned, token only: anybody can have a document stamped", outside, both(unsigned, logless), one, false, invalid},
	}
	for _, c := range cases {
		o := receipt.VerifyOptions{Require: c.require, Entry: s.is.FetchEntry}
		if c.offline {
			o.Entry = nil
		}
		r := c.ck.Verify(s.is.Edit(s.draft.JSON(), c.edit), o)
		if r.Verdict != c.want || (r.Reason == "") != (c.want == valid) {
			t.Errorf("%s: verdict %s, reason %q; want %s", c.name, r.Verdict, r.Reason, c.want)
		}
	}
	for _, text := range []string{"any", "both", "local"} {
		if r, err := receipt.ParseRequire(text); err != nil || string(r) != text {
			t.Errorf("ParseRequire(%q) = %q, %v", text, r, err)
		}
	}
	if _, err := receipt.ParseRequire("none"); err == nil {
		t.Error("ParseRequire accepts none")
	}
}

// TestLogThatCannotBeReachedIsNotChecked, and one that denies the entry fails.
func TestLogThatCannotBeReachedIsNotChecked(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	cases := []struct {
		err    error
		status receipt.Status
	}{
		{errors.New("no route to host"), receipt.NotChecked},
		{fmt.Errorf("GET: %w", tlog.ErrNotFound), receipt.Fail},
	}
	for _, c := range cases {
		r := receipt.NewChecker(s.is.Trust()).Verify(s.draft.Proof(), receipt.VerifyOptions{Entry: func(string) ([]byte, error) { return nil, c.err }})
		if w := r.Witness(receipt.WitnessLog); w.Status != c.status {
			t.Errorf("%v: log is %s (%s), want %s", c.err, w.Status, w.Detail, c.status)
		}
	}
}

// TestLogMembersOfTheProofThatDifferAreIncidents (D16: they decide nothing).
func TestLogMembersOfTheProofThatDifferAreIncidents(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	r := s.verify(s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) {
		at(t, o, "transparency_log").Set("log_index", 99)
		at(t, o, "transparency_log").Set("integrated_time", "soon")
	}))
	if got := fmt.Sprint(r.Incidents); r.Verdict != receipt.VerdictValid ||
		got != "[{flat_field_diverges transparency_log.log_index} {flat_field_diverges transparency_log.integrated_time}]" {
		t.Errorf("verdict %s, incidents %s", r.Verdict, got)
	}
}

// TestD11RetiredKeyNeedsAThirdPartysTime: without any verified time a signature
// by a retired key decides nothing; the log's time serves when there is no token.
func TestD11RetiredKeyNeedsAThirdPartysTime(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	is.Keys[0].RetiredAt = receipttest.Epoch().Add(time.Hour)
	early := is.Issue(receipttest.Spec{})
	is.Batch(early)
	late := is.Issue(receipttest.Spec{})
	is.Advance(3 * time.Hour)
	is.Batch(late)
	ck := receipt.NewChecker(is.Trust())
	tokenless := func(o *canonjson.Object) { o.Set("timestamp_authority", nil) }
	cases := []struct {
		name   string
		p      *receipt.Proof
		entry  func(string) ([]byte, error)
		status receipt.Status
	}{
		{"token", early.Proof(), nil, receipt.OK},
		{"log only", is.Edit(early.JSON(), tokenless), is.FetchEntry, receipt.OK},
		{"neither, which no verdict can rest on", is.Edit(early.JSON(), tokenless), nil, receipt.OK},
		{"late token", late.Proof(), nil, receipt.Fail},
		{"late log", is.Edit(late.JSON(), tokenless), is.FetchEntry, receipt.Fail},
	}
	for _, c := range cases {
		r := ck.Verify(c.p, receipt.VerifyOptions{Require: receipt.RequireLocal, Entry: c.entry})
		if w := r.Witness(receipt.WitnessSignature); w.Status != c.status {
			t.Errorf("%s: signature is %s (%s), want %s", c.name, w.Status, w.Detail, c.status)
		}
		witnessed := strings.HasPrefix(c.name, "token") || strings.HasPrefix(c.name, "log")
		if (r.Verdict == receipt.VerdictValid) != witnessed {
			t.Errorf("%s: verdict %s (%s)", c.name, r.Verdict, r.Reason)
		}
	}
}

// TestReportNamesAllSevenWitnessesInOrder, and an unknown one is not checked.
func TestReportNamesAllSevenWitnessesInOrder(t *testing.T) {
	t.Parallel()
	r := receipt.NewChecker(&receipt.Trust{}).Verify(parseProof(t, []byte(`{}`)), receipt.VerifyOptions{})
	var names []string
	for _, w := range r.Witnesses {
		names = append(names, w.Name)
		if w.Detail == "" || w.Status == receipt.OK || w.Independent || !w.Time.IsZero() {
			t.Errorf("%+v", w)
		}
	}
	if got := strings.Join(names, " "); got != "identity chain disclosure signature batch timestamp log" {
		t.Errorf("witnesses %s", got)
	}
	if r.Witness("weather").Status != receipt.NotChecked || r.Verdict != receipt.VerdictInvalid {
		t.Errorf("verdict %s", r.Verdict)
	}
}
