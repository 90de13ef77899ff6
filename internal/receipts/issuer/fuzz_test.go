package issuer

import (
	"crypto/ed25519"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prova-dev/prova/evidence/canonjson"
)

func FuzzProxyBody(f *testing.F) {
	for _, seed := range []string{
		entity, `{}`, `[]`, `{"target":"https://h.example/a?b=c#d","method":"get","payload":{"a":[1,2.5,null,{"b":"'\""}]},"currency":" GBP ","extra_headers":{"A":"b"}}`,
		`{"target":"https://u:p@[2606:4700::1]:8443/../x y/é","payload":{}}`, `{"target":"https://bücher.example"}`, "\xff\xfe{\x00}\x00", `{"target":"https://h","payload":{"x":NaN}}`,
	} {
		f.Add([]byte(seed), "agent")
	}
	f.Fuzz(func(t *testing.T, body []byte, agent string) {
		h := http.Header{"X-Agent-Identity": {agent}}
		req, refused := parseProxyRequest(body, h)
		if refused != nil {
			if refused.Status < 400 || refused.Status >= 500 || refused.Code == "" || refused.Message == "" {
				t.Fatalf("refusal %+v is not a clear 4xx", refused)
			}
			return
		}
		if len(req.hash()) != 64 || req.dest.Host == "" {
			t.Fatalf("accepted request without hash or host: %+v", req)
		}
		again, refused := parseProxyRequest(canonjson.Compact(req.data()), h)
		if refused != nil {
			t.Fatalf("request_data of an accepted request is refused: %v", refused)
		}
		if req.ExtraHeaders.Len() == 0 && again.hash() != req.hash() {
			t.Fatal("request_data does not hash to itself")
		}
		u := req.dest.url(req.Method, req.Payload)
		if uri := u.RequestURI(); !strings.HasPrefix(uri, "/") || strings.ContainsAny(uri, " \r\n\x00") {
			t.Fatalf("request line %q", uri)
		}
		if _, err := url.ParseRequestURI("https://" + req.dest.authority + "/"); err != nil {
			t.Fatalf("authority %q: %v", req.dest.authority, err)
		}
		if _, fault := checkExtraHeaders(req.ExtraHeaders); fault != nil && fault.Status != 400 {
			t.Fatalf("fault %+v", fault)
		}
	})
}

func FuzzBindBody(f *testing.F) {
	for _, seed := range []string{`{"did":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}`, `{"challenge":"ab","signature":"AA=="}`, `{`, `[]`, `{"did":7}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o := objectOrEmpty(body)
		if o == nil {
			t.Fatal("no object")
		}
		if sig, ok := decodeSignature(text(o, "signature")); ok && len(sig) != 64 {
			t.Fatalf("a signature of %d bytes", len(sig))
		}
	})
}

func FuzzBatchReadBody(f *testing.F) {
	for _, seed := range []string{`{"proof_ids":["prf_20260101_000000_abcdef","prf_20260101_000000_abcdef"]}`, `{"proof_ids":[]}`, `{"proof_ids":[7]}`, `null`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ids, refused := parseBatchRead(body, maxBatchRead)
		if refused != nil {
			if refused.Status != 400 {
				t.Fatalf("refusal %+v", refused)
			}
			return
		}
		if len(ids) == 0 || len(ids) > maxBatchRead {
			t.Fatalf("%d ids", len(ids))
		}
		for _, id := range ids {
			if !validProofID(id) {
				t.Fatalf("id %q", id)
			}
		}
	})
}

func FuzzResponseBody(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, ``, `null`, "\x80", `{"_raw_text":"x"}`, "caf\xe9"} {
		f.Add([]byte(seed), "text/plain; charset=utf-8")
	}
	f.Add([]byte("\xa4\xe9"), "text/plain; charset=Shift_JIS")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		hashed, returned := responseData(body, contentType)
		if falsy(hashed) {
			t.Fatal("a falsy value would be hashed")
		}
		out := canonjson.Compact(stampBody(newScrubber("a-long-secret").value(returned), "prf", "url"))
		if strings.Contains(string(out), "a-long-secret") {
			t.Fatal("a secret came back")
		}
		if _, err := canonjson.Parse(out); err != nil {
			t.Fatalf("the returned body does not parse: %v", err)
		}
	})
}

func FuzzSignUpBody(f *testing.F) {
	for _, seed := range []string{`{"email":"a@b.example"}`, `{"email":"A@B..example"}`, `{"website":1}`, `{`} {
		f.Add([]byte(seed))
	}
	cfg := DefaultConfig()
	f.Fuzz(func(t *testing.T, body []byte) {
		d := &signupDraft{cfg: &cfg, body: body}
		for _, check := range signupChecks() {
			if err := check(d); err != nil {
				if err.Status != 400 && err.Status != 422 {
					t.Fatalf("refusal %+v", err)
				}
				return
			}
		}
		if !d.trap && (!validEmail(d.email) || strings.ContainsAny(d.email, " \r\n")) {
			t.Fatalf("email %q accepted", d.email)
		}
	})
}

// FuzzParseKey: a key file is a key that can be written again, or an error without
// a byte of it.
func FuzzParseKey(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	good, err := MarshalKey(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nTUlJ\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte("secret"))
	for _, key := range otherKeys(f) {
		text, err := MarshalKey(key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	faults := []string{
		"private key: want exactly one PEM block PRIVATE KEY", "private key: the PEM block is no PKCS #8 key",
		"private key: want an Ed25519 or an ECDSA P-256 key; put back the file that the first start wrote",
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		key, err := ParseKey(data)
		if err != nil {
			if !slices.Contains(faults, err.Error()) {
				t.Fatalf("the error may show the file: %v", err)
			}
			return
		}
		text, err := MarshalKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseKey(text); err != nil || !reflect.DeepEqual(again, key) {
			t.Fatalf("the key does not survive its file: %v", err)
		}
	})
}

func FuzzKeyHistory(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kid":"a","type":"Ed25519","public":"ed25519:x","node":"n","valid_from":"2026-01-01T00:00:00Z","retired_at":null}],"rekor_keys":[{"kid":"r","type":"ECDSA-P256-SHA256","public_pem":"p"}]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ParseHistory(data)
		if err != nil {
			return
		}
		again, err := ParseHistory(h.JSON())
		if err != nil || len(again.Keys) != len(h.Keys) {
			t.Fatalf("a history does not survive its file: %v", err)
		}
	})
}
