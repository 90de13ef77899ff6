// Package offer reads the two live offers of the research challenge: the
// [Inference] offer, which is the judge's backend, and the [Executor] offer,
// which is where the evaluation image runs (specification "Product rules";
// reference §§7 and 8, "R§7" in comments). From the executor offer, the pin, the
// topic and the operator's overrides it plans the one rent of a run.
//
// # Invariants
//
//   - A topic and an override tighten, never loosen: a value out of its ceiling
//     refuses the run, it is never brought back into it.
//   - A topic's origin never becomes the origin that is called: it is compared
//     with the live offer and nothing else. Neither origin is part of a view, an
//     error or the text that fmt writes of an offer.
//   - Raw template ids of the provider are refused whatever the pin allows, and a
//     pin without an image digest binds no executor: what is rented always carries
//     the digest that was pinned.
//
// Nothing here reads a clock, a file, the network or the environment; errors of
// this package are the reference's texts.
package offer
