// Package harvest scores submissions of the families nll and throughput: it rents one
// machine, runs the pinned evaluation image there, and judges what the image measured
// (specification "Product rules"; reference §§8.1, 10, 15.6, "R§n" in comments). The
// host itself runs neither the image nor anything of a miner.
//
// [Harvest.Facts] tells the gate what is staged. [Harvest.Run] is one run: everything
// that can fail without a rent is done first; then a digest-bound template is resolved,
// exactly one GPU rented, request, weights, shards and teacher.env staged over SSH, the
// entry run under a wrapper that keeps the deadline, the document read from stdout, the
// pod terminated and seen to be gone, the document bound to the submission and judged.
// [Lium] is the provider; [Provider] says what a harvest needs of one.
//
// # Invariants
//
//   - A template is rented only when it carries the pinned image and digest and changes
//     nothing of what starts; a pod of more than one GPU is aborted.
//   - The deadline of a run is the plan's. PROOF_EVAL_TIMEOUT_SECS never shortens it.
//   - Run returns only when no pod of the run is listed any more, or with status 500:
//     also when the caller left, when a rent got no answer, and when staging failed.
//   - What was staged stays out of what is shown. Key, origin and the holdout's records
//     are taken out of the tail of a run, of rationales and of every text, in the forms
//     in which programs print them; texts of the provider and of SSH are not repeated at
//     all. A miner's code that runs in the pod can still print the shards' content in a
//     form of its own: the tail is 8 KiB at most, and only a run that was cut shows one.
//   - A document that is missing, printed twice or about another run is a 503 and no row.
//
// # What could not be checked
//
// No account of Lium was available. Paths, headers and member names in [Lium] follow
// its public command line client as its users know it, and the tests run against a
// server that answers so. To check on the first real rent: X-API-Key, /executors,
// /executors/{id}/rent, /pods, /templates; docker_image_digest and the statuses
// VERIFY_SUCCESS and VERIFY_FAILED of a template; that executors list specs.gpu.count and
// price_per_hour of the whole rent; that a terminated pod leaves the list of pods; whether
// a pod's host key can be had over the API (here the first one shown is taken, so that
// whoever sits between host and pod at that moment could stand in for it). The name of an
// SSH key is not sent, because the rent takes the key itself. How the image wants its request is not part of the
// reference either; it is passed as `proof-eval score --request FILE`. The artefact
// is named in it by its digest alone, as the reference says.
package harvest
