package rlm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/family"
	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/topic"
)

// noted is an event and what is recorded beside it; never a secret.
type noted struct {
	event Event
	note  string
}

func note(e Event, text string) noted { return noted{e, strings.TrimSpace(text)} }

// State returns where a topic stands: its last recorded move, or what its document
// implies.
func (e *Engine) State(ctx context.Context, d *topic.Document) (State, error) {
	s, err := e.o.Ledger.State(ctx, d.ID)
	if err != nil {
		return "", err
	}
	if s == "" {
		return Implied(d), nil
	}
	return State(s), nil
}

// path returns the moves that some events make from a state, ErrIllegal and no move
// when one of them cannot happen.
func path(topicID string, from State, events ...noted) ([]ledger.Move, error) {
	moves := make([]ledger.Move, 0, len(events))
	for _, n := range events {
		to, err := Next(from, n.event)
		if err != nil {
			return nil, err
		}
		moves = append(moves, ledger.Move{TopicID: topicID, From: string(from), Event: string(n.event), To: string(to), Note: n.note})
		from = to
	}
	return moves, nil
}

// apply records events from wherever the topic stands.
func (e *Engine) apply(ctx context.Context, d *topic.Document, events ...noted) error {
	from, err := e.State(ctx, d)
	if err != nil {
		return stored("lifecycle", err)
	}
	moves, err := path(d.ID, from, events...)
	if err != nil {
		return err
	}
	err = e.write("move "+string(events[0].event), func() error { return e.o.Ledger.Apply(ctx, moves...) })
	if errors.Is(err, ledger.ErrMoved) {
		return fmt.Errorf("topic lifecycle: %w: %s was left by somebody else", ErrIllegal, from)
	} else if err != nil {
		return stored("lifecycle", err)
	}
	return nil
}

// transition gives an illegal move the text of R§17.5.
func transition(err error) error {
	if errors.Is(err, ErrIllegal) {
		return refuse(unavailable, "backend: "+err.Error())
	}
	return err
}

// freshen takes a topic out of a phase whose run never persisted (R§17.4). The caller
// has the topic's lease, so no run can be in it.
func (e *Engine) freshen(ctx context.Context, d *topic.Document) error {
	from, err := e.State(ctx, d)
	if err != nil {
		return err
	}
	const why = "the previous run never persisted"
	switch from {
	case Evaluating:
		return e.apply(ctx, d, note(VerdictRecorded, why))
	case Promoting:
		return e.apply(ctx, d, note(PromotionRefused, why))
	}
	return nil
}

// abandon ends the phase of a run that came to no row. A failure is no harm: whoever
// takes the lease next does the same.
func (e *Engine) abandon(ctx context.Context, d *topic.Document) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer done()
	if err := e.apply(ctx, d, note(VerdictRecorded, "refused; no row")); err != nil && !errors.Is(err, ErrIllegal) {
		e.o.Log.Warn("phase of a refused run not ended", "topic", d.ID, "error", err)
	}
}

// keepVersion stores a signed document that the ledger has not got (R§17.3). An older
// version that a submission was accepted under is there already and stays old.
func (e *Engine) keepVersion(ctx context.Context, d *topic.Document) error {
	versions, err := e.o.Ledger.TopicVersions(ctx, d.ID)
	if err != nil {
		return err
	}
	next := uint32(1)
	for _, v := range versions {
		if v.Signature == d.Signature {
			return nil
		}
		next = max(next, v.Version+1)
	}
	text, err := d.JSON()
	if err != nil {
		return err
	}
	return e.publishVersion(ctx, d, next, text)
}

func (e *Engine) publishVersion(ctx context.Context, d *topic.Document, version uint32, text []byte, moves ...ledger.Move) error {
	return e.write("topic version", func() error {
		return e.o.Ledger.Publish(ctx, ledger.TopicVersion{
			TopicID: d.ID, Version: version, Status: string(d.Status), Document: text, Signature: d.Signature,
		}, moves...)
	})
}

func (e *Engine) addRules(ctx context.Context, r topic.RuleSet) error {
	return e.write("rules "+string(r.Source), func() error { return e.o.Ledger.AddRules(ctx, r) })
}

// sealedMetrics are the figures of a recorded baseline as scoring wants them.
func sealedMetrics(m *baseline.Measurement) family.Metrics {
	splits := make(map[string]float64, len(m.SplitNLL))
	for split, nll := range m.SplitNLL {
		splits[string(split)] = nll
	}
	return family.Metrics{
		HoldoutNLL: m.HoldoutNLL, SplitNLL: splits,
		TokensPerSec: m.TokensPerSec, StepLatencyMS: m.StepLatencyMS, CustomValue: m.CustomValue,
	}
}
