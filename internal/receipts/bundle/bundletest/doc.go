// Package bundletest makes season bundles for tests: a small made-up corpus, a
// real freeze, real proofs from receipttest, submissions as a participant sends
// them. A test makes a sound season first and then changes the one thing that it
// is about.
//
//	s := bundletest.New(t, bundletest.Compliance(2))
//	did := s.Enrol("alpha")
//	s.Submit(did, "conf-01", "conforme", s.Claims("conf-01")...)
//	b := s.Open()
package bundletest
