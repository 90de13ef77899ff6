package canonjson

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func readVectors(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type computedVectors struct {
	Canonical []struct {
		Input    string  `json:"input_utf8"`
		Expected *string `json:"expected"`
		SHA256   string  `json:"sha256"`
	} `json:"canonical"`
	CanonicalBytes []struct {
		Name     string  `json:"name"`
		Hex      string  `json:"bytes_hex"`
		Expected *string `json:"expected"`
	} `json:"canonical_bytes"`
	Hashes []struct {
		Canonical string `json:"canonical"`
		SHA256    string `json:"sha256"`
	} `json:"request_response_hashes"`
}

func TestT5CanonicalVectorsComputedWithCPython(t *testing.T) {
	var vectors computedVectors
	readVectors(t, "computed-vectors.json", &vectors)
	if len(vectors.Canonical) < 50 || len(vectors.CanonicalBytes) < 8 || len(vectors.Hashes) < 6 {
		t.Fatal("the vector file lost entries")
	}
	for _, v := range vectors.Canonical {
		t.Run(fmt.Sprintf("text %.40q", v.Input), func(t *testing.T) {
			value, err := Parse([]byte(v.Input))
			if v.Expected == nil {
				if err == nil {
					t.Fatalf("accepted as %.80s", Marshal(value))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Marshal(value)); got != *v.Expected {
				t.Errorf("canonical text %s, want %s", got, *v.Expected)
			}
			if got := fmt.Sprintf("%x", Sum(value)); v.SHA256 != "" && got != v.SHA256 {
				t.Errorf("SHA-256 %s, want %s", got, v.SHA256)
			}
		})
	}
	for _, v := range vectors.CanonicalBytes {
		t.Run("bytes "+v.Name, func(t *testing.T) {
			data, err := hex.DecodeString(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			value, err := Parse(data)
			switch {
			case v.Expected == nil && err == nil:
				t.Fatalf("accepted as %s", Marshal(value))
			case v.Expected != nil && err != nil:
				t.Fatal(err)
			case v.Expected != nil && string(Marshal(value)) != *v.Expected:
				t.Errorf("canonical text %s, want %s", Marshal(value), *v.Expected)
			}
		})
	}
	for _, v := range vectors.Hashes {
		t.Run("hash of "+v.Canonical, func(t *testing.T) {
			value, err := Parse([]byte(v.Canonical))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(Marshal(value)); got != v.Canonical {
				t.Errorf("canonical text %s, want %s", got, v.Canonical)
			}
			if got := fmt.Sprintf("%x", Sum(value)); got != v.SHA256 {
				t.Errorf("SHA-256 %s, want %s", got, v.SHA256)
			}
		})
	}
}

func TestProofSpecVectorsCanonicalRequestsAndResponses(t *testing.T) {
	var file struct {
		Vectors []struct {
			Name  string `json:"name"`
			Input struct {
				Request  json.RawMessage `json:"request"`
				Response json.RawMessage `json:"response"`
			} `json:"input"`
			Expected struct {
				CanonicalRequest  string `json:"canonical_request"`
				CanonicalResponse string `json:"canonical_response"`
				RequestHash       string `json:"request_hash"`
				ResponseHash      string `json:"response_hash"`
			} `json:"expected"`
		} `json:"vectors"`
	}
	readVectors(t, "proof-spec-vectors.json", &file)
	checked := 0
	for _, v := range file.Vectors {
		for _, side := range []struct {
			name, canonical, hash string
			raw                   json.RawMessage
		}{
			{"request", v.Expected.CanonicalRequest, v.Expected.RequestHash, v.Input.Request},
			{"response", v.Expected.CanonicalResponse, v.Expected.ResponseHash, v.Input.Response},
		} {
			if len(side.raw) == 0 || side.canonical == "" {
				continue
			}
			checked++
			for reader, read := range map[string]func([]byte) (any, error){"Parse": Parse, "ParseStrict": ParseStrict} {
				t.Run(v.Name+" "+side.name+" by "+reader, func(t *testing.T) {
					value, err := read(side.raw)
					if err != nil {
						t.Fatal(err)
					}
					if got := string(Marshal(value)); got != side.canonical {
						t.Errorf("canonical text %s, want %s", got, side.canonical)
					}
					if got := fmt.Sprintf("%x", Sum(value)); got != side.hash {
						t.Errorf("SHA-256 %s, want %s", got, side.hash)
					}
				})
			}
		}
	}
	if checked < 14 {
		t.Fatalf("only %d canonical texts in the vector file", checked)
	}
}
