package wire

import (
	"fmt"
	"strings"
)

// Attestation is the host's evidence of one paid run. The host writes it from
// the job that it verified, never from what the topic VM says (R§23.3).
type Attestation struct {
	SisterVMID       string  `json:"sister_vm_id"`
	ImageDigest      string  `json:"image_digest"`
	TopicID          string  `json:"topic_id"`
	SubmissionDigest string  `json:"submission_digest"`
	ArtifactDigest   string  `json:"artifact_digest"`
	Sandboxed        bool    `json:"sandboxed"`
	Network          string  `json:"network"`    // none
	FlopsUsed        *uint64 `json:"flops_used"` // nil: the guest measured nothing
	WallMS           uint64  `json:"wall_ms"`
	ExitCode         *int32  `json:"exit_code"` // nil: it was cut off or never ran

	// What isolated and measured the run. A driver other than firecracker never
	// says sandboxed, unless it is a stand-in that says so as well.
	Driver       string `json:"driver,omitzero"`
	Class        string `json:"class,omitzero"`
	Accelerator  string `json:"accelerator,omitzero"`
	KernelDigest string `json:"kernel_digest,omitzero"`
	FlopsMethod  string `json:"flops_method,omitzero"`
	Standin      bool   `json:"standin,omitzero"`
}

// wrongOutput is the refusal of an output that is not of the job's kind.
func wrongOutput(k JobKind) error {
	return fmt.Errorf("topic-vm returned the wrong output for %s", k)
}

// CheckOutput refuses an output that is not what the job must give (R§21.1).
func CheckOutput(j *Job, o *Output) error {
	if want := ForJob(j.Kind); want == "" || o.Kind != want {
		return wrongOutput(j.Kind)
	}
	return nil
}

// BindEvidence refuses a report or an attestation that is about another topic,
// submission or artefact than the job (R§23.3); the first difference is named.
// A job that runs no miner code must come without an attestation. An attestation
// that is nil binds: whether one is needed is the caller's question.
//
// The agent asks before it stamps, the client before it believes the stamps, so
// that a run of artefact A never scores artefact B.
func BindEvidence(j *Job, o *Output, sister *Attestation) error {
	if !j.Paid() {
		if sister != nil {
			return fmt.Errorf("job %s runs no miner code, and comes with sister evidence", j.Kind)
		}
		return nil
	}
	job, report := j.Request(), o.Report
	if err := CheckOutput(j, o); err != nil {
		return err
	}
	if job == nil || report == nil {
		return wrongOutput(j.Kind)
	}
	want := identity(job.TopicID, job.SubmissionDigest, job.ArtifactDigest)
	if err := want.binds("report", identity(report.TopicID, report.SubmissionDigest, report.ArtifactDigest)); err != nil {
		return err
	}
	if sister == nil {
		return nil
	}
	return want.binds("sister evidence", identity(sister.TopicID, sister.SubmissionDigest, sister.ArtifactDigest))
}

// run identifies what ran: topic, submission and artefact.
type run [3]string

func identity(topic, submission, artifact string) run {
	return run{topic, strings.TrimSpace(submission), strings.ToLower(strings.TrimSpace(artifact))}
}

func (want run) binds(who string, got run) error {
	for i, field := range [3]string{"topic_id", "submission_digest", "artifact_digest"} {
		if got[i] != want[i] {
			return fmt.Errorf("%s names %s %q, the paid job names %q", who, field, cut(got[i]), cut(want[i]))
		}
	}
	return nil
}

// Stamp overwrites what a report says of its own sandbox and usage with the
// host's evidence (R§22): sandboxed is true only when a sister ran sandboxed, and
// flops_used is what its guest measured, absent when nothing did. Outputs
// without a report are left alone.
func Stamp(o *Output, sister *Attestation) {
	if o.Report == nil || o.Kind != BaselineOutput && o.Kind != EvaluatedOutput {
		return
	}
	o.Report.Sandboxed, o.Report.FlopsUsed = false, nil
	if sister == nil {
		return
	}
	o.Report.Sandboxed = sister.Sandboxed
	if sister.FlopsUsed != nil {
		flops := *sister.FlopsUsed
		o.Report.FlopsUsed = &flops
	}
}
