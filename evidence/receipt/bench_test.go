package receipt_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// scored are the admitted 3.1 proofs of the example bundle, documents of 4 KB as
// a scorer reads them, with their log entries and the disclosed pairs.
type scored struct {
	trust *receipt.Trust
	cases []conformanceCase
	docs  [][]byte
	entry [][]byte
}

func readScored(b *testing.B) *scored {
	b.Helper()
	all, trust := readConformance(b)
	s := &scored{trust: trust}
	for _, c := range all {
		if c.Cause == nil && c.Entry != nil && strings.Contains(c.Proof, `"spec_version":"3.1"`) {
			s.cases = append(s.cases, c)
			s.docs = append(s.docs, []byte(c.Proof))
			s.entry = append(s.entry, []byte(*c.Entry))
		}
	}
	if len(s.cases) < 20 {
		b.Fatalf("%d proofs", len(s.cases))
	}
	return s
}

// admit does with one document what a scorer does with a cited proof: parse,
// checks 2 to 10, identity.
func (s *scored) admit(b *testing.B, ck *receipt.Checker, i int) {
	i %= len(s.cases)
	c := &s.cases[i]
	p, err := receipt.Parse(s.docs[i])
	if err != nil {
		b.Fatal(err)
	}
	e, refusal := ck.Admit(p, func(string) ([]byte, bool) { return s.entry[i], true }, receipt.Policy{RequireLog: true, AllowLocal: true})
	if refusal != nil {
		b.Fatal(c.Case, refusal)
	}
	for _, field := range [...]string{"request_hash", "response_hash"} {
		if pair := c.Disclosures[field]; !e.Opens(field, pair.Nonce, pair.Value) {
			b.Fatal(c.Case, field)
		}
	}
	if _, refusal := ck.Identity(p, e); refusal != nil {
		b.Fatal(c.Case, refusal)
	}
}

// BenchmarkVerify31CachedRoots is the whole verification of a 3.1 proof whose
// batch was seen before: compare its proofs/s with BenchmarkEd25519Bare's.
func BenchmarkVerify31CachedRoots(b *testing.B) {
	s := readScored(b)
	ck := receipt.NewChecker(s.trust)
	for i := range s.cases {
		s.admit(b, ck, i)
	}
	b.SetBytes(int64(len(s.docs[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.admit(b, ck, i)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proofs/s")
}

// BenchmarkVerify31Cold verifies the token and the entry each time, as for
// batches of one.
func BenchmarkVerify31Cold(b *testing.B) {
	s := readScored(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.admit(b, receipt.NewChecker(s.trust), i)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proofs/s")
}

// BenchmarkEd25519Bare is the yardstick: one signature over 64 characters.
func BenchmarkEd25519Bare(b *testing.B) {
	key := receipttest.NewKey(b, "key-1")
	message := []byte(hex.EncodeToString(make([]byte, 32)))
	signature := ed25519.Sign(key.Private, message)
	public := key.Private.Public().(ed25519.PublicKey)
	b.ReportAllocs()
	for b.Loop() {
		if !ed25519.Verify(public, message, signature) {
			b.Fatal("the signature is good")
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proofs/s")
}

// BenchmarkVerify31OfBare measures both in turns, so that whatever else the
// machine does hits them alike, and reports the rate of whole verifications as a
// fraction of the rate of bare ones: the figure of docs/performance.md. The
// median over the turns is taken, because a turn that was interrupted says nothing.
func BenchmarkVerify31OfBare(b *testing.B) {
	s := readScored(b)
	ck := receipt.NewChecker(s.trust)
	for i := range s.cases {
		s.admit(b, ck, i)
	}
	key := receipttest.NewKey(b, "key-1")
	message := []byte(hex.EncodeToString(make([]byte, 32)))
	signature := ed25519.Sign(key.Private, message)
	public := key.Private.Public().(ed25519.PublicKey)
	const turn = 20
	var ratios []float64
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		for range turn {
			if !ed25519.Verify(public, message, signature) {
				b.Fatal("the signature is good")
			}
		}
		middle := time.Now()
		for j := range turn {
			s.admit(b, ck, i*turn+j)
		}
		ratios = append(ratios, float64(middle.Sub(start))/float64(time.Since(middle)))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "verify/bare")
}

// BenchmarkParse is the part of reading a document.
func BenchmarkParse(b *testing.B) {
	s := readScored(b)
	b.SetBytes(int64(len(s.docs[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := receipt.Parse(s.docs[i%len(s.docs)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReport is the human's report on a real proof, token included once.
func BenchmarkReport(b *testing.B) {
	ck := receipt.NewChecker(receipt.BuiltinTrust())
	document := readFile(b, "testdata/trust-layer/proof_2026_07.json")
	for b.Loop() {
		p, err := receipt.Parse(document)
		if err != nil {
			b.Fatal(err)
		}
		if r := ck.Verify(p, receipt.VerifyOptions{}); r.Verdict != receipt.VerdictValid {
			b.Fatal(r.Reason)
		}
	}
}
