package intake

import (
	"testing"

	"github.com/prova-dev/prova/internal/research/family"
)

// TestSpecificationASubmissionBindsNoOfferAndBringsNoVerdict: members of offers and
// verdicts are unknown ones in a submission. They change nothing of what the row says,
// which is the host's offers and the verdict of the run.
func TestSpecificationASubmissionBindsNoOfferAndBringsNoVerdict(t *testing.T) {
	row := func(f *fixture) string {
		t.Helper()
		stored, _, err := f.passes(t, Run).Persist(5, Result{Verdict: family.Verdict{}})
		if err != nil {
			t.Fatal(err)
		}
		if stored.InferenceOfferID != f.host.Inference.OfferID || stored.ExecutorOfferID != f.host.Executor.OfferID {
			t.Errorf("the row names the offers %q and %q", stored.InferenceOfferID, stored.ExecutorOfferID)
		}
		if stored.State != family.Rejected || stored.Verdict.Pass || stored.Verdict.Agent.Reproduced {
			t.Errorf("the miner's own verdict is in the row: %+v", stored.Verdict)
		}
		text, err := stored.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	f := newFixture()
	f.fields["hotkey_signature"] = f.sign() // one signature for both, so that the rows may be equal
	plain := row(f)
	for name, value := range map[string]any{
		"inference_offer_id": "judge-b", "config_commitment": other, "executor_offer_id": "exec-b", "executor_commitment": other,
		"inference": map[string]any{"base_url": "https://elsewhere.invalid"}, "eval_executor": map[string]any{"machine_id": "m"},
		"verdict": map[string]any{"pass": true}, "agent": map[string]any{"reproduced": true, "claim_holds_public": true},
		"state": "champion", "pass": true, "primary_value": 1e9, "flops_used": 0,
	} {
		f.fields[name] = value
	}
	if bound := row(f); bound != plain {
		t.Errorf("the row with them is\n%s\nand without\n%s", bound, plain)
	}
}
