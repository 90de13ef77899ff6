package rlm

import (
	"errors"
	"fmt"

	"github.com/prova-dev/prova/internal/research/topic"
)

// State is where a topic stands in its life (R§16.1).
type State string

// The nine states of R§16.1.
const (
	Draft             State = "draft"
	OwnerPresend      State = "owner_presend"
	AwaitingOwnerKeys State = "awaiting_owner_keys"
	Provisioning      State = "provisioning"
	Baselining        State = "baselining"
	Open              State = "open"
	Evaluating        State = "evaluating"
	Promoting         State = "promoting"
	Closed            State = "closed"
)

// States returns the states in the order of a topic's life.
func States() []State {
	return []State{Draft, OwnerPresend, AwaitingOwnerKeys, Provisioning, Baselining, Open, Evaluating, Promoting, Closed}
}

// Event is what moves a topic from one state to another (R§16.1).
type Event string

// The events of R§16.1.
const (
	SubmitForReview    Event = "submit_for_review"
	OwnerApproved      Event = "owner_approved"
	OwnerDeclined      Event = "owner_declined"
	OwnerKeysPresent   Event = "owner_keys_present"
	Provisioned        Event = "provisioned"
	ProvisionFailed    Event = "provision_failed"
	BaselineSealed     Event = "baseline_sealed"
	BaselineFailed     Event = "baseline_failed"
	SubmissionReceived Event = "submission_received"
	VerdictRecorded    Event = "verdict_recorded"
	PromotionCandidate Event = "promotion_candidate"
	Promoted           Event = "promoted"
	PromotionRefused   Event = "promotion_refused"
	Close              Event = "close"
)

// Events returns every event, in the order of the table of R§16.1.
func Events() []Event {
	return []Event{
		SubmitForReview, OwnerApproved, OwnerDeclined, OwnerKeysPresent, Provisioned, ProvisionFailed, BaselineSealed,
		BaselineFailed, SubmissionReceived, VerdictRecorded, PromotionCandidate, Promoted, PromotionRefused, Close,
	}
}

// ErrIllegal is in every error of Next: the event does not exist in that state and
// nothing has moved.
var ErrIllegal = errors.New("illegal transition")

// Next returns the state that an event leads to. It is the whole machine of R§16.1;
// an event that the table does not have there is ErrIllegal. Closing is possible
// from everywhere but closed.
func Next(s State, e Event) (State, error) {
	type step struct {
		from  State
		event Event
	}
	switch (step{s, e}) {
	case step{Draft, SubmitForReview}:
		return OwnerPresend, nil
	case step{OwnerPresend, OwnerApproved}:
		return AwaitingOwnerKeys, nil
	case step{OwnerPresend, OwnerDeclined}, step{Provisioning, ProvisionFailed}, step{Baselining, BaselineFailed}:
		return Draft, nil
	case step{AwaitingOwnerKeys, OwnerKeysPresent}:
		return Provisioning, nil
	case step{Provisioning, Provisioned}:
		return Baselining, nil
	case step{Open, SubmissionReceived}:
		return Evaluating, nil
	case step{Evaluating, PromotionCandidate}:
		return Promoting, nil
	case step{Baselining, BaselineSealed}, step{Evaluating, VerdictRecorded},
		step{Promoting, Promoted}, step{Promoting, PromotionRefused}:
		return Open, nil
	}
	if e == Close && s != Closed && s.known() {
		return Closed, nil
	}
	return "", fmt.Errorf("topic lifecycle: %w: %s does not happen in %s", ErrIllegal, e, s)
}

func (s State) known() bool {
	for _, k := range States() {
		if s == k {
			return true
		}
	}
	return false
}

// Implied returns the state of a topic of which no event was ever recorded, read
// from its document (R§16.1): an open document without a seal still needs its
// baseline.
func Implied(d *topic.Document) State {
	switch {
	case d.Status == topic.Closed:
		return Closed
	case d.Status != topic.Open:
		return Draft
	case d.Baseline.Sealed():
		return Open
	default:
		return Baselining
	}
}
