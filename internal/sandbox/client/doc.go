// Package client is the control plane's side of the topic-VM boundary: an HTTPS
// client of the host agent (reference §21.2, "R§" in comments).
//
// It believes no answer. The agent must echo what was asked, VM and topic, shape
// and image; an output must be of the job's kind, report and attestation must be
// about the job's submission and artefact, and what a report says of its sandbox
// and usage must be what the host attests. Whatever is not so is a refusal: a
// caller scores nothing behind an error of this package.
//
// The bearer is read from its file for every request, so that a rotated token
// needs no restart and a removed one takes the host down. It goes to the one
// configured origin: redirects are not followed, proxies of the environment not
// used. Every error is a [*Fault] whose text is safe to show to anyone: no token,
// address, path or origin.
package client
