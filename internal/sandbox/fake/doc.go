// Package fake is a hypervisor that boots nothing: the agent's twin for
// development and for tests of the control plane (design decision 12).
//
// It keeps the order of a real one. A job fetches the artefact, checks its digest
// and its form, ticks the rules, "runs" it and attests; a refusal has the text of
// reference §23.2. But nothing is isolated, no code of a submission is ever run,
// and the figures of a run are what the artefact's own fake-run.json says. So its
// attestation has driver "fake" and sandboxed false, it refuses a topic that asks
// for Firecracker, and a production host refuses it.
//
// fake-run.json stands at the top of the artefact's tree; every member is
// optional:
//
//	primary_value  the figure of the run; absent: the recipe ran and failed
//	flops_used     the measured operations; absent: nothing was measured
//	exit_code      of the recipe, 0 when absent; another one is a failed recipe
//	claim_holds    whether the claim holds, false when absent
//	red            ids of the rules that the inspection finds broken
//	runs_for_s     seconds that the run takes; a run longer than its deadline is cut
//
// Without that file a recipe fails with exit status 1 and no operations.
package fake
