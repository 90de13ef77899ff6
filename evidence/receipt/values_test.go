package receipt_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/commit"
	"github.com/prova-dev/prova/evidence/receipt"
)

func canonicalHash(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	v, err := canonjson.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	sum := canonjson.Sum(v)
	return hex.EncodeToString(sum[:])
}

// TestT6ChainHashVectors: the nine published vectors, from request to chain hash.
func TestT6ChainHashVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Vectors []struct {
			Name    string
			Version string `json:"spec_version"`
			Input   struct {
				Request, Response json.RawMessage
				PaymentIntentID   string `json:"payment_intent_id"`
				Timestamp         string
				APIKey            string `json:"api_key"`
				Seller            string
				Upstream          string `json:"upstream_timestamp"`
				Receipt           string `json:"receipt_content_hash"`
			}
			Expected struct {
				RequestHash  string `json:"request_hash"`
				ResponseHash string `json:"response_hash"`
				Fingerprint  string `json:"buyer_fingerprint"`
				ChainHash    string `json:"chain_hash"`
			}
		}
	}
	if err := json.Unmarshal(readFile(t, "testdata/trust-layer/test-vectors.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 9 {
		t.Fatalf("%d vectors, want 9", len(file.Vectors))
	}
	for _, v := range file.Vectors {
		versions := []string{v.Version}
		if v.Version == "" {
			versions = []string{"1.0", "1.1", "2.0"}
		}
		fingerprint := sha256.Sum256([]byte(v.Input.APIKey))
		values := receipt.ChainValues{
			RequestHash: canonicalHash(t, v.Input.Request), ResponseHash: canonicalHash(t, v.Input.Response),
			TransactionID: v.Input.PaymentIntentID, Timestamp: v.Input.Timestamp, BuyerFingerprint: hex.EncodeToString(fingerprint[:]),
			Seller: v.Input.Seller, UpstreamTimestamp: v.Input.Upstream, ReceiptContentHash: v.Input.Receipt,
		}
		if values.RequestHash != v.Expected.RequestHash || values.ResponseHash != v.Expected.ResponseHash || values.BuyerFingerprint != v.Expected.Fingerprint {
			t.Errorf("%s: inputs hash to %+v, want %+v", v.Name, values, v.Expected)
		}
		for _, version := range versions {
			chain := receipt.ValueChain(receipt.ParseVersion(version), values)
			if got := hex.EncodeToString(chain[:]); got != v.Expected.ChainHash {
				t.Errorf("%s under %s: %s, want %s", v.Name, version, got, v.Expected.ChainHash)
			}
		}
	}
}

// TestT6ComputedVectors: value chains of every old version, and the commitments
// and roots of 3.0 and 3.1.
func TestT6ComputedVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Commitments []struct {
			Name        string
			ChainData   map[string]json.RawMessage `json:"chain_data"`
			Nonces      map[string]string
			Commitments map[string]string
			ChainHash   string `json:"chain_hash"`
		}
		Values []struct {
			Version   *string `json:"spec_version"`
			Case      string
			Fields    map[string]string
			ChainHash string `json:"chain_hash"`
		} `json:"values_chain"`
	}
	if err := json.Unmarshal(readFile(t, "testdata/trust-layer/computed-vectors.json"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Values) == 0 || len(file.Commitments) == 0 {
		t.Fatal("the vectors are empty")
	}
	for _, v := range file.Values {
		// A vector without a version is of the first format, whose proofs have none.
		version := parseProof(t, []byte(`{"spec_version":null}`)).SpecVersion()
		if v.Version != nil {
			version = receipt.ParseVersion(*v.Version)
		} else if !version.Absent() {
			t.Fatalf("%q is not the absent version", version)
		}
		f := v.Fields
		chain := receipt.ValueChain(version, receipt.ChainValues{
			RequestHash: f["request_hash"], ResponseHash: f["response_hash"], TransactionID: f["transaction_id"], Timestamp: f["timestamp"],
			BuyerFingerprint: f["buyer_fingerprint"], Seller: f["seller"], UpstreamTimestamp: f["upstream_timestamp"], ReceiptContentHash: f["receipt_content_hash"],
		})
		if got := hex.EncodeToString(chain[:]); got != v.ChainHash {
			t.Errorf("%s %s: %s, want %s", version, v.Case, got, v.ChainHash)
		}
	}
	for _, v := range file.Commitments {
		leaves := map[string][32]byte{}
		for field, raw := range v.ChainData {
			value, err := canonjson.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			nonce, err := commit.ParseNonce(v.Nonces[field])
			if err != nil {
				t.Fatal(err)
			}
			leaves[field] = commit.Field(field, nonce, value)
			e := &receipt.Evidence{Commitments: leaves}
			if got := hex.EncodeToString(hashOf(leaves[field])); got != v.Commitments[field] || !e.Opens(field, v.Nonces[field], value) {
				t.Errorf("%s: commitment of %s is %s, want %s", v.Name, field, got, v.Commitments[field])
			}
		}
		root, err := commit.Root(leaves)
		if got := hex.EncodeToString(root[:]); err != nil || got != v.ChainHash {
			t.Errorf("%s: root %s (%v), want %s", v.Name, got, err, v.ChainHash)
		}
	}
}

func hashOf(h [32]byte) []byte { return h[:] }

// TestSection10SpecVersionsCompareAsNumbers: step 2's first row.
func TestSection10SpecVersionsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text           string
		valid, anchors bool
	}{
		{"3.1", true, true}, {"3.2", true, true}, {"3.10", true, true}, {"4.0", true, true}, {"10.0", true, true},
		{"03.01", true, true}, {"3.99999999999999999999999", true, true}, {"99999999999999999999999.0", true, true},
		{"3.0", true, false}, {"2.9", true, false}, {"2.99", true, false}, {"0.0", true, false}, {"00.9", true, false},
		{"", false, false}, {"3", false, false}, {"3.", false, false}, {".1", false, false}, {"3.1.0", false, false}, {"3.x", false, false},
		{" 3.1", false, false}, {"3.1\n", false, false}, {"+3.1", false, false}, {"3.-1", false, false}, {"٣.١", false, false}, {"v3.1", false, false},
	}
	for _, c := range cases {
		v := receipt.ParseVersion(c.text)
		if v.Valid() != c.valid || v.AtLeast(3, 1) != c.anchors || v.String() != c.text || v.Absent() {
			t.Errorf("%q: valid %t, at least 3.1 %t", c.text, v.Valid(), v.AtLeast(3, 1))
		}
	}
}

// TestT1ProofIDsHaveTheStrictForm (T§15.13).
func TestT1ProofIDsHaveTheStrictForm(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"prf_20260921_101233_ab12cd", "prf_00000000_000000_000000"} {
		if !receipt.ValidID(id) {
			t.Errorf("%q refused", id)
		}
	}
	for _, id := range []string{"", "prf_", "prf_20260921_101233_AB12CD", "prf_20260921_101233_ab12c", "prf_20260921_101233_ab12cd\n", "prf_20260921_101233_ab12cg",
		"prf-20260921-101233-ab12cd", "prf_2026092１_101233_ab12", "../20260921_101233_ab12cd", "prf_20260921_101233_ab12cde"} {
		if receipt.ValidID(id) {
			t.Errorf("%q accepted", id)
		}
	}
}

// TestParseReadsAnyStrictObject: judging members is not its business.
func TestParseReadsAnyStrictObject(t *testing.T) {
	t.Parallel()
	p := parseProof(t, []byte(`{"proof_id":5,"unknown":{"kept":[1,2.50]},"transparency_log":{"uuid":"x","log_url":7}}`))
	if p.ID() != "" || !p.SpecVersion().Absent() || receipt.Pending(p) || p.LogURL() != "" {
		t.Errorf("id %q, version %q", p.ID(), p.SpecVersion())
	}
	if _, ok := p.Chain(); ok {
		t.Error("a chain hash out of nothing")
	}
	if _, ok := p.LogUUID(); ok {
		t.Error("x is a log entry's id")
	}
	if got := string(canonjson.Compact(p.Object())); got != `{"proof_id":5,"unknown":{"kept":[1,2.5]},"transparency_log":{"uuid":"x","log_url":7}}` {
		t.Errorf("members are lost: %s", got)
	}
	for _, bad := range []string{``, `[]`, `"x"`, `null`, `{`, `{"a":1,"a":2}`, "\xef\xbb\xbf{}", `{}x`, `{"a":NaN}`, `{"a":"\ud800"}`} {
		if _, err := receipt.Parse([]byte(bad)); err == nil {
			t.Errorf("%q is read as a proof", bad)
		}
	}
}
