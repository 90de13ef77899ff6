package rlm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/internal/research/artefact"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// Boundary is the topic VMs of another machine (R§21.1), and the only way to them.
// Its errors are safe to show: they name no key, token or path.
type Boundary interface {
	Ready(ctx context.Context) error
	Create(ctx context.Context, spec wire.Spec) (*wire.Record, error)
	// Attach returns the running VM of a topic, nil when it has none.
	Attach(ctx context.Context, topicID string) (*wire.Record, error)
	// Run ends the job when the context ends.
	Run(ctx context.Context, vm wire.Handle, job wire.Job) (*wire.JobResponse, error)
	// Teardown reports whether the end of the VM was confirmed.
	Teardown(ctx context.Context, vm wire.Handle, retain wire.Retain) (bool, error)
}

// Prober is a Boundary that can say what is behind it. A probe reaches over the
// network, so it is never made for a submission; see [Engine.Probe].
type Prober interface {
	Probe(ctx context.Context) (*wire.Health, error)
}

// ErrUnwired is what Unwired answers (R§21.1).
var ErrUnwired = errors.New("topic-vm orchestrator not wired: no orchestrator configured (PROOF_VM_ORCHESTRATOR_URL / PROOF_VM_ORCHESTRATOR_TOKEN_FILE)")

// Unwired is the Boundary of a host without an orchestrator. It refuses every call.
type Unwired struct{}

// Ready refuses.
func (Unwired) Ready(context.Context) error { return ErrUnwired }

// Create refuses.
func (Unwired) Create(context.Context, wire.Spec) (*wire.Record, error) { return nil, ErrUnwired }

// Attach refuses.
func (Unwired) Attach(context.Context, string) (*wire.Record, error) { return nil, ErrUnwired }

// Run refuses.
func (Unwired) Run(context.Context, wire.Handle, wire.Job) (*wire.JobResponse, error) {
	return nil, ErrUnwired
}

// Teardown refuses.
func (Unwired) Teardown(context.Context, wire.Handle, wire.Retain) (bool, error) {
	return false, ErrUnwired
}

// The defaults of Options.
const (
	DefaultLeaseTTL   = 5 * time.Minute // counted from the last renewal (decision 10)
	DefaultLeasePoll  = time.Second
	DefaultRenewEvery = 30 * time.Second

	// OwnerKeyVariable names the file of the owner's inference key. It is looked at
	// for presence alone.
	OwnerKeyVariable = "PROOF_RLM_OWNER_INFERENCE_KEY_FILE"
	// CustomIDsVariable lists the runner registry.
	CustomIDsVariable = "PROOF_VM_RUNNER_CUSTOM_IDS"
)

// cleanup bounds what is still done for a run whose context has ended: freeing the
// guests, the lease and the lifecycle.
const cleanup = 90 * time.Second

// farewell is cleanup for a VM whose run was stopped from outside. What is left of it,
// the next run of the topic ends.
const farewell = 10 * time.Second

// Options are what an engine works with. Ledger, Boundary, Artefacts, Pin, Now and
// Holder are required.
type Options struct {
	Ledger    *ledger.Ledger
	Boundary  Boundary
	Artefacts *artefact.Root
	Pin       *pin.Pin // for its topic key, its floors and the ceiling of deadlines
	Now       func() time.Time

	// Holder names this process in leases. Two processes on one store, and a process
	// and the one before it, must have different names.
	Holder string

	Template     wire.Template // of the topic VMs
	CustomIDs    []string      // the runner registry (PROOF_VM_RUNNER_CUSTOM_IDS)
	Retain       wire.Retain   // default destroy
	ReuseVM      bool          // keep the topic's VM between evaluations (decision 15)
	OwnerKeyFile string        // path; empty: no owner key will ever be present
	SpendCapUSD  float64       // shown to the owner, nothing else
	AllowStandin bool          // accept runs of a sandbox's stand-in (decision 13); for tests

	LeaseTTL, LeasePoll, RenewEvery time.Duration

	Log *slog.Logger // nil: nothing is logged
}

// Engine runs custom topics. It is safe for concurrent use; runs of one topic come
// one after the other, across every engine on the same ledger.
type Engine struct {
	o          Options
	registered map[string]bool
	health     atomic.Pointer[wire.Health]
	production atomic.Bool
	rules      sync.Mutex // between the checks of MarkSealed and a new rule version
	runs       atomic.Uint64

	// step is told before and after each write. Tests end the process there.
	step func(point string)
}

// New checks the options and returns an engine. It asks nothing of the boundary.
func New(o Options) (*Engine, error) {
	switch {
	case o.Ledger == nil:
		return nil, errors.New("rlm: no ledger")
	case o.Boundary == nil:
		return nil, errors.New("rlm: no boundary; a host without an orchestrator uses Unwired")
	case o.Artefacts == nil:
		return nil, errors.New("rlm: no artefact root")
	case o.Pin == nil:
		return nil, errors.New("rlm: no pin")
	case o.Now == nil:
		return nil, errors.New("rlm: no clock")
	case o.Holder == "":
		return nil, errors.New("rlm: no holder name for leases")
	}
	if o.Retain == "" {
		o.Retain = wire.Destroy
	}
	if o.Retain != wire.Destroy && o.Retain != wire.Keep {
		return nil, fmt.Errorf("rlm: retain policy %q is neither destroy nor retain", o.Retain)
	}
	o.LeaseTTL = positive(o.LeaseTTL, DefaultLeaseTTL)
	o.LeasePoll = positive(o.LeasePoll, DefaultLeasePoll)
	o.RenewEvery = positive(o.RenewEvery, DefaultRenewEvery)
	if o.RenewEvery >= o.LeaseTTL {
		return nil, fmt.Errorf("rlm: a lease of %s renewed every %s runs out in between", o.LeaseTTL, o.RenewEvery)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o, registered: map[string]bool{}, step: func(string) {}}
	for _, id := range o.CustomIDs {
		if !shape.CustomID(id) {
			return nil, fmt.Errorf("%s: custom id %q must match [a-z0-9][a-z0-9_-]{1,63}", CustomIDsVariable, short(id))
		}
		// Ids over an unwired orchestrator register nothing (R§15.4).
		if e.Wired() {
			e.registered[id] = true
		}
	}
	return e, nil
}

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// RequireFirecracker makes the engine take no run that another driver made, whatever
// its attestation says (decision 12). A production host asks for it before its first run.
func (e *Engine) RequireFirecracker() { e.production.Store(true) }

// Wired reports whether there is an orchestrator behind the engine.
func (e *Engine) Wired() bool {
	_, unwired := e.o.Boundary.(Unwired)
	return !unwired
}

// OwnerKeyMissing reports whether an owner key file is set and holds no key.
func (e *Engine) OwnerKeyMissing() bool {
	present, err := e.ownerKeyPresent()
	return e.o.OwnerKeyFile != "" && (err != nil || !present)
}

// Registered reports whether a runner is registered under a custom id, as
// topic.Document.Validate asks.
func (e *Engine) Registered(customID string) bool { return e.registered[customID] }

// Runners says by registered custom id why its runner cannot run now, empty when it
// can (intake.Custom.Runners). It asks the boundary for what is known on this
// machine, without a network.
func (e *Engine) Runners(ctx context.Context) map[string]string {
	detail := ""
	if !wire.ImageDigest(e.o.Template.ImageDigest) {
		detail = "topic VM image not pinned (PROOF_RLM_VM_IMAGE_DIGEST)"
	}
	if err := e.o.Boundary.Ready(ctx); err != nil {
		detail = "runner not wired: " + strings.TrimPrefix(err.Error(), "topic-vm orchestrator not wired: ")
	}
	runners := make(map[string]string, len(e.registered))
	for id := range e.registered {
		runners[id] = detail
	}
	return runners
}

// Probe asks the boundary what is behind it and remembers the answer for
// TopicFault. A boundary that cannot be asked has no answer and no error.
func (e *Engine) Probe(ctx context.Context) (*wire.Health, error) {
	p, ok := e.o.Boundary.(Prober)
	if !ok {
		return nil, nil
	}
	h, err := p.Probe(ctx)
	if err != nil {
		return nil, err
	}
	e.health.Store(h)
	return h, nil
}

// TopicFault says why the sandbox of this host cannot run a topic at all
// (intake.Topic.ScorerFault), as far as the last Probe knows; empty when it can or
// nothing is known. The run itself is refused in any case.
func (e *Engine) TopicFault(d *topic.Document) string {
	h := e.health.Load()
	if h == nil || d.Metric.Family != topic.Custom || !d.Constraints.FirecrackerRequired {
		return ""
	}
	if IsFirecracker(h.Hypervisor) {
		return ""
	}
	return fmt.Sprintf("topic %s has firecracker_required and the topic-VM orchestrator runs %q; refuse scoring", d.ID, short(h.Hypervisor))
}

// write makes one write of the ledger or the artefact root.
func (e *Engine) write(point string, do func() error) error {
	e.step("before " + point)
	err := do()
	e.step("after " + point)
	return err
}

// maxKey bounds what is read of the owner's key file, in bytes.
const maxKey = 64 << 10

// ownerKeyPresent reports whether the owner's key file is there and not blank. What
// is in it goes nowhere.
func (e *Engine) ownerKeyPresent() (bool, error) {
	if e.o.OwnerKeyFile == "" {
		return false, nil
	}
	f, err := os.Open(e.o.OwnerKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxKey))
		f.Close()
	}
	if err != nil {
		return false, errors.New(OwnerKeyVariable + " cannot be read") // the cause would show its path
	}
	return slices.ContainsFunc(text, func(b byte) bool { return b != ' ' && b != '\t' && b != '\r' && b != '\n' }), nil
}
