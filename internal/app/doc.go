// Package app builds the services of one configuration, runs them and walks the
// operator's path (freeze, open, close, score, publish). It is the only package
// that knows all rooms; it wires and orders, the rooms decide.
//
// One machine and many run the same code: the embedded default differs from a
// large installation by its database and its witnesses, never by a second path
// (design of the house, rule 10).
package app
