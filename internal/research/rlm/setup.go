package rlm

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/prova-dev/prova/internal/research/ledger"
	"github.com/prova-dev/prova/internal/research/shape"
	"github.com/prova-dev/prova/internal/research/topic"
	"github.com/prova-dev/prova/internal/sandbox/wire"
)

// What a caller of the ceremonies decides by.
var (
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrNoOwnerHook is the text of R§16.1.
	ErrNoOwnerHook = errors.New("no owner hook configured; owner_presend cannot advance")
	// ErrDeclined says that the owner said no; the topic is a draft again.
	ErrDeclined = errors.New("the owner declined")
	// ErrOwnerKeys says that the owner's key is not there yet; the topic waits.
	ErrOwnerKeys = errors.New("owner inference key missing or blank (" + OwnerKeyVariable + "); awaiting_owner_keys cannot advance")
	// ErrBusy says that another run or ceremony has the topic.
	ErrBusy = errors.New("another run or ceremony has the topic; try again when it ended")
	// ErrState says that the ceremony has nothing to do where the topic stands.
	ErrState = errors.New("the topic is not in setup")
)

// Presend is what the owner of a topic is shown before anything is spent (R§16.1).
type Presend struct {
	TopicID             string   `json:"topic_id"`
	Statement           string   `json:"statement"`
	CustomID            string   `json:"custom_id"`
	ModelPin            *string  `json:"model_pin"`
	TaskSlice           *string  `json:"task_slice"`
	FirecrackerRequired bool     `json:"firecracker_required"`
	Seed                uint64   `json:"seed"`
	RuleIDs             []string `json:"rule_ids"`
	SpendCapUSD         float64  `json:"spend_cap_usd"`
}

// OwnerHook asks the owner of a topic whether its setup may go on. The reason of a
// refusal is recorded; it is shown to operators.
type OwnerHook interface {
	Ask(ctx context.Context, p *Presend) (approved bool, reason string, err error)
}

// SetupResult is what a setup came to.
type SetupResult struct {
	TopicID         string      `json:"topic_id"`
	VM              wire.Handle `json:"vm"`
	RulesVersion    uint32      `json:"rules_version"`
	BaselinePrimary float64     `json:"baseline_primary"`
	FlopsUsed       uint64      `json:"flops_used"`
}

// Presend returns what the owner of a topic is shown.
func (e *Engine) Presend(ctx context.Context, topicID string) (*Presend, error) {
	d, err := e.document(ctx, topicID)
	if err != nil {
		return nil, err
	}
	return e.presend(ctx, d)
}

func (e *Engine) presend(ctx context.Context, d *topic.Document) (*Presend, error) {
	rules := d.Checklist
	set, err := e.o.Ledger.Rules(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	if set != nil {
		rules = set.Rules
	}
	p := &Presend{
		TopicID: d.ID, Statement: d.Statement, CustomID: d.Metric.CustomID, ModelPin: d.Constraints.ModelPin,
		TaskSlice: d.Constraints.TaskSlice, FirecrackerRequired: d.Constraints.FirecrackerRequired,
		Seed: d.Baseline.Seed, RuleIDs: make([]string, len(rules)), SpendCapUSD: e.o.SpendCapUSD,
	}
	for i, r := range rules {
		p.RuleIDs[i] = r.ID
	}
	return p, nil
}

// document returns the newest stored document of a topic.
func (e *Engine) document(ctx context.Context, topicID string) (*topic.Document, error) {
	v, err := e.o.Ledger.Topic(ctx, topicID)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, ErrUnknownTopic
	}
	return topic.ParseJSON(v.Document)
}

// Setup takes a custom topic from draft to a measured baseline (R§18), and goes on
// from wherever an earlier call was stopped: every step is recorded before the next
// is begun. The topic's document must be published, with the hash of its baseline
// archive, since that is what gets measured.
//
// The topic stays at baselining; MarkSealed opens it. A refused measurement leaves it
// there as well, a failed VM takes it back to draft.
func (e *Engine) Setup(ctx context.Context, topicID string, owner OwnerHook) (*SetupResult, error) {
	d, err := e.document(ctx, topicID)
	if err != nil {
		return nil, err
	}
	switch {
	case d.Metric.Family != topic.Custom:
		return nil, fmt.Errorf("topic %s is of family %s; only custom topics are set up by their RLM", d.ID, d.Metric.Family)
	case !e.Registered(d.Metric.CustomID):
		return nil, fmt.Errorf("custom metric %q has no registered runner", d.Metric.CustomID)
	case !shape.Hex64(d.Baseline.ScriptSHA256):
		return nil, fmt.Errorf("topic %s: baseline.script_sha256 is not set; publish the draft with the SHA-256 of its baseline archive", d.ID)
	}
	lease, err := e.take(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	if lease == nil {
		return nil, ErrBusy
	}
	defer lease.end()
	result, err := e.setup(lease.ctx, d, owner)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(lease.ctx), errLeaseLost) {
		err = errLeaseLost
	}
	return result, err
}

// setup steps through the states before open. Each round records one event.
func (e *Engine) setup(ctx context.Context, d *topic.Document, owner OwnerHook) (*SetupResult, error) {
	for {
		state, err := e.State(ctx, d)
		if err != nil {
			return nil, err
		}
		switch state {
		case Draft:
			err = e.apply(ctx, d, note(SubmitForReview, ""))
		case OwnerPresend:
			err = e.askOwner(ctx, d, owner)
		case AwaitingOwnerKeys:
			err = e.probeOwnerKeys(ctx, d)
		case Provisioning:
			err = e.provision(ctx, d)
		case Baselining:
			return e.measure(ctx, d)
		default:
			return nil, fmt.Errorf("%w: it is %s", ErrState, state)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (e *Engine) askOwner(ctx context.Context, d *topic.Document, owner OwnerHook) error {
	if owner == nil {
		return ErrNoOwnerHook
	}
	p, err := e.presend(ctx, d)
	if err != nil {
		return err
	}
	approved, reason, err := owner.Ask(ctx, p)
	if err != nil {
		return fmt.Errorf("owner hook: %w", err)
	}
	reason = cut(reason, 512)
	if approved {
		return e.apply(ctx, d, note(OwnerApproved, reason))
	}
	if err := e.apply(ctx, d, note(OwnerDeclined, reason)); err != nil {
		return err
	}
	return ErrDeclined
}

func (e *Engine) probeOwnerKeys(ctx context.Context, d *topic.Document) error {
	present, err := e.ownerKeyPresent()
	if err != nil {
		return err
	}
	if !present {
		return ErrOwnerKeys
	}
	return e.apply(ctx, d, note(OwnerKeysPresent, ""))
}

// provision boots the topic's VM, or finds it running.
func (e *Engine) provision(ctx context.Context, d *topic.Document) error {
	vm, err := e.vm(ctx, d, true)
	if err != nil {
		return e.failed(ctx, d, ProvisionFailed, err)
	}
	return e.apply(ctx, d, note(Provisioned, vm.VMID))
}

// failed records that the boundary failed and the topic is a draft again. A ceremony
// that was stopped has not failed: it goes on later from where it is.
func (e *Engine) failed(ctx context.Context, d *topic.Document, event Event, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if moved := e.apply(ctx, d, note(event, cut(err.Error(), 512))); moved != nil {
		return errors.Join(err, moved)
	}
	return err
}

// measure has the topic's RLM write its rules and measures the baseline under them.
// The last word of an operator on the rules stands: then only the baseline is
// measured again.
func (e *Engine) measure(ctx context.Context, d *topic.Document) (*SetupResult, error) {
	vm, err := e.vm(ctx, d, true)
	if err != nil {
		return nil, e.failed(ctx, d, BaselineFailed, err)
	}
	if !e.o.ReuseVM {
		// It has served: what comes after the ceremony boots its own.
		defer e.discard(ctx, vm)
	}
	rules, err := e.currentRules(ctx, d)
	if err != nil {
		return nil, err
	}
	if rules == nil || rules.Source != topic.FromOperator {
		if rules, err = e.propose(ctx, d, vm, rules); err != nil {
			return nil, err
		}
	}
	req, err := BaselineRequest(d, *rules, e.o.Pin.MaxProofDeadlineSCeiling)
	if err != nil {
		return nil, err
	}
	out, err := e.paid(ctx, vm, baselineJob(req))
	if unbound, ok := errors.AsType[*UnboundError](err); ok {
		return nil, fmt.Errorf("baseline refused: %w", unbound)
	}
	if err != nil {
		return nil, e.failed(ctx, d, BaselineFailed, err)
	}
	report := out.Output.Report
	if report.PrimaryValue == nil {
		return nil, fmt.Errorf("baseline refused: the baseline recipe ran and failed: %q", cut(report.Failure, 256))
	}
	if *report.FlopsUsed > d.FLOPsBudget {
		return nil, fmt.Errorf("baseline refused: it used %d operations, the topic's flops_budget is %d", *report.FlopsUsed, d.FLOPsBudget)
	}
	text, err := json.Marshal(report)
	if err != nil {
		return nil, fmt.Errorf("baseline report: %w", err)
	}
	err = e.write("measurement", func() error {
		return e.o.Ledger.AddMeasurement(ctx, ledger.Measurement{
			TopicID: d.ID, RulesVersion: rules.Version, PrimaryValue: *report.PrimaryValue, Report: text,
		})
	})
	if err != nil {
		return nil, err
	}
	return &SetupResult{d.ID, vm, rules.Version, *report.PrimaryValue, *report.FlopsUsed}, nil
}

// propose stores the rules that the RLM writes as the next version.
func (e *Engine) propose(ctx context.Context, d *topic.Document, vm wire.Handle, current *topic.RuleSet) (*topic.RuleSet, error) {
	job, err := proposeJob(d, current)
	if err != nil {
		return nil, err
	}
	out, err := e.job(ctx, vm, job)
	if err != nil {
		return nil, e.failed(ctx, d, BaselineFailed, err)
	}
	next := topic.RuleSet{TopicID: d.ID, Version: 1, Source: topic.FromRLM, Rules: items(out.Output.Rules)}
	if current != nil {
		next.Version = current.Version + 1
	}
	if err := CheckRuleSet(next); err != nil {
		return nil, fmt.Errorf("the RLM proposed rules that cannot be used: %w", err)
	}
	if err := e.addRules(ctx, next); err != nil {
		return nil, err
	}
	return &next, nil
}
