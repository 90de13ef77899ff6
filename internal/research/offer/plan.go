package offer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prova-dev/prova/internal/research/pin"
	"github.com/prova-dev/prova/internal/research/topic"
)

// The variables by which an operator swaps the offer's values without a new
// offer (R§8.1).
const (
	TemplateVariable = "PROOF_HARVEST_TEMPLATE_ID"
	GPUVariable      = "PROOF_HARVEST_GPU_COUNT"
	DeadlineVariable = "PROOF_HARVEST_DEADLINE_SECS"
)

// Overrides are the operator's values; nil leaves the offer's.
type Overrides struct {
	TemplateID *string
	GPUCount   *uint32
	DeadlineS  *uint64 // seconds
}

// ParseOverrides reads the three variables through a look-up such as os.Getenv.
// A blank value is unset. One that cannot be read refuses every plan: falling
// back to the offer would run what the operator meant to replace.
func ParseOverrides(lookup func(name string) string) (Overrides, error) {
	var o Overrides
	if s := strings.TrimSpace(lookup(TemplateVariable)); s != "" {
		o.TemplateID = &s
	}
	if s := strings.TrimSpace(lookup(GPUVariable)); s != "" {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return Overrides{}, unusable(GPUVariable)
		}
		count := uint32(n)
		o.GPUCount = &count
	}
	if s := strings.TrimSpace(lookup(DeadlineVariable)); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return Overrides{}, unusable(DeadlineVariable)
		}
		o.DeadlineS = &n
	}
	return o, nil
}

func unusable(variable string) error {
	return fmt.Errorf("eval executor offer: %s is set but not a usable harvest override", variable)
}

// Plan is one rent, resolved (R§8.1).
type Plan struct {
	OfferID          string `json:"offer_id"`
	TopicID          string `json:"topic_id"` // the scope of an attach, nothing else
	TemplateID       string `json:"template_id"`
	GPUCount         uint32 `json:"gpu_count"`  // always 1
	DeadlineS        uint64 `json:"deadline_s"` // seconds
	OfferCommitment  string `json:"offer_commitment"`
	ConfigCommitment string `json:"config_commitment"` // of what actually runs
}

// exactGPUs is the width of every rent.
const exactGPUs = 1

// Plan resolves the rent of one run for a topic (R§8.1): the offer, tightened by
// the topic, with the operator's overrides. A value that is out of a ceiling
// refuses the rent; nothing is clamped. The errors are those of the scoring
// path. e may be nil.
func (e *Executor) Plan(p *pin.Pin, t *topic.Document, o Overrides) (*Plan, error) {
	if err := e.RequireOpen(p); err != nil {
		return nil, err
	}
	if err := e.Serves(t); err != nil {
		return nil, err
	}
	plan, err := e.resolve(p, t, o)
	if err != nil {
		return nil, fmt.Errorf("eval executor offer: %w", err)
	}
	return plan, nil
}

func (e *Executor) resolve(p *pin.Pin, t *topic.Document, o Overrides) (*Plan, error) {
	if t.EvalExecutor.RequireOfferCommitment != nil {
		if o.TemplateID != nil && *o.TemplateID != e.LiumTemplateID {
			return nil, approved(TemplateVariable)
		}
		if o.DeadlineS != nil && *o.DeadlineS != e.MaxProofDeadlineS {
			return nil, approved(DeadlineVariable)
		}
	}
	template := either(o.TemplateID, e.LiumTemplateID)
	if err := CheckTemplate(p, template); err != nil {
		return nil, err
	}
	offered, _ := GPUCount(e.MachineShape)
	if gpus := either(o.GPUCount, offered); gpus != exactGPUs {
		return nil, fmt.Errorf("abort: executor would rent %dx GPUs; the Proof executor is exactly %dx", gpus, exactGPUs)
	}
	// An override may be longer than the offer, up to the pin's ceiling; a topic
	// only shortens, and does not hide an override that is out of bounds.
	deadline := either(o.DeadlineS, e.MaxProofDeadlineS)
	if err := checkDeadline(p, deadline); err != nil {
		return nil, err
	}
	deadline = min(deadline, either(t.EvalExecutor.MaxProofDeadlineS, deadline))
	if err := checkDeadline(p, deadline); err != nil {
		return nil, err
	}
	runs, err := config{e.EvalImageDigest, template, p.GPUClass, deadline}.commitment()
	if err != nil {
		return nil, err
	}
	return &Plan{
		OfferID: e.OfferID, TopicID: t.ID, TemplateID: template, GPUCount: exactGPUs, DeadlineS: deadline,
		OfferCommitment:  strings.ToLower(strings.TrimSpace(e.ConfigCommitment)),
		ConfigCommitment: runs,
	}, nil
}

func approved(variable string) error {
	return fmt.Errorf("%s changes the configuration, and the topic pins the offer it approved (require_offer_commitment); unset it", variable)
}
