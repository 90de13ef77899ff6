// Package remotetest is a control plane for tests of what talks to one: its
// routes, bodies and statuses are those of R§§11 and 14, its gate is the real one of
// intake, its topics are validated and verified, its epochs close into real
// snapshots. What a run comes to is the test's to say ([Plane.Run]); nothing is
// stored and nothing runs.
//
// [Plane.Tamper] makes it misbehave: a test changes an answer on its way out.
package remotetest
