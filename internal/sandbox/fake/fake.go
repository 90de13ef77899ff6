package fake

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/agentd"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// Label is the name of this hypervisor wherever one is shown.
const Label = "fake (nothing is isolated, figures are the artefact's own)"

// Driver and class of its attestations.
const (
	driver = "fake"
	class  = "none"
)

// maxSister is the length of the longest sister id (R§23.2).
const maxSister = 64

// Options are what New takes.
type Options struct {
	// BaselineValue is the primary value, and BaselineFlops the measured
	// operations, of every baseline.
	BaselineValue float64
	BaselineFlops uint64
	// Egress are the private addresses that artefacts may be fetched from.
	Egress Egress
	// Now is the clock of wall times; nil is the machine's.
	Now func() time.Time
}

// Hypervisor boots VMs that are nothing but a record. It is an
// agentd.Hypervisor.
type Hypervisor struct {
	o     Options
	fetch *fetcher
}

var _ agentd.Hypervisor = (*Hypervisor)(nil)

// New makes one. It refuses a baseline value that no report can carry.
func New(o Options) (*Hypervisor, error) {
	if math.IsNaN(o.BaselineValue) || math.IsInf(o.BaselineValue, 0) {
		return nil, fmt.Errorf("baseline value %v: want a finite number", o.BaselineValue)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hypervisor{o: o, fetch: newFetcher(o.Egress)}, nil
}

// Name is Label.
func (*Hypervisor) Name() string { return Label }

// Ready is always nil: there is nothing that could be missing.
func (*Hypervisor) Ready(context.Context) error { return nil }

var errFirecracker = &wire.Error{
	Code: wire.CodeNotReady,
	Text: "firecracker_required: this agent is fake and isolates nothing; such a topic needs the firecracker driver",
}

// Boot makes the record of a VM. A topic that asks for Firecracker is not_ready.
func (h *Hypervisor) Boot(ctx context.Context, spec wire.Spec, vmID string) (agentd.VM, error) {
	if spec.Sandbox.FirecrackerRequired {
		return nil, errFirecracker
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	over, end := context.WithCancelCause(context.Background())
	return &vm{h: h, id: vmID, image: spec.Template.ImageDigest, over: over, end: end}, nil
}

// vm is a record that remembers the artefact it inspected last.
type vm struct {
	h     *Hypervisor
	id    string
	image string
	over  context.Context // The VM's life.
	end   context.CancelCauseFunc

	mu      sync.Mutex
	sisters uint64
	kept    *inspected
}

// inspected is the tree of an artefact whose digest was checked.
type inspected struct {
	submission, artifact string
	files                []wire.File
}

var errReleased = errors.New("the VM was released")

// Alive reports whether the VM was not released.
func (v *vm) Alive() bool { return v.over.Err() == nil }

// Release ends the VM; there is nothing to keep.
func (v *vm) Release(context.Context, wire.Retain) error {
	v.end(errReleased)
	return nil
}

// Run does one job (R§21.1).
func (v *vm) Run(ctx context.Context, job wire.Job) (wire.Output, *wire.Attestation, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(v.over, func() { cancel(errReleased) })()
	if r := job.Request(); r != nil && r.Sandbox.FirecrackerRequired {
		return wire.Output{}, nil, errFirecracker
	}
	switch job.Kind {
	case wire.ProposeRules:
		rules, err := proposeRules(job.Topic)
		return wire.Output{Kind: wire.RulesOutput, Rules: rules}, nil, failed(err)
	case wire.Baseline:
		return v.baseline(job.Request())
	case wire.Inspect:
		output, err := v.inspect(ctx, job.Request(), job.Rules)
		return output, nil, failed(err)
	case wire.Evaluate:
		return v.evaluate(ctx, job.Request())
	case wire.Archive:
		return wire.Output{Kind: wire.ArchivedOutput}, nil, nil
	}
	return wire.Output{}, nil, failed(fmt.Errorf("the fake agent knows no job %q", job.Kind))
}

// failed is an error in the words of a guest that answers failed (R§23.2).
func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("guest failed: %w", err)
}

func (v *vm) baseline(request *wire.RunRequest) (wire.Output, *wire.Attestation, error) {
	value := v.h.o.BaselineValue
	// Like a measured one, a baseline never takes more than the topic's budget.
	flops := min(v.h.o.BaselineFlops, request.FlopsBudget)
	sister := v.attest(request)
	exit := int32(0)
	sister.FlopsUsed, sister.ExitCode = &flops, &exit
	report := reportOf(request)
	report.PrimaryValue, report.ClaimHolds = &value, true
	return wire.Output{Kind: wire.BaselineOutput, Report: report}, sister, nil
}

func (v *vm) inspect(ctx context.Context, request *wire.RunRequest, rules *wire.RuleSet) (wire.Output, error) {
	got, err := v.artefact(ctx, request)
	if err != nil {
		return wire.Output{}, err
	}
	r, err := readRun(got.files)
	if err != nil {
		return wire.Output{}, err
	}
	checklist, err := tick(request, rules, r)
	if err != nil {
		return wire.Output{}, err
	}
	v.mu.Lock()
	v.kept = got
	v.mu.Unlock()
	return wire.Output{Kind: wire.InspectedOutput, Checklist: checklist, Artifact: got.files}, nil
}

// artefact returns the tree of a request: the one inspected last if it is the
// same, else it is fetched.
func (v *vm) artefact(ctx context.Context, request *wire.RunRequest) (*inspected, error) {
	v.mu.Lock()
	kept := v.kept
	v.mu.Unlock()
	if kept != nil && kept.submission == request.SubmissionDigest && kept.artifact == request.ArtifactDigest {
		return kept, nil
	}
	if request.ArtifactURI == nil {
		return nil, errors.New("the request has no artifact_uri")
	}
	archive, err := v.h.fetch.fetch(ctx, *request.ArtifactURI, request.ArtifactDigest)
	if err != nil {
		return nil, err
	}
	files, err := readArchive(archive)
	if err != nil {
		return nil, err
	}
	return &inspected{submission: request.SubmissionDigest, artifact: request.ArtifactDigest, files: files}, nil
}

// evaluate "runs" an artefact: it waits as long as the run takes and reports
// what the run file says. A run cut at its deadline measured nothing (R§23.2).
func (v *vm) evaluate(ctx context.Context, request *wire.RunRequest) (wire.Output, *wire.Attestation, error) {
	got, err := v.artefact(ctx, request)
	if err != nil {
		return wire.Output{}, nil, failed(err)
	}
	v.mu.Lock()
	v.kept = nil // An artefact is run once; up to 64 MiB are not kept for nothing.
	v.mu.Unlock()
	r, err := readRun(got.files)
	if err != nil {
		return wire.Output{}, nil, failed(err)
	}
	if request.Sandbox.DeadlineS == 0 {
		return wire.Output{}, nil, failed(errors.New("the request has no deadline"))
	}
	began := v.h.o.Now()
	deadline := time.Duration(min(request.Sandbox.DeadlineS, 24*60*60)) * time.Second
	timer := time.NewTimer(min(r.takes(), deadline))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return wire.Output{}, nil, fmt.Errorf("the run was cancelled: %w", context.Cause(ctx))
	}
	sister := v.attest(request)
	sister.WallMS = uint64(max(0, v.h.o.Now().Sub(began).Milliseconds()))
	report := reportOf(request)
	if r.takes() > deadline {
		report.Failure = fmt.Sprintf("cut at the deadline of %d s", request.Sandbox.DeadlineS)
	} else {
		sister.FlopsUsed, sister.ExitCode = r.FlopsUsed, &r.ExitCode
		if report.Failure = r.failure(); report.Failure == "" {
			report.PrimaryValue, report.ClaimHolds = r.PrimaryValue, r.ClaimHolds
		}
	}
	text := "fake agent: nothing of the artefact was run; the figures are those of its " + runFile + ".\n"
	if report.Failure != "" {
		text += report.Failure + "\n"
	}
	return wire.Output{Kind: wire.EvaluatedOutput, Report: report, Logs: []wire.Log{{Name: "fake.log", Bytes: []byte(text)}}}, sister, nil
}

// attest is the host's evidence of a run that never was one.
func (v *vm) attest(request *wire.RunRequest) *wire.Attestation {
	v.mu.Lock()
	v.sisters++
	suffix := fmt.Sprintf("-s%d", v.sisters)
	v.mu.Unlock()
	return &wire.Attestation{
		SisterVMID:       v.id[:min(len(v.id), maxSister-len(suffix))] + suffix,
		ImageDigest:      v.image,
		TopicID:          request.TopicID,
		SubmissionDigest: request.SubmissionDigest,
		ArtifactDigest:   request.ArtifactDigest,
		Network:          "none",
		Driver:           driver,
		Class:            class,
		FlopsMethod:      "fake",
	}
}

func reportOf(request *wire.RunRequest) *wire.RunReport {
	return &wire.RunReport{
		SchemaVersion:    1,
		TopicID:          request.TopicID,
		CustomID:         request.CustomID,
		SubmissionDigest: request.SubmissionDigest,
		ArtifactDigest:   request.ArtifactDigest,
		RulesVersion:     request.RulesVersion,
		Evidence:         jsontext.Value(`{"driver":"fake","note":"nothing was isolated and nothing was run; the figures are the artefact's own"}`),
	}
}
