// Package canonjson reads JSON as Python does, writes it as Python does, and
// hashes the result, so that a value hashed here has the same SHA-256 as the
// same value hashed by a Trust Layer issuer.
//
// # Values
//
// A parsed value is an any that holds nil, bool, string, [Int], float64, []any
// or [*Object]. Whether a number is an Int or a float64 is decided by its
// literal alone: with a point or an exponent it is a float. Strings are
// generalised UTF-8: Python strings may hold lone surrogates, and such a code
// point is kept as its three bytes ED A0..BF 80..BF. Strings of a parsed
// document may share memory with each other; a caller that keeps one short
// string of a large document for long should strings.Clone it.
//
// # Readers
//
//   - [Parse] is json.loads(bytes) of CPython (reference §5.3): UTF-8, UTF-16
//     and UTF-32, NaN and Infinity, last duplicate wins. It serves bodies whose
//     hash is somebody else's.
//   - [ParseStrict] is the "Strict JSON" of the season bundle (bundle format §1):
//     UTF-8 only, no duplicate names, no NaN, no lone surrogates, 100 levels. It
//     serves documents of our own formats, proofs among them.
//
// Both bound the nesting of a document and the length of an integer, take time
// linear in the input and report a [*SyntaxError] that says where and why.
//
// # Writers
//
//   - [Append], [Marshal] and [Sum] give the canonical text of reference §5.1:
//     members sorted by code point, no spaces, ASCII only, floats in Python's
//     layout. This text is what is hashed.
//   - [AppendCompact] and [Compact] give the text of JSON responses (reference §1)
//     and of upstream POST bodies (§4.4): insertion order, raw UTF-8.
//   - [AppendSorted] and [Sorted] give the text that signed topics and the
//     commitments of the research challenge hash (R§3): sorted, raw UTF-8, floats
//     in a layout of its own.
//
// Invariant: for each document that Parse accepts, Marshal of its value is byte
// for byte json.dumps(json.loads(document), sort_keys=True, separators=(",", ":")).
// The fuzz targets of this package hold it against a running python3.
package canonjson
