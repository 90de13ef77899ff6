// Package wire holds what control plane, host agent and guests say to each other
// about topic VMs: specs, jobs, outputs, reports, attestations, the agent's HTTP
// bodies and the messages of the guest protocol with their framing (reference
// §§16.3–16.6, 21.1, 22 and 23, "R§" in comments).
//
// It is pure: no network, no clock, no files. A topic document passes through as
// raw JSON, so that nothing of the challenge is known here.
//
// [Decode] reads strictly: a member that is unknown, twice there, in the wrong
// case or missing, a null for what is not optional, a number with a point for an
// integer are refused with the JSON Pointer of the fault, and no value of the
// text is ever repeated in an error, because some of these texts carry keys.
// [Encode] writes the same text for equal values. Memory stays in proportion to
// the bytes that really came, whatever a length or a count announces.
//
// Two functions decide what evidence is worth: [BindEvidence], which agent and
// client both run, and [Stamp], by which the host overwrites what a guest says of
// its own sandbox and usage.
package wire
