package host

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// setups are the ceremonies that run in this process, and why the last one of each
// topic ended. What they did is in the ledger.
type setups struct {
	health atomic.Pointer[wire.Health] // of the orchestrator, when it last answered
	since  atomic.Pointer[time.Time]   // its first silence after that; nil while it answers

	mu      sync.Mutex
	life    context.Context // ends with the host; nil before it runs
	work    sync.WaitGroup
	running map[string]bool
	failed  map[string]string
}

func newSetups() *setups {
	return &setups{running: make(map[string]bool), failed: make(map[string]string)}
}

// begin lets ceremonies start: they live as long as the host runs.
func (s *setups) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = ctx
}

// heard remembers whether the orchestrator answered.
func (s *setups) heard(answered bool, now time.Time) {
	if answered {
		s.since.Store(nil)
		return
	}
	s.since.CompareAndSwap(nil, &now)
}

// silent reports whether the orchestrator did not answer when it was last asked.
func (s *setups) silent() bool { return s.since.Load() != nil }

// away is how long the orchestrator has not answered.
func (s *setups) away(now time.Time) time.Duration {
	since := s.since.Load()
	if since == nil {
		return 0
	}
	return now.Sub(*since)
}

func (s *setups) wait() { s.work.Wait() }

// start runs one ceremony of a topic, unless one is running.
func (s *setups) start(id string, do func(context.Context) string) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.life == nil || s.life.Err() != nil:
		return refusef(unavailable, "the host is not running; try again")
	case s.running[id]:
		return refusef(conflict, "a setup of topic %q is running", id)
	}
	s.running[id] = true
	delete(s.failed, id)
	life := s.life
	s.work.Go(func() {
		why := do(life)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
		if why != "" {
			s.failed[id] = why
		}
	})
	return nil
}

func (s *setups) state(id string) (running bool, failed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id], s.failed[id]
}

// Approval is the owner's word on a topic's setup (R§16.1).
type Approval struct {
	Approve bool
	Reason  string // shown to operators and recorded
}

// Ask answers what the engine asks the owner (rlm.OwnerHook).
func (a Approval) Ask(context.Context, *rlm.Presend) (approved bool, reason string, err error) {
	return a.Approve, a.Reason, nil
}

// SetupStarted is the answer to a setup, 202.
type SetupStarted struct {
	TopicID string    `json:"topic_id"`
	State   rlm.State `json:"state"` // when it began; Lifecycle tells how it goes on
}

// Presend returns what the owner of a topic is shown before a setup.
func (h *Host) Presend(ctx context.Context, id string) (*rlm.Presend, error) {
	if err := h.customTopic(id); err != nil {
		return nil, err
	}
	p, err := h.o.Engine.Presend(ctx, id)
	return p, h.engineError(ctx, err)
}

// Setup starts the ceremony of a custom topic, or goes on with it from the state
// that is stored (R§18). It runs on after the answer; [Host.Lifecycle] tells how far it
// is and why it stopped.
func (h *Host) Setup(ctx context.Context, id string, owner Approval) (*SetupStarted, error) {
	if err := h.customTopic(id); err != nil {
		return nil, err
	}
	d, err := h.Topic(id)
	if err != nil {
		return nil, err
	}
	if !h.o.Engine.Registered(d.Metric.CustomID) {
		return nil, refusef(unavailable, "custom metric %q has no registered runner", d.Metric.CustomID)
	}
	state, err := h.o.Engine.State(ctx, d)
	if err != nil {
		return nil, h.engineError(ctx, err)
	}
	if state == rlm.Open || state == rlm.Evaluating || state == rlm.Promoting || state == rlm.Closed {
		return nil, refusef(conflict, "topic %q is %s; its setup is over", id, state)
	}
	if refusal := h.setups.start(id, func(ctx context.Context) string { return h.setup(ctx, id, owner) }); refusal != nil {
		return nil, refusal
	}
	return &SetupStarted{id, state}, nil
}

// setup returns why a ceremony did not reach its end, empty when it did.
func (h *Host) setup(ctx context.Context, id string, owner Approval) string {
	if fault := h.driverNow(ctx); fault != "" && owner.Approve {
		h.o.Log.WarnContext(ctx, "setup stopped", "topic", id, "why", fault)
		return fault
	}
	result, err := h.o.Engine.Setup(ctx, id, owner)
	if err == nil {
		h.o.Log.InfoContext(ctx, "setup measured the baseline", "topic", id, "rules_version", result.RulesVersion)
		return ""
	}
	if ctx.Err() != nil {
		return "the host stopped; start the setup again"
	}
	err = h.engineError(ctx, err)
	h.o.Log.WarnContext(ctx, "setup stopped", "topic", id, "why", err.Error())
	if refusal, is := refused(err); is {
		return refusal.Text
	}
	return "internal error; see the host's log"
}

// customTopic refuses what the engine has nothing to do with.
func (h *Host) customTopic(id string) error {
	d, err := h.Topic(id)
	if err != nil {
		return err
	}
	if d.Metric.Family != topic.Custom {
		return refusef(bad, "topic %q is of family %s; only custom topics are set up", id, d.Metric.Family)
	}
	if h.o.Engine == nil {
		return refusef(unavailable, "no custom-family scorer on this host")
	}
	return nil
}

// EditRules stores the operator's rules as the next version of a topic's (R§16.2).
func (h *Host) EditRules(ctx context.Context, id string, rules []topic.ChecklistItem) (*topic.RuleSet, error) {
	if err := h.customTopic(id); err != nil {
		return nil, err
	}
	if len(rules) == 0 {
		return nil, refusef(bad, "rule set is empty; nothing to verify, nothing to spend behind")
	}
	if field, why := topic.CheckRules(rules); why != "" {
		return nil, refusef(bad, "topic binding %s: %s", field, why)
	}
	set, err := h.o.Engine.EditRules(ctx, id, rules)
	if errors.Is(err, ledger.ErrVersionGap) {
		return nil, refusef(conflict, "the rules of topic %q were changed by somebody else; try again", id)
	}
	return set, h.engineError(ctx, err)
}

// Lifecycle is where a topic stands and how it came there.
type Lifecycle struct {
	State        rlm.State        `json:"state"`
	SetupRunning bool             `json:"setup_running"`
	SetupError   *string          `json:"setup_error"` // why the last setup on this process stopped
	Events       []LifecycleEvent `json:"events"`
}

// LifecycleEvent is one recorded move (R§16.1).
type LifecycleEvent struct {
	From  string    `json:"from"`
	Event string    `json:"event"`
	To    string    `json:"to"`
	Note  string    `json:"note"`
	At    time.Time `json:"at"`
}

// Lifecycle tells where a topic stands. Without a recorded move its state is the one
// that its document implies.
func (h *Host) Lifecycle(ctx context.Context, id string) (*Lifecycle, error) {
	d, err := h.Topic(id)
	if err != nil {
		return nil, err
	}
	moves, err := h.o.Ledger.Moves(ctx, id)
	if err != nil {
		return nil, err
	}
	out := &Lifecycle{State: rlm.Implied(d), Events: []LifecycleEvent{}}
	for _, m := range moves {
		out.State = rlm.State(m.To)
		out.Events = append(out.Events, LifecycleEvent{m.From, m.Event, m.To, h.safe(m.Note), m.CreatedAt.UTC()})
	}
	running, failed := h.setups.state(id)
	out.SetupRunning = running
	if failed != "" {
		out.SetupError = &failed
	}
	return out, nil
}

// Measured is the newest measured baseline of a topic.
type Measured struct {
	TopicID      string         `json:"topic_id"`
	RulesVersion uint32         `json:"rules_version"`
	PrimaryValue float64        `json:"primary_value"`
	Report       jsontext.Value `json:"report"`
	CreatedAt    time.Time      `json:"created_at"`
}

// Measurement returns what an operator seals.
func (h *Host) Measurement(ctx context.Context, id string) (*Measured, error) {
	if _, err := h.Topic(id); err != nil {
		return nil, err
	}
	m, err := h.o.Ledger.LatestMeasurement(ctx, id)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, refusef(notFound, "no baseline measured for %q", id)
	}
	return &Measured{m.TopicID, m.RulesVersion, m.PrimaryValue, jsontext.Value(m.Report), m.CreatedAt.UTC()}, nil
}

// Probe is what the orchestrator of the topic VMs says of itself, asked now.
type Probe struct {
	Wired  bool         `json:"wired"`
	Health *wire.Health `json:"health"`
	Error  *string      `json:"error"`
}

// Probe asks the orchestrator (R§29, 247).
func (h *Host) Probe(ctx context.Context) *Probe {
	out := &Probe{}
	fault := rlm.ErrUnwired.Error()
	if h.o.Engine != nil {
		health, err := h.probe(ctx)
		switch {
		case err != nil:
			out.Wired, fault = true, h.safe(err.Error())
		case health != nil:
			out.Wired, out.Health = true, health
			return out
		}
	}
	out.Error = &fault
	return out
}

func (h *Host) probe(ctx context.Context) (*wire.Health, error) {
	health, err := h.o.Engine.Probe(ctx)
	if err == nil {
		h.setups.health.Store(health)
	}
	if ctx.Err() == nil { // a question that was taken back says nothing of who was asked
		h.setups.heard(err == nil, h.o.Now())
	}
	return health, err
}

// sandbox is what the orchestrator said of itself, as far as this host believes it. A
// production host says that it does not know; nothing is ready there.
func (h *Host) sandbox() *Sandbox {
	if h.o.Engine == nil {
		return nil
	}
	health := h.health()
	switch {
	case health != nil:
		return &Sandbox{Driver: health.Hypervisor, Ready: health.Ready && !h.setups.silent() && h.driverFault() == ""}
	case h.o.Production:
		return &Sandbox{Driver: UnknownDriver}
	}
	return nil
}

// Audit records what an admin did; the label is that of the token, never the token.
func (h *Host) Audit(ctx context.Context, e ledger.AuditEntry) error {
	if e.At.IsZero() {
		e.At = h.o.Now()
	}
	return h.o.Ledger.Audit(ctx, e)
}

// AuditLog lists the newest entries first.
func (h *Host) AuditLog(ctx context.Context, limit int) ([]ledger.AuditEntry, error) {
	return h.o.Ledger.AuditLog(ctx, limit)
}

// engineError turns what the engine says into an answer. What it refuses is safe to
// show; a fault of the store is not, and stays an error.
func (h *Host) engineError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrMoved), errors.Is(err, ledger.ErrVersionGap):
		return err // the caller decides again
	case errors.Is(err, store.ErrUncertain), ctx.Err() != nil, ofLedger(err):
		return err
	case errors.Is(err, rlm.ErrUnknownTopic):
		return errUnknownTopic()
	case errors.Is(err, rlm.ErrOwnerKeys), errors.Is(err, rlm.ErrUnwired):
		return refusef(unavailable, "%s", h.safe(err.Error()))
	}
	return refusef(conflict, "%s", h.safe(err.Error()))
}

// ofLedger reports whether an error came out of the ledger, whose errors may show
// an address of the database.
func ofLedger(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), "ledger: ") {
			return true
		}
	}
	return false
}

// load counts what waits and what runs.
func (h *Host) load(ctx context.Context) (queued, running int, err error) {
	flights, err := h.o.Ledger.Flights(ctx)
	for i := range flights {
		switch flights[i].State {
		case ledger.Queued:
			queued++
		case ledger.Running:
			running++
		}
	}
	return queued, running, err
}
