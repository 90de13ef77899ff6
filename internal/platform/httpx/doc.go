// Package httpx is what every HTTP service of the house shares: problems in the
// form of RFC 9457, bodies read within bounds, the middleware that keeps a
// fault in one request from touching another, and the outgoing transport that
// cannot be talked into the inside of a network.
//
// Invariants:
//
//   - No panic crosses a handler: it becomes a 500 problem and a log line.
//   - A body is read up to a limit and a deadline, or refused with the status
//     that says which (413, 408); nothing is read for ever.
//   - A refusal is answered before work is done for it.
//   - The address that Guard checked is the address that is dialled.
//
// Secrets never enter a problem: its texts are the caller's own words.
package httpx
