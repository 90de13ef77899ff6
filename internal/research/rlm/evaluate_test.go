package rlm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/rlm"
)

func TestSection17AWinBehindAGreenChecklistBecomesChampion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		row, err := w.run(t, "a", wins(0.5))
		require.NoError(t, err)
		require.Equal(t, family.Champion, row.State)
		require.Equal(t, rlm.Open, w.state(t))
		require.Equal(t, []string{"submission_received", "promotion_candidate", "promoted"}, w.events(t))
		require.Equal(t, "harness_success_rate: success_rate = 0.500000; checklist green (rules v1); sandboxed=true; flops_used=900", row.Verdict.Agent.Rationale)
		w.free(t)

		c := w.zip(t, row.ID)
		require.True(t, c.Manifest.Promoted)
		require.Equal(t, `{"event":"scored","submission_id":"`+row.ID+`","primary_value":0.5,"checklist_green":true}
{"event":"promoted","submission_id":"`+row.ID+`","primary_value":0.5,"bar":0.4,"previous_best":null}
`, w.public(t, "events.jsonl"))
		require.Contains(t, w.public(t, "best.json"), row.ID+".zip")
	})
}
