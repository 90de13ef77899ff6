package host

import (
	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
)

// simulate is the sim backend (R§27): a stub win relative to the seal, bound and
// judged as a measured document would be. It crowns nobody.
func simulate(o *intake.Outcome, imageDigest string, registered bool) (intake.Result, error) {
	s := o.Submission
	scored, sealed := intake.Scored(s.Topic.Document), figures(s.Topic.Baseline)
	about := family.Expected{
		SubmissionDigest: s.Digest, ArtifactDigest: s.ArtifactDigest, TopicID: s.TopicID,
		EvalImageDigest: imageDigest, HoldoutCommitment: s.Topic.Document.HoldoutCommitment, Family: scored.Family,
	}
	doc := family.SimDocument(scored, sealed, about)
	if err := doc.Bind(about); err != nil {
		return intake.Result{}, err
	}
	// Nothing was rented, so nothing is left to be terminated.
	receipt, err := family.NewReceipt("sim", "proof-"+s.Digest[:8], imageDigest, s.Digest, doc.Harness).JSON()
	if err != nil {
		return intake.Result{}, err
	}
	verdict := family.Judge(family.Input{
		Topic: scored, Sealed: sealed, Agent: doc.Agent, Harness: doc.Harness, Registered: registered,
	})
	return intake.Result{Verdict: verdict, Receipt: &receipt}, nil
}

// figures are the sealed figures of a topic as scoring reads them.
func figures(m *baseline.Measurement) family.Metrics {
	out := family.Metrics{
		HoldoutNLL: m.HoldoutNLL, SplitNLL: make(map[string]float64, len(m.SplitNLL)),
		TokensPerSec: m.TokensPerSec, StepLatencyMS: m.StepLatencyMS, CustomValue: m.CustomValue,
	}
	for split, nll := range m.SplitNLL {
		out.SplitNLL[string(split)] = nll
	}
	return out
}
