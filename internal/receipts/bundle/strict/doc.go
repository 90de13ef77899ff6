// Package strict reads the members of a strict JSON document (bundle format §1)
// one by one, each with the place where it stands, and keeps the first fault: so
// a reader of a file is straight-line code and its error still names one JSON
// Pointer and what was expected there.
package strict
