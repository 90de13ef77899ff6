package receipt_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/tlog"
)

// conformanceCase is a proof of the example bundle with the outcome that an
// independent implementation gives it.
type conformanceCase struct {
	Case        string  `json:"case"`
	Proof       string  `json:"proof"`
	Entry       *string `json:"entry"`
	Disclosures map[string]struct {
		Nonce string `json:"nonce"`
		Value any    `json:"value"`
	} `json:"disclosures"`
	Cause  *string  `json:"cause"`
	Detail *string  `json:"detail"`
	Flat   []string `json:"flat"`
}

func readConformance(t testing.TB) (cases []conformanceCase, trust *receipt.Trust) {
	t.Helper()
	trust = parseTrust(t, readFile(t, "testdata/conformance/trust.json"))
	lines := bufio.NewScanner(bytes.NewReader(readFile(t, "testdata/conformance/cases.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c conformanceCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) < 150 {
		t.Fatalf("read %d cases: %v", len(cases), err)
	}
	return cases, trust
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseTrust(t testing.TB, data []byte) *receipt.Trust {
	t.Helper()
	trust, err := receipt.ParseTrust(data)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}

func parseProof(t testing.TB, data []byte) *receipt.Proof {
	t.Helper()
	p, err := receipt.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// judge applies what this package decides of bundle-format §10: check 1's form,
// checks 2 to 10 and step 2.
func judge(ck *receipt.Checker, c conformanceCase, pol receipt.Policy) (cause, detail string, flat []string) {
	const invalid = "invalid_proof"
	p, err := receipt.Parse([]byte(c.Proof))
	if err != nil {
		return invalid, receipt.DetailProofMalformed, nil
	}
	entry := func(string) ([]byte, bool) {
		if c.Entry == nil {
			return nil, false
		}
		return []byte(*c.Entry), true
	}
	e, refusal := ck.Admit(p, entry, pol)
	if refusal != nil {
		return invalid, refusal.Detail, nil
	}
	opened := receipt.Opened(p, e)
	for _, field := range []string{"request_hash", "response_hash"} {
		pair := c.Disclosures[field]
		if !e.Opens(field, pair.Nonce, pair.Value) {
			return invalid, receipt.DetailDisclosureMismatch, nil
		}
		opened[field] = pair.Value
	}
	flat = receipt.FlatDivergences(p, opened)
	if _, refusal := ck.Identity(p, e); refusal != nil {
		return "identity_not_bound", refusal.Detail, flat
	}
	return "", "", flat
}

// TestSection10MatchesTheExampleBundle holds every check that this package makes
// against the outcomes of an independent implementation.
func TestSection10MatchesTheExampleBundle(t *testing.T) {
	t.Parallel()
	cases, trust := readConformance(t)
	shared := receipt.NewChecker(trust)
	pol := receipt.Policy{RequireLog: true, AllowLocal: true}
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			t.Parallel()
			var want [2]string
			if c.Detail != nil {
				want = [2]string{*c.Cause, *c.Detail}
			}
			// Once with cold and once with shared, possibly warm caches: what is
			// remembered of another proof must not change an outcome.
			for _, ck := range []*receipt.Checker{receipt.NewChecker(trust), shared, shared} {
				cause, detail, flat := judge(ck, c, pol)
				if got := [2]string{cause, detail}; got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				slices.Sort(flat)
				if cause != "invalid_proof" && !slices.Equal(flat, c.Flat) {
					t.Errorf("flat divergences %q, want %q", flat, c.Flat)
				}
			}
		})
	}
}

// TestReportAgreesWithSection10: with both witnesses required, the report calls a
// proof valid exactly when step 1 admits it and its disclosed block opens; the
// pairs that a submission adds are handed over as disclosures.
func TestReportAgreesWithSection10(t *testing.T) {
	t.Parallel()
	cases, trust := readConformance(t)
	for i := range trust.Authorities {
		trust.Authorities[i].Independent = true
	}
	for i := range trust.Logs {
		trust.Logs[i].Independent = true
	}
	ck := receipt.NewChecker(trust)
	for _, c := range cases {
		t.Run(c.Case, func(t *testing.T) {
			t.Parallel()
			p, err := receipt.Parse([]byte(c.Proof))
			if err != nil {
				if c.Detail == nil || *c.Detail != receipt.DetailProofMalformed {
					t.Fatal(err)
				}
				return
			}
			pairs := canonjson.NewObject()
			for field, pair := range c.Disclosures {
				pairs.Set(field, canonjson.NewObject("nonce", pair.Nonce, "value", pair.Value))
			}
			r := ck.Verify(p, receipt.VerifyOptions{Require: receipt.RequireBoth, Disclosures: pairs, Entry: func(string) ([]byte, error) {
				if c.Entry == nil {
					return nil, tlog.ErrNotFound
				}
				return []byte(*c.Entry), nil
			}})
			want := c.Cause == nil
			if v, _ := p.Object().Get("arkforge_signature"); v == nil {
				// T§13: a missing signature is a gap, not a failure, and here the
				// log entry by the issuer's key fills it. A scorer refuses it.
				want = true
			}
			if c.Detail != nil {
				switch *c.Detail {
				case receipt.DetailIdentityUnverified:
					want = true // a report words it, a scorer refuses it
				case receipt.DetailSpecVersionTooOld:
					// A real 3.0 proof is a valid proof; a 3.1 one restated as
					// something older or formless is not.
					want = p.SpecVersion().AtLeast(3, 0)
				}
			}
			if (r.Verdict == receipt.VerdictValid) != want {
				t.Errorf("verdict %s (%s), want valid: %t", r.Verdict, r.Reason, want)
			}
		})
	}
}
