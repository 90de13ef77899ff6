package receipt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/evidence/receipt"
	"github.com/prova-dev/prova/evidence/receipt/receipttest"
)

// TestT11BuiltinTrust holds the public key history, authority and log.
func TestT11BuiltinTrust(t *testing.T) {
	t.Parallel()
	trust := receipt.BuiltinTrust()
	var keys []string
	for _, k := range trust.IssuerKeys {
		keys = append(keys, fmt.Sprint(k.Kid, " ", k.ValidFrom.Format(time.RFC3339), " ", k.RetiredAt.Format(time.RFC3339)))
	}
	for _, k := range trust.LogKeys {
		keys = append(keys, fmt.Sprint(k.Kid, " ", k.ValidFrom.Format(time.RFC3339), " ", k.RetiredAt.Format(time.RFC3339)))
	}
	want := `key-1 2026-02-26T00:00:00Z 2026-10-03T11:22:32Z
key-2 2026-10-03T10:00:00Z 0001-01-01T00:00:00Z
key-3 2026-10-03T10:00:00Z 0001-01-01T00:00:00Z
rekor-1 2026-03-03T00:00:00Z 2026-10-03T11:22:32Z
rekor-2 2026-10-03T10:00:00Z 0001-01-01T00:00:00Z
rekor-3 2026-10-03T10:00:00Z 0001-01-01T00:00:00Z`
	if got := strings.Join(keys, "\n"); got != want {
		t.Errorf("keys:\n%s\nwant:\n%s", got, want)
	}
	a := trust.Authorities
	if len(a) != 1 || a[0].Provider != "freetsa.org" || !a[0].Independent || len(a[0].Roots) != 1 || len(a[0].Certificates) != 1 {
		t.Errorf("authorities: %+v", a)
	}
	l := trust.Logs
	if len(l) != 1 || l[0].Origin != "rekor.sigstore.dev - 1193050959916656506" || !l[0].Independent {
		t.Fatalf("logs: %+v", l)
	}
	if id, err := l[0].ID(); err != nil || id != "c0d23d6ad406973f9559f3ba2d1ca01f84147d8ffc5b8445c224f98b9591801d" {
		t.Errorf("log id %s, %v", id, err)
	}
	trust.IssuerKeys[0].Public[0] ^= 1
	if receipt.BuiltinTrust().IssuerKeys[0].Public.Equal(trust.IssuerKeys[0].Public) {
		t.Error("the built-in trust is shared between its callers")
	}
}

// TestSection3TrustRoundTrips: what JSON writes, ParseTrust reads back.
func TestSection3TrustRoundTrips(t *testing.T) {
	t.Parallel()
	is := receipttest.New(t)
	is.Keys[0].RetiredAt = receipttest.Epoch()
	for name, trust := range map[string]*receipt.Trust{"builtin": receipt.BuiltinTrust(), "local": is.LocalTrust(), "nothing": {}} {
		data := trust.JSON()
		again, err := receipt.ParseTrust(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(again.JSON(), data) || !json.Valid(data) {
			t.Errorf("%s: JSON is not stable:\n%s\n%s", name, data, again.JSON())
		}
	}
	// The example bundle's trust has members this format does not know.
	parseTrust(t, readFile(t, "testdata/conformance/trust.json"))
}

// TestSection3TrustFaultsNameTheirPlace: each fault of trust.json is an error
// with the pointer of the member.
func TestSection3TrustFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	good := receipt.BuiltinTrust().JSON()
	in := func(list string, n int, name string, v any) func(t *testing.T, o *canonjson.Object) {
		return func(t *testing.T, o *canonjson.Object) {
			for part := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '/' }) {
				v, _ := o.Get(part)
				if items, ok := v.([]any); ok {
					o = items[n].(*canonjson.Object)
					continue
				}
				o = v.(*canonjson.Object)
			}
			if v == (gone{}) {
				o.Delete(name)
				return
			}
			o.Set(name, v)
		}
	}
	rekor := "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"
	root := certificatePEM(t)
	cases := []struct {
		name  string
		edit  func(t *testing.T, o *canonjson.Object)
		place string
	}{
		{"issuer missing", in("", 0, "issuer", gone{}), "/issuer: is missing"},
		{"issuer an array", in("", 0, "issuer", []any{}), "/issuer: is an array"},
		{"keys missing", in("issuer", 0, "keys", gone{}), "/issuer/keys: is missing"},
		{"a key that is no object", in("issuer", 0, "keys", []any{5}), "/issuer/keys/0: is an integer"},
		{"no kid", in("issuer/keys", 1, "kid", gone{}), "/issuer/keys/1/kid: is missing"},
		{"a kid that is no string", in("issuer/keys", 1, "kid", true), "/issuer/keys/1/kid: is a boolean"},
		{"a kid twice", in("issuer/keys", 1, "kid", "key-1"), `/issuer/keys/1/kid: "key-1" is there twice`},
		{"another type of key", in("issuer/keys", 0, "type", "RSA"), `/issuer/keys/0/type: is "RSA"`},
		{"a public key without prefix", in("issuer/keys", 0, "public", strings.Repeat("A", 43)), "/issuer/keys/0/public"},
		{"a public key that is too short", in("issuer/keys", 0, "public", "ed25519:"+strings.Repeat("A", 42)), "/issuer/keys/0/public"},
		{"a public key with stray bits", in("issuer/keys", 0, "public", "ed25519:"+strings.Repeat("A", 42)+"B"), "/issuer/keys/0/public"},
		{"a public key with a line break", in("issuer/keys", 0, "public", "ed25519:"+strings.Repeat("A", 42)+"\n"), "/issuer/keys/0/public"},
		{"retired_at missing", in("issuer/keys", 0, "retired_at", gone{}), "/issuer/keys/0/retired_at: is missing"},
		{"valid_from a number", in("issuer/keys", 0, "valid_from", 5), "/issuer/keys/0/valid_from: is an integer"},
		{"valid_from with a fraction", in("issuer/keys", 0, "valid_from", "2026-02-26T00:00:00.5Z"), "/issuer/keys/0/valid_from"},
		{"valid_from with an offset", in("issuer/keys", 0, "valid_from", "2026-02-26T00:00:00+00:00"), "/issuer/keys/0/valid_from"},
		{"valid_from on no day of the calendar", in("issuer/keys", 0, "valid_from", "2026-02-30T00:00:00Z"), "/issuer/keys/0/valid_from"},
		{"log_keys missing", in("issuer", 0, "log_keys", gone{}), "/issuer/log_keys: is missing"},
		{"a log key of another type", in("issuer/log_keys", 0, "type", "Ed25519"), "/issuer/log_keys/0/type"},
		{"a log key that is no PEM", in("issuer/log_keys", 0, "public_pem", "MFkw"), "/issuer/log_keys/0/public_pem"},
		{"a log key that is no key", in("issuer/log_keys", 0, "public_pem", rekor), "/issuer/log_keys/0/public_pem"},
		{"a log kid twice", in("issuer/log_keys", 2, "kid", "rekor-1"), "/issuer/log_keys/2/kid"},
		{"a retired log key misspelt", in("issuer/log_keys", 2, "retired_at", "never"), "/issuer/log_keys/2/retired_at"},
		{"authorities an object", in("", 0, "timestamp_authorities", canonjson.NewObject()), "/timestamp_authorities: is an object"},
		{"no provider", in("timestamp_authorities", 0, "provider", gone{}), "/timestamp_authorities/0/provider"},
		{"independent a string", in("timestamp_authorities", 0, "independent", "true"), "/timestamp_authorities/0/independent: is a string"},
		{"roots missing", in("timestamp_authorities", 0, "roots", gone{}), "/timestamp_authorities/0/roots"},
		{"a root that is a number", in("timestamp_authorities", 0, "roots", []any{1}), "/timestamp_authorities/0/roots/0: is an integer"},
		{"a root that is no PEM", in("timestamp_authorities", 0, "roots", []any{"x"}), "/timestamp_authorities/0/roots/0"},
		{"a root of another PEM type", in("timestamp_authorities", 0, "roots", []any{rekor}), `/timestamp_authorities/0/roots/0: is a PEM block "PUBLIC KEY"`},
		{"two certificates in one string", in("timestamp_authorities", 0, "certificates", []any{root + root}), "/timestamp_authorities/0/certificates/0: holds more than one"},
		{"a certificate cut short", in("timestamp_authorities", 0, "certificates", []any{"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"}), "/timestamp_authorities/0/certificates/0: certificate"},
		{"a PEM block without end", in("timestamp_authorities", 0, "certificates", []any{"-----BEGIN CERTIFICATE-----\nMIIB\n"}), "/timestamp_authorities/0/certificates/0: is no PEM"},
		{"logs missing", in("", 0, "logs", gone{}), "/logs: is missing"},
		{"a log without a name", in("logs", 0, "name", nil), "/logs/0/name: is null"},
		{"a log without a key", in("logs", 0, "public_pem", gone{}), "/logs/0/public_pem"},
		{"a log with a bad key", in("logs", 0, "public_pem", rekor), "/logs/0/public_pem"},
		{"origin missing", in("logs", 0, "origin", gone{}), "/logs/0/origin: is missing"},
		{"origin empty", in("logs", 0, "origin", ""), "/logs/0/origin: is empty"},
		{"origin a number", in("logs", 0, "origin", 5), "/logs/0/origin: is an integer"},
		{"a log that is neither independent nor local", in("logs", 0, "independent", nil), "/logs/0/independent: is null"},
	}
	for _, c := range cases {
		v, err := canonjson.ParseStrict(good)
		if err != nil {
			t.Fatal(err)
		}
		c.edit(t, v.(*canonjson.Object))
		_, err = receipt.ParseTrust(canonjson.Marshal(v))
		if err == nil || !strings.Contains(err.Error(), c.place) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", c.name, err, c.place)
		}
	}
	for _, bad := range []string{``, `[]`, `{"issuer":{},"issuer":{}}`, "\xef\xbb\xbf{}"} {
		if _, err := receipt.ParseTrust([]byte(bad)); err == nil {
			t.Errorf("%q is read as a trust", bad)
		}
	}
}

type gone struct{}

func certificatePEM(t *testing.T) string {
	t.Helper()
	return string(readFile(t, "builtin/freetsa-signer.pem"))
}

// TestSection3AuthorityWithoutRootsVerifiesNothing: no root is not any root.
func TestSection3AuthorityWithoutRootsVerifiesNothing(t *testing.T) {
	t.Parallel()
	s := newSeason(t, receipttest.Spec{})
	trust := s.is.Trust()
	trust.Authorities[0].Roots = nil
	_, refusal := receipt.NewChecker(trust).Admit(s.draft.Proof(), s.is.Entry, receipt.Policy{RequireLog: true})
	if detailOf(refusal) != receipt.DetailTokenInvalid {
		t.Errorf("Admit: %v, want token_invalid", refusal)
	}
}
