package results

// The states of a task and their reasons (§9.2).
const (
	StateNotSubmitted = "not_submitted"
	StateRejected     = "rejected"
	StatePending      = "pending"
	StateSubmitted    = "submitted"

	ReasonAbsent            = "absent"
	ReasonNotConforming     = "not_conforming"
	ReasonOverCap           = "over_cap"
	ReasonOutsideTaskGraph  = "outside_task_graph"
	ReasonFieldNotProbative = "field_not_probative"
	ReasonNotConcerned      = "common_list_entry_not_concerned"
	ReasonBelowMinimum      = "below_minimum"
	ReasonBelowOwnMinimum   = "below_own_minimum"
)

// Details of steps 3 and 4 (§10); those of steps 1 and 2 are package receipt's,
// the statuses and causes package bundle's.
const (
	DetailRequestHashDiffers  = "request_hash_differs"
	DetailResponseHashDiffers = "response_hash_differs"
	DetailFieldAbsent         = "field_absent"
	DetailValueDiffers        = "value_differs"
)

// The kinds of incidents (§11). An incident is never a cause of a score.
const (
	IncidentInstrumentFault   = "instrument_fault"
	IncidentFlatFieldDiverges = "flat_field_diverges"
)
