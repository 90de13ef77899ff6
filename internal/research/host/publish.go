package host

import (
	"context"
	"errors"

	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/offer"
	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/rlm"
	"github.com/prova-dev/prova/internal/research/strict"
	"github.com/prova-dev/prova/internal/research/topic"
)

// Publish takes a signed topic (R§14.4, decision 11) and returns the document as it
// is stored, which answers 201. It reads the holdout and baseline files again, so
// that a topic whose files were put there before is scorable at once.
//
// Opening a custom topic whose setup is at baselining seals it. A document that is
// stored already is stored once; one that was replaced since is refused, and so is
// whatever would open a topic before its baseline or after its close.
func (h *Host) Publish(ctx context.Context, body []byte) ([]byte, error) {
	d, err := topic.ParseJSON(body)
	if err != nil {
		return nil, unread(err)
	}
	if err := h.valid(d); err != nil {
		return nil, err
	}
	switch err := d.Verify(h.o.Pin); {
	case errors.Is(err, pin.ErrNoTopicKey):
		return nil, refusef(unavailable, "%s", err)
	case err != nil:
		return nil, refusef(bad, "%s", err)
	}
	if d.Status == topic.Open && !d.Baseline.Sealed() {
		return nil, refusef(bad, "an open topic must carry a sealed baseline")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.known.Load()
	files := h.reread(s.files)
	if err := h.store(ctx, d, files); err != nil {
		return nil, err
	}
	if err := h.rebuild(ctx, files, s.host.Executor); err != nil {
		return nil, err
	}
	h.o.Log.InfoContext(ctx, "topic published", "topic", d.ID, "status", string(d.Status))
	return d.JSON()
}

// valid refuses a document that does not validate here, in the reference's words and,
// behind them, with what may have been meant.
func (h *Host) valid(d *topic.Document) error {
	var known []string
	if h.o.Engine != nil {
		known = h.o.Engine.CustomIDs()
	}
	err := d.Validate(h.o.Pin, h.registered(), known...)
	if err == nil {
		return nil
	}
	var refusal *topic.Refusal
	is := errors.As(err, &refusal)
	if why := h.customFault(); is && refusal.Kind == topic.UnknownCustom && why != "" {
		return refusef(bad, "%s (%s)", err, why)
	}
	if is && refusal.Hint != "" {
		return refusef(bad, "%s; %s", err, refusal.Hint)
	}
	return refusef(bad, "%s", err)
}

// publishFile takes a topic of the operator's file as [Host.Publish] takes one of a
// request. A document that is stored, even one that was replaced since, is passed
// over: the file may be older than what an admin published.
func (h *Host) publishFile(ctx context.Context, d *topic.Document, files *holding) error {
	if err := h.valid(d); err != nil {
		return err
	}
	if err := d.Verify(h.o.Pin); err != nil {
		return refusef(bad, "%s", err)
	}
	versions, err := h.o.Ledger.TopicVersions(ctx, d.ID)
	if err != nil {
		return err
	}
	if n := place(versions, d.Signature); n >= 0 {
		return nil
	}
	return h.store(ctx, d, files)
}

// attempts is how often a publish is decided again when a run moved the topic's
// lifecycle in between.
const attempts = 5

// store decides and writes. The caller holds mu.
func (h *Host) store(ctx context.Context, d *topic.Document, files *holding) error {
	for range attempts {
		err := h.storeOnce(ctx, d, files)
		if !errors.Is(err, ledger.ErrMoved) && !errors.Is(err, ledger.ErrVersionGap) {
			return err
		}
	}
	return refusef(conflict, "topic %q is being changed by somebody else; try again", d.ID)
}

func (h *Host) storeOnce(ctx context.Context, d *topic.Document, files *holding) error {
	versions, err := h.o.Ledger.TopicVersions(ctx, d.ID)
	if err != nil {
		return err
	}
	if n := place(versions, d.Signature); n >= 0 {
		if n == len(versions)-1 {
			return nil
		}
		return refusef(conflict, "this document is version %d of topic %q, which is at version %d", versions[n].Version, d.ID, versions[len(versions)-1].Version)
	}
	at, recorded, err := h.stage(ctx, d, versions)
	if err != nil {
		return err
	}
	custom := d.Metric.Family == topic.Custom
	if refusal := mayPublish(d, at, custom, len(versions) > 0); refusal != nil {
		return refusal
	}
	if d.Status == topic.Open && custom && at == rlm.Baselining {
		return h.seal(ctx, d, files)
	}
	text, err := d.JSON()
	if err != nil {
		return refusef(wrongTypes, "%s", err)
	}
	v := ledger.TopicVersion{
		TopicID: d.ID, Version: 1, Status: string(d.Status), Document: text, Signature: d.Signature,
	}
	if n := len(versions); n > 0 {
		v.Version = versions[n-1].Version + 1
	}
	var moves []ledger.Move
	if recorded && d.Status == topic.Closed {
		moves = append(moves, ledger.Move{
			TopicID: d.ID, From: string(at), Event: string(rlm.Close), To: string(rlm.Closed), Note: "the operator published a closed document",
		})
	}
	return h.o.Ledger.Publish(ctx, v, moves...)
}

// stage is where a topic stands: what its lifecycle recorded, else what the stored
// document implies, else what the new one does.
func (h *Host) stage(ctx context.Context, d *topic.Document, versions []ledger.TopicVersion) (at rlm.State, recorded bool, err error) {
	text, err := h.o.Ledger.State(ctx, d.ID)
	if err != nil {
		return "", false, err
	}
	if text != "" {
		return rlm.State(text), true, nil
	}
	if n := len(versions); n > 0 {
		if d, err = topic.ParseJSON(versions[n-1].Document); err != nil {
			return "", false, err
		}
	}
	return rlm.Implied(d), false, nil
}

// mayPublish applies decision 11 to a document that is not stored yet.
func mayPublish(d *topic.Document, at rlm.State, custom, stored bool) *Error {
	if !stored {
		return nil
	}
	if at == rlm.Closed {
		return refusef(conflict, "topic %q is closed; a closed topic does not open again, publish under another id", d.ID)
	}
	switch running := at == rlm.Open || at == rlm.Evaluating || at == rlm.Promoting; {
	case d.Status == topic.Draft && running:
		return refusef(conflict, "topic %q is open; close it instead of taking it back to a draft", d.ID)
	case d.Status == topic.Open && custom && !running && at != rlm.Baselining:
		return refusef(conflict, "topic %q is at %s; it opens when its setup has reached baselining", d.ID, at)
	}
	return nil
}

// seal opens a topic whose baseline was measured by its setup (R§18).
func (h *Host) seal(ctx context.Context, d *topic.Document, files *holding) error {
	if files.baseline == nil {
		return refusef(conflict, "no sealed measurement: %s", or(files.baselineFault, baselineVariable+" is not set"))
	}
	m, found := files.baseline.For(d.ID)
	if !found {
		return refusef(conflict, "no sealed measurement: %s", files.unmeasured(d.ID))
	}
	if h.o.Engine == nil {
		return refusef(unavailable, "no custom-family scorer on this host")
	}
	return h.engineError(ctx, h.o.Engine.MarkSealed(ctx, d, m))
}

// place is the index of the version that has a signature, or -1.
func place(versions []ledger.TopicVersion, signature string) int {
	for i := range versions {
		if versions[i].Signature == signature {
			return i
		}
	}
	return -1
}

// ExecutorSet is the answer to a new executor offer.
type ExecutorSet struct {
	EvalExecutor *offer.ExecutorView `json:"eval_executor"`
	CanScore     bool                `json:"can_score"`
}

// SetExecutor replaces the executor offer (R§14). A refused one leaves the offer
// before it in place. The offer survives a restart on a host that is given no
// executor file. An inference offer, which holds the judge's origin, stays in its
// file and is not stored.
func (h *Host) SetExecutor(ctx context.Context, body []byte) (*ExecutorSet, error) {
	e, err := offer.ParseExecutor(body)
	if err != nil {
		return nil, unread(err)
	}
	if err := e.Validate(h.o.Pin); err != nil {
		return nil, refusef(bad, "%s", err)
	}
	text, err := e.JSON()
	if err != nil {
		return nil, refusef(wrongTypes, "%s", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.o.Ledger.SaveOffer(ctx, ledger.ExecutorOffer, text, "admin"); err != nil {
		return nil, err
	}
	next := *h.known.Load()
	host := *next.host
	host.Executor, host.ExecutorFault = e, ""
	next.host = &host
	h.known.Store(&next)
	h.o.Log.InfoContext(ctx, "executor offer", "source", "admin", "offer_id", e.OfferID, "status", string(e.Status))
	return &ExecutorSet{e.Public(), len(h.live(ctx, h.view()).ScorableTopics()) > 0}, nil
}

// unread is the refusal of a document that cannot be read (decision 8).
func unread(err error) *Error {
	if fault := new(strict.Error); errors.As(err, &fault) && !fault.Syntax {
		return refusef(wrongTypes, "%s", err)
	}
	return refusef(bad, "%s", err)
}

// refused returns the refusal that an error is.
func refused(err error) (*Error, bool) {
	var refusal *Error
	return refusal, errors.As(err, &refusal)
}
