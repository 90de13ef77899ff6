package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prova-dev/prova/internal/platform/store"
	"github.com/prova-dev/prova/internal/research/intake"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/topic"
)

const (
	// kept is how long a refusal can be asked for by its digest.
	kept = 24 * time.Hour
	// settle bounds the writes that end a run, also when the host is stopping.
	settle = 30 * time.Second
	// idle is how many polls pass between two probes of the boundary.
	idle = 60
)

// Run does the work until ctx ends: what an earlier process left behind first, then
// the queue, the close of epochs and the forgetting of old refusals. What is in
// flight at the end is left to the next start, and whoever waits for it is told that
// it was taken. It is called once.
func (h *Host) Run(ctx context.Context) error {
	if h.o.Engine != nil {
		if err := h.o.Engine.Recover(ctx); ctx.Err() == nil && err != nil {
			return fmt.Errorf("recovery of the engine: %w", err)
		}
	}
	if ctx.Err() != nil {
		close(h.runs.stop) // stopped before it began; the next start recovers
		return nil         //nolint:nilerr // a stop during the recovery is a stop, whatever it interrupted
	}
	if h.o.Engine != nil && h.o.Production {
		if _, err := h.probe(ctx); err != nil { // before the gate lets a run pass
			h.o.Log.WarnContext(ctx, "the orchestrator of the topic VMs does not answer", "error", h.safe(err.Error()))
		}
	}
	h.setups.begin(ctx)
	var work sync.WaitGroup
	for range h.o.Limits.Workers {
		work.Go(func() { h.work(ctx) })
	}
	work.Go(func() { h.keepHouse(ctx) })
	<-ctx.Done()
	close(h.runs.stop)
	work.Wait()
	h.setups.wait()
	return nil
}

// work claims flights and runs them, one after the other.
func (h *Host) work(ctx context.Context) {
	poll := time.NewTicker(h.o.Poll)
	defer poll.Stop()
	for ctx.Err() == nil {
		flight, err := h.o.Ledger.Claim(ctx, h.o.Holder, h.o.Stale)
		if err != nil && ctx.Err() == nil {
			h.o.Log.ErrorContext(ctx, "no flight can be claimed", "error", err)
		}
		if err == nil && flight != nil {
			h.runs.knock() // another worker may find the next one
			if h.runs.board(flight.ID) {
				h.fly(ctx, flight)
				h.runs.alight(flight.ID)
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-h.runs.wake:
		case <-poll.C:
		}
	}
}

// chore is something that is done by the clock: at each nth poll, and after a failure
// not before some polls more.
type chore struct {
	name  string
	every int
	do    func(context.Context) error
	wait  int
}

// keepHouse does the chores.
func (h *Host) keepHouse(ctx context.Context) {
	chores := []*chore{
		{name: "refresh", every: 1, do: h.refresh},
		{name: "close of epochs", every: 1, do: h.closeEpochs},
		{name: "purge", every: idle, do: h.purge},
	}
	if h.o.Engine != nil {
		chores = append(chores, &chore{name: "probe", every: idle, do: func(ctx context.Context) error {
			_, err := h.probe(ctx)
			return err
		}})
	}
	poll := time.NewTicker(h.o.Poll)
	defer poll.Stop()
	for {
		for _, c := range chores {
			h.turn(ctx, c)
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

func (h *Host) turn(ctx context.Context, c *chore) {
	if c.wait > 0 {
		c.wait--
		return
	}
	c.wait = c.every - 1
	if err := c.do(ctx); err != nil && ctx.Err() == nil {
		c.wait = max(c.wait, idle/2)
		h.o.Log.WarnContext(ctx, "a chore failed; it is tried again", "chore", c.name, "error", h.safe(err.Error()))
	}
}

// purge forgets refusals nobody asks for any more, and outcomes whose flight another
// process has taken.
func (h *Host) purge(ctx context.Context) error {
	now := h.o.Now()
	flights, err := h.o.Ledger.Flights(ctx)
	if err != nil {
		return err
	}
	queued := make(map[string]bool, len(flights))
	for _, f := range flights {
		queued[f.Digest] = f.State == ledger.Queued
	}
	h.runs.sweep(queued, now.Add(-time.Minute))
	return h.o.Ledger.Purge(ctx, now.Add(-kept))
}

// firstPhase is the phase of a run that has not told of one yet.
const firstPhase = "starting"

// errLost ends a run whose flight another process has claimed.
var errLost = errors.New("the flight has another holder now")

// fly runs one flight to its end.
func (h *Host) fly(ctx context.Context, f *ledger.Flight) {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Pointer[string]
	first := firstPhase
	phase.Store(&first)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		h.beat(run, f, &phase, cancel)
	}()
	row, err := h.evaluate(run, f, func(name string) {
		phase.Store(&name)
		if err := h.o.Ledger.Beat(run, f.ID, h.o.Holder, name); errors.Is(err, ledger.ErrLost) {
			cancel(errLost)
		}
	})
	lost := errors.Is(context.Cause(run), errLost)
	cancel(nil)
	<-beating
	h.land(ctx, f, row, err, lost)
}

// beat keeps a flight claimed while its run goes on, and ends the run when somebody
// else has it.
func (h *Host) beat(ctx context.Context, f *ledger.Flight, phase *atomic.Pointer[string], cancel context.CancelCauseFunc) {
	every := time.NewTicker(h.o.Stale / 4)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := h.o.Ledger.Beat(ctx, f.ID, h.o.Holder, *phase.Load())
		if errors.Is(err, ledger.ErrLost) {
			cancel(errLost)
			return
		}
		if err != nil && ctx.Err() == nil {
			h.o.Log.WarnContext(ctx, "a run could not be kept claimed", "submission", f.Digest, "error", err)
		}
	}
}

// land tells what a run came to, and stores its refusal when it left no row.
func (h *Host) land(ctx context.Context, f *ledger.Flight, row *intake.StoredRow, err error, lost bool) {
	log := h.o.Log.With("submission", f.Digest, "topic", f.TopicID)
	var refusal *intake.Refusal
	switch {
	case err == nil:
		log.InfoContext(ctx, "row stored", "id", row.ID, "state", string(row.State))
		h.runs.tell(f.Digest, ending{flight: f.ID, row: row})
		return
	case lost, errors.Is(err, ledger.ErrLost):
		log.WarnContext(ctx, "the run was lost to another process")
		return
	case errors.Is(err, store.ErrUncertain):
		log.ErrorContext(ctx, "nobody knows whether the row was stored", "error", err)
		return
	case errors.As(err, &refusal):
		refusal = &intake.Refusal{Row: refusal.Row, Name: refusal.Name, Status: refusal.Status, Text: h.safe(refusal.Text)}
	case ctx.Err() != nil:
		log.InfoContext(ctx, "the run is left to the next start")
		return
	default:
		log.ErrorContext(ctx, "the run failed", "error", h.safe(err.Error()))
		refusal = &intake.Refusal{Name: "run", Status: broken, Text: "internal error; no row was stored"}
	}
	if ctx.Err() != nil { // the refusal may be of the end of the host
		log.InfoContext(ctx, "the run is left to the next start")
		return
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer cancel()
	if err := h.o.Ledger.Refuse(end, f.ID, h.o.Holder, refusal.Status, refusal.Text); err != nil {
		log.ErrorContext(ctx, "a refusal could not be stored", "error", err)
		return
	}
	log.InfoContext(ctx, "run refused", "status", refusal.Status, "why", refusal.Text)
	h.runs.tell(f.Digest, ending{flight: f.ID, refusal: refusal})
}

// evaluate scores one flight and stores its row. A panic of a scorer is an error:
// the other runs of the host go on.
func (h *Host) evaluate(ctx context.Context, f *ledger.Flight, progress func(string)) (row *intake.StoredRow, err error) {
	defer func() {
		if v := recover(); v != nil {
			h.o.Log.ErrorContext(ctx, "a scorer panicked", "submission", f.Digest, "stack", string(debug.Stack()))
			row, err = nil, errors.New("a scorer panicked")
		}
	}()
	o := h.runs.claim(f)
	if o == nil {
		// The gate is walked again, and asks what is known of the driver.
		if t := h.view().host.Topics[f.TopicID]; !h.o.ForceSim && h.o.Engine != nil && t != nil && t.Document.Metric.Family == topic.Custom {
			h.await(ctx, progress)
		}
		if o, err = h.again(ctx, f); err != nil {
			return nil, err
		}
	}
	switch custom := o.Submission.Topic.Document.Metric.Family == topic.Custom; {
	case o.Kind == intake.Reject:
		return h.persist(ctx, o, f, intake.Result{})
	case h.o.ForceSim:
		progress("simulating")
		registered := custom && h.registered()(o.Submission.Topic.Document.Metric.CustomID)
		res, err := simulate(o, h.o.Pin.EvalImageDigest, registered)
		if err != nil {
			return nil, &intake.Refusal{Name: "run", Status: unavailable, Text: err.Error()}
		}
		return h.persist(ctx, o, f, res)
	case custom && h.o.Engine != nil:
		h.await(ctx, progress)
		if fault := h.driverNow(ctx); fault != "" {
			return nil, &intake.Refusal{Row: "16", Name: "scorer_ready", Status: unavailable, Text: fault}
		}
		return h.o.Engine.Evaluate(ctx, o, rlm.Flight{ID: f.ID, Holder: h.o.Holder}, progress)
	case !custom && h.o.Harvest != nil:
		res, err := h.o.Harvest.Run(ctx, o, progress)
		if err != nil {
			return nil, err
		}
		return h.persist(ctx, o, f, res)
	}
	return nil, &intake.Refusal{Name: "live_scorer", Status: unavailable, Text: intake.NoLiveScorer}
}

// phaseAway is the phase of a run whose orchestrator does not answer.
const phaseAway = "waiting for the sandbox"

// await returns when the orchestrator answers, or has been away for too long, or ctx
// has ended. Nothing was begun yet, so nothing is lost by waiting.
func (h *Host) await(ctx context.Context, progress func(string)) {
	if h.o.Patience <= 0 {
		return
	}
	poll := time.NewTicker(h.o.Poll)
	defer poll.Stop()
	for told := false; ; told = true {
		_, err := h.probe(ctx)
		if err == nil || ctx.Err() != nil || h.setups.away(h.o.Now()) >= h.o.Patience {
			return
		}
		if !told {
			h.o.Log.WarnContext(ctx, "a run waits for the orchestrator of the topic VMs", "error", h.safe(err.Error()))
			progress(phaseAway)
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

// persist stores a row that no engine stores. What was measured is stored even if
// the host stops meanwhile.
func (h *Host) persist(ctx context.Context, o *intake.Outcome, f *ledger.Flight, res intake.Result) (*intake.StoredRow, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer cancel()
	id, err := h.o.Ledger.ReserveRow(ctx)
	if err != nil {
		return nil, err
	}
	row, attempt, err := o.Persist(id, res)
	if err != nil {
		return nil, err
	}
	return row, h.o.Ledger.Commit(ctx, ledger.Commit{Row: row, Attempt: attempt, Flight: f.ID, Holder: h.o.Holder})
}

// again decides a flight that an earlier process accepted: the whole gate over its
// stored body, with the topic and the epoch of its acceptance and whatever the host
// has now. Its own reservation of the nonce counts as free.
func (h *Host) again(ctx context.Context, f *ledger.Flight) (*intake.Outcome, error) {
	s := h.view()
	versions, err := h.o.Ledger.TopicVersions(ctx, f.TopicID)
	if err != nil {
		return nil, err
	}
	host := h.live(ctx, s)
	host.Epoch, host.EpochFault = f.Epoch, "" // its flight keeps the epoch open
	host.Topics = maps.Clone(host.Topics)
	delete(host.Topics, f.TopicID)
	for i := range versions {
		if versions[i].Version != f.TopicVersion {
			continue
		}
		d, err := h.stored(&versions[i])
		if err != nil {
			return nil, &intake.Refusal{Name: "topic", Status: unavailable, Text: "the topic of this submission is not valid on this host any more: " + err.Error()}
		}
		t, _ := h.equip(d, s.files)
		host.Topics[f.TopicID] = h.scored(t)
	}
	o, refusal := intake.Decide(&intake.Facts{ContentType: f.ContentType, Body: f.Body, Host: host})
	if refusal != nil {
		return nil, refusal
	}
	if o.Submission.Digest != f.Digest {
		return nil, fmt.Errorf("the stored body of flight %v has another digest", f.ID)
	}
	return o, nil
}
