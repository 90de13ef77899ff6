package rlm

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// errNoURI says that there is nothing to fetch; intake refuses such a submission
// long before.
var errNoURI = errors.New("artifact_uri missing; refuse scoring")

// NewRequest returns the run request of a submission under a version of the rules
// (R§16.4). ceiling is the pin's max_proof_deadline_s_ceiling, for a topic that sets
// no deadline of its own; a plan can only shorten it. The request holds nothing that
// is not public: of the judge its offer, model and commitment.
func NewRequest(o *intake.Outcome, rules topic.RuleSet, ceiling uint64) (*wire.RunRequest, error) {
	s := o.Submission
	if s.ArtifactURI == "" {
		return nil, errNoURI
	}
	req, err := topicRequest(s.Topic.Document, rules, ceiling)
	if err != nil {
		return nil, err
	}
	uri := s.ArtifactURI
	req.SubmissionDigest, req.ArtifactDigest, req.ArtifactURI = s.Digest, s.ArtifactDigest, &uri
	req.Claim, req.DeclaredFlops = s.Request.Claim, s.Request.DeclaredFLOPs
	if i := s.Inference; i != nil {
		req.Judge = wire.JudgeRef{OfferID: i.OfferID, ModelRef: i.ModelRef, ConfigCommitment: i.ConfigCommitment}
	}
	if p := o.Plan; p != nil {
		req.Sandbox.DeadlineS = min(req.Sandbox.DeadlineS, p.DeadlineS)
		commitment := p.ConfigCommitment
		req.ExecutorCommitment = &commitment
	}
	return req, nil
}

// BaselineRequest returns the request by which the baseline recipe of a topic is
// measured (R§18). Its artefact is the baseline's own archive, known to the topic's
// images by its hash.
func BaselineRequest(d *topic.Document, rules topic.RuleSet, ceiling uint64) (*wire.RunRequest, error) {
	req, err := topicRequest(d, rules, ceiling)
	if err != nil {
		return nil, err
	}
	req.SubmissionDigest, req.ArtifactDigest = "baseline-"+req.RulesDigest, strings.ToLower(strings.TrimSpace(d.Baseline.ScriptSHA256))
	req.Claim, req.DeclaredFlops = "operator baseline", d.FLOPsBudget
	return req, nil
}

// topicRequest is what a topic says about each of its runs.
func topicRequest(d *topic.Document, rules topic.RuleSet, ceiling uint64) (*wire.RunRequest, error) {
	digest, err := rulesDigest(rules)
	if err != nil {
		return nil, err
	}
	constraints, err := constraintsOf(d)
	if err != nil {
		return nil, err
	}
	return &wire.RunRequest{
		SchemaVersion: SchemaVersion, TopicID: d.ID, CustomID: d.Metric.CustomID, Primary: d.Metric.Primary,
		Direction: string(d.Metric.Direction), EpsilonRel: d.Metric.EpsilonRel,
		FlopsBudget: d.FLOPsBudget, Constraints: constraints, RulesVersion: rules.Version, RulesDigest: digest,
		Seed: d.Baseline.Seed, Sandbox: sandboxOf(d, ceiling), ExecutorCommitment: d.EvalExecutor.RequireOfferCommitment,
	}, nil
}

func sandboxOf(d *topic.Document, ceiling uint64) wire.Sandbox {
	box := wire.Sandbox{FirecrackerRequired: d.Constraints.FirecrackerRequired, DeadlineS: ceiling}
	if s := d.EvalExecutor.MaxProofDeadlineS; s != nil {
		box.DeadlineS = *s
	}
	return box
}

// constraintsOf takes the constraints out of the document's own JSON, so that they
// are there and left out exactly as the topic was signed.
func constraintsOf(d *topic.Document) ([]byte, error) {
	text, err := d.JSON()
	if err != nil {
		return nil, fmt.Errorf("topic document: %w", err)
	}
	v, err := canonjson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("topic document: %w", err)
	}
	constraints, _ := canonjson.Resolve(v, "/constraints")
	text, err = canonjson.AppendSorted(nil, constraints)
	if err != nil {
		return nil, fmt.Errorf("topic document: %w", err)
	}
	return text, nil
}

// BindReport returns nil when a report is evidence for exactly this request, in the
// order of R§16.5. The error is an *UnboundError, a 503: a run that did not bind is
// never a zero. A report without a primary binds: the recipe ran, was
// measured and failed (decision 14).
func BindReport(req *wire.RunRequest, r *wire.RunReport) error {
	if r.SchemaVersion != SchemaVersion {
		return unbound("run report schema_version %d, this build reads %d", r.SchemaVersion, SchemaVersion)
	}
	for _, echo := range []struct {
		field string
		same  bool
	}{
		{"topic_id", r.TopicID == req.TopicID},
		{"custom_id", r.CustomID == req.CustomID},
		{"submission_digest", r.SubmissionDigest == req.SubmissionDigest},
		{"artifact_digest", shape.SameHex(r.ArtifactDigest, req.ArtifactDigest)},
		{"rules_version", r.RulesVersion == req.RulesVersion},
	} {
		if !echo.same {
			return unbound("run report %s does not match the run request", echo.field)
		}
	}
	if p := r.PrimaryValue; p != nil && (math.IsNaN(*p) || math.IsInf(*p, 0)) {
		return unbound("run report primary_value is not finite")
	}
	if req.Sandbox.FirecrackerRequired && !r.Sandboxed {
		return unbound("run report says miner code ran outside the Firecracker guest")
	}
	if r.FlopsUsed == nil {
		return unmeasured(req, r)
	}
	return nil
}

// unmeasured names the deadline, which is what most often leaves a run without a
// measurement, and what the guest said about it.
func unmeasured(req *wire.RunRequest, r *wire.RunReport) error {
	why := fmt.Sprintf("deadline of the run was %ds", req.Sandbox.DeadlineS)
	if r.Failure != "" {
		why += "; the guest says " + fmt.Sprintf("%q", cut(r.Failure, 256))
	}
	return unbound("run report has no flops_used; a run that measured no usage is no evidence (%s)", why)
}

// UnboundError refuses a run without a row: what came back is no evidence for what
// was asked. It answers 503.
type UnboundError struct{ Text string }

func (e *UnboundError) Error() string { return e.Text }

func unbound(format string, args ...any) error { return &UnboundError{fmt.Sprintf(format, args...)} }
