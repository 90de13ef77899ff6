package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// longest bounds the deadline of a job, so that no topic's figure overflows.
const longest = 30 * 24 * time.Hour

// faultf refuses an answer in words that may hold some of it, so the token is
// looked for in them.
func (c *Client) faultf(format string, args ...any) *Fault {
	token, _ := c.token() // the one just sent, unless it was rotated meanwhile
	return &Fault{Text: safe(fmt.Sprintf(format, args...), token)}
}

// Probe asks the agent how it is. An agent that is not ready is no error; one of
// another API version is.
func (c *Client) Probe(ctx context.Context) (*wire.Health, error) {
	var h wire.Health
	k := call{what: "health", method: http.MethodGet, path: wire.HealthPath, status: http.StatusOK, limit: maxSmall, timeout: c.o.Timeouts.Other}
	if err := c.do(ctx, k, &h); err != nil {
		return nil, err
	}
	if err := wire.CheckAPIVersion(h.APIVersion); err != nil {
		return nil, c.faultf("orchestrator: %v", err)
	}
	token, _ := c.token()
	h.Reason, h.Hypervisor = safe(h.Reason, token), safe(h.Hypervisor, token)
	return &h, nil
}

// Create boots a topic's VM from the pinned image. A record that is not of the
// asked topic, image, shape, sandbox and policy, or is not running, is refused;
// the VM then still is, and Attach finds it.
func (c *Client) Create(ctx context.Context, spec wire.Spec) (*wire.Record, error) {
	if err := c.pinned(); err != nil {
		return nil, c.faultf("topic-vm orchestrator not ready: %v", err)
	}
	if err := spec.Validate(); err != nil {
		return nil, c.faultf("%v", err)
	}
	if spec.Template.ImageDigest != c.o.ImageDigest {
		return nil, c.faultf("topic-vm spec: image_digest is %s, %s pins %s", spec.Template.ImageDigest, DigestVariable, c.o.ImageDigest)
	}
	var r wire.Record
	k := call{what: "create", method: http.MethodPost, path: wire.CreatePath, body: wire.CreateRequest{Spec: spec}, status: http.StatusCreated, limit: maxSmall, timeout: c.o.Timeouts.Create}
	if err := c.do(ctx, k, &r); err != nil {
		return nil, err
	}
	if err := c.checkRecord(&r, spec.TopicID); err != nil {
		return nil, err
	}
	switch {
	case r.ImageDigest != c.o.ImageDigest:
		return nil, c.faultf("orchestrator created a VM of image %s, %s pins %s", quoted(r.ImageDigest), DigestVariable, c.o.ImageDigest)
	case r.VCPUs != spec.Template.VCPUs || r.MemMiB != spec.Template.MemMiB:
		return nil, c.faultf("orchestrator created a VM of %d vcpus and %d MiB, asked were %d and %d", r.VCPUs, r.MemMiB, spec.Template.VCPUs, spec.Template.MemMiB)
	case r.Sandbox != spec.Sandbox:
		return nil, c.faultf("orchestrator created a VM of another sandbox than was asked")
	case r.Retain != spec.Retain.Policy():
		return nil, c.faultf("orchestrator created a VM with policy %s, asked was %s", r.Retain, spec.Retain.Policy())
	}
	return &r, nil
}

// checkRecord refuses a record that names no running VM of the topic.
func (c *Client) checkRecord(r *wire.Record, topicID string) error {
	switch {
	case r.Handle.TopicID != topicID:
		return c.faultf("orchestrator answered for topic %s, asked was %q", quoted(r.Handle.TopicID), topicID)
	case !wire.VMID(r.Handle.VMID):
		return c.faultf("orchestrator gave a VM the id %s, which is none", quoted(r.Handle.VMID))
	case r.State != wire.Running:
		return c.faultf("orchestrator answered with a VM that is %s, not running", r.State)
	}
	return nil
}

// Attach returns the running VM of a topic, and nil when it has none. It may be
// of another image or shape than is pinned now: the caller compares, and tears it
// down before it asks for a new one.
func (c *Client) Attach(ctx context.Context, topicID string) (*wire.Record, error) {
	if !wire.TopicID(topicID) {
		return nil, c.faultf("%s is no topic id", quoted(topicID))
	}
	var r wire.Record
	k := call{what: "attach", method: http.MethodGet, path: wire.AttachPath(topicID), status: http.StatusOK, limit: maxSmall, timeout: c.o.Timeouts.Other}
	if err := c.do(ctx, k, &r); err != nil {
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Code == wire.CodeNotFound || errors.Is(err, errBare404) {
			return nil, nil //nolint:nilerr // no VM is an answer (R§21.2: 404 on attach is none)
		}
		return nil, err
	}
	if err := c.checkRecord(&r, topicID); err != nil {
		return nil, err
	}
	return &r, nil
}

// Run gives a VM a job and waits for its output: for a paid job its own deadline
// and a minute, for any other an hour. When the context ends, so does the request,
// by which the agent learns that nobody waits.
//
// The output that comes back is of the job's kind, about the job, and stamped as
// the host attests.
func (c *Client) Run(ctx context.Context, vm wire.Handle, job wire.Job) (*wire.JobResponse, error) {
	if err := c.checkHandle(vm); err != nil {
		return nil, err
	}
	if topicID := job.TopicOf(); topicID != vm.TopicID {
		return nil, c.faultf("job %s is for topic %s, the VM belongs to %q", job.Kind, quoted(topicID), vm.TopicID)
	}
	if err := job.Coherent(); err != nil {
		return nil, c.faultf("%v", err)
	}
	var r wire.JobResponse
	k := call{what: "job " + string(job.Kind), method: http.MethodPost, path: wire.RunPath(vm.VMID), body: wire.JobRequest{TopicID: vm.TopicID, Job: job}, status: http.StatusOK, limit: wire.MaxFrame, timeout: c.patience(&job)}
	if err := c.do(ctx, k, &r); err != nil {
		return nil, err
	}
	if r.TopicID != vm.TopicID || r.VMID != vm.VMID {
		return nil, c.faultf("orchestrator answered for VM %s of topic %s, asked was %q of %q", quoted(r.VMID), quoted(r.TopicID), vm.VMID, vm.TopicID)
	}
	if err := wire.CheckOutput(&job, &r.Output); err != nil {
		return nil, c.faultf("%v", err)
	}
	if err := wire.BindEvidence(&job, &r.Output, r.Sister); err != nil {
		return nil, c.faultf("%v", err)
	}
	if job.Paid() {
		if err := c.attested(job.Request(), r.Output.Report, r.Sister); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// patience is how long a job may take.
func (c *Client) patience(job *wire.Job) time.Duration {
	if !job.Paid() || job.RunRequest.Sandbox.DeadlineS == 0 {
		return c.o.Timeouts.Job
	}
	deadline := min(job.RunRequest.Sandbox.DeadlineS, uint64(longest/time.Second))
	return time.Duration(deadline)*time.Second + c.o.Timeouts.Grace
}

// attested holds what a report says of its sandbox and usage against the host's
// evidence. Without evidence a report may say neither.
func (c *Client) attested(request *wire.RunRequest, report *wire.RunReport, sister *wire.Attestation) error {
	if sister == nil {
		switch {
		case request.Sandbox.FirecrackerRequired:
			return c.faultf("firecracker_required run came back without the host attestation of its sister guest")
		case report.Sandboxed:
			return c.faultf("run report says sandboxed without a host attestation")
		case report.FlopsUsed != nil:
			return c.faultf("run report has flops_used without a host attestation")
		}
		return nil
	}
	switch {
	case sister.Standin && !c.o.AllowStandin:
		return c.faultf("the host attestation is a stand-in's, which only tests accept")
	case sister.Sandboxed && !sister.Standin && sister.Driver != "" && sister.Driver != "firecracker":
		return c.faultf("the host attestation says sandboxed of driver %s; only firecracker is", quoted(sister.Driver))
	case sister.Sandboxed && sister.Network != "none":
		return c.faultf("the host attestation says sandboxed with network %s; only none is", quoted(sister.Network))
	case !wire.VMID(sister.SisterVMID):
		return c.faultf("the host attestation names no sister guest")
	case report.Sandboxed != sister.Sandboxed:
		return c.faultf("run report says sandboxed %v, the host attestation %v", report.Sandboxed, sister.Sandboxed)
	case !same(report.FlopsUsed, sister.FlopsUsed):
		return c.faultf("run report has another flops_used than the host attestation")
	case request.Sandbox.FirecrackerRequired && !sister.Sandboxed:
		return c.faultf("run report says miner code ran outside the Firecracker guest")
	}
	return nil
}

func same(a, b *uint64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// Teardown ends a VM and reports whether the agent confirmed it.
func (c *Client) Teardown(ctx context.Context, vm wire.Handle, retain wire.Retain) (bool, error) {
	if err := c.checkHandle(vm); err != nil {
		return false, err
	}
	var r wire.TeardownResponse
	k := call{what: "teardown", method: http.MethodDelete, path: wire.TeardownPath(vm.VMID), body: wire.TeardownRequest{TopicID: vm.TopicID, Policy: retain.Policy()}, status: http.StatusOK, limit: maxSmall, timeout: c.o.Timeouts.Other}
	if err := c.do(ctx, k, &r); err != nil {
		return false, err
	}
	if r.TopicID != vm.TopicID || r.VMID != vm.VMID {
		return false, c.faultf("orchestrator answered for VM %s of topic %s, asked was %q of %q", quoted(r.VMID), quoted(r.TopicID), vm.VMID, vm.TopicID)
	}
	if r.Confirmed && r.State == wire.Running {
		return false, c.faultf("orchestrator confirms the end of a VM that it says is running")
	}
	return r.Confirmed, nil
}

func (c *Client) checkHandle(vm wire.Handle) error {
	if !wire.TopicID(vm.TopicID) || !wire.VMID(vm.VMID) {
		return c.faultf("%s of topic %s is no VM", quoted(vm.VMID), quoted(vm.TopicID))
	}
	return nil
}
