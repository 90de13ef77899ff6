package receipt_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/receipt"
)

// realProof is one of the two public production proofs.
type realProof struct {
	file, entry string
	version     string
	tokenTime   time.Time
	require     receipt.Require
}

func realProofs() []realProof {
	return []realProof{
		{"proof_2026_07.json", "", "1.2", time.Date(2026, 7, 23, 5, 57, 36, 0, time.UTC), receipt.RequireAny},
		{"proof_rekor.json", "rekor_entry.json", "2.0", time.Date(2026, 3, 3, 16, 18, 55, 0, time.UTC), receipt.RequireBoth},
	}
}

func (r realProof) options(t testing.TB) receipt.VerifyOptions {
	o := receipt.VerifyOptions{Require: r.require}
	if r.entry != "" {
		document := readFile(t, "testdata/trust-layer/"+r.entry)
		o.Entry = func(string) ([]byte, error) { return document, nil }
	}
	return o
}

func TestRealProofsVerifyOfflineWithTheBuiltinTrust(t *testing.T) {
	t.Parallel()
	for _, real := range realProofs() {
		t.Run(real.file, func(t *testing.T) {
			t.Parallel()
			p := parseProof(t, readFile(t, "testdata/trust-layer/"+real.file))
			r := receipt.NewChecker(receipt.BuiltinTrust()).Verify(p, real.options(t))
			if r.Verdict != receipt.VerdictValid || r.Reason != "" || len(r.Incidents) != 0 {
				t.Fatalf("%s %q, incidents %v", r.Verdict, r.Reason, r.Incidents)
			}
			if r.SpecVersion.String() != real.version {
				t.Errorf("spec version %s, want %s", r.SpecVersion, real.version)
			}
			want := map[string]receipt.Status{
				receipt.WitnessIdentity: receipt.NotChecked, receipt.WitnessChain: receipt.NotChecked,
				receipt.WitnessDisclosure: receipt.NotChecked, receipt.WitnessSignature: receipt.OK,
				receipt.WitnessBatch: receipt.NotChecked, receipt.WitnessTimestamp: receipt.OK, receipt.WitnessLog: receipt.NotChecked,
			}
			if real.entry != "" {
				want[receipt.WitnessLog] = receipt.OK
			}
			for name, status := range want {
				if w := r.Witness(name); w.Status != status {
					t.Errorf("%s is %s (%s), want %s", name, w.Status, w.Detail, status)
				}
			}
			if w := r.Witness(receipt.WitnessTimestamp); !w.Time.Equal(real.tokenTime) || !w.Independent {
				t.Errorf("timestamp %s, independent %t; want %s, independent", w.Time, w.Independent, real.tokenTime)
			}
			if w := r.Witness(receipt.WitnessLog); w.Status == receipt.OK && (!w.Independent || w.Time.Unix() != 1772554735) {
				t.Errorf("log %s, independent %t; want the integratedTime 1772554735, independent", w.Time, w.Independent)
			}
		})
	}
}

// covered lists each field of a real proof, or of its log entry, that a hash or
// a signature covers, and the witnesses that must object to a change of it. The
// names between are found in the document as written.
type covered struct {
	field   string // for the test's name
	start   string // the text before the value
	end     string // the text after it
	refused []string
}

// TestEachChangeUnderAHashOrSignatureIsRefused changes every byte of every
// covered field of both real proofs and of the log entry. What is redacted in
// the public view (hashes.request and so on) is under no hash that can be
// recomputed, and is not in the list.
func TestEachChangeUnderAHashOrSignatureIsRefused(t *testing.T) {
	t.Parallel()
	const sig, ts, log, chain = receipt.WitnessSignature, receipt.WitnessTimestamp, receipt.WitnessLog, receipt.WitnessChain
	inProof := []covered{
		{"hashes.chain, its prefix", `"chain":"`, `:`, []string{chain}},
		{"hashes.chain, its digits", `"chain":"sha256:`, `"`, []string{sig, ts}},
		{"timestamp_authority.provider", `"timestamp_authority":{"status":"verified","provider":"`, `"`, []string{ts}},
		{"timestamp_authority.tsr_base64", `"tsr_base64":"`, `"`, []string{ts}},
		{"arkforge_signature", `"arkforge_signature":"`, `"`, []string{sig}},
		{"arkforge_pubkey", `"arkforge_pubkey":"`, `"`, []string{sig}},
	}
	inLoggedProof := []covered{
		{"hashes.chain, seen by the log", `"chain":"sha256:`, `"`, []string{log}},
		{"transparency_log.uuid", `"uuid":"`, `"`, []string{log}},
	}
	inEntry := []covered{
		{"the entry's name", `{"`, `"`, []string{log}},
		{"body", `"body":"`, `"`, []string{log}},
		{"integratedTime", `"integratedTime":`, `,`, []string{log}},
		{"logID", `"logID":"`, `"`, []string{log}},
		{"logIndex", `91801d","logIndex":`, `,`, []string{log}},
		{"checkpoint, origin", `"checkpoint":"`, `\n`, []string{log}},
		{"checkpoint, size", `1193050959916656506\n`, `\n`, []string{log}},
		{"checkpoint, root", `\n2695801602\n`, `\n`, []string{log}},
		{"checkpoint, key hint and signature", "— rekor.sigstore.dev ", `\n`, []string{log}},
		{"hashes", `"hashes":["`, `]`, []string{log}},
		{"inclusion logIndex", `"],"logIndex":`, `,`, []string{log}},
		{"rootHash", `"rootHash":"`, `"`, []string{log}},
		{"treeSize", `"treeSize":`, `}`, []string{log}},
		{"signedEntryTimestamp", `"signedEntryTimestamp":"`, `"`, []string{log}},
	}
	ck := receipt.NewChecker(receipt.BuiltinTrust())
	for _, real := range realProofs() {
		document := readFile(t, "testdata/trust-layer/"+real.file)
		fields := inProof
		if real.entry != "" {
			fields = slices.Concat(inProof, inLoggedProof)
		}
		for _, f := range fields {
			t.Run(real.file+": "+f.field, func(t *testing.T) {
				t.Parallel()
				eachChange(t, document, f, func(changed []byte, at int) {
					p, err := receipt.Parse(changed)
					if err != nil {
						t.Fatalf("byte %d: %v", at, err)
					}
					wantRefused(t, ck.Verify(p, real.options(t)), at, f.refused)
				})
			})
		}
		if real.entry == "" {
			continue
		}
		p := parseProof(t, document)
		entry := readFile(t, "testdata/trust-layer/"+real.entry)
		for _, f := range inEntry {
			t.Run(real.entry+": "+f.field, func(t *testing.T) {
				t.Parallel()
				eachChange(t, entry, f, func(changed []byte, at int) {
					o := receipt.VerifyOptions{Require: receipt.RequireBoth, Entry: func(string) ([]byte, error) { return changed, nil }}
					wantRefused(t, ck.Verify(p, o), at, f.refused)
				})
			})
		}
	}
}

// eachChange calls f with copies of document that differ in one byte of the
// field: each byte once, by another one of its kind, so that the document still
// parses and the form of the value mostly holds.
func eachChange(t *testing.T, document []byte, field covered, f func(changed []byte, at int)) {
	t.Helper()
	start := bytes.Index(document, []byte(field.start))
	if start < 0 {
		t.Fatalf("%q is not in the document", field.start)
	}
	start += len(field.start)
	length := bytes.Index(document[start:], []byte(field.end))
	if length <= 0 {
		t.Fatalf("%q does not end the field", field.end)
	}
	for at := start; at < start+length; at++ {
		if field.field == "timestamp_authority.tsr_base64" && at == start+11 {
			// The last bit of PKIStatus: 0 (granted) and 1 (granted with
			// modifications) both grant (RFC 3161 §2.4.2), and no signature covers it.
			continue
		}
		changed := bytes.Clone(document)
		switch c := changed[at]; {
		case c == '"' || c == ',' || c == '\\':
			continue // a separator within the field
		case strings.IndexByte("0123456789", c) >= 0:
			changed[at] = '1' + (c-'0'+3)%9
			if changed[at] == c {
				changed[at] = '1' + (c-'0'+4)%9
			}
		case strings.IndexByte("abcdef", c) >= 0:
			changed[at] = 'a' + (c-'a'+1)%6
		default:
			changed[at] = 'Q'
			if c == 'Q' {
				changed[at] = 'R'
			}
		}
		f(changed, at)
	}
}

func wantRefused(t *testing.T, r *receipt.Report, at int, witnesses []string) {
	t.Helper()
	if r.Verdict != receipt.VerdictInvalid {
		t.Fatalf("byte %d changed: verdict %s", at, r.Verdict)
	}
	for _, name := range witnesses {
		if w := r.Witness(name); w.Status != receipt.Fail {
			t.Fatalf("byte %d changed: %s is %s (%s), want fail; reason %q", at, name, w.Status, w.Detail, r.Reason)
		}
	}
	if w := r.Witness(strings.SplitN(r.Reason, ":", 2)[0]); w.Status != receipt.Fail {
		t.Fatalf("byte %d changed: the reason %q does not name a failed witness", at, r.Reason)
	}
}

// TestT16PreimageOfTheRealProofsIsRedacted: the two public views lack what a
// recomputation needs; the report says which members.
func TestT16PreimageOfTheRealProofsIsRedacted(t *testing.T) {
	t.Parallel()
	for _, real := range realProofs() {
		p := parseProof(t, readFile(t, "testdata/trust-layer/"+real.file))
		w := receipt.NewChecker(receipt.BuiltinTrust()).Verify(p, receipt.VerifyOptions{}).Witness(receipt.WitnessChain)
		for _, name := range []string{"parties.buyer_fingerprint", "certification_fee.transaction_id"} {
			if w.Status != receipt.NotChecked || !strings.Contains(w.Detail, name) {
				t.Errorf("%s: chain is %s (%s), want not_checked naming %s", real.file, w.Status, w.Detail, name)
			}
		}
	}
}

func ExampleChecker_Verify() {
	p, err := receipt.Parse([]byte(`{"proof_id":"prf_20260921_101233_ab12cd","spec_version":"3.1",
		"hashes":{"chain":"sha256:00"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	report := receipt.NewChecker(receipt.BuiltinTrust()).Verify(p, receipt.VerifyOptions{})
	fmt.Println(report.Verdict)
	fmt.Println(report.Reason)
	// Output:
	// invalid
	// identity: agent_identity is not committed; 3.1 commits all four identity fields
}
