package receipt_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// TestSection10AdmitReturnsWhatItEstablished.
func TestSection10AdmitReturnsWhatItEstablished(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	p := s.draft.Proof()
	e, refusal := s.admit(p)
	if refusal != nil {
		t.Fatal(refusal)
	}
	root := str(t, at(t, s.draft.Doc, "batch_anchor"), "root")
	uuid, _ := p.LogUUID()
	switch {
	case e.Chain != s.draft.Chain():
		t.Errorf("chain %x", e.Chain)
	case "sha256:"+hex.EncodeToString(e.Root[:]) != root:
		t.Errorf("root %x, want %s", e.Root, root)
	case len(e.Commitments) != 11:
		t.Errorf("%d commitments, want 11", len(e.Commitments))
	case e.Kid != "key-1" || e.LogUUID != uuid || !e.TokenIndependent || !e.LogIndependent:
		t.Errorf("%+v", e)
	case !e.TokenTime.Equal(receipttest.Epoch().Add(10*time.Minute)) || e.TokenTime.Location() != time.UTC:
		t.Errorf("token time %s", e.TokenTime)
	}
}

// TestSection10ChecksRunInTheirOrder breaks the proof for each check and every
// later one at once: the first in the list decides.
func TestSection10ChecksRunInTheirOrder(t *testing.T) {
	t.Parallel()
	breaks := []struct {
		detail string
		edit   func(t *testing.T, s *season, o *canonjson.Object)
	}{
		{receipt.DetailProofMalformed, set([]string{"hashes"}, "chain", "x")},
		{receipt.DetailCommitmentsMissing, set(nil, "commitments", []any{})},
		{receipt.DetailCommitmentsMalformed, set([]string{"commitments"}, "seller", "x")},
		{receipt.DetailChainMismatch, flipped(20, "seller", "commitments")},
		{receipt.DetailIssuerKeyRefused, set(nil, "arkforge_kid", "nobody")},
		{receipt.DetailSignatureInvalid, set(nil, "arkforge_signature", "ed25519:")},
		{receipt.DetailBatchMalformed, set([]string{"batch_anchor"}, "leaf_index", false)},
		{receipt.DetailPathLength, set([]string{"batch_anchor"}, "tree_size", 5000)},
		{receipt.DetailPathMismatch, flipped(20, "root", "batch_anchor")},
		{receipt.DetailTokenMissing, set([]string{"timestamp_authority"}, "tsr_base64", nil)},
		{receipt.DetailTokenInvalid, set([]string{"timestamp_authority"}, "provider", "nobody")},
		{receipt.DetailLogEntryMissing, set([]string{"transparency_log"}, "uuid", nil)},
		{receipt.DetailLogEntryInvalid, entryEdit(func(_ *testing.T, e *canonjson.Object) { e.Set("integratedTime", 1) })},
	}
	for first := range breaks {
		t.Run(breaks[first].detail, func(t *testing.T) {
			t.Parallel()
			s := newSeason(t, receipttest.Spec{})
			p := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) {
				// From the last to the first, since an early break may take the
				// member away that a later one changes.
				for i := len(breaks) - 1; i >= first; i-- {
					breaks[i].edit(t, s, o)
				}
			})
			if _, refusal := s.admit(p); detailOf(refusal) != breaks[first].detail {
				t.Errorf("got %v, want %s", refusal, breaks[first].detail)
			}
		})
	}
}

// TestD1AndD4WitnessPolicy: what the season requires and whose word counts.
func TestD1AndD4WitnessPolicy(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	outside := s.is.Trust()
	localToken, localLog := s.is.Trust(), s.is.Trust()
	localToken.Authorities[0].Independent = false
	localLog.Logs[0].Independent = false
	keep := func(*canonjson.Object) {}
	remove := func(v any) func(*canonjson.Object) {
		return func(o *canonjson.Object) { o.Set("transparency_log", v) }
	}
	log, tokenOnly := receipt.Policy{RequireLog: true}, receipt.Policy{}
	cases := []struct {
		name  string
		trust *receipt.Trust
		edit  func(*canonjson.Object)
		pol   receipt.Policy
		want  string
	}{
		{"independent witnesses", outside, keep, log, ""},
		{"a local token, refused", localToken, keep, log, receipt.DetailWitnessNotIndependent},
		{"a local token, allowed", localToken, keep, receipt.Policy{RequireLog: true, AllowLocal: true}, ""},
		{"a local log, refused", localLog, keep, log, receipt.DetailWitnessNotIndependent},
		{"a local log, allowed", localLog, keep, receipt.Policy{RequireLog: true, AllowLocal: true}, ""},
		{"a local log that is not required is checked all the same", localLog, keep, tokenOnly, receipt.DetailWitnessNotIndependent},
		{"no log, required", outside, remove(nil), log, receipt.DetailLogEntryMissing},
		{"no log, not required", outside, remove(nil), tokenOnly, ""},
		{"log member absent, not required", outside, func(o *canonjson.Object) { o.Delete("transparency_log") }, tokenOnly, ""},
		{"log without uuid, not required", outside, remove(canonjson.NewObject("status", "failed")), tokenOnly, ""},
		{"log with a null uuid, not required", outside, remove(canonjson.NewObject("uuid", nil)), tokenOnly, ""},
		{"log that is no object, not required", outside, remove("rekor"), tokenOnly, receipt.DetailLogEntryMissing},
		{"an entry that is named and not there, not required", outside, remove(canonjson.NewObject("uuid", strings.Repeat("0", 64))), tokenOnly, receipt.DetailLogEntryMissing},
		{"a uuid that is no id, not required", outside, remove(canonjson.NewObject("uuid", "x")), tokenOnly, receipt.DetailLogEntryMissing},
	}
	for _, c := range cases {
		_, refusal := receipt.NewChecker(c.trust).Admit(s.is.Edit(s.draft.JSON(), c.edit), s.is.Entry, c.pol)
		if detailOf(refusal) != c.want {
			t.Errorf("%s: %v, want %q", c.name, refusal, c.want)
		}
	}
}

// TestCheckerCachesNeverChangeAnOutcome: proofs of one root with another token,
// provider or entry are judged by their own, in any order and concurrently.
func TestCheckerCachesNeverChangeAnOutcome(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	good := s.draft.Proof()
	badToken := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) {
		in := at(t, o, "timestamp_authority")
		in.Set("tsr_base64", flipByte(str(t, in, "tsr_base64"), -1))
	})
	badProvider := s.is.Edit(s.draft.JSON(), func(o *canonjson.Object) { at(t, o, "timestamp_authority").Set("provider", "x") })
	uuid, _ := good.LogUUID()
	document, _ := s.is.Entry(uuid)
	damaged := []byte(strings.Replace(string(document), `"integratedTime":`, `"integratedTime":1`, 1))
	ck := receipt.NewChecker(s.is.Trust())
	want := []struct {
		p      *receipt.Proof
		entry  []byte
		detail string
	}{
		{good, document, ""},
		{badToken, document, receipt.DetailTokenInvalid},
		{badProvider, document, receipt.DetailTokenInvalid},
		{good, damaged, receipt.DetailLogEntryInvalid},
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 40 {
				c := want[(i*(worker+1))%len(want)]
				_, refusal := ck.Admit(c.p, func(string) ([]byte, bool) { return c.entry, true }, receipt.Policy{RequireLog: true})
				if detailOf(refusal) != c.detail {
					t.Errorf("got %v, want %q", refusal, c.detail)
				}
			}
		})
	}
	wg.Wait()
}

// TestCheckerDoesNotKeepTheCallersBuffer: a caller's buffer that
// changes after the call does not poison what is remembered.
func TestCheckerDoesNotKeepTheCallersBuffer(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	uuid, _ := s.draft.Proof().LogUUID()
	document, _ := s.is.Entry(uuid)
	buffer := append([]byte(nil), document...)
	ck := receipt.NewChecker(s.is.Trust())
	entry := func(string) ([]byte, bool) { return buffer, true }
	pol := receipt.Policy{RequireLog: true}
	if _, refusal := ck.Admit(s.draft.Proof(), entry, pol); refusal != nil {
		t.Fatal(refusal)
	}
	buffer[len(buffer)/2] ^= 1
	if _, refusal := ck.Admit(s.draft.Proof(), entry, pol); detailOf(refusal) != receipt.DetailLogEntryInvalid {
		t.Errorf("a changed entry: %v, want log_entry_invalid", refusal)
	}
	buffer[len(buffer)/2] ^= 1
	if _, refusal := ck.Admit(s.draft.Proof(), entry, pol); refusal != nil {
		t.Errorf("the entry as it was: %v", refusal)
	}
}

// TestT8EveryLeafOfBatchesOfManySizesIsIncluded.
func TestT8EveryLeafOfBatchesOfManySizesIsIncluded(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	ck := receipt.NewChecker(is.Trust())
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 9, 100} {
		drafts := make([]*receipttest.Draft, size)
		for i := range drafts {
			drafts[i] = is.Issue(receipttest.Spec{})
		}
		is.Batch(drafts...)
		for i, d := range drafts {
			if _, refusal := ck.Admit(d.Proof(), is.Entry, receipt.Policy{RequireLog: true}); refusal != nil {
				t.Errorf("leaf %d of %d: %v", i, size, refusal)
			}
		}
	}
}

// TestParseDisclosures: both forms, and what is neither.
func TestParseDisclosures(t *testing.T) {
	t.Parallel()
	one, err := receipt.ParseDisclosures([]byte(`{"disclosed":{"seller":{"nonce":"00","value":"x"}}}`))
	if err != nil || !one.ForOneProof() || !one.For("any").Has("seller") {
		t.Errorf("%+v, %v", one, err)
	}
	many, err := receipt.ParseDisclosures([]byte(`{"season":1,"disclosures":{"prf_1":{"request_hash":{}},"prf_2":{}}}`))
	if err != nil || many.ForOneProof() || !many.For("prf_1").Has("request_hash") || many.For("prf_2").Len() != 0 || many.For("prf_3").Len() != 0 {
		t.Errorf("%+v, %v", many, err)
	}
	for bad, fault := range map[string]string{
		`{`:                         "invalid JSON",
		`[]`:                        "is an array",
		`{}`:                        "neither",
		`{"disclosed":5}`:           "/disclosed: is an integer",
		`{"disclosures":null}`:      "/disclosures: is null",
		`{"disclosures":{"p/1":5}}`: "/disclosures/p~11: is an integer",
	} {
		if _, err := receipt.ParseDisclosures([]byte(bad)); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", bad, err, fault)
		}
	}
}

// A scorer reads a proof's file, admits it by the season's policy and asks whose
// it is.
func ExampleChecker_Admit() {
	trust := receipt.BuiltinTrust()
	checker := receipt.NewChecker(trust)
	proof, err := receipt.Parse([]byte(`{"proof_id":"prf_20260921_101233_ab12cd","spec_version":"3.1",
		"hashes":{"chain":"sha256:` + strings.Repeat("0", 64) + `"},"commitments":{}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	noEntries := func(string) ([]byte, bool) { return nil, false }
	if _, refusal := checker.Admit(proof, noEntries, receipt.Policy{RequireLog: true}); refusal != nil {
		fmt.Println(refusal.Detail)
		fmt.Println(refusal.Why)
	}
	// Output:
	// commitments_missing
	// commitments is not an object with at least one field
}

func ExampleParseTrust() {
	_, err := receipt.ParseTrust([]byte(`{"issuer":{"keys":[{"kid":7}],"log_keys":[]},"timestamp_authorities":[],"logs":[]}`))
	fmt.Println(err)
	// Output:
	// trust: /issuer/keys/0/kid: is an integer, want a string
}
