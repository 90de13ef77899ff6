package topic

import "fmt"

// Kind names why a document was refused, for a caller that decides by it.
type Kind string

// The kinds of refusals, in the order in which Validate may meet them.
const (
	BadSchema               Kind = "bad_schema"
	BadID                   Kind = "bad_id"
	BadStatement            Kind = "bad_statement"
	BadValidation           Kind = "bad_validation"
	BadDiscoveryShares      Kind = "bad_discovery_shares"
	BadMetric               Kind = "bad_metric"
	MissingFamilyField      Kind = "missing_family_field"
	ForbiddenFamilyField    Kind = "forbidden_family_field"
	UnknownCustom           Kind = "unknown_custom"
	BadBinding              Kind = "bad_binding"
	BadFLOPs                Kind = "bad_flops"
	LoosenedFloor           Kind = "loosened_floor"
	ProxyModelSet           Kind = "proxy_model_set"
	BadInferenceCommitment  Kind = "bad_inference_commitment"
	IncompleteInference     Kind = "incomplete_inference"
	InferenceMode           Kind = "inference_mode"
	InferenceCeiling        Kind = "inference_ceiling"
	BadExecutorCommitment   Kind = "bad_executor_commitment"
	ExecutorDeadlineCeiling Kind = "executor_deadline_ceiling"
	BadBaseline             Kind = "bad_baseline"
	BudgetMismatch          Kind = "budget_mismatch"
	StrawmanBaseline        Kind = "strawman_baseline"
	BadHoldoutCommitment    Kind = "bad_holdout_commitment"
	HoldoutSize             Kind = "holdout_size"
	BadWindow               Kind = "bad_window"
	BaselineUnsealed        Kind = "baseline_unsealed"
)

// Refusal is why a document does not validate: its kind, the text of reference
// §5.8, which is the whole error, and for some a hint for whoever wrote it.
type Refusal struct {
	Kind Kind
	Text string
	Hint string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(kind Kind, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}
}
