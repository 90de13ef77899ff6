// Package agent is the participant's side of a season: signing up, consulting a
// corpus through the proxy, reading the pairs that open a receipt, submitting;
// the reference agents; and the runner of a user's own command.
//
// It uses what any participant has, HTTP and an API key, and knows issuer and
// season by their wire forms only. It imports no other room of the challenge, so
// that what works here works for a participant's program in any language.
//
// Invariants:
//
//   - what an agent asserts with a receipt it took from that receipt's body,
//     unless the agent's description says otherwise;
//   - key and token go into request headers only, never into a log or an error;
//   - a request that is refused for load (429, 503) is tried again a few times,
//     never without end; at most eight requests of a client are under way;
//   - bodies from outside are bounded and may hold anything;
//   - a command run by [RunCommand] does not outlive the call, nor does its
//     process group.
//
// The reference agents differ in how they work, not in what they may use. The
// Reader derives its verdicts from the evaluation rules that the corpus publishes
// at /referentiel and from what it consulted; no agent knows a key.
//
// Specification: prove-it §2.4, §3, §4, §5.7; design of the receipts challenge,
// sections 2, 3 and 6; Trust Layer reference §§3, 4, 12.
package agent
