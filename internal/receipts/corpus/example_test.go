package corpus_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/receipts/corpus"
)

// A practice corpus is built from public constants, so its key is no secret.
func ExampleBuild() {
	c, err := corpus.Build(corpus.Practice("conformite"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Host, c.Practice, len(corpus.Lint(c)))
	// Output: https://conformite.corpus.prova.test true 0
}
