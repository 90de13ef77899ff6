package topic_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

func ExampleParse() {
	_, err := topic.Parse([]byte("id: my-topic\nflops-budget: 1000\n"))
	fmt.Println(err)
	_, err = topic.Parse([]byte(`{"id": "my-topic", "flops_budget": 2e18}`))
	fmt.Println(err)
	// Output:
	// parse topic document: flops-budget: unknown key; did you mean flops_budget?
	// parse topic document: flops_budget: is the number 2e+18 with a point or exponent, want an integer written in digits
}

func ExampleDocument_Validate() {
	d, err := topic.Parse([]byte("id: my-topic\nstatement: beat it\nepsilon_nll: 0.01\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Validate(pin.Default(), nil))
	d.EpsilonNLL = 0.03
	fmt.Println(d.Validate(pin.Default(), nil))
	// Output:
	// epsilon_nll = 0.01 loosens the pin floor 0.02
	// holdout_commitment must be 64 hex chars
}
