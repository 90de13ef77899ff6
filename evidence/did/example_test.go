package did_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/evidence/did"
)

func ExampleParseKey() {
	key, err := did.ParseKey("did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw")
	fmt.Printf("%x %v\n", key[:4], err)

	_, err = did.ParseKey("did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc") // an X25519 key
	fmt.Println(errors.Is(err, did.ErrInvalid))
	// Output:
	// d75a9801 <nil>
	// true
}

func ExampleFormatKey() {
	seed := make([]byte, ed25519.SeedSize) // crypto/rand in earnest
	key := ed25519.NewKeyFromSeed(seed)
	fmt.Println(did.FormatKey(key.Public().(ed25519.PublicKey)))
	// Output: did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp
}

func ExampleWebURL() {
	fmt.Println(did.WebURL("did:web:example.org"))
	fmt.Println(did.WebURL("did:web:example.org:agents:seven"))
	// Output:
	// https://example.org/.well-known/did.json <nil>
	// https://example.org/agents/seven/did.json <nil>
}

// documents stands for an HTTP client that guards addresses, time and size.
type documents map[string]string

func (d documents) Fetch(_ context.Context, url string) ([]byte, int, error) {
	body, ok := d[url]
	if !ok {
		return nil, 404, nil
	}
	return []byte(body), 200, nil
}

func ExampleResolve() {
	web := documents{"https://example.org/.well-known/did.json": `{"verificationMethod":[{
		"type":"Ed25519VerificationKey2020",
		"publicKeyMultibase":"z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"}]}`}
	key, err := did.Resolve(context.Background(), "did:web:example.org", web)
	fmt.Printf("%x %v\n", key[:4], err)

	_, err = did.Resolve(context.Background(), "did:web:example.com", web)
	fmt.Println(errors.Is(err, did.ErrNotFound))
	// Output:
	// d75a9801 <nil>
	// true
}
