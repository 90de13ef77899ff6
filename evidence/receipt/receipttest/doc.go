// Package receipttest makes proofs for tests: an issuer with its own keys, an
// embedded timestamp authority and an embedded log, all in memory. Its proofs
// are real ones of every spec version (T§6, T§7), so that a test breaks a proof
// by changing a document and not by knowing how one is made.
//
//	is := receipttest.New(t)
//	d := is.Issue(receipttest.Spec{DID: "did:web:agent.example"})
//	is.Batch(d)
//	ev, refusal := receipt.NewChecker(is.Trust()).Admit(d.Proof(), is.Entry, receipt.Policy{RequireLog: true})
//
// Helpers that cannot fail in a sound test fail the test instead of returning an
// error.
package receipttest
