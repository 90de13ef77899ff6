package rlm_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// bare is a world without stores, for what is pure.
func bare(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, id: topicID}
	w.seal(t, sealed)
	return w
}

func TestSection16RunRequestSaysWhatTheReferenceListsAndNoSecret(t *testing.T) {
	w := bare(t)
	o := w.outcome("a", hash("artefact"))
	req, err := rlm.NewRequest(o, w.doc.Rules(), 7200)
	require.NoError(t, err)
	text, err := json.Marshal(req)
	require.NoError(t, err)
	sum, err := w.doc.Rules().Digest()
	require.NoError(t, err)
	require.JSONEq(t, `{
		"schema_version": 1, "topic_id": "agent-harness-v0", "custom_id": "harness_success_rate", "primary": "success_rate",
		"direction": "max", "epsilon_rel": 0.05, "submission_digest": "`+o.Submission.Digest+`", "artifact_digest": "`+hash("artefact")+`",
		"artifact_uri": "https://example.invalid/recipe.tar", "claim": "beats it by a tenth", "flops_budget": 2000, "declared_flops": 1000,
		"constraints": {"firecracker_required": true, "max_inter_node_gbps": null, "model_pin": "vendor/model", "no_infiniband": false,
			"no_nccl_fast_fabric": false, "no_nvlink": false, "params": {"entrypoint": "main"}},
		"rules_version": 1, "rules_digest": "`+hexOf(sum)+`", "seed": 42,
		"judge": {"offer_id": "judge-a", "model_ref": "master-proxy-v0", "config_commitment": "`+hash("judge")+`"},
		"sandbox": {"firecracker_required": true, "deadline_s": 1800}, "executor_commitment": "`+hash("plan")+`"
	}`, string(text))
	require.NotContains(t, string(text), "planted")
}

func TestSection16DeadlineIsTheTopicsElseThePinsAndAPlanOnlyShortens(t *testing.T) {
	for _, c := range []struct {
		name       string
		topic      *uint64
		plan, want uint64
	}{
		{"the plan is tighter", ptr(uint64(3600)), 1800, 1800},
		{"the topic is tighter", ptr(uint64(900)), 1800, 900},
		{"a topic without one has the pin's", nil, 9000, 7200},
		{"no plan", ptr(uint64(3600)), 0, 3600},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := bare(t)
			w.doc.EvalExecutor.MaxProofDeadlineS = c.topic
			w.doc.EvalExecutor.RequireOfferCommitment = ptr(hash("required"))
			o := w.outcome("a", hash("artefact"))
			commitment := hash("plan")
			if o.Plan.DeadlineS = c.plan; c.plan == 0 {
				o.Plan, commitment = nil, hash("required")
			}
			req, err := rlm.NewRequest(o, w.doc.Rules(), 7200)
			require.NoError(t, err)
			require.Equal(t, c.want, req.Sandbox.DeadlineS)
			require.Equal(t, commitment, *req.ExecutorCommitment)
		})
	}
}

func TestSection17ARequestWithoutAnArtifactURIIsRefused(t *testing.T) {
	w := bare(t)
	o := w.outcome("a", hash("artefact"))
	o.Submission.ArtifactURI = ""
	_, err := rlm.NewRequest(o, w.doc.Rules(), 7200)
	require.EqualError(t, err, "artifact_uri missing; refuse scoring")
}

func TestSection18BaselineRequestIsForTheOperatorsArchive(t *testing.T) {
	w := bare(t)
	w.doc.Baseline.ScriptSHA256 = strings.ToUpper(hash("baseline.tar"))
	req, err := rlm.BaselineRequest(w.doc, w.doc.Rules(), 7200)
	require.NoError(t, err)
	require.Equal(t, "baseline-"+req.RulesDigest, req.SubmissionDigest)
	require.Equal(t, hash("baseline.tar"), req.ArtifactDigest)
	require.Nil(t, req.ArtifactURI)
	require.Equal(t, w.doc.FLOPsBudget, req.DeclaredFlops)
	require.Equal(t, "operator baseline", req.Claim)
}

func TestSection16ReportBindsInTheOrderOfTheReference(t *testing.T) {
	w := bare(t)
	req, err := rlm.NewRequest(w.outcome("a", hash("artefact")), w.doc.Rules(), 7200)
	require.NoError(t, err)
	fresh := func() *wire.RunReport {
		return &wire.RunReport{
			SchemaVersion: 1, TopicID: req.TopicID, CustomID: req.CustomID, SubmissionDigest: req.SubmissionDigest,
			ArtifactDigest: strings.ToUpper(req.ArtifactDigest), RulesVersion: 1, PrimaryValue: ptr(0.5), Sandboxed: true, FlopsUsed: ptr(uint64(1)),
		}
	}
	require.NoError(t, rlm.BindReport(req, fresh()))
	failed := fresh()
	failed.PrimaryValue = nil
	require.NoError(t, rlm.BindReport(req, failed), "a recipe that ran and failed has no primary")
	rows := []struct {
		text string
		edit func(r *wire.RunReport)
	}{
		{"run report schema_version 2, this build reads 1", func(r *wire.RunReport) { r.SchemaVersion = 2 }},
		{"run report topic_id does not match the run request", func(r *wire.RunReport) { r.TopicID = "other" }},
		{"run report custom_id does not match the run request", func(r *wire.RunReport) { r.CustomID = "other" }},
		{"run report submission_digest does not match the run request", func(r *wire.RunReport) { r.SubmissionDigest = hash("other") }},
		{"run report artifact_digest does not match the run request", func(r *wire.RunReport) { r.ArtifactDigest = hash("other") }},
		{"run report rules_version does not match the run request", func(r *wire.RunReport) { r.RulesVersion = 2 }},
		{"run report primary_value is not finite", func(r *wire.RunReport) { r.PrimaryValue = ptr(math.NaN()) }},
		{"run report says miner code ran outside the Firecracker guest", func(r *wire.RunReport) { r.Sandboxed = false }},
		{`run report has no flops_used; a run that measured no usage is no evidence (deadline of the run was 1800s; the guest says "cut")`, func(r *wire.RunReport) { r.FlopsUsed, r.Failure = nil, "cut" }},
	}
	for i, row := range rows {
		r := fresh()
		row.edit(r)
		var unbound *rlm.UnboundError
		err := rlm.BindReport(req, r)
		require.ErrorAs(t, err, &unbound)
		require.EqualError(t, err, row.text)
		if i+1 < len(rows) {
			rows[i+1].edit(r)
			require.EqualError(t, rlm.BindReport(req, r), row.text, "the earlier of two wins")
		}
	}
	loose := *req
	loose.Sandbox.FirecrackerRequired = false
	r := fresh()
	r.Sandboxed = false
	require.NoError(t, rlm.BindReport(&loose, r), "another topic may run unsandboxed")
}

func TestDecision20ReceiptOfACustomRow(t *testing.T) {
	w := bare(t)
	o := w.outcome("a", hash("artefact"))
	v, err := family.JudgeRun(intake.Scored(w.doc), family.Metrics{CustomValue: ptr(sealed)}, family.Run{
		DeclaredFlops: 1000, FlopsUsed: ptr(uint64(900)), PrimaryValue: ptr(0.5),
	})
	require.NoError(t, err)
	r := rlm.NewReceipt(o.Submission.Digest, &wire.Attestation{SisterVMID: "t-s1", ImageDigest: image}, v.Harness)
	text, err := r.JSON()
	require.NoError(t, err)
	require.Equal(t, `{"provider":"vm","pod_id":"t-s1","image_digest":"`+image+`","submission_hash":"`+o.Submission.Digest+
		`","metrics_hash":"`+r.MetricsHash+`","termination_verified":true}`, text)
	other := v.Harness
	other.CustomValue = ptr(0.51)
	require.NotEqual(t, r.MetricsHash, rlm.NewReceipt("", &wire.Attestation{}, other).MetricsHash)
}
