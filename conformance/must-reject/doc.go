// Package mustreject holds season bundles that a scorer of format
// prova-season-bundle/1 must not accept as they are, as data for any
// implementation: each archive breaks one rule of docs/bundle-format.md, and
// index.json says what must come of it. README.md says how to read it.
//
// The archives are made by this package's tests:
//
//	go test ./conformance/must-reject -run TestTheFilesAreThoseThatTheRowsMake -write
package mustreject
