package sr25519_test

import (
	"fmt"

	"github.com/prova-dev/prova/evidence/sr25519"
)

func Example() {
	key, err := sr25519.ParseSecret([]byte("4211111111111111111111111111111111111111111111111111111111111111\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	signature, err := key.Sign(nil, "base-proof-topic-v1", []byte(`{"id":"a-topic"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(key, key.Public())
	fmt.Println(key.Public().Verify("base-proof-topic-v1", []byte(`{"id":"a-topic"}`), signature[:]))
	fmt.Println(key.Public().Verify("base-proof-topic-v1", []byte(`{"id":"another"}`), signature[:]))
	// Output:
	// sr25519 secret (hidden) 30bc95220f16cb50948acd9f719fc5c1f304173813d7b477cd3f72ba3a95b941
	// <nil>
	// sr25519: signature does not verify
}

func ExampleParsePublicKey() {
	_, err := sr25519.ParsePublicKey("0000000000000000000000000000000000000000000000000000000000000000")
	fmt.Println(err)
	// Output: sr25519: bad public key: the identity, under which anyone can sign
}
