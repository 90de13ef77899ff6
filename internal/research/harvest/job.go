package harvest

import (
	"fmt"
	"regexp"

	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/topic"
)

// job is one run, prepared.
type job struct {
	outcome  *intake.Outcome
	digest   string
	pod      string
	image    string
	imageSum string
	plan     *offer.Plan
	ssh      *sshKey
	files    []staged
	withheld *withheld
}

// runPod matches the names of pods that are runs.
var runPod = regexp.MustCompile(`^proof-[0-9a-f]{8}$`)

// podName is the name of a submission's pod and the pod_id of its receipt (R§10).
func podName(digest string) string { return "proof-" + digest[:min(8, len(digest))] }

// prepare does everything that needs no rent, so that nothing is rented for a run
// that could not be staged.
func (h *Harvest) prepare(o *intake.Outcome) (*job, error) {
	p := h.o.Pin
	if o.Kind != intake.Run || o.Plan == nil || o.Submission.Topic == nil {
		return nil, refuse("harvest_plan", "there is no live plan for this submission; refuse scoring")
	}
	s := o.Submission
	d := s.Topic.Document
	if d.Metric.Family != topic.NLL && d.Metric.Family != topic.Throughput {
		return nil, refuse("harvest_family", "the harvest scores the families nll and throughput alone")
	}
	if !p.CanRent() {
		return nil, refuse("pinned_digest", "eval image digest not pinned; refuse live scoring (PROOF_FORCE_SIM=1 is CI only)")
	}
	if o.Plan.GPUCount != 1 {
		return nil, refuse("harvest_width", width(o.Plan.GPUCount))
	}
	if err := offer.CheckTemplate(p, o.Plan.TemplateID); err != nil {
		return nil, refuse("harvest_template", "eval executor offer: "+err.Error())
	}
	if err := o.Judge.Ready(); err != nil {
		return nil, refuse("judge_config", err.Error())
	}
	if s.Topic.Baseline == nil {
		return nil, refuse("baseline", "no sealed baseline recorded for this topic")
	}
	if s.Topic.Holdout == nil {
		return nil, refuse("holdout", "illegal state no verified holdout loaded for "+s.TopicID)
	}
	key, err := judgeKey(h.o.JudgeKeyFile)
	if err != nil {
		return nil, refuse("judge_key", err.Error())
	}
	pair, err := loadSSHKey(h.o.SSHPublicKeyFile, h.o.SSHKeyFile)
	if err != nil {
		return nil, refuse("harvest_ssh_key", err.Error())
	}
	model, err := weights(h.o.WeightsDir)
	if err != nil {
		return nil, refuse("harvest_weights", err.Error())
	}
	records, err := s.Topic.Holdout.Reveal(s.Digest)
	if err != nil {
		return nil, refuse("holdout", err.Error())
	}
	store, err := shards(h.o.HoldoutStore, records)
	if err != nil {
		return nil, refuse("harvest_shards", err.Error())
	}
	told, err := newRequest(p, o, records)
	if err != nil {
		return nil, refuse("harvest_request", err.Error())
	}
	env, err := teacherEnv(key)
	if err != nil {
		return nil, refuse("judge_key", err.Error())
	}
	kept := &withheld{}
	kept.keep(key)
	kept.keep(string(o.Judge.Origin))
	for _, r := range records {
		kept.plain(r.ContentSHA256)
		kept.plain(r.DatasetID)
	}
	// Secrets last: what takes longest is over before they leave this host.
	files := append(append(model, store...), stagedBytes(requestFile, told), stagedBytes(teacherFile, env))
	return &job{
		outcome: o, digest: s.Digest, pod: podName(s.Digest), image: p.EvalImage, imageSum: p.EvalImageDigest,
		plan: o.Plan, ssh: pair, files: files, withheld: kept,
	}, nil
}

func width(gpus uint32) string {
	return fmt.Sprintf("abort: executor would rent %dx GPUs; the Proof executor is exactly 1x", gpus)
}

// refuse is a refusal whose text may hold something that a pod or the document said.
func (j *job) refuse(name, text string) *intake.Refusal { return refuse(name, j.withheld.clean(text)) }

// judge binds a document to the run and judges it. It is called only once the pod is
// known to be gone.
func (j *job) judge(document []byte) (intake.Result, error) {
	s := j.outcome.Submission
	d := s.Topic.Document
	doc, err := family.ParseDocument(document)
	if err != nil {
		return intake.Result{}, j.refuse("eval_document", err.Error())
	}
	if err := doc.Bind(family.Expected{
		SubmissionDigest: s.Digest, ArtifactDigest: s.ArtifactDigest, TopicID: s.TopicID,
		EvalImageDigest: j.imageSum, HoldoutCommitment: d.HoldoutCommitment, Family: family.Family(d.Metric.Family),
	}); err != nil {
		return intake.Result{}, j.refuse("eval_document", err.Error())
	}
	// A rationale is stored and shown. It may speak of what it saw (R§6.4).
	doc.Agent.Rationale = j.withheld.clean(doc.Agent.Rationale)
	if len(doc.Agent.Rationale) > family.MaxRationale {
		doc.Agent.Rationale = cut(doc.Agent.Rationale, family.MaxRationale)
	}
	verdict := family.Judge(family.Input{
		Topic: intake.Scored(d), Sealed: sealed(s.Topic), Agent: doc.Agent, Harness: doc.Harness,
		Fingerprints: j.outcome.Fingerprints,
	})
	receipt, err := family.NewReceipt("lium", j.pod, j.imageSum, j.digest, doc.Harness).JSON()
	if err != nil {
		return intake.Result{}, j.refuse("receipt", "the receipt cannot be written: "+err.Error())
	}
	return intake.Result{Verdict: verdict, Receipt: &receipt}, nil
}

// sealed are the figures of the recorded baseline.
func sealed(t *intake.Topic) family.Metrics {
	m := family.Metrics{
		HoldoutNLL: t.Baseline.HoldoutNLL, TokensPerSec: t.Baseline.TokensPerSec,
		StepLatencyMS: t.Baseline.StepLatencyMS, CustomValue: t.Baseline.CustomValue,
		SplitNLL: make(map[string]float64, len(t.Baseline.SplitNLL)),
	}
	for split, nll := range t.Baseline.SplitNLL {
		m.SplitNLL[string(split)] = nll
	}
	return m
}

// cut shortens a text to n bytes at most, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
