package rlm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/internal/research/baseline"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// MarkSealed opens a custom topic whose baseline was measured: the operator sealed
// the measured value and signed the document again (R§18). The checks come in the
// order of that section, and nothing is written before all have passed; then the new
// version and the move to open are one transaction. d is what the operator posted, m
// the measurement of its baseline file.
func (e *Engine) MarkSealed(ctx context.Context, d *topic.Document, m *baseline.Measurement) error {
	if d.Status != topic.Open {
		return fmt.Errorf("topic %s has status %s; only an open document seals", d.ID, d.Status)
	}
	if d.Metric.Family != topic.Custom {
		return fmt.Errorf("topic %s is of family %s; only custom topics have a measured baseline to seal", d.ID, d.Metric.Family)
	}
	if err := d.Validate(e.o.Pin, e.Registered); err != nil {
		return err
	}
	if err := d.Verify(e.o.Pin); err != nil {
		return err
	}
	if m == nil {
		return errors.New("recorded baseline: there is none for the topic")
	}
	if err := m.Bind(e.o.Pin, d); err != nil {
		return err
	}
	// A setup that is under way would go on writing rules under an open topic.
	lease, err := e.take(ctx, d.ID)
	if err != nil {
		return err
	}
	if lease == nil {
		return ErrBusy
	}
	defer lease.end()
	e.rules.Lock()
	defer e.rules.Unlock()
	if err := e.measuredUnderCurrentRules(ctx, d, m); err != nil {
		return err
	}
	from, err := e.State(ctx, d)
	if err != nil {
		return err
	}
	if from != Baselining {
		return fmt.Errorf("topic lifecycle: %w: %s is %s, sealing wants %s", ErrIllegal, d.ID, from, Baselining)
	}
	moves, err := path(d.ID, from, note(BaselineSealed, ""))
	if err != nil {
		return err
	}
	newest, err := e.o.Ledger.Topic(ctx, d.ID)
	if err != nil {
		return err
	}
	version := uint32(1)
	if newest != nil {
		version = newest.Version + 1
	}
	text, err := d.JSON()
	if err != nil {
		return err
	}
	return e.publishVersion(ctx, d, version, text, moves...)
}

// measuredUnderCurrentRules holds the sealed value against the one that was measured,
// and the measurement against the rules and the script that count now (decision 11).
func (e *Engine) measuredUnderCurrentRules(ctx context.Context, d *topic.Document, m *baseline.Measurement) error {
	measured, err := e.o.Ledger.LatestMeasurement(ctx, d.ID)
	if err != nil {
		return err
	}
	if measured == nil {
		return fmt.Errorf("no baseline measured for %q", d.ID)
	}
	if m.CustomValue == nil || !finite(*m.CustomValue) {
		return errors.New("sealed measurement has no custom_value")
	}
	if err := m.SealsMeasured(measured.PrimaryValue); err != nil {
		return err
	}
	rules, err := e.o.Ledger.Rules(ctx, d.ID)
	if err != nil {
		return err
	}
	if rules == nil || rules.Version != measured.RulesVersion {
		return fmt.Errorf("the baseline of %q was measured under rules v%d, which are not the current ones; run its setup again", d.ID, measured.RulesVersion)
	}
	var report wire.RunReport
	if err := json.Unmarshal(measured.Report, &report); err != nil {
		return fmt.Errorf("stored baseline report: %w", err)
	}
	if !shape.SameHex(report.ArtifactDigest, d.Baseline.ScriptSHA256) {
		return fmt.Errorf("sealed script_sha256 is not the baseline that was measured for %q; run its setup again", d.ID)
	}
	return nil
}

// EditRules stores the operator's rules as the next version (R§16.2), after the
// signed vector where that was not stored yet, and returns it. Runs that already
// inspected under the old rules are refused before they spend.
func (e *Engine) EditRules(ctx context.Context, topicID string, rules []topic.ChecklistItem) (*topic.RuleSet, error) {
	d, err := e.document(ctx, topicID)
	if err != nil {
		return nil, err
	}
	e.rules.Lock()
	defer e.rules.Unlock()
	next := topic.RuleSet{TopicID: d.ID, Version: 1, Source: topic.FromOperator, Rules: rules}
	if err := CheckRuleSet(next); err != nil {
		return nil, err
	}
	current, err := e.currentRules(ctx, d)
	if err != nil {
		return nil, err
	}
	if current != nil {
		next.Version = current.Version + 1
	}
	if err := e.addRules(ctx, next); err != nil {
		return nil, err
	}
	return &next, nil
}
