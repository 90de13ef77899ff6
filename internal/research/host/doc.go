// Package host is the control plane of the research challenge without its HTTP:
// what is known, what is taken, what runs, what is stored and who is paid
// (specification "HTTP" and "Submit fields"; reference §§11 to 15, 17, 25 and 28,
// "R§11" in comments; decisions of the design).
//
// A submission goes one way:
//
//	Submit: gate up to the freeze -> one write transaction of the ledger, in which
//	        the rest of the gate decides -> a flight in the queue, or a row, or nothing
//	Run:    a worker claims the flight -> sim, harvest or engine -> row, or refusal
//	Submit: whoever still waits is told; everybody else asks by digest
//
// # Invariants
//
//   - What the host knows is one immutable value behind an atomic pointer. It is
//     replaced, never changed: a submission sees one state from its first check to
//     its freeze, and keeps the offers and the topic of that moment.
//   - A refusal leaves no row. A run ends in exactly one of a row and a refusal, or
//     is left to the next start; it never depends on a client that waits.
//   - A bad file of the operator is a warning and a fault that the gate names by
//     its variable. No path, origin, key or record is part of a reply, an error or
//     a log line.
//   - The sim backend runs only where it was asked for, and never in production; a
//     live host never falls back to it.
//   - An epoch is closed once, when nothing that was accepted in it is in flight,
//     and in order. What is withheld from rows and artefacts is withheld until then.
package host
