package did

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
)

func TestT123WebURL(t *testing.T) {
	for did, want := range map[string]string{
		"did:web:example.org":                    "https://example.org/.well-known/did.json",
		"did:web:trust.arkforge.tech":            "https://trust.arkforge.tech/.well-known/did.json",
		"did:web:example.org:agents:a-1_b.c":     "https://example.org/agents/a-1_b.c/did.json",
		"did:web:Example.ORG":                    "https://Example.ORG/.well-known/did.json",
		"did:web:localhost":                      "https://localhost/.well-known/did.json",
		"did:web:127.0.0.1":                      "https://127.0.0.1/.well-known/did.json",
		"did:web:my_host.example":                "https://my_host.example/.well-known/did.json",
		"did:web:example.org:caf%C3%A9":          "https://example.org/caf%C3%A9/did.json",
		"did:web:example.org:a..b":               "https://example.org/a..b/did.json",
		"did:web:xn--nxasmq6b.example:user:x%20": "https://xn--nxasmq6b.example/user/x%20/did.json",
	} {
		t.Run(did, func(t *testing.T) {
			got, err := WebURL(did)
			if err != nil || got != want {
				t.Errorf("URL %s, %v, want %s", got, err, want)
			}
		})
	}
}

func TestT123WebDidsThatAreRefused(t *testing.T) {
	for name, did := range map[string]string{
		"nothing":                          "",
		"another method":                   rfc8032DID,
		"empty domain":                     "did:web:",
		"empty domain with a path":         "did:web::a",
		"port by percent escape":           "did:web:localhost%3A8443",
		"port, read as an empty segment":   "did:web:example.org:",
		"slash in the domain":              "did:web:example.org/a",
		"user in the domain":               "did:web:user@example.org",
		"query in the domain":              "did:web:example.org?x",
		"fragment behind":                  "did:web:example.org#key-1",
		"space in the domain":              "did:web:example org",
		"line feed behind":                 "did:web:example.org\n",
		"non-ASCII domain":                 "did:web:exämple.org",
		"empty label":                      "did:web:example..org",
		"trailing dot":                     "did:web:example.org.",
		"leading dot":                      "did:web:.example.org",
		"IPv6 literal":                     "did:web:[::1]",
		"hyphen at the start of a label":   "did:web:-example.org",
		"label of 64 characters":           "did:web:" + strings.Repeat("a", 64) + ".org",
		"domain of 254 characters":         "did:web:" + strings.Repeat("ab.", 84) + "ab",
		"empty segment":                    "did:web:example.org:a::b",
		"segment of one dot":               "did:web:example.org:.",
		"segment of two dots":              "did:web:example.org:a:..",
		"dot segment by percent escape":    "did:web:example.org:%2e%2E:a",
		"slash in a segment":               "did:web:example.org:a/b",
		"slash by percent escape":          "did:web:example.org:a%2Fb",
		"backslash in a segment":           `did:web:example.org:a\b`,
		"backslash by percent escape":      "did:web:example.org:a%5cb",
		"query in a segment":               "did:web:example.org:a?b",
		"half a percent escape":            "did:web:example.org:a%2",
		"percent escape without digits":    "did:web:example.org:a%zz",
		"longer than any DID":              "did:web:example.org:" + strings.Repeat("a", maxDID),
		"NUL in a segment":                 "did:web:example.org:a\x00b",
		"percent escape of a port in path": "did:web:example.org%3a443:a",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := WebURL(did); !errors.Is(err, ErrInvalid) {
				t.Errorf("URL %q, error %v, want ErrInvalid", got, err)
			}
		})
	}
}

func TestIsDID(t *testing.T) {
	for s, want := range map[string]bool{
		rfc8032DID:                           true,
		"did:web:example.org":                true,
		"did:web:localhost%3A8443":           true,
		"did:example:a:b":                    true,
		"did:example::b":                     true,
		"did:9:a":                            true,
		"":                                   false,
		"did":                                false,
		"did:":                               false,
		"did:web":                            false,
		"did:web:":                           false,
		"did::a":                             false,
		"DID:web:a":                          false,
		"did:Web:a":                          false,
		"did:web:a:":                         false,
		"did:web:a/b":                        false,
		"did:web:a#b":                        false,
		"did:web:a b":                        false,
		"did:web:é":                          false,
		"did:web:%4":                         false,
		"did:web:a\n":                        false,
		" did:web:a":                         false,
		"self-declared":                      false,
		"did:x:" + strings.Repeat("a", 3000): false,
	} {
		t.Run(fmt.Sprintf("%.30q", s), func(t *testing.T) {
			if got := IsDID(s); got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// page is a Fetcher with one answer.
type page struct {
	body   string
	status int
	err    error
	asked  []string
}

func (p *page) Fetch(_ context.Context, url string) ([]byte, int, error) {
	p.asked = append(p.asked, url)
	return []byte(p.body), p.status, p.err
}

func TestT123ResolveReadsTheIssuersOwnDocument(t *testing.T) {
	document, err := os.ReadFile("testdata/issuer-did.json")
	if err != nil {
		t.Fatal(err)
	}
	p := &page{body: string(document), status: 200}
	key, err := Resolve(t.Context(), "did:web:trust.arkforge.tech", p)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(key), "64b94613478dd1e4cd504f6f68ad6d4ad7fa02ea05516a8906fab1ed08317c46"; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	if fmt.Sprint(p.asked) != "[https://trust.arkforge.tech/.well-known/did.json]" {
		t.Errorf("fetched %v", p.asked)
	}
}

func TestT123ResolveOfADidKeyFetchesNothing(t *testing.T) {
	key, err := Resolve(t.Context(), rfc8032DID, nil)
	if err != nil || hex.EncodeToString(key) != rfc8032Key {
		t.Errorf("key %x, %v", key, err)
	}
}

func TestT123ResolveErrorsAndTheirStatuses(t *testing.T) {
	refused := errors.New("connection refused")
	for _, c := range []struct {
		name, did string
		page      page
		want      error
	}{
		{"another method is invalid", "did:ion:abc", page{}, ErrInvalid},
		{"no DID is invalid", "", page{}, ErrInvalid},
		{"a bad did:key is invalid", "did:key:zzz", page{}, ErrInvalid},
		{"a bad did:web is invalid", "did:web:a:..", page{}, ErrInvalid},
		{"an address the fetcher refuses is invalid", "did:web:a", page{err: fmt.Errorf("%w: private address", ErrInvalid)}, ErrInvalid},
		{"a network failure is unavailable", "did:web:a", page{err: refused}, ErrUnavailable},
		{"a time limit is unavailable", "did:web:a", page{err: context.DeadlineExceeded}, ErrUnavailable},
		{"404 is not found", "did:web:a", page{status: 404}, ErrNotFound},
		{"a redirect is not found", "did:web:a", page{status: 301}, ErrNotFound},
		{"500 is not found", "did:web:a", page{status: 500, body: "{}"}, ErrNotFound},
		{"a body that is not JSON is invalid", "did:web:a", page{status: 200, body: "<html>"}, ErrInvalid},
		{"an empty body is invalid", "did:web:a", page{status: 200}, ErrInvalid},
		{"a body nested without end is invalid", "did:web:a", page{status: 200, body: strings.Repeat("[", 10000)}, ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := Resolve(t.Context(), c.did, &c.page)
			if !errors.Is(err, c.want) || key != nil {
				t.Fatalf("key %x, error %v, want %v", key, err, c.want)
			}
			for _, other := range []error{ErrInvalid, ErrNotFound, ErrUnavailable} {
				if other != c.want && errors.Is(err, other) {
					t.Errorf("error %v is %v as well", err, other)
				}
			}
			if c.page.err != nil && !errors.Is(err, c.page.err) {
				t.Errorf("error %v hides its cause", err)
			}
		})
	}
}

func TestT123KeyExtraction(t *testing.T) {
	key := fromHex(t, rfc8032Key)
	z := func(raw ...byte) string { return "z" + base58.Encode(raw) }
	coded := z(append([]byte{0xed, 0x01}, key...)...)
	const jwk = `{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	neutral := z(append([]byte{0xed, 0x01, 1}, make([]byte, 31)...)...)
	method := func(members string) string { return `{"type":"Ed25519VerificationKey2020",` + members + `}` }
	good := method(`"publicKeyMultibase":"` + coded + `"`)
	short := append([]byte(nil), key...)
	short[0] = 0
	for _, c := range []struct {
		name, methods string
		want          []byte
	}{
		{"multibase with multicodec", good, key},
		{"multibase without multicodec", method(`"publicKeyMultibase":"` + z(key...) + `"`), key},
		{"multibase of 31 bytes is padded on the left", method(`"publicKeyMultibase":"` + z(short[1:]...) + `"`), short},
		{"the 2018 type", strings.Replace(good, "2020", "2018", 1), key},
		{"JWK", method(`"publicKeyJwk":` + jwk), key},
		{"JWK with padding", method(`"publicKeyJwk":` + strings.Replace(jwk, "HURo", "HURo=", 1)), key},
		{"multibase is taken before JWK", method(`"publicKeyJwk":` + jwk + `,"publicKeyMultibase":"` + z(short...) + `"`), short},
		{"JWK when multibase gives none", method(`"publicKeyMultibase":"u123","publicKeyJwk":` + jwk), key},
		{"other types are skipped", `{"type":"JsonWebKey2020","publicKeyJwk":` + jwk + `},{"type":"Multikey","publicKeyMultibase":"` + z(short...) + `"},` + good, key},
		{"entries that are no objects are skipped", `1,"x",null,[],` + good, key},
		{"a key of small order is skipped", method(`"publicKeyMultibase":"`+neutral+`"`) + "," + good, key},
		{"only a key of small order", method(`"publicKeyMultibase":"` + neutral + `"`), nil},
		{"only other types", `{"type":"JsonWebKey2020","publicKeyJwk":` + jwk + `}`, nil},
		{"no methods", ``, nil},
		{"multibase of 33 bytes", method(`"publicKeyMultibase":"` + z(append([]byte{9}, key...)...) + `"`), nil},
		{"multibase without digits", method(`"publicKeyMultibase":"z"`), nil},
		{"multibase that is no string", method(`"publicKeyMultibase":7`), nil},
		{"JWK of another curve", method(`"publicKeyJwk":` + strings.Replace(jwk, "Ed25519", "X25519", 1)), nil},
		{"JWK of another type", method(`"publicKeyJwk":` + strings.Replace(jwk, "OKP", "EC", 1)), nil},
		{"JWK with a short x", method(`"publicKeyJwk":` + strings.Replace(jwk, "11qY", "", 1)), nil},
		{"JWK with a line feed in x", method(`"publicKeyJwk":` + strings.Replace(jwk, "11qY", `11qY\n`, 1)), nil},
		{"JWK with bits behind the last byte", method(`"publicKeyJwk":` + strings.Replace(jwk, "HURo", "HURp", 1)), nil},
		{"JWK in the standard alphabet", method(`"publicKeyJwk":` + strings.Replace(jwk, "VS_7", "VS/7", 1)), nil},
		{"JWK that is no object", method(`"publicKeyJwk":"x"`), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &page{status: 200, body: `{"id":"did:web:somebody.else","verificationMethod":[` + c.methods + `]}`}
			got, err := Resolve(t.Context(), "did:web:a", p)
			if c.want == nil {
				if !errors.Is(err, ErrInvalid) {
					t.Fatalf("key %x, error %v, want ErrInvalid", got, err)
				}
				return
			}
			if err != nil || !got.Equal(ed25519.PublicKey(c.want)) {
				t.Fatalf("key %x, %v, want %x", got, err, c.want)
			}
		})
	}
	for _, body := range []string{`null`, `[]`, `"x"`, `{}`, `{"verificationMethod":{}}`, `{"verificationMethod":null}`} {
		t.Run("document "+body, func(t *testing.T) {
			if _, err := Resolve(t.Context(), "did:web:a", &page{status: 200, body: body}); !errors.Is(err, ErrInvalid) {
				t.Errorf("error %v, want ErrInvalid", err)
			}
		})
	}
}

func FuzzDID(f *testing.F) {
	for _, seed := range []string{
		rfc8032DID, "did:web:example.org", "did:web:example.org:a:b%20c", "did:web:a%3A1", "did:key:z", "did:key:z1111",
		"did:web:..:..", "did:", "did:web:example.org:%2e%2e", "did:key:z" + strings.Repeat("z", 64), "did:web:[::1]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := ParseKey(s)
		switch {
		case err == nil && FormatKey(key) != s:
			t.Fatalf("%q reads as a key whose DID is %q", s, FormatKey(key))
		case err == nil && (smallOrder(key) || !IsDID(s)):
			t.Fatalf("%q accepted", s)
		case err != nil && !errors.Is(err, ErrInvalid):
			t.Fatalf("%q: error %v is not ErrInvalid", s, err)
		}
		address, err := WebURL(s)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%q: error %v is not ErrInvalid", s, err)
			}
			return
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatalf("%q gives %q: %v", s, address, err)
		}
		domain, _, _ := strings.Cut(strings.TrimPrefix(s, webPrefix), ":")
		if u.Scheme != "https" || u.Host != domain || u.Port() != "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q gives %q", s, address)
		}
		if path.Clean(u.Path) != u.Path || strings.Count(u.Path, "/") != strings.Count(u.EscapedPath(), "/") {
			t.Fatalf("%q gives a path that cleaning changes: %q", s, u.Path)
		}
		if !IsDID(s) {
			t.Fatalf("%q has an address but is no DID", s)
		}
	})
}

// FuzzDocument feeds documents to the key extraction.
func FuzzDocument(f *testing.F) {
	document, err := os.ReadFile("testdata/issuer-did.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document)
	f.Add([]byte(`{"verificationMethod":[{"type":"Ed25519VerificationKey2018","publicKeyMultibase":"z6Mk"}]}`))
	f.Add([]byte(`{"verificationMethod":[{"type":"Ed25519VerificationKey2020","publicKeyMultibase":"z1111"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		key, err := Resolve(t.Context(), "did:web:a", &page{status: 200, body: string(body)})
		switch {
		case err == nil && (len(key) != ed25519.PublicKeySize || smallOrder(key)):
			t.Fatalf("key %x", key)
		case err != nil && !errors.Is(err, ErrInvalid):
			t.Fatalf("error %v is not ErrInvalid", err)
		}
	})
}

func BenchmarkParseKey(b *testing.B) {
	for b.Loop() {
		if _, err := ParseKey(rfc8032DID); err != nil {
			b.Fatal(err)
		}
	}
}
