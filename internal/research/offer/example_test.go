package offer_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/topic"
)

// A topic that asks for a shorter run tightens the offer; the plan commits to
// what actually runs.
func ExampleExecutor_Plan() {
	e := executor()
	t := openTopic(func(d *topic.Document) { d.EvalExecutor.MaxProofDeadlineS = ptr(uint64(900)) })
	plan, err := e.Plan(committedPin(), t, offer.Overrides{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.DeadlineS, plan.OfferCommitment[:12], plan.ConfigCommitment[:12])
	_, err = e.Plan(committedPin(), t, offer.Overrides{GPUCount: ptr(uint32(8))})
	fmt.Println(err)
	// Output:
	// 900 3c1247e1ebeb b6988b2da274
	// eval executor offer: abort: executor would rent 8x GPUs; the Proof executor is exactly 1x
}
