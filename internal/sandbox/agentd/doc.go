// Package agentd is the agent of a machine that runs topic VMs: the HTTP API of
// reference §22 over a Hypervisor, on port 8200. The control plane reaches the
// VMs of a topic through it and in no other way.
//
// Invariants:
//
//   - Nothing is answered before the bearer is checked; the token file is read
//     for each request, and without a token nobody gets in.
//   - A topic has at most one live VM, a VM at most one job or teardown at a time.
//   - A job ends with the request that asked for it: the caller's leaving, the
//     deadline and the end of the agent all cancel it, and what it started is gone
//     before it is answered.
//   - sandboxed and flops_used of a report are the host's attestation or nothing;
//     what the guest wrote there is overwritten, and evidence that names another
//     topic, submission or artefact stamps nothing.
//   - A VM whose process is gone is never advertised, and is released once.
//   - No log line and no error holds a token, a job's content or a URI.
//
// What runs the VMs is behind Hypervisor; this package boots nothing itself.
package agentd
