package rlmtest

import (
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// SisterImage is the digest of the image that sisters say they booted from.
const SisterImage = "sha256:5151515151515151515151515151515151515151515151515151515151515151"

// Script is what the guests do with one artefact. The zero Script ticks each rule
// green and runs, measured at one operation, without a primary: the recipe failed.
type Script struct {
	Files []wire.File // of the inspection; one small file when nil
	Red   []string    // rules that are ticked red
	// Inspected may change the output of the inspection before the host sees it.
	Inspected  func(*wire.Output)
	InspectErr error

	Primary *float64
	Flops   uint64 // measured operations; 1 when zero
	Claim   bool
	Failure string
	// Unmeasured is a sister that was cut at its deadline: no usage at all.
	Unmeasured bool
	// Evaluated may change output and attestation of the run before they are bound
	// and stamped.
	Evaluated   func(*wire.Output, *wire.Attestation)
	NoSister    bool // the RLM answers without having asked for a sister
	EvaluateErr error

	Delay time.Duration // of each job
}

// Boundary is the orchestrator. It is safe for concurrent use; its exported fields
// are set before the first call.
type Boundary struct {
	Hypervisor string // of health and attestations; "firecracker" when empty
	// Standin says so in each attestation.
	Standin bool

	// Rules are what the RLM proposes; the rules of the topic document when nil.
	Rules    []wire.Rule
	Baseline Script
	// Default is the script of an artefact that has none.
	Default Script
	// At is called before each call with its name: ready, create, attach, teardown or
	// the kind of the job; an error fails the call.
	At func(ctx context.Context, call, topicID string) error
	// Unconfirmed makes each teardown end without confirmation.
	Unconfirmed bool

	mu      sync.Mutex
	scripts map[string]Script
	vms     map[string]*vm // by topic
	booted  int
	sisters int
	jobs    []wire.Job
}

type vm struct {
	record wire.Record
	busy   bool
}

// Script sets what happens to an artefact.
func (b *Boundary) Script(artifactDigest string, s Script) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.scripts == nil {
		b.scripts = map[string]Script{}
	}
	b.scripts[artifactDigest] = s
}

// Jobs returns the jobs that were taken, in their order.
func (b *Boundary) Jobs() []wire.Job {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.jobs)
}

// Running returns the topics that have a VM, sorted.
func (b *Boundary) Running() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.vms))
}

// Booted returns how many VMs were ever booted.
func (b *Boundary) Booted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.booted
}

func (b *Boundary) hypervisor() string {
	if b.Hypervisor == "" {
		return "firecracker"
	}
	return b.Hypervisor
}

func (b *Boundary) at(ctx context.Context, call, topicID string) error {
	if err := ctx.Err(); err != nil {
		return fault(wire.CodeBackend, "cancelled")
	}
	if b.At == nil {
		return nil
	}
	return b.At(ctx, call, topicID)
}

func fault(code wire.Code, format string, args ...any) error {
	return &wire.Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// Ready is nil unless At says otherwise.
func (b *Boundary) Ready(ctx context.Context) error { return b.at(ctx, "ready", "") }

// Probe returns the health of the orchestrator.
func (b *Boundary) Probe(ctx context.Context) (*wire.Health, error) {
	if err := b.at(ctx, "probe", ""); err != nil {
		return nil, err
	}
	return &wire.Health{APIVersion: wire.APIVersion, Ready: true, Hypervisor: b.hypervisor(), VMs: uint32(len(b.Running()))}, nil
}

// Create boots a VM; a topic that has one is refused.
func (b *Boundary) Create(ctx context.Context, spec wire.Spec) (*wire.Record, error) {
	if err := b.at(ctx, "create", spec.TopicID); err != nil {
		return nil, err
	}
	if err := spec.Validate(); err != nil {
		return nil, fault(wire.CodeBadSpec, "%v", err)
	}
	if spec.Sandbox.FirecrackerRequired && !strings.HasPrefix(b.hypervisor(), "firecracker") {
		return nil, fault(wire.CodeBadSpec, "%s cannot give the Firecracker that the topic requires", b.hypervisor())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.vms[spec.TopicID] != nil {
		return nil, fault(wire.CodeAlreadyExists, "topic %s has a live VM", spec.TopicID)
	}
	b.booted++
	v := &vm{record: wire.Record{
		Handle:      wire.Handle{TopicID: spec.TopicID, VMID: fmt.Sprintf("%s-%04d", spec.TopicID, b.booted)},
		ImageDigest: spec.Template.ImageDigest, VCPUs: spec.Template.VCPUs, MemMiB: spec.Template.MemMiB,
		Sandbox: spec.Sandbox, Retain: spec.Retain.Policy(), State: wire.Running,
	}}
	if b.vms == nil {
		b.vms = map[string]*vm{}
	}
	b.vms[spec.TopicID] = v
	record := v.record
	return &record, nil
}

// Attach returns the running VM of a topic.
func (b *Boundary) Attach(ctx context.Context, topicID string) (*wire.Record, error) {
	if err := b.at(ctx, "attach", topicID); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.vms[topicID]
	if v == nil {
		return nil, nil
	}
	record := v.record
	return &record, nil
}

// Teardown ends a VM that has no job.
func (b *Boundary) Teardown(ctx context.Context, h wire.Handle, _ wire.Retain) (bool, error) {
	if err := b.at(ctx, "teardown", h.TopicID); err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.vms[h.TopicID]
	if v == nil || v.record.Handle != h {
		return false, fault(wire.CodeNotFound, "no such VM")
	}
	if v.busy {
		return false, fault(wire.CodeBusy, "another job holds the VM")
	}
	if b.Unconfirmed {
		return false, nil
	}
	delete(b.vms, h.TopicID)
	return true, nil
}

// Run does a job. The job and its output cross as JSON, as they would on a network.
func (b *Boundary) Run(ctx context.Context, h wire.Handle, sent wire.Job) (*wire.JobResponse, error) {
	var job wire.Job
	if err := crossed(sent, &job); err != nil {
		return nil, fault(wire.CodeBackend, "%v", err)
	}
	if job.TopicOf() != h.TopicID {
		return nil, fault(wire.CodeTopicMismatch, "job is for %q, the VM is of %q", job.TopicOf(), h.TopicID)
	}
	v, err := b.hold(h, job)
	if err != nil {
		return nil, err
	}
	defer func() {
		b.mu.Lock()
		v.busy = false
		b.mu.Unlock()
	}()
	if err := b.at(ctx, string(job.Kind), h.TopicID); err != nil {
		return nil, err
	}
	out, sister, err := b.work(ctx, job)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckOutput(&job, out); err != nil {
		return nil, fault(wire.CodeWrongOutput, "%v", err)
	}
	if err := wire.BindEvidence(&job, out, sister); err != nil {
		return nil, fault(wire.CodeEvidenceMismatch, "%v", err)
	}
	wire.Stamp(out, sister)
	resp := new(wire.JobResponse)
	if err := crossed(wire.JobResponse{TopicID: h.TopicID, VMID: h.VMID, Output: *out, Sister: sister}, resp); err != nil {
		return nil, fault(wire.CodeBackend, "%v", err)
	}
	return resp, nil
}

func crossed(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

func (b *Boundary) hold(h wire.Handle, job wire.Job) (*vm, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.vms[h.TopicID]
	switch {
	case v == nil || v.record.Handle != h:
		return nil, fault(wire.CodeNotFound, "no such VM")
	case v.busy:
		return nil, fault(wire.CodeBusy, "another job holds the VM")
	}
	v.busy = true
	b.jobs = append(b.jobs, job)
	return v, nil
}

func (b *Boundary) script(job wire.Job) Script {
	if job.Kind == wire.Baseline {
		return b.Baseline
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := job.Request(); r != nil {
		if s, ok := b.scripts[r.ArtifactDigest]; ok {
			return s
		}
	}
	return b.Default
}

func (b *Boundary) work(ctx context.Context, job wire.Job) (*wire.Output, *wire.Attestation, error) {
	s := b.script(job)
	if s.Delay > 0 {
		select {
		case <-ctx.Done():
			return nil, nil, fault(wire.CodeBackend, "cancelled")
		case <-time.After(s.Delay):
		}
	}
	switch job.Kind {
	case wire.ProposeRules:
		out, err := b.propose(job)
		return out, nil, err
	case wire.Inspect:
		out, err := s.inspect(job)
		return out, nil, err
	case wire.Baseline, wire.Evaluate:
		return b.paid(job, s)
	}
	return &wire.Output{Kind: wire.ArchivedOutput}, nil, nil
}

func (b *Boundary) propose(job wire.Job) (*wire.Output, error) {
	rules := b.Rules
	if rules == nil {
		d, err := topic.ParseJSON(job.Topic)
		if err != nil {
			return nil, fault(wire.CodeBackend, "%v", err)
		}
		for _, c := range d.Checklist {
			rules = append(rules, wire.Rule{ID: c.ID, Text: c.Text})
		}
	}
	return &wire.Output{Kind: wire.RulesOutput, Rules: rules}, nil
}

func (s *Script) inspect(job wire.Job) (*wire.Output, error) {
	if s.InspectErr != nil {
		return nil, s.InspectErr
	}
	r := job.Request()
	c := &wire.Checklist{
		SchemaVersion: 1, TopicID: r.TopicID, RulesVersion: r.RulesVersion, RulesDigest: r.RulesDigest,
		SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest,
	}
	for _, rule := range job.Rules.Rules {
		c.Items = append(c.Items, wire.ChecklistItem{ID: rule.ID, Pass: !slices.Contains(s.Red, rule.ID), Evidence: "recipe.go:1 read for " + rule.ID})
	}
	out := &wire.Output{Kind: wire.InspectedOutput, Checklist: c, Artifact: s.Files}
	if out.Artifact == nil {
		out.Artifact = []wire.File{{Path: "recipe.go", Bytes: []byte("package main // " + r.ArtifactDigest + "\n")}}
	}
	if s.Inspected != nil {
		s.Inspected(out)
	}
	return out, nil
}

func (b *Boundary) paid(job wire.Job, s Script) (*wire.Output, *wire.Attestation, error) {
	if s.EvaluateErr != nil {
		return nil, nil, s.EvaluateErr
	}
	r := job.Request()
	flops := max(s.Flops, 1)
	report := &wire.RunReport{
		SchemaVersion: 1, TopicID: r.TopicID, CustomID: r.CustomID, SubmissionDigest: r.SubmissionDigest,
		ArtifactDigest: r.ArtifactDigest, RulesVersion: r.RulesVersion, PrimaryValue: s.Primary, ClaimHolds: s.Claim,
		Evidence: jsontext.Value(`{"harness":"scripted"}`), Failure: s.Failure,
	}
	out := &wire.Output{Kind: wire.BaselineOutput, Report: report}
	if job.Kind == wire.Evaluate {
		out.Kind, out.Logs = wire.EvaluatedOutput, []wire.Log{{Name: "stdout.log", Bytes: []byte("ran\n")}}
	}
	if s.NoSister {
		return out, nil, nil
	}
	b.mu.Lock()
	b.sisters++
	n := b.sisters
	b.mu.Unlock()
	exit := int32(0)
	sister := &wire.Attestation{
		SisterVMID: fmt.Sprintf("%s-s%d", r.TopicID, n), ImageDigest: SisterImage, TopicID: r.TopicID,
		SubmissionDigest: r.SubmissionDigest, ArtifactDigest: r.ArtifactDigest,
		Sandboxed: strings.HasPrefix(b.hypervisor(), "firecracker"), Network: "none",
		FlopsUsed: &flops, WallMS: 12, ExitCode: &exit, Driver: b.hypervisor(), Standin: b.Standin,
	}
	if s.Unmeasured {
		sister.FlopsUsed, sister.ExitCode = nil, nil
	}
	if s.Evaluated != nil {
		s.Evaluated(out, sister)
	}
	return out, sister, nil
}

// Digest returns an artefact digest that reads as the number n.
func Digest(n byte) string { return hex.EncodeToString(slices.Repeat([]byte{n}, 32)) }
