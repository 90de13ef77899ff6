package agentd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// The times of R§21.2, 23.2 and 24.4, and how many ended VMs are remembered.
const (
	defaultJobTimeout  = time.Hour
	defaultBootTimeout = 10 * time.Minute
	defaultGrace       = 30 * time.Second
	defaultStopWait    = time.Minute
	maxEnded           = 1024
)

// Options are what New takes.
type Options struct {
	// Hypervisor runs the VMs.
	Hypervisor Hypervisor
	// TokenFile holds the bearer token, white space around it aside.
	TokenFile string
	// Log takes one line for each job, creation and teardown.
	Log *slog.Logger
	// Now is the clock of the log's durations; nil is the machine's.
	Now func() time.Time

	// JobTimeout bounds a job that names no deadline: 1 h when zero.
	JobTimeout time.Duration
	// Grace is what a job gets beyond its deadline: 30 s when zero.
	Grace time.Duration
	// BootTimeout bounds a boot: 10 min when zero, as long as a client waits.
	BootTimeout time.Duration
	// StopWait is how long a cancelled job has to stop, and a release to end, before
	// the VM is given up: 1 min when zero.
	StopWait time.Duration
}

// Agent holds the VMs of one machine. It is safe for concurrent use.
type Agent struct {
	o        Options
	creating chan struct{} // The one create lock; a channel, so that waiting ends with the caller.
	closing  context.Context
	close    context.CancelCauseFunc
	work     sync.WaitGroup // Jobs whose Run has not returned.

	mu      sync.Mutex
	closed  bool
	counter uint64
	vms     map[string]*entry
}

// entry is one VM. The members below mu's line are guarded by Agent.mu, but for
// record.Handle, which never changes.
type entry struct {
	vm        VM
	number    uint64     // The order of creation.
	releasing sync.Mutex // Held around vm.Release.

	record   wire.Record
	busy     bool // A job, teardown or release holds it.
	released bool
}

var (
	errClosing  = errors.New("the agent is shutting down")
	errDeadline = errors.New("the deadline passed")
)

// New makes an agent without VMs.
func New(o Options) (*Agent, error) {
	switch {
	case o.Hypervisor == nil:
		return nil, errors.New("agent: no hypervisor")
	case o.TokenFile == "":
		return nil, errors.New("agent: no token file; every route needs the bearer")
	case o.Log == nil:
		return nil, errors.New("agent: no log")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.JobTimeout = cmp.Or(o.JobTimeout, defaultJobTimeout)
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.BootTimeout = cmp.Or(o.BootTimeout, defaultBootTimeout)
	o.StopWait = cmp.Or(o.StopWait, defaultStopWait)
	closing, cancel := context.WithCancelCause(context.Background())
	return &Agent{o: o, creating: make(chan struct{}, 1), closing: closing, close: cancel, vms: make(map[string]*entry)}, nil
}

// Health sweeps dead VMs and says how the agent is.
func (a *Agent) Health(ctx context.Context) *wire.Health {
	a.sweep(ctx)
	h := &wire.Health{APIVersion: wire.APIVersion, Ready: true, Hypervisor: a.o.Hypervisor.Name()}
	err := a.o.Hypervisor.Ready(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		err = errClosing
	}
	if err != nil {
		h.Ready, h.Reason = false, fault(wire.CodeNotReady, err).Text
	}
	h.VMs = uint32(len(a.vms))
	return h
}

// Create boots the VM of a topic. Errors are *wire.Error: bad_spec, not_ready,
// already_exists, backend.
func (a *Agent) Create(ctx context.Context, spec wire.Spec) (*wire.Record, error) {
	if err := spec.Validate(); err != nil {
		return nil, fault(wire.CodeBadSpec, err)
	}
	ctx, done := a.until(ctx, a.o.BootTimeout)
	defer done()
	if err := a.o.Hypervisor.Ready(ctx); err != nil {
		return nil, fault(wire.CodeNotReady, err)
	}
	select {
	case a.creating <- struct{}{}:
		defer func() { <-a.creating }()
	case <-ctx.Done():
		return nil, a.ended(ctx, "create")
	}
	for _, e := range a.running(spec.TopicID) {
		if !a.reap(ctx, e) {
			return nil, fault(wire.CodeAlreadyExists, fmt.Errorf("topic %s has the live VM %s", spec.TopicID, e.record.Handle.VMID))
		}
	}
	if ctx.Err() != nil {
		return nil, a.ended(ctx, "create")
	}
	a.mu.Lock()
	a.counter++
	number := a.counter
	a.mu.Unlock()
	id := vmID(spec.TopicID, number)
	vm, err := a.boot(ctx, spec, id)
	if err != nil {
		if ctx.Err() != nil {
			return nil, a.ended(ctx, "create")
		}
		return nil, fault(wire.CodeBackend, err)
	}
	e := &entry{vm: vm, number: number, record: wire.Record{
		Handle:      wire.Handle{TopicID: spec.TopicID, VMID: id},
		ImageDigest: spec.Template.ImageDigest,
		VCPUs:       spec.Template.VCPUs,
		MemMiB:      spec.Template.MemMiB,
		Sandbox:     spec.Sandbox,
		Retain:      spec.Retain.Policy(),
		State:       wire.Running,
	}}
	record := e.record
	a.mu.Lock()
	closed := a.closed
	if !closed {
		a.vms[id] = e
		a.forget()
	}
	a.mu.Unlock()
	if closed {
		return nil, fault(wire.CodeNotReady, errors.Join(errClosing, a.release(ctx, e, wire.Destroy)))
	}
	return &record, nil
}

// Attach returns the running, alive VM of a topic; not_found when there is none.
func (a *Agent) Attach(ctx context.Context, topicID string) (*wire.Record, error) {
	for _, e := range a.running(topicID) {
		if !a.reap(ctx, e) {
			a.mu.Lock()
			record := e.record
			a.mu.Unlock()
			if record.State == wire.Running {
				return &record, nil
			}
		}
	}
	return nil, fault(wire.CodeNotFound, errors.New("the topic has no running VM"))
}

// Teardown ends a VM and destroys or keeps what it left. Errors are *wire.Error:
// not_found, topic_mismatch, busy, backend.
func (a *Agent) Teardown(ctx context.Context, vmID string, t *wire.TeardownRequest) (*wire.TeardownResponse, error) {
	a.mu.Lock()
	e := a.vms[vmID]
	switch {
	case e == nil:
		a.mu.Unlock()
		return nil, fault(wire.CodeNotFound, errors.New("no such VM"))
	case e.record.Handle.TopicID != t.TopicID:
		a.mu.Unlock()
		return nil, fault(wire.CodeTopicMismatch, errors.New("the VM is of another topic than the teardown names"))
	case e.released:
		answer := &wire.TeardownResponse{TopicID: t.TopicID, VMID: vmID, State: e.record.State, Confirmed: true}
		a.mu.Unlock()
		return answer, nil
	case e.busy:
		a.mu.Unlock()
		return nil, fault(wire.CodeBusy, errors.New("a job or another teardown holds the VM"))
	}
	e.busy = true
	policy, crashed := t.Policy.Policy(), e.record.State == wire.Crashed
	if crashed {
		policy = e.record.Retain // Its release failed before; this is another attempt at the same.
	}
	a.mu.Unlock()

	err := a.release(ctx, e, policy)
	a.mu.Lock()
	defer a.mu.Unlock()
	e.busy = false
	if err != nil {
		return nil, fault(wire.CodeBackend, fmt.Errorf("the VM could not be released: %w", err))
	}
	switch {
	case crashed:
	case policy == wire.Keep:
		e.record.State = wire.Retained
	default:
		e.record.State = wire.Destroyed
		delete(a.vms, vmID)
	}
	return &wire.TeardownResponse{TopicID: t.TopicID, VMID: vmID, State: e.record.State, Confirmed: true}, nil
}

// Close cancels what runs, waits for it and releases every VM as its topic's
// policy says. Later calls of the agent are refused. The error names the VMs that
// could not be released.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.close(errClosing)
	idle := make(chan struct{})
	go func() { a.work.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	select {
	case a.creating <- struct{}{}: // A boot under way was cancelled, and ends by itself.
		defer func() { <-a.creating }()
	case <-ctx.Done():
	}
	var errs []error
	for _, e := range a.all() {
		a.mu.Lock()
		policy := e.record.Retain
		a.mu.Unlock()
		if err := a.release(ctx, e, policy); err != nil {
			errs = append(errs, fmt.Errorf("release of VM %s: %w", e.record.Handle.VMID, err))
		}
	}
	return errors.Join(errs...)
}

// vmID is the topic id, cut, and the process's counter: at most 63 characters.
func vmID(topicID string, number uint64) string {
	suffix := fmt.Sprintf("-%04d", number)
	return topicID[:min(len(topicID), 63-len(suffix))] + suffix
}

// all returns the entries in the order of their creation.
func (a *Agent) all() []*entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*entry, 0, len(a.vms))
	for _, e := range a.vms {
		out = append(out, e)
	}
	slices.SortFunc(out, func(x, y *entry) int { return cmp.Compare(x.number, y.number) })
	return out
}

// running returns the entries of a topic that are recorded as running.
func (a *Agent) running(topicID string) []*entry {
	return slices.DeleteFunc(a.all(), func(e *entry) bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return e.record.Handle.TopicID != topicID || e.record.State != wire.Running
	})
}

// forget drops the oldest ended entries beyond maxEnded, so that a long life does
// not fill the memory. The caller holds a.mu.
func (a *Agent) forget() {
	var ended []*entry
	for _, e := range a.vms {
		if e.released {
			ended = append(ended, e)
		}
	}
	if len(ended) <= maxEnded {
		return
	}
	slices.SortFunc(ended, func(x, y *entry) int { return cmp.Compare(x.number, y.number) })
	for _, e := range ended[:len(ended)-maxEnded] {
		delete(a.vms, e.record.Handle.VMID)
	}
}
