package payout

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
)

func TestExplainSaysWhereEachFigureComesFrom(t *testing.T) {
	noPrimary := pass(4, 0xdd, 0, "d")
	noPrimary.Primary = nil
	discoveryRows := []Row{pass(1, 0xaa, 2.5, "a"), pass(2, 0xbb, 2.4, "a"), pass(3, 0xcc, 2.9, "c"), noPrimary}
	sealed := []Topic{discovery("t", family.Min, ptr(3.0))}
	for _, c := range []struct {
		name       string
		miner      byte
		topics     []Topic
		rows       []Row
		promotions []Promotion
		want       []string
	}{
		{"an original that improves", 0xaa, sealed, discoveryRows, nil, []string{
			"epoch 7, miner " + strings.Repeat("aa", 32) + ": score 658333 of 1000000",
			"  topic t (discovery): mass 1000000 of 1000000, 1 topic open; 8000 bps",
			"    row 1, the best of the miner's passing runs, primary 2.5 (min)",
			"    floor 75000: 300000 (mass × 3000 / 10000) in equal parts to 4 passes",
			"    novelty 583333: weight 500000000 = improvement 0.5 × 10^9 over the bar 3 (the sealed value); 700000 (mass × 7000 / 10000) by weight among 2 passes",
		}},
		{"a left-over unit", 0xcc, sealed, discoveryRows, nil, []string{
			"    novelty 116667: weight 100000000 = improvement 0.10000000000000009 × 10^9 over the bar 3 (the sealed value); 700000 (mass × 7000 / 10000) by weight among 2 passes",
			"    1 left-over unit among these went to the largest remainders, ties by hotkey",
		}},
		{"a copy", 0xbb, sealed, discoveryRows, nil, []string{"    novelty 0: its artefact repeats that of row 1"}},
		{"a bar set by a champion", 0xcc, sealed, discoveryRows, []Promotion{{"t", 0, 6, 2.8}}, []string{
			"    novelty 0: no improvement over the bar 2.8 (champion of epoch 6, row 0)"}},
		{"a champion that is worse than the seal", 0xcc, sealed, []Row{pass(3, 0xcc, 3.9, "c")}, []Promotion{{"t", 0, 6, 3.8}}, []string{
			"    novelty 0: no improvement over the bar 3 (the sealed value)", "    700000 of the mass paid to nobody"}},
		{"no primary", 0xdd, sealed, discoveryRows, nil, []string{"    novelty 0: a run without a primary improves nothing"}},
		{"no bar", 0xaa, []Topic{discovery("t", family.Min, nil)}, discoveryRows, nil, []string{
			"    novelty 0: neither a sealed value nor a champion to improve on"}},
		{"no run", 0xee, sealed, discoveryRows, nil, []string{": score 0 of 1000000", "    no passing run in the epoch: 0"}},
		{"no topic", 0xaa, nil, discoveryRows, nil, []string{"  no topic was open: no score for anybody (ChallengeInternal)"}},
		{"a winner", 0xbb, []Topic{wta("t", family.Min), wta("u", family.Min)}, discoveryRows, nil, []string{
			"  topic t (wta): mass 500000 of 1000000, 2 topics open; 4000 bps",
			"    prize 500000: the best primary of the epoch; the mass in equal parts to 1 exact tie",
			"  topic u (wta): mass 500000 of 1000000, 2 topics open; 4000 bps",
			"    500000 of the mass paid to nobody"}},
		{"a loser", 0xaa, []Topic{wta("t", family.Min)}, discoveryRows, nil, []string{"    prize 0: the best primary of the epoch is 2.4"}},
		{"a winner without primary", 0xdd, []Topic{wta("t", family.Min)}, discoveryRows, nil, []string{"    prize 0: a run without a primary cannot win"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := pay(t, 7, c.topics, c.rows, c.promotions...).Explain(key(c.miner))
			for _, line := range c.want {
				if !strings.Contains(x.String(), line+"\n") {
					t.Errorf("no line %q in\n%s", line, x)
				}
			}
			if _, err := json.Marshal(x); err != nil {
				t.Error(err)
			}
		})
	}
}
