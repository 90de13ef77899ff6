package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/holdout"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/payout"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// state is what the host knows at one moment: replaced, never changed.
type state struct {
	host  *intake.Host
	begun bool // false before the genesis of epochs
	files *holding
	// faults says of each topic why its holdout or its baseline is not there.
	faults map[string]fault
	// seen is the newest version of each stored topic, taken or not.
	seen map[string]uint32
}

// fault is empty where nothing is wrong. What is logged of a holdout says more than
// what is shown.
type fault struct{ holdout, holdoutLogged, baseline string }

// view returns what the host knows now, in the epoch of now.
func (h *Host) view() *state {
	s := h.known.Load()
	epoch, fault, begun := h.epoch()
	if s.host.Epoch == epoch && s.host.EpochFault == fault && s.begun == begun {
		return s
	}
	next, host := *s, *s.host
	host.Epoch, host.EpochFault = epoch, fault
	next.host, next.begun = &host, begun
	h.known.CompareAndSwap(s, &next)
	return &next
}

// epoch is the epoch of now, and why nothing is accepted in it (decision 3). It has not
// begun before the genesis of epochs.
func (h *Host) epoch() (n uint64, fault string, begun bool) {
	n, err := h.o.Epochs.At(h.o.Now())
	switch {
	case err != nil:
		return n, payout.ErrBeforeGenesis.Error(), false
	case h.closed.over(n):
		return n, "the epoch of this host is closed", true
	}
	return n, "", true
}

// live is the host of a state with what must be looked at each time: the runners,
// what the harvest has staged, the judge's key (R§15.4).
func (h *Host) live(ctx context.Context, s *state) *intake.Host {
	host := *s.host
	host.JudgeKey = h.o.Files.keyed()
	if !host.JudgeKey && h.o.Files.InferenceKey != "" {
		host.Unusable.JudgeKey = keyVariable
	}
	if h.o.Harvest != nil {
		facts := h.o.Harvest.Facts()
		host.Harvest = &facts
	}
	if h.o.Engine == nil {
		return &host
	}
	host.Custom = custom(h.o.Engine.Runners(ctx))
	host.Topics = make(map[string]*intake.Topic, len(s.host.Topics))
	for id, t := range s.host.Topics {
		host.Topics[id] = h.scored(t)
	}
	return &host
}

// scored returns a topic with what its scorer says about it now.
func (h *Host) scored(t *intake.Topic) *intake.Topic {
	if h.o.Engine == nil || t.Document.Metric.Family != topic.Custom {
		return t
	}
	now := *t
	now.ScorerFault = h.driverFault()
	if now.ScorerFault == "" {
		now.ScorerFault = h.o.Engine.TopicFault(t.Document)
	}
	return &now
}

// driverFault says why a production host takes nothing from the orchestrator
// (decision 12): it isolates nothing, or less than Firecracker's guests are isolated,
// or nobody knows what it is.
func (h *Host) driverFault() string {
	if !h.o.Production {
		return ""
	}
	health := h.health()
	if health == nil || strings.TrimSpace(health.Hypervisor) == "" {
		return driverUnknown
	}
	for _, driver := range []string{"fake", "process", "gvisor", "local", "standin", "stand-in", "tcg"} {
		if strings.Contains(strings.ToLower(health.Hypervisor), driver) {
			return "the topic-VM orchestrator's driver is " + driver + "; a production host refuses it"
		}
	}
	if !rlm.IsFirecracker(health.Hypervisor) {
		return fmt.Sprintf("the topic-VM orchestrator's driver is %.64q; a production host refuses it", health.Hypervisor)
	}
	return ""
}

const driverUnknown = "the driver of the topic-VM orchestrator is unknown: the orchestrator (PROOF_VM_ORCHESTRATOR_URL) does not say what it is; a production host refuses it"

// health is what the orchestrator said of itself, nil when it never answered or has
// been silent for longer than a restart takes: another one may have its place.
func (h *Host) health() *wire.Health {
	if h.setups.silent() && h.setups.away(h.o.Now()) >= h.o.Patience {
		return nil
	}
	return h.setups.health.Load()
}

// driverNow is driverFault for work that is about to begin: a production host asks
// the orchestrator first, since another one may have taken its place, and begins
// nothing on one that does not say what it is.
func (h *Host) driverNow(ctx context.Context) string {
	if !h.o.Production {
		return ""
	}
	health, err := h.probe(ctx)
	switch {
	case err != nil:
		return "backend: " + h.safe(err.Error())
	case health == nil:
		return driverUnknown
	}
	return h.driverFault()
}

// customFault says why no custom topic can be scored on a host without an orchestrator;
// empty when it has one (R§15.5).
func (h *Host) customFault() string {
	if h.o.Engine == nil || !h.o.Engine.Wired() {
		return "runner not wired: " + strings.TrimPrefix(rlm.ErrUnwired.Error(), "topic-vm orchestrator not wired: ")
	}
	return ""
}

// registered says whether a custom id has a runner on this host.
func (h *Host) registered() func(string) bool {
	if h.o.Engine == nil {
		return func(string) bool { return false }
	}
	return h.o.Engine.Registered
}

// Reload reads every file again, as on SIGHUP: topics first, then what belongs to
// them. Only a store that does not answer is an error. A set executor file ranks
// above an offer that an admin rotated, as at the start (decision 1).
func (h *Host) Reload(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	files := h.o.Files.read(h.o.Pin, h.o.SecretOrigin, h.o.Lookup)
	clear(h.warned) // whoever asks for a reload is told again
	for _, fault := range append(files.faults(h.o.Pin), h.keyFaults()...) {
		h.o.Log.WarnContext(ctx, "a file of the operator is refused", "fault", fault)
	}
	if _, fault, _ := h.epoch(); fault != "" {
		h.o.Log.WarnContext(ctx, "no submission is taken", "why", fault)
	}
	executor, source, err := h.executor(ctx, files)
	if err != nil {
		return err
	}
	if executor != nil {
		h.o.Log.InfoContext(ctx, "executor offer", "source", source, "offer_id", executor.OfferID)
	}
	if err := h.rebuild(ctx, files, executor); err != nil {
		return err
	}
	for _, d := range files.topics {
		if err := h.publishFile(ctx, d, files); err != nil {
			if refusal, is := refused(err); is {
				h.o.Log.WarnContext(ctx, "a topic of the operator's file is skipped", "topic", d.ID, "why", refusal.Text)
				continue
			}
			return err
		}
	}
	return h.rebuild(ctx, files, executor)
}

// keyFaults lists the key files that are set and hold no key, for the log.
func (h *Host) keyFaults() (list []string) {
	if h.o.Files.InferenceKey != "" && !h.o.Files.keyed() {
		list = append(list, keyVariable+" cannot be used: the file is missing, cannot be read or holds no key")
	}
	if h.o.Engine != nil && h.o.Engine.OwnerKeyMissing() {
		list = append(list, rlm.OwnerKeyVariable+" cannot be used: the file is missing, cannot be read or holds no key")
	}
	return list
}

// executor picks the live executor offer: of the file when one is set, however bad
// it is, else the one that was set last through the admin route.
func (h *Host) executor(ctx context.Context, files *holding) (e *offer.Executor, source string, err error) {
	if h.o.Files.ExecutorOffer != "" {
		return files.executor, executorVariable, nil
	}
	text, err := h.o.Ledger.Offer(ctx, ledger.ExecutorOffer)
	if err != nil || text == nil {
		return nil, "", err
	}
	e, err = offer.ParseExecutor(text)
	if err != nil {
		return nil, "", fmt.Errorf("the stored executor offer cannot be read: %w", err)
	}
	return e, "store", nil
}

// rebuild replaces the state by one of the newest topics of the ledger. The caller
// holds mu.
func (h *Host) rebuild(ctx context.Context, files *holding, executor *offer.Executor) error {
	stored, err := h.o.Ledger.Topics(ctx)
	if err != nil {
		return fmt.Errorf("topics of the ledger: %w", err)
	}
	h.replace(ctx, stored, files, executor)
	return nil
}

func (h *Host) replace(ctx context.Context, stored []ledger.TopicVersion, files *holding, executor *offer.Executor) {
	epoch, epochFault, begun := h.epoch()
	next := &state{begun: begun, files: files, faults: make(map[string]fault), seen: make(map[string]uint32)}
	next.host = &intake.Host{
		Pin: h.o.Pin, Epoch: epoch, EpochFault: epochFault, Sim: h.o.ForceSim, SignatureRequired: !h.o.UnsignedOK,
		Topics:    make(map[string]*intake.Topic, len(stored)),
		Inference: files.inference, InferenceFault: files.inferenceFault,
		Executor: executor, SecretOrigin: files.origin, Unusable: files.unusable(), CustomFault: h.customFault(),
		Overrides: files.overrides, OverridesFault: files.overridesFault,
	}
	if executor == nil {
		next.host.ExecutorFault = files.executorFault
	}
	for i := range stored {
		id := stored[i].TopicID
		next.seen[id] = stored[i].Version
		t, err := h.stored(&stored[i])
		if err != nil {
			h.o.Log.WarnContext(ctx, "a stored topic is not taken", "topic", id, "why", err.Error())
			continue
		}
		next.host.Topics[id], next.faults[id] = h.equip(t, files)
		f := next.faults[id]
		if t.Status == topic.Open && f != (fault{}) && h.warned[id] != f {
			h.o.Log.WarnContext(ctx, "an open topic cannot be scored", "topic", id, "holdout", f.holdoutLogged, "baseline", f.baseline)
		}
		h.warned[id] = f
	}
	h.keepSeals(next)
	h.known.Store(next)
}

// stored reads one stored version. The pin may have been tightened, or its key
// replaced, since.
func (h *Host) stored(v *ledger.TopicVersion) (*topic.Document, error) {
	d, err := topic.ParseJSON(v.Document)
	if err != nil {
		return nil, err
	}
	if err := d.Validate(h.o.Pin, func(string) bool { return true }); err != nil {
		return nil, err
	}
	return d, d.Verify(h.o.Pin)
}

// equip gives a topic what the files hold for it.
func (h *Host) equip(d *topic.Document, files *holding) (*intake.Topic, fault) {
	t, f := &intake.Topic{Document: d}, fault{}
	t.Holdout, f.holdout, f.holdoutLogged = files.holdoutFor(h.o.Pin, d, h.o.Production)
	t.Baseline, f.baseline = files.baselineFor(h.o.Pin, d)
	return t, f
}

// refresh takes over what another process on the same ledger published.
func (h *Host) refresh(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.known.Load()
	stored, err := h.o.Ledger.Topics(ctx)
	if err != nil {
		return err
	}
	executor := s.host.Executor
	if h.o.Files.ExecutorOffer == "" {
		if executor, _, err = h.executor(ctx, s.files); err != nil {
			return err
		}
	}
	versions := make(map[string]uint32, len(stored))
	for _, v := range stored {
		versions[v.TopicID] = v.Version
	}
	published := !maps.Equal(versions, s.seen)
	if !published && sameOffer(executor, s.host.Executor) {
		return nil
	}
	files := s.files
	if published {
		files = h.reread(files)
	}
	h.replace(ctx, stored, files, executor)
	return nil
}

// reread reads the holdout and baseline files again, as for a topic that was just
// published. Offers and topics wait for a reload.
func (h *Host) reread(files *holding) *holding {
	next := *files
	next.holdout, next.holdoutFault = parsed(holdoutVariable, h.o.Files.Holdout, holdout.ParseFile)
	next.baseline, next.baselineFault = parsed(baselineVariable, h.o.Files.Baseline, baseline.ParseFile)
	return &next
}

func sameOffer(a, b *offer.Executor) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// topicIDs lists the ids of all topics, sorted.
func (s *state) topicIDs() []string { return slices.Sorted(maps.Keys(s.host.Topics)) }
