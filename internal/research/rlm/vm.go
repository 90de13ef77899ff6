package rlm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// errUnconfirmed says that a guest may still run. It is the integrity error of a run
// (decision 20): what is not known to have ended has no receipt.
var errUnconfirmed = errors.New("the topic VM's teardown was not confirmed")

// vm returns the topic's VM (decision 15). A running one is kept only when the caller
// reuses VMs and it is of the image and sandbox that the topic asks for now;
// otherwise it is torn down first, as a topic has at most one.
func (e *Engine) vm(ctx context.Context, d *topic.Document, reuse bool) (wire.Handle, error) {
	box := sandboxOf(d, e.o.Pin.MaxProofDeadlineSCeiling)
	record, err := e.o.Boundary.Attach(ctx, d.ID)
	if err != nil {
		return wire.Handle{}, err
	}
	if record != nil {
		if reuse && record.ImageDigest == e.o.Template.ImageDigest && record.Sandbox == box {
			return record.Handle, nil
		}
		if err := e.teardown(ctx, record.Handle); err != nil {
			return wire.Handle{}, err
		}
	}
	record, err = e.o.Boundary.Create(ctx, wire.Spec{TopicID: d.ID, Template: e.o.Template, Sandbox: box, Retain: e.o.Retain})
	if err != nil {
		return wire.Handle{}, err
	}
	return record.Handle, nil
}

// teardown ends a VM. One that is busy still holds a job whose caller went away; the
// agent needs a moment to notice.
func (e *Engine) teardown(ctx context.Context, vm wire.Handle) error {
	ctx, done := context.WithTimeout(ctx, cleanup)
	defer done()
	poll := time.NewTicker(e.o.LeasePoll)
	defer poll.Stop()
	for {
		confirmed, err := e.o.Boundary.Teardown(ctx, vm, e.o.Retain)
		if err == nil && !confirmed {
			return errUnconfirmed
		}
		fault, ok := errors.AsType[*wire.Error](err)
		switch {
		case err == nil, ok && fault.Code == wire.CodeNotFound: // it ended by itself
			return nil
		case !ok || fault.Code != wire.CodeBusy:
			return fmt.Errorf("%w: %w", errUnconfirmed, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errUnconfirmed, err)
		case <-poll.C:
		}
	}
}

// discard ends the VM of a run that came to nothing, whether or not its context has
// ended. What it cannot end, the next run of the topic meets again.
func (e *Engine) discard(ctx context.Context, vm wire.Handle) {
	patience := cleanup
	if ctx.Err() != nil { // the process may be on its way out
		patience = farewell
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer done()
	if err := e.teardown(ctx, vm); err != nil {
		e.o.Log.Warn("topic VM left behind", "topic", vm.TopicID, "vm", vm.VMID, "error", err)
	}
}

// job runs a job and believes its output only as far as the host's attestation goes:
// the checks and stamps of the agent and its client are made a third time here,
// because this is where they turn into a row.
func (e *Engine) job(ctx context.Context, vm wire.Handle, job wire.Job) (*wire.JobResponse, error) {
	if err := job.Coherent(); err != nil {
		return nil, err
	}
	out, err := e.o.Boundary.Run(ctx, vm, job)
	if err != nil {
		return nil, err
	}
	if out.TopicID != vm.TopicID || out.VMID != vm.VMID {
		return nil, fmt.Errorf("topic-vm answered for %q of %q, asked was %q of %q", short(out.VMID), short(out.TopicID), vm.VMID, vm.TopicID)
	}
	if err := wire.CheckOutput(&job, &out.Output); err != nil {
		return nil, err
	}
	if err := wire.BindEvidence(&job, &out.Output, out.Sister); err != nil {
		return nil, err
	}
	wire.Stamp(&out.Output, out.Sister)
	return out, nil
}

// paid runs a paid job and returns its report, bound to the request, and the
// attestation behind it, which no row and no measurement is without.
func (e *Engine) paid(ctx context.Context, vm wire.Handle, job wire.Job) (*wire.JobResponse, error) {
	out, err := e.job(ctx, vm, job)
	switch {
	case err != nil:
		return nil, err
	case out.Sister == nil:
		return nil, unbound("the run came back without the host's sister attestation")
	case out.Sister.Standin && !e.o.AllowStandin:
		return nil, unbound("the run was made by a stand-in of the sandbox")
	case e.production.Load() && out.Sister.Standin:
		return nil, unbound("the run was made by a stand-in of the sandbox; a production host takes none")
	case e.production.Load() && (!IsFirecracker(out.Sister.Driver) || !out.Sister.Sandboxed):
		return nil, unbound("the attestation names the driver %q, sandboxed %t; a production host takes Firecracker's alone", short(out.Sister.Driver), out.Sister.Sandboxed)
	case out.Sister.Sandboxed && !out.Sister.Standin && !IsFirecracker(out.Sister.Driver):
		return nil, unbound("the attestation says sandboxed for the driver %q; only Firecracker is that", short(out.Sister.Driver))
	}
	return out, BindReport(job.Request(), out.Output.Report)
}

// IsFirecracker reports whether a driver may attest a sandbox (decision 13): its first
// word says so, a version may follow. An agent that names no driver has only that one.
func IsFirecracker(driver string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(driver)), " ")
	return first == "" || first == "firecracker"
}

func inspectJob(r *wire.RunRequest, rules topic.RuleSet) wire.Job {
	set := ToWire(rules)
	return wire.Job{Kind: wire.Inspect, RunRequest: r, Rules: &set}
}

func evaluateJob(r *wire.RunRequest, checklist string, rulesVersion uint32) wire.Job {
	return wire.Job{Kind: wire.Evaluate, RunRequest: r, ChecklistDigest: checklist, RulesVersion: rulesVersion}
}

func baselineJob(r *wire.RunRequest) wire.Job { return wire.Job{Kind: wire.Baseline, RunRequest: r} }

// proposeJob asks for rules; current is the newest version, nil for none.
func proposeJob(d *topic.Document, current *topic.RuleSet) (wire.Job, error) {
	text, err := d.JSON()
	if err != nil {
		return wire.Job{}, fmt.Errorf("topic document: %w", err)
	}
	job := wire.Job{Kind: wire.ProposeRules, Topic: text}
	if current != nil {
		job.CurrentVersion = &current.Version
	}
	return job, nil
}
