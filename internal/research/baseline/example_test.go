package baseline_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/baseline"
)

// The commitment covers the figures, spelt as floats however they were written.
func ExampleMeasurement_Commitment() {
	m, err := baseline.Parse([]byte(`{"topic_id":"topic-a","holdout_nll":3,"tokens_per_sec":100,
		"split_nll":{"web_ood":3,"code_ood":3,"math_ood":3,"longctx":3,"multilingual_ood":3}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	commitment, err := m.Commitment()
	fmt.Println(commitment, err)
	// Output: 5d5f8a644372dd2e7948842336af6fecee06d4eb3bebcef7bdba627089ae1278 <nil>
}
