package holdout_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/holdout"
)

// A host verifies the operator's records against the commitment that the topic
// was signed with, and checks what a submission declares against them.
func Example() {
	records, err := holdout.Synthetic(24, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := holdout.Verify(records, 120, "e2f97658a5ff704f1f20982c8e3bbda5aba9793ac390df7f96a3641f33e5483d")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set, records[0])
	fmt.Println(set.Contamination(nil, []string{"my-own-data", "Synthetic-Dev"}))
	_, err = set.Reveal("")
	fmt.Println(err)
	// Output:
	// [holdout of 120 records withheld] [holdout record withheld]
	// [dataset:synthetic-dev]
	// no submission digest is frozen yet; the holdout stays sealed
}
