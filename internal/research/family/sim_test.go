package family

import "testing"

func TestSection27ASimDocumentBindsAndWinsOverTheSeal(t *testing.T) {
	latency := throughputInput(0, 0)
	latency.Topic.Primary, latency.Topic.Direction = StepLatencyMS, Min
	latency.Sealed.StepLatencyMS = ptr(10.0)
	for name, in := range map[string]Input{
		"nll": nllInput(0), "tokens per second": throughputInput(0, 0), "latency": latency, "custom": customInput(nil),
	} {
		t.Run(name, func(t *testing.T) {
			e := Expected{SubmissionDigest: "d1", ArtifactDigest: "ab", TopicID: in.Topic.ID, EvalImageDigest: "sha256:78",
				HoldoutCommitment: "cc", Family: in.Topic.Family}
			d := SimDocument(in.Topic, in.Sealed, e)
			if err := d.Bind(e); err != nil {
				t.Fatal(err)
			}
			in.Agent, in.Harness = d.Agent, d.Harness
			if v := Judge(in); !v.Pass || v.Agent.FlopsUsed != 50 || v.Agent.Rationale != "sim stub win" {
				t.Errorf("%v, %+v", v.Failed, v.Agent)
			}
		})
	}
}

func TestSection27FiguresOfASimDocument(t *testing.T) {
	nll := SimDocument(nllTopic(), flat(3), Expected{})
	if got := nll.Harness; got.HoldoutNLL != 2.98 || got.SplitNLL["longctx"] != 2.98 || got.WallS != nil {
		t.Errorf("%+v", got)
	}
	if got := SimDocument(nllTopic(), flat(0.005), Expected{}).Harness.HoldoutNLL; got != 0 {
		t.Errorf("a loss of %v", got)
	}
	in := throughputInput(0, 0)
	in.Sealed.TokensPerSec = nil
	got := SimDocument(in.Topic, in.Sealed, Expected{}).Harness
	if share := 0.05 + 0.01; got.HoldoutNLL != 3 || *got.WallS != 7200 || *got.TokensPerSec != 100*(1+share) {
		t.Errorf("%+v, %v tokens/s", got, *got.TokensPerSec)
	}
	if got := SimDocument(customInput(nil).Topic, Metrics{}, Expected{}).Harness.CustomValue; got != nil {
		t.Errorf("a custom value of %v without a seal", *got)
	}
}
