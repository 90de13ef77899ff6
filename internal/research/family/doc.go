// Package family decides what a measured run of the research challenge is
// worth: the gates common to every metric family and the ones of nll,
// throughput and custom, the verdict that a row stores, and the state that the
// row ends in (reference §§10 and 12, R§n in this package; specification
// "Metric families").
//
// It is pure: no clock, store, network or randomness, and it knows no topic
// document. A caller maps its topic, sealed baseline and report to the small
// structs of this package:
//
//	Topic.ID, FlopsBudget, EpsilonNLL, EpsilonTopicMaxRegress   the same members of the topic
//	Topic.Family, Primary, Direction, EpsilonRel,
//	      QualityFloorNLL, WallBudgetS, CustomID                the topic's metric.*
//	Expected.EvalImageDigest                                    the pin's digest
//	Expected.HoldoutCommitment                                  the topic's commitment
//	Input.Sealed                                                the figures of the recorded measurement (R§9)
//	Input.Fingerprints                                          hits of the manifest in the holdout (R§6.5)
//	Run                                                         request and report of a custom run (R§§16.4, 16.5)
//
// The way of a harvested run is [ParseDocument], [Document.Bind], [Judge]; that
// of a custom one [RejectChecklist] or [JudgeRun], then [Promote]; a submission
// that is rejected before anything ran is [PreEvalReject]. [StateOf] names the
// state of the row.
//
// What it promises:
//
//   - The same input gives the same bytes on every machine: metrics are float64,
//     each product is rounded before it is added to anything (no fused
//     multiply-add), gates are sorted and free of duplicates, members keep the
//     order of R§10.
//   - A document that does not parse or does not bind is never a zero. It is an
//     [*EvidenceError], a 503 without a row; a [Verdict] always is a row.
//   - The comparison is exact: no tolerance, equality passes where the rule says
//     so (R§12.3).
package family
