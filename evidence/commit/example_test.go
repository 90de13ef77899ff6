package commit_test

import (
	"crypto/rand"
	"fmt"

	"github.com/prova-dev/prova/evidence/commit"
)

func Example() {
	nonce, err := commit.NewNonce(rand.Reader)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Publish the commitment, keep nonce and value.
	published := commit.Field("seller", nonce, "corpus.example.test")

	// Disclose both later: anyone can check them against what was published.
	fmt.Println(commit.Opens(published, "seller", nonce.String(), "corpus.example.test"))
	fmt.Println(commit.Opens(published, "seller", nonce.String(), "another.example.test"))
	// Output:
	// true
	// false
}

func ExampleRoot() {
	var nonce commit.Nonce // a fresh one for each field, all zeros here to have one output
	root, err := commit.Root(map[string][32]byte{
		"seller":         commit.Field("seller", nonce, "corpus.example.test"),
		"transaction_id": commit.Field("transaction_id", nonce, "free_tier"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("sha256:%x\n", root)
	// Output:
	// sha256:5e3b7373e15b17f0ada98ca6635aeee056fd72dd5c9f0bd8fb15ce8b41e6a62a
}
