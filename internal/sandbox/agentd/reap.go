package agentd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// sweep reaps every VM whose process is gone, and tries again to release those
// whose release failed.
func (a *Agent) sweep(ctx context.Context) {
	for _, e := range a.all() {
		a.mu.Lock()
		over := e.released
		a.mu.Unlock()
		if !over {
			a.reap(ctx, e)
		}
	}
}

// reap reports whether a VM is gone. One that is gone is recorded as crashed and
// released by its policy; if a job holds it, the job's end does that.
func (a *Agent) reap(ctx context.Context, e *entry) bool {
	if e.vm.Alive() {
		return false
	}
	a.mu.Lock()
	if e.busy || e.released {
		held := e.busy
		a.mu.Unlock()
		if held {
			a.crash(e)
		}
		return true
	}
	e.busy = true
	a.mu.Unlock()
	a.crash(e)
	a.releaseCrashed(ctx, e)
	a.mu.Lock()
	e.busy = false
	a.mu.Unlock()
	return true
}

// crash records a running VM as crashed.
func (a *Agent) crash(e *entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.record.State == wire.Running {
		e.record.State = wire.Crashed
		a.o.Log.Warn("a VM is gone", "topic", e.record.Handle.TopicID, "vm", e.record.Handle.VMID)
	}
}

func (a *Agent) releaseCrashed(ctx context.Context, e *entry) {
	if err := a.release(ctx, e, e.record.Retain); err != nil {
		a.o.Log.Error("a VM that is gone could not be released; health tries again", "vm", e.record.Handle.VMID, "error", err)
	}
}

// release ends a VM once. The caller's leaving does not interrupt it: half a
// release is a leak.
func (a *Agent) release(ctx context.Context, e *entry, policy wire.Retain) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.o.StopWait)
	defer cancel()
	e.releasing.Lock()
	defer e.releasing.Unlock()
	a.mu.Lock()
	over := e.released
	a.mu.Unlock()
	if over {
		return nil
	}
	err := a.logged(guarded(func() outcome { return outcome{err: e.vm.Release(ctx, policy)} }).err)
	if err == nil {
		a.mu.Lock()
		e.released = true
		a.mu.Unlock()
	}
	return err
}

// boot calls the hypervisor; a panic there is its failure, not the agent's end.
func (a *Agent) boot(ctx context.Context, spec wire.Spec, id string) (vm VM, err error) {
	got := guarded(func() (o outcome) {
		vm, o.err = a.o.Hypervisor.Boot(ctx, spec, id)
		return o
	})
	if got.err == nil && vm == nil {
		return nil, errors.New("the hypervisor booted nothing and named no reason")
	}
	return vm, a.logged(got.err)
}

// guarded turns a panic of a driver into an error, so that one VM cannot end the
// others.
func guarded(call func() outcome) (got outcome) {
	defer func() {
		if v := recover(); v != nil {
			got = outcome{err: &panicError{value: v, stack: debug.Stack()}}
		}
	}()
	return call()
}

// panicError keeps the stack for the log; its text is shown to the caller.
type panicError struct {
	value any
	stack []byte
}

func (*panicError) Error() string {
	return "the driver failed in a way that it does not handle; the agent's log has the place"
}

// logged writes the place of a panic to the log and returns err as it is.
func (a *Agent) logged(err error) error {
	var p *panicError
	if errors.As(err, &p) {
		a.o.Log.Error("a driver panicked", "panic", fmt.Sprint(p.value), "stack", string(p.stack))
	}
	return err
}

// until bounds ctx by a time and by the agent's life; the cause says which.
func (a *Agent) until(ctx context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, timeout := context.WithTimeoutCause(ctx, limit, errDeadline)
	stop := context.AfterFunc(a.closing, func() { cancel(errClosing) })
	return ctx, func() {
		stop()
		timeout()
		cancel(nil)
	}
}

// ended says why ctx is over.
func (a *Agent) ended(ctx context.Context, what string) *wire.Error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errClosing):
		return fault(wire.CodeBackend, fmt.Errorf("%s cancelled: %w", what, errClosing))
	case errors.Is(cause, errDeadline):
		return fault(wire.CodeBackend, fmt.Errorf("%s: its time is over", what))
	default:
		return fault(wire.CodeBackend, fmt.Errorf("%s cancelled: the caller left", what))
	}
}

// fault is err as an answer: as it is when a driver chose the code, else with
// the code given.
func fault(code wire.Code, err error) *wire.Error {
	var chosen *wire.Error
	if errors.As(err, &chosen) {
		return chosen
	}
	return &wire.Error{Code: code, Text: err.Error()}
}
