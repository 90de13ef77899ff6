// Package remote talks to a control plane of the research challenge over HTTP
// (reference §§11 and 14, "R§" in comments; design decisions 4, 6, 8, 18 and 19).
// It is what the commands of miners, operators and auditors are built on.
//
// # Invariants
//
//   - Nothing that a server says is trusted: every answer is bounded in bytes and
//     in time, its JSON is read into typed values, and whatever of it can reach a
//     terminal has gone through [Printable].
//   - A redirect is never followed. A bearer sent to a second host is a bearer
//     given away, and a submission sent there is one that its miner did not make.
//   - The bearer is read from its file for each request, sent to admin routes
//     alone, over TLS or to loopback alone, and is in no error.
//   - A submission is sent once per call. To send it again is the caller's
//     decision; with the same nonce and body it rejoins its first copy.
//
// Members that this build does not know are looked over, so that an older
// command reads a newer server. Clock, network and pauses come in through [Options].
package remote
