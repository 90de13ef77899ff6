package agentd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// outcome is what a VM's Run returned.
type outcome struct {
	output wire.Output
	sister *wire.Attestation
	err    error
}

// Run does one job on a VM and stamps its report (R§22). It ends when the context
// does. Errors are *wire.Error: not_found, topic_mismatch, busy, backend,
// wrong_output, evidence_mismatch.
func (a *Agent) Run(ctx context.Context, vmID string, request *wire.JobRequest) (*wire.JobResponse, error) {
	job := &request.Job
	a.mu.Lock()
	e := a.vms[vmID]
	if refusal := a.admit(e, request); refusal != nil {
		a.mu.Unlock()
		return nil, refusal
	}
	e.busy = true
	a.work.Add(1)
	a.mu.Unlock()
	if !e.vm.Alive() {
		a.settle(ctx, e)
		a.work.Done()
		return nil, fault(wire.CodeNotFound, errors.New("the VM is not running: its process is gone"))
	}
	got := a.drive(ctx, e, *job)
	if got.err != nil {
		return nil, fault(wire.CodeBackend, got.err)
	}
	if err := wire.CheckOutput(job, &got.output); err != nil {
		return nil, fault(wire.CodeWrongOutput, err)
	}
	if err := wire.BindEvidence(job, &got.output, got.sister); err != nil {
		return nil, fault(wire.CodeEvidenceMismatch, err)
	}
	if err := attested(got.sister); err != nil {
		return nil, fault(wire.CodeEvidenceMismatch, err)
	}
	wire.Stamp(&got.output, got.sister)
	return &wire.JobResponse{TopicID: request.TopicID, VMID: vmID, Output: got.output, Sister: got.sister}, nil
}

// admit is the order of R§22 up to the lock of the VM. The caller holds a.mu.
func (a *Agent) admit(e *entry, request *wire.JobRequest) error {
	switch {
	case a.closed:
		return fault(wire.CodeBackend, errClosing)
	case e == nil:
		return fault(wire.CodeNotFound, errors.New("no such VM"))
	case e.record.State != wire.Running:
		return fault(wire.CodeNotFound, fmt.Errorf("the VM is not running: it is %s", e.record.State))
	case request.TopicID != e.record.Handle.TopicID:
		return fault(wire.CodeTopicMismatch, errors.New("the VM is of another topic than the request names"))
	case request.Job.TopicOf() != e.record.Handle.TopicID:
		return fault(wire.CodeTopicMismatch, errors.New("the VM is of another topic than the job names"))
	case request.Job.Coherent() != nil:
		return fault(wire.CodeBadSpec, request.Job.Coherent())
	case e.busy:
		return fault(wire.CodeBusy, errors.New("another job or a teardown holds the VM"))
	}
	return nil
}

// drive runs the job until it ends, its time is over, its caller left or the
// agent closes. A VM that does not stop in time is given up: released at once, as
// nothing else would end its job.
func (a *Agent) drive(ctx context.Context, e *entry, job wire.Job) outcome {
	limit, words := a.limit(&job)
	ctx, done := a.until(ctx, limit)
	defer done()
	ran := make(chan outcome, 1)
	go func() {
		defer a.work.Done()
		got := guarded(func() (o outcome) {
			o.output, o.sister, o.err = e.vm.Run(ctx, job)
			return o
		})
		a.settle(ctx, e)
		ran <- got
	}()
	var got outcome
	select {
	case got = <-ran:
	case <-ctx.Done():
		wait := time.NewTimer(a.o.StopWait)
		defer wait.Stop()
		select {
		case got = <-ran:
		case <-wait.C:
			a.crash(e)
			return outcome{err: errors.Join(fmt.Errorf("job %s did not stop when it had to; its VM was given up", job.Kind), a.release(ctx, e, e.record.Retain))}
		}
	}
	if a.logged(got.err) == nil || ctx.Err() == nil {
		return got
	}
	if errors.Is(context.Cause(ctx), errDeadline) {
		return outcome{err: fmt.Errorf("job %s was cut at its deadline: %s", job.Kind, words)}
	}
	return outcome{err: a.ended(ctx, "job "+string(job.Kind))}
}

// limit is how long a job may take, and that in words. The deadline of a request
// is that of its run: only a job that runs something is held to it.
func (a *Agent) limit(job *wire.Job) (time.Duration, string) {
	request := job.Request()
	if !job.Paid() || request == nil || request.Sandbox.DeadlineS == 0 {
		return a.o.JobTimeout, a.o.JobTimeout.String()
	}
	// The bound keeps the sum in range; no deadline of a day is real.
	seconds := min(request.Sandbox.DeadlineS, 24*60*60)
	return time.Duration(seconds)*time.Second + a.o.Grace, fmt.Sprintf("deadline_s %d and %s of grace", seconds, a.o.Grace)
}

// attested refuses evidence that says more than its driver can know (design
// decision 13): only Firecracker is the sandbox of the specification, or what
// calls itself a stand-in for it.
func attested(s *wire.Attestation) error {
	switch {
	case s == nil:
		return nil
	case s.Driver == "" || s.Class == "":
		return errors.New("sister evidence names no driver or no class of isolation")
	case s.Network != "none":
		return fmt.Errorf("sister evidence says network %q; a sister has none", s.Network)
	case s.Sandboxed && s.Driver != "firecracker" && !s.Standin:
		return fmt.Errorf("sister evidence of driver %q says sandboxed; only firecracker may", s.Driver)
	}
	return nil
}

// settle ends a job's hold on its VM, and reaps the VM if its process is gone.
func (a *Agent) settle(ctx context.Context, e *entry) {
	if !e.vm.Alive() {
		a.crash(e)
		a.releaseCrashed(ctx, e)
	}
	a.mu.Lock()
	e.busy = false
	a.mu.Unlock()
}
