package payout_test

import (
	"fmt"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/payout"
)

func Example() {
	sealed, author, copier := 3.0, 2.5, 2.4
	topics := []payout.Topic{{ID: "muon-vs-adamw-10m-v0", Mode: payout.Discovery, Direction: family.Min,
		PassFloorBps: 3000, NoveltyBps: 7000, Sealed: &sealed}}
	rows := []payout.Row{
		{ID: 0, Epoch: 7, TopicID: "muon-vs-adamw-10m-v0", Miner: payout.Hotkey{2}, Pass: true, Primary: &author, ArtifactDigest: "aa"},
		{ID: 1, Epoch: 7, TopicID: "muon-vs-adamw-10m-v0", Miner: payout.Hotkey{1}, Pass: true, Primary: &copier, ArtifactDigest: "aa"},
	}
	snapshot, err := payout.Close(7, topics, rows, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := payout.Payout(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range result.Scores {
		fmt.Print(result.Explain(s.Miner))
	}
	// Output:
	// epoch 7, miner 0100000000000000000000000000000000000000000000000000000000000000: score 150000 of 1000000
	//   topic muon-vs-adamw-10m-v0 (discovery): mass 1000000 of 1000000, 1 topic open; 8000 bps
	//     row 1, the best of the miner's passing runs, primary 2.4 (min)
	//     floor 150000: 300000 (mass × 3000 / 10000) in equal parts to 2 passes
	//     novelty 0: its artefact repeats that of row 0
	// epoch 7, miner 0200000000000000000000000000000000000000000000000000000000000000: score 850000 of 1000000
	//   topic muon-vs-adamw-10m-v0 (discovery): mass 1000000 of 1000000, 1 topic open; 8000 bps
	//     row 0, the best of the miner's passing runs, primary 2.5 (min)
	//     floor 150000: 300000 (mass × 3000 / 10000) in equal parts to 2 passes
	//     novelty 700000: weight 500000000 = improvement 0.5 × 10^9 over the bar 3 (the sealed value); 700000 (mass × 7000 / 10000) by weight among 1 pass
}
