package receipt_test

import (
	"bytes"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// seeds adds real and made proofs and returns the chain hashes that the issuer signed.
func seeds(f *testing.F, is *receipttest.Issuer) map[[32]byte]bool {
	f.Helper()
	signed := map[[32]byte]bool{}
	for _, name := range []string{"proof_2026_07.json", "proof_rekor.json"} {
		f.Add(readFile(f, "testdata/trust-layer/"+name))
	}
	for _, version := range []string{"absent", "1.2", "3.0", "3.1"} {
		d := is.Issue(receipttest.Spec{Version: version})
		f.Add(d.JSON())
		signed[d.Chain()] = true
		is.Batch(d)
		f.Add(d.FullJSON())
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"batch_anchor":{"status":"pending"},"disclosed":[],"commitments":{"a":1}}`))
	return signed
}

// FuzzParse: what parses keeps every member and parses again to the same value.
func FuzzParse(f *testing.F) {
	seeds(f, receipttest.New(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := receipt.Parse(data)
		if err != nil {
			return
		}
		again, err := receipt.Parse(canonjson.Compact(p.Object()))
		if err != nil {
			t.Fatalf("its own text does not parse: %v", err)
		}
		if !canonjson.Equal(p.Object(), again.Object()) || p.ID() != again.ID() || p.SpecVersion() != again.SpecVersion() {
			t.Fatal("members changed on the way")
		}
	})
}

// FuzzVerify: any document gets a report and a decision, the same each time, and
// none is valid or admitted whose chain hash the issuer did not sign.
func FuzzVerify(f *testing.F) {
	is := receipttest.New(f)
	signed := seeds(f, is)
	trust := is.Trust()
	ck := receipt.NewChecker(trust)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := receipt.Parse(data)
		if err != nil {
			return
		}
		o := receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: is.FetchEntry}
		r := ck.Verify(p, o)
		if len(r.Witnesses) != 7 || (r.Verdict == receipt.VerdictValid) != (r.Reason == "") {
			t.Fatalf("%+v", r)
		}
		checkNotes(t, r)
		fresh := receipt.NewChecker(trust).Verify(p, o)
		for i, w := range r.Witnesses {
			if w.Status != fresh.Witnesses[i].Status {
				t.Fatalf("%s: %s with warm caches, %s with cold ones", w.Name, w.Status, fresh.Witnesses[i].Status)
			}
		}
		e, refusal := ck.Admit(p, is.Entry, receipt.Policy{RequireLog: true})
		if refusal == nil && (p.SpecVersion().AtLeast(3, 0) && r.Witness(receipt.WitnessChain).Status != receipt.OK || r.Witness(receipt.WitnessSignature).Status != receipt.OK) {
			t.Fatalf("admitted, but the report says %s: %s", r.Verdict, r.Reason)
		}
		if chain, _ := p.Chain(); (refusal == nil || r.Verdict == receipt.VerdictValid) && !signed[chain] {
			t.Fatalf("accepted, but nobody signed %x", chain)
		}
		if refusal == nil {
			_, _ = ck.Identity(p, e)
			_ = receipt.FlatDivergences(p, receipt.Opened(p, e))
		}
	})
}

// FuzzParseTrust: what reads as a trust writes a text that reads as the same.
func FuzzParseTrust(f *testing.F) {
	f.Add(receipt.BuiltinTrust().JSON())
	f.Add(readFile(f, "testdata/conformance/trust.json"))
	f.Add([]byte(`{"issuer":{"keys":[],"log_keys":[]},"timestamp_authorities":[],"logs":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		trust, err := receipt.ParseTrust(data)
		if err != nil {
			return
		}
		text := trust.JSON()
		again, err := receipt.ParseTrust(text)
		if err != nil || !bytes.Equal(again.JSON(), text) {
			t.Fatalf("%v\n%s", err, text)
		}
		receipt.NewChecker(trust)
	})
}

// FuzzParseDisclosures: any document is read or refused.
func FuzzParseDisclosures(f *testing.F) {
	f.Add([]byte(`{"disclosed":{"seller":{"nonce":"00","value":"x"}}}`))
	f.Add([]byte(`{"disclosures":{"prf_20260921_101233_ab12cd":{"request_hash":{"nonce":"","value":""}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := receipt.ParseDisclosures(data)
		if err == nil && d.ForOneProof() == (d.For("prf_20260921_101233_ab12cd") == nil) && d.ForOneProof() {
			t.Fatal("pairs for one proof, yet none")
		}
	})
}
